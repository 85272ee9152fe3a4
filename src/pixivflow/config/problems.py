"""What is wrong with a configuration, as values; and how it is said."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

Location = tuple[str | int, ...]
"""A place in the document: object keys and list positions."""

Severity = Literal["error", "warning"]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+\Z", re.ASCII)
_MAX_KEY = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding.

    Attributes:
        severity: an error keeps the configuration from being used; a warning does not.
        path: where, e.g. `targets[2].tag`; empty for the whole file.
        code: stable name of the kind, for programs.
        reason: what is wrong, without any secret.
        suggestion: what to do, where that is known.
        source: file name, or the environment variable the value came from.
    """

    severity: Severity
    path: str
    code: str
    reason: str
    suggestion: str | None = None
    source: str = ""


def path_text(location: Location) -> str:
    """A location as people write it: `targets[2].tag`; odd keys are quoted, so that they cannot forge a line."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            text += f".{part[:_MAX_KEY]}" if text else part[:_MAX_KEY]
        else:
            text += f"[{quote(part)}]"
    return text


def quote(text: str) -> str:
    """A text in double quotes, on one line, cut to a sensible length."""
    return json.dumps(text if len(text) <= _MAX_KEY else text[:_MAX_KEY] + "…", ensure_ascii=not text.isprintable())


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None. Case, `_` and `-` do not count as differences."""
    by_fold = {_fold(name): name for name in known}
    found = get_close_matches(_fold(text[:_MAX_KEY]), by_fold, n=1, cutoff=0.7)
    return by_fold[found[0]] if found else None


def did_you_mean(text: str, known: Iterable[str]) -> str | None:
    """A suggestion with the nearest known name, or None."""
    name = nearest(text, known)
    return f"did you mean {quote(name)}?" if name is not None else None


def render_problem(problem: Problem) -> str:
    """One line: `config.json: targets[0].typ: unknown key; did you mean "type"?`."""
    parts = [
        problem.source,
        "warning" if problem.severity == "warning" else "",
        problem.path,
        problem.reason + (f"; {problem.suggestion}" if problem.suggestion else ""),
    ]
    return ": ".join(part for part in parts if part)


def render_problems(problems: Iterable[Problem]) -> str:
    """One line each, errors first, otherwise in the order found."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    return "\n".join(render_problem(problem) for problem in ordered)


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
