"""From the validator's errors to problems people can act on. Values are shown only where they cannot be secret."""

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from pydantic_core import ErrorDetails

from pixivflow.config.draft import Draft
from pixivflow.config.model import Config
from pixivflow.config.problems import Location, did_you_mean, path_text, quote
from pixivflow.config.spec import bounds, keys_of, place_at, places

_EXPECTED: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "mapping_type": "an object",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("must be at least", "ge"),
    "less_than_equal": ("must be at most", "le"),
    "greater_than": ("must be above", "gt"),
    "less_than": ("must be below", "lt"),
}
_QUOTED = re.compile(r"'([^']*)'")
_OWN = frozenset({"url", "pixiv_id", "field_value", "not_available", "database_url", "day", "path", "range"})
_MAX_SHOWN = 40
MAX_REPORTED = 200


def translate(draft: Draft, errors: list[ErrorDetails]) -> None:
    """Report the validator's errors. An empty list whose members were refused is not told a second time."""
    places_of = [_location(error) for error in errors]
    if len(errors) > MAX_REPORTED:
        draft.report((), "too_many", f"{len(errors)} problems with single values; the first {MAX_REPORTED} follow")
    for error, location in zip(errors[:MAX_REPORTED], places_of[:MAX_REPORTED], strict=True):
        if error["type"] == "too_short" and any(
            other[: len(location)] == location and len(other) > len(location) for other in places_of
        ):
            continue
        _translate(draft, error, location)


def _location(error: ErrorDetails) -> Location:
    return tuple(part for part in error["loc"] if part != "[key]")


def _translate(draft: Draft, error: ErrorDetails, location: Location) -> None:
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    if kind == "extra_forbidden":
        draft.report(location, "unknown_key", "unknown key", _known_key(location))
    elif kind == "missing":
        draft.report(location, "required", "is required", _purpose(location))
    elif kind in _EXPECTED:
        draft.report(location, "wrong_type", f"expected {_EXPECTED[kind]}, found {_found(draft, location, value)}")
    elif kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        draft.report(
            location,
            "out_of_range",
            f"{words} {context.get(key)}, found {_found(draft, location, value)}",
            _range(location),
        )
    elif kind == "literal_error":
        _report_choice(draft, location, value, _QUOTED.findall(str(context.get("expected", ""))))
    elif kind == "string_pattern_mismatch":
        draft.report(location, "bad_form", "has characters that are not allowed, or is too long", _form(error))
    elif kind in ("string_too_short", "too_short"):
        draft.report(location, "empty", "must not be empty")
    elif kind == "timezone":
        hint = did_you_mean(value, available_timezones()) if isinstance(value, str) else None
        draft.report(location, kind, _sentence(error["msg"]), None if _hidden(draft, location) else hint)
    else:
        draft.report(location, kind if kind in _OWN else "invalid", _sentence(error["msg"]))


def _report_choice(draft: Draft, location: Location, value: Any, choices: list[str]) -> None:
    shown = ", ".join(choices)
    if not isinstance(value, str):
        draft.report(location, "wrong_type", f"expected one of {shown}, found {_found(draft, location, value)}")
        return
    suggestion = did_you_mean(value, choices)
    found = "" if _hidden(draft, location) else f", found {quote(value)}"
    draft.report(location, "unknown_value", f"must be one of {shown}{found}", suggestion)


def _known_key(location: Location) -> str | None:
    """The nearest key of the same object; else the place of that very key elsewhere."""
    key = location[-1]
    above = place_at(Config, location[:-1])
    if not isinstance(key, str) or above is None or above.section is None:
        return None
    near = did_you_mean(key, keys_of(above.section))
    if near is not None:
        return near
    elsewhere = next((place for place, _ in places(Config) if place[-1] == key), None)
    return f"did you mean {quote(path_text(elsewhere))}?" if elsewhere is not None else None


def _purpose(location: Location) -> str | None:
    place = place_at(Config, location)
    if place is None:
        return None
    return f"one of {', '.join(place.choices)}" if place.choices else (place.description or None)


def _range(location: Location) -> str | None:
    place = place_at(Config, location)
    low, high = bounds(place.info if place is not None else None)
    return f"allowed: {low} to {high}" if low is not None and high is not None else None


def _form(error: ErrorDetails) -> str:
    pattern = str(error.get("ctx", {}).get("pattern", ""))
    if "a-z0-9-" in pattern:
        return "lower-case letters, digits and `-`, at most 32"
    extra = "`_`, `-` and `.`" if "._" in pattern or "_.-" in pattern else "`_` and `-`"
    return f"letters, digits, {extra}, at most 64, beginning with a letter or digit"


def _found(draft: Draft, location: Location, value: Any) -> str:
    """A value in words; the value itself only where it is a plain number or yes/no of no secret."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        shown = str(value)
        return "a number" if _hidden(draft, location) or len(shown) > _MAX_SHOWN else shown
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "null"
    return "an object" if isinstance(value, dict) else "something else"


def _hidden(draft: Draft, location: Location) -> bool:
    """Whether a value may be secret: by its place, or because it came from the environment."""
    place = place_at(Config, location)
    return place is None or place.secret or draft.origin(location).kind == "env"


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ")
