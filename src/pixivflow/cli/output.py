"""What reaches the terminal. Results go to stdout, everything that is said about them to stderr.

Titles, names and messages come from outside: nothing of them may move the cursor, colour the screen or break a line.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

_UNITS = ("B", "kB", "MB", "GB", "TB")


def clean(text: object) -> str:
    """A text on one line, without control characters, direction marks and lone surrogates."""
    out = []
    for char in str(text):
        kind = unicodedata.category(char)
        if kind in ("Cc", "Zl", "Zp"):
            out.append(" ")
        elif kind not in ("Cf", "Cs"):
            out.append(char)
    return "".join(out)


def width(text: str) -> int:
    """Columns a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def cut(text: str, columns: int) -> str:
    """A text that takes at most so many columns."""
    if width(text) <= columns:
        return text
    out, used = "", 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        out += char
    return out + "…"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, widest: int = 60) -> str:
    """Rows under their heads, aligned by the columns they take; no cell is wider than `widest`."""
    cells = [list(head), *([cut(clean(cell), widest) for cell in row] for row in rows)]
    widths = [max(width(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def size(count: int) -> str:
    """Bytes for people: `1.2 MB`."""
    amount = float(count)
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit takes everything")


def moment(epoch_ms: float | None) -> str:
    """A time of the ledger or the wire as UTC text, empty for none."""
    if epoch_ms is None:
        return ""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def plural(count: int, noun: str) -> str:
    """`1 work`, `2 works`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def say(text: str) -> None:
    """Tell the person at the terminal; never part of the result."""
    print(text, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """A line of the result."""
    print(text, flush=True)


def emit(document: Any) -> None:
    """The result as one JSON document on one line. Ready for pipes: whatever the locale, it is ASCII."""
    print(json.dumps(document, ensure_ascii=True, default=str), flush=True)
