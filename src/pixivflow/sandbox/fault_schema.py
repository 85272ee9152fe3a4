"""The fault file: which actions exist, which fields each takes, and reading a file with errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pixivflow.sandbox.routes import NAMES


class FaultFileError(ValueError):
    """A fault rule that cannot be used; the text says which rule and why."""


Check = Callable[[Any], str | None]
"""Says what is wrong with a value, or None."""


def _number(value: Any) -> str | None:
    return (
        None
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        else "must be a number >= 0"
    )


def _whole(value: Any) -> str | None:
    return (
        None if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "must be a whole number >= 0"
    )


def _positive(value: Any) -> str | None:
    return None if _whole(value) is None and value >= 1 else "must be a whole number >= 1"


def _status(value: Any) -> str | None:
    return None if isinstance(value, int) and 200 <= value <= 599 else "must be a status from 200 to 599"


def _fraction(value: Any) -> str | None:
    return None if _number(value) is None and value < 1 else "must be a number from 0 up to, not including, 1"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be a text"


def _text_or_null(value: Any) -> str | None:
    return None if value is None or isinstance(value, str) else "must be a text or null"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _any(_value: Any) -> str | None:
    return None


def _texts(value: Any) -> str | None:
    good = isinstance(value, list) and value and all(isinstance(item, str) and item for item in value)
    return None if good else "must be a list of texts"


def _numbers(value: Any) -> str | None:
    good = isinstance(value, list) and value and all(_positive(item) is None for item in value)
    return None if good else "must be a list of whole numbers >= 1"


def _map(value: Any) -> str | None:
    return None if isinstance(value, dict) and all(isinstance(key, str) for key in value) else "must be an object"


def _header_map(value: Any) -> str | None:
    good = isinstance(value, dict) and all(
        isinstance(key, str) and isinstance(item, str) and not set("\r\n\0") & set(key + item)
        for key, item in value.items()
    )
    return None if good else "must be an object of header texts"


def _one_of(*words: str) -> Check:
    return lambda value: None if value in words else "must be one of " + ", ".join(words)


ZIP_VARIANTS: Final = ("cut", "missing_frame", "extra_member", "traversal", "bomb", "not_a_zip", "bad_crc")

# Fields of every action: name -> (check, required).
ACTIONS: Final[dict[str, dict[str, tuple[Check, bool]]]] = {
    # instead of the answer
    "status": {"status": (_status, True), "body": (_any, False), "headers": (_header_map, False)},
    "challenge": {"status": (_status, False)},
    "rate_limit": {
        "status": (_status, False),
        "retry_after_s": (_number, False),
        "retry_after_form": (_one_of("seconds", "date"), False),
        "after_requests": (_whole, False),
        "recover_after_s": (_number, False),
    },
    "not_found": {},
    "forbidden": {"message": (_text, False)},
    "html200": {},
    "html_as_image": {"content_type": (_text, False)},
    "redirect": {"to": (_text, True), "status": (_status, False)},
    "invalid_grant": {},
    # before the answer
    "delay": {"seconds": (_number, True)},
    "expire_tokens": {},
    # changes of the answer
    "empty": {},
    "wrong_type": {"content_type": (_text, True)},
    "short_ok": {"fraction": (_fraction, False)},
    "corrupt": {"fraction": (_fraction, False)},
    "bad_zip": {"variant": (_one_of(*ZIP_VARIANTS), False)},
    "next_url_foreign": {"host": (_text, False)},
    "next_url_repeat": {},
    "next_url_null": {},
    "empty_page": {},
    "webview_layout": {},
    "novel_text": {"text": (_text_or_null, True)},
    "maps_as_lists": {},
    "set_in_answer": {"values": (_map, True)},
    "drop_in_answer": {"keys": (_texts, True)},
    # changes of the records inside the answer
    "drop_keys": {"keys": (_texts, True), "numbers": (_numbers, False)},
    "set_keys": {"values": (_map, True), "numbers": (_numbers, False)},
    "placeholder": {"reason": (_text, False), "numbers": (_numbers, False)},
    # how it is sent
    "short_body": {"fraction": (_fraction, False)},
    "slow": {"bytes_per_s": (_positive, True)},
    "stall": {"before_headers": (_flag, False), "fraction": (_fraction, False)},
    "reset": {"processed": (_flag, False)},
    "drop": {"processed": (_flag, False)},
    "no_content_length": {},
    "ignore_range": {},
}
RECORD_ACTIONS: Final = frozenset(("drop_keys", "set_keys", "placeholder"))


@dataclass(frozen=True, slots=True)
class Nth:
    """Which of the matching requests a rule acts on: numbers from 1, every k-th, or all from a number on."""

    numbers: frozenset[int] = frozenset()
    every: int = 1
    start: int = 1

    def hits(self, number: int) -> bool:
        """Whether request `number` (from 1) is meant."""
        if self.numbers:
            return number in self.numbers
        return number >= self.start and number % self.every == 0


@dataclass(frozen=True, slots=True)
class Action:
    """What a rule does."""

    type: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a scenario."""

    match: str
    action: Action
    nth: Nth = Nth()
    count: int | None = None
    work: int | None = None
    page: int | None = None

    def document(self) -> dict[str, Any]:
        """The rule as a fault file states it."""
        nth: Any = sorted(self.nth.numbers) or (
            {"from": self.nth.start} if self.nth.start > 1 else {"every": self.nth.every}
        )
        shown: dict[str, Any] = {
            "match": self.match,
            "nth": nth,
            "action": {"type": self.action.type, **self.action.args},
        }
        return shown | {key: value for key in ("count", "work", "page") if (value := getattr(self, key)) is not None}


_RULE_KEYS: Final[dict[str, Check]] = {"count": _positive, "work": _whole, "page": _whole}


def read_rules(document: Any) -> list[Rule]:
    """Rules from a parsed fault file: a list, or an object with `rules`. Raises FaultFileError."""
    if isinstance(document, dict):
        unknown = sorted(set(document) - {"rules", "description"})
        if unknown or "rules" not in document:
            raise FaultFileError(
                f"a fault file is a list of rules or an object with 'rules'; unexpected: {unknown or 'none'}"
            )
        document = document["rules"]
    if not isinstance(document, list):
        raise FaultFileError("a fault file must hold a list of rules")
    return [_read_rule(item, f"rules[{index}]") for index, item in enumerate(document)]


def load_rules(path: Path) -> list[Rule]:
    """Rules from a file. Raises FaultFileError, also for a file that cannot be read or is no JSON."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FaultFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FaultFileError(f"{path}: is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise FaultFileError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}") from error
    try:
        return read_rules(document)
    except FaultFileError as error:
        raise FaultFileError(f"{path}: {error}") from error


def _read_rule(item: Any, at: str) -> Rule:
    if not isinstance(item, dict):
        raise FaultFileError(f"{at}: must be an object")
    unknown = sorted(set(item) - {"match", "nth", "action", *_RULE_KEYS})
    if unknown:
        raise FaultFileError(f"{at}: unknown key '{unknown[0]}'")
    for key, check in _RULE_KEYS.items():
        problem = check(item[key]) if item.get(key) is not None else None
        if problem:
            raise FaultFileError(f"{at}.{key}: {problem}")
    return Rule(
        match=_read_match(item.get("match"), f"{at}.match"),
        action=_read_action(item.get("action"), f"{at}.action"),
        nth=_read_nth(item.get("nth", "every"), f"{at}.nth"),
        count=item.get("count"),
        work=item.get("work"),
        page=item.get("page"),
    )


def _read_match(value: Any, at: str) -> str:
    if not isinstance(value, str) or not value:
        raise FaultFileError(
            f"{at}: must be a route name such as 'illust.detail' or a path pattern such as '/v1/illust/*'"
        )
    plain = not set(value) & set("*?[/")
    if plain and value not in NAMES:
        near = [name for name in sorted(NAMES) if name.split(".")[0] == value.split(".")[0]]
        raise FaultFileError(
            f"{at}: no route is called '{value}'; near it: {', '.join(near) or ', '.join(sorted(NAMES))}"
        )
    return value


def _read_nth(value: Any, at: str) -> Nth:
    if value == "every":
        return Nth()
    if _positive(value) is None:
        return Nth(frozenset((value,)))
    if isinstance(value, list) and _numbers(value) is None:
        return Nth(frozenset(value))
    if isinstance(value, dict) and value and not set(value) - {"every", "from"}:
        for key, inner in value.items():
            if problem := _positive(inner):
                raise FaultFileError(f"{at}.{key}: {problem}")
        return Nth(every=value.get("every", 1), start=value.get("from", 1))
    raise FaultFileError(f"{at}: must be a number, a list of numbers, 'every', {{'every': k}} or {{'from': n}}")


def _read_action(value: Any, at: str) -> Action:
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, dict):
        raise FaultFileError(f"{at}: must be an object with 'type', or the name of an action without fields")
    fields = ACTIONS.get(value["type"]) if isinstance(value.get("type"), str) else None
    if fields is None:
        raise FaultFileError(f"{at}.type: must be one of {', '.join(ACTIONS)}")
    args = {key: inner for key, inner in value.items() if key != "type"}
    for key, inner in args.items():
        if key not in fields:
            raise FaultFileError(
                f"{at}.{key}: action '{value['type']}' has no such field; it has: {', '.join(fields) or 'none'}"
            )
        if problem := fields[key][0](inner):
            raise FaultFileError(f"{at}.{key}: {problem}")
    for key, (_, required) in fields.items():
        if required and key not in args:
            raise FaultFileError(f"{at}.{key}: is required by action '{value['type']}'")
    return Action(value["type"], args)
