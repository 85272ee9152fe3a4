"""Words that no key, name or enumeration of the job surface may hold (section 1, last rule).

The surface is neutral: it never learns what its consumers do with a work. Matching is by token, so `preview` is not
`review`. Texts and names that belong to the caller (labels, keys, tags, titles) are not ours to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

FORBIDDEN: Final = frozenset({"review", "telegram", "message_id", "disposition", "submission", "moderation", "publish"})
FORBIDDEN_BEGINNINGS: Final = ("refetch", "slot")
CALLERS_OWN: Final = frozenset({"labels"})
"""Objects whose keys the caller has chosen."""

_NAMED_VALUES: Final = frozenset(
    {"status", "type", "code", "stage", "reason", "kind", "role", "source", "quality", "platform", "work_type", "name"}
    | {"job_type", "features"}
)
"""Keys whose values are words of a vocabulary and not of a person."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPLIT: Final = re.compile(r"[^a-z0-9]+")


def forbidden_in(name: str) -> str | None:
    """The forbidden word inside a name, None when there is none."""
    tokens = [token for token in _SPLIT.split(_HUMP.sub("_", name).lower()) if token]
    for token in tokens:
        if token in FORBIDDEN or token.startswith(FORBIDDEN_BEGINNINGS):
            return token
    for pair in pairwise(tokens):
        if "_".join(pair) in FORBIDDEN:
            return "_".join(pair)
    return None


def in_body(body: Any) -> list[str]:
    """`path: word` of every forbidden word in the keys of a body, and in values that are words of a vocabulary."""
    return list(_in_body(body, ""))


def in_schema(schema: Any) -> list[str]:
    """`path: word` of every forbidden word in the names, keys and enumerations of a JSON Schema."""
    return list(_in_schema(schema, ""))


def _in_body(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _in_body(item, f"{path}/{at}")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _judged(key, f"{path}/{key}")
            if key in _NAMED_VALUES:
                for word in inner if isinstance(inner, list) else [inner]:
                    if isinstance(word, str):
                        yield from _judged(word, f"{path}/{key}")
            if key not in CALLERS_OWN:
                yield from _in_body(inner, f"{path}/{key}")


def _in_schema(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _in_schema(item, f"{path}/{at}")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _judged(key, f"{path}/{key}")
            if key in ("enum", "const", "required", "title"):
                for word in inner if isinstance(inner, list) else [inner]:
                    if isinstance(word, str):
                        yield from _judged(word, f"{path}/{key}")
            yield from _in_schema(inner, f"{path}/{key}")


def _judged(name: str, path: str) -> Iterator[str]:
    word = forbidden_in(name)
    if word is not None:
        yield f"{path}: {word}"
