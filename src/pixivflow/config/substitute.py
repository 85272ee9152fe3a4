"""`${NAME}` in texts. Pure: the environment is a lookup that comes in."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_MARK = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)(?P<end>\}?)")
_BODY = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\Z", re.ASCII | re.DOTALL)

Lookup = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Substituted:
    """A text with its variables filled in.

    Attributes:
        names: variables that gave (a part of) the text.
        whole: the text was nothing but one variable, so it may stand for a number or a yes or no.
        missing: variables that are not set and have no default.
        malformed: `${` was not followed by a name and a closing brace.
    """

    text: str
    names: tuple[str, ...] = ()
    whole: bool = False
    missing: tuple[str, ...] = ()
    malformed: bool = False


def substitute(text: str, lookup: Lookup) -> Substituted:
    """Fill in `${NAME}` and `${NAME:-default}`; `$${` stands for a plain `${`.

    The default counts when the variable is unset or empty. What a variable holds is taken as it is, never filled in
    again.
    """
    if "${" not in text:
        return Substituted(text)
    names: list[str] = []
    missing: list[str] = []
    malformed = False
    marks = 0

    def fill(match: re.Match[str]) -> str:
        nonlocal malformed, marks
        if match["body"] is None:
            return "${"
        body = _BODY.match(match["body"])
        if not match["end"] or body is None:
            malformed = True
            return match[0]
        marks += 1
        name, default = body["name"], body["default"]
        value = lookup(name)
        if default is not None and not value:
            return default
        if value is None:
            missing.append(name)
            return ""
        names.append(name)
        return value

    filled = _MARK.sub(fill, text)
    only = _MARK.fullmatch(text)
    whole = marks == 1 and only is not None and only["body"] is not None
    return Substituted(filled, tuple(dict.fromkeys(names)), whole, tuple(dict.fromkeys(missing)), malformed)
