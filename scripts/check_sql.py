"""Every file in a `sql/` folder holds exactly one statement and begins with a sentence that says why it is as it is.

Migrations are scripts of several statements and live in `migrations/`; they are not looked at here.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def statements(text: str) -> list[str]:
    """Split a script as SQLite would: semicolons inside strings, comments and trigger bodies do not count."""
    found, start = [], 0
    for position, character in enumerate(text):
        if character == ";" and sqlite3.complete_statement(text[start : position + 1]):
            found.append(text[start : position + 1])
            start = position + 1
    found.append(text[start:])
    return [piece for piece in found if without_comments(piece)]


def without_comments(text: str) -> str:
    """The text without full-line comments, stripped."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).strip()


def problems_of(path: Path) -> list[str]:
    """What is wrong with one SQL file."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    found = []
    count = len(statements(text))
    if count != 1:
        found.append(f"{name}: holds {count} statements, expected one")
    if not text.lstrip().startswith("--"):
        found.append(f"{name}: begins without a comment that says what it does and why")
    return found


def main() -> int:
    """Check all SQL files of the package."""
    found = [p for path in sorted((ROOT / "src").rglob("sql/**/*.sql")) for p in problems_of(path)]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
