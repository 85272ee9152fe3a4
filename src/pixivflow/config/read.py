"""From the bytes of a file to plain data. What the file says is not judged here, only whether it can be read."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

from pixivflow.config.problems import Location, Problem, path_text, quote

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 50

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\s*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Parsed:
    """The data of a file, or None when it cannot be read."""

    data: dict[str, Any] | None = None
    problems: list[Problem] = field(default_factory=list)


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys came twice; the plain decoder keeps the last one in silence."""

    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> "_Object":
        made = cls(pairs)
        if len(made) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            made.repeated = tuple(key for key, count in counts.items() if count > 1)
        return made


def parse(name: str, raw: bytes) -> Parsed:
    """Read a configuration file by the ending of its name: `.toml`, everything else JSON; YAML is refused.

    Args:
        name: file name, used for messages and for its ending.
        raw: the bytes.
    """
    lower = name.lower()
    if lower.endswith((".yaml", ".yml")):
        return _failed("format_not_available", "YAML is not available in this version", "use JSON or TOML")
    try:
        text = _text(raw)
        data = _toml(text) if lower.endswith(".toml") else _json(text)
    except _UnreadableError as error:
        return _failed(error.code, error.reason, error.suggestion)
    except RecursionError:
        return _failed("too_deep", f"nested deeper than {MAX_DEPTH} levels")
    if not isinstance(data, dict):
        return _failed("wrong_type", "the file must hold an object")
    problems = list(_shape(data, ()))
    return Parsed(data if all(p.code != "too_deep" for p in problems) else None, problems)


class _UnreadableError(Exception):
    def __init__(self, reason: str, suggestion: str | None = None, code: str = "syntax") -> None:
        super().__init__(reason)
        self.reason, self.suggestion, self.code = reason, suggestion, code


def _text(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise _UnreadableError(f"the file is larger than {MAX_BYTES // (1024 * 1024)} MiB", code="too_large")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(f"line {line}: not UTF-8", "save the file as UTF-8", "encoding") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Object.of)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg[0].lower()}{error.msg[1:]}"
        raise _UnreadableError(reason, _json_hint(text, error.pos)) from None
    except ValueError:  # a whole number with thousands of digits
        raise _UnreadableError("a number is too long") from None


def _json_hint(text: str, position: int) -> str | None:
    if not text.strip():
        return "the file is empty; the least configuration is {}"
    here, before = text[position : position + 1], text[:position].rstrip()
    if here in ("/", "#"):
        return 'JSON has no comments; use a key that starts with "_"'
    if here == "'":
        return "JSON wants double quotes"
    if here in ("}", "]", ",") and before.endswith(","):
        return "remove the last comma"
    if here in ("{", "}"):
        return None
    return "a comma is missing here" if here == '"' and before[-1:] in ('"', "}", "]", "e", "l") else None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = _AT.search(message)
        detail = _AT.sub("", message)
        where = f"line {match[1]}, column {match[2]}: " if match and match[1] else "end of file: " if match else ""
        raise _UnreadableError(f"{where}{detail[:1].lower()}{detail[1:]}") from None
    except ValueError:
        raise _UnreadableError("a number or date is out of range") from None


def _shape(value: Any, location: Location) -> Iterator[Problem]:
    """Make containers plain and report what no later step could handle. Values are replaced in place."""
    if len(location) > MAX_DEPTH:
        yield Problem("error", path_text(location[:3]), "too_deep", f"nested deeper than {MAX_DEPTH} levels")
        return
    if isinstance(value, _Object):
        for key in value.repeated:
            if key.startswith("_"):
                continue  # comments may repeat
            yield Problem(
                "error", path_text((*location, key)), "duplicate_key", "this key is there more than once", "keep one"
            )
    entries = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, item in entries:
        here = (*location, key)
        if isinstance(key, str) and _SURROGATE.search(key):
            yield Problem("error", path_text(location), "encoding", f"the key {quote(key)} is not valid Unicode")
        if isinstance(item, (dict, list)):
            yield from _shape(item, here)
        elif isinstance(item, (datetime, date, time)):
            value[key] = item.isoformat()
        elif isinstance(item, str) and _SURROGATE.search(item):
            value[key] = ""
            yield Problem("error", path_text(here), "encoding", "this text is not valid Unicode")


def _failed(code: str, reason: str, suggestion: str | None = None) -> Parsed:
    return Parsed(None, [Problem("error", "", code, reason, suggestion)])
