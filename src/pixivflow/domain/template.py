"""Placeholders `{{name}}` in the form fields of a route.

Rendering is one pass over the template: what a value contains is never looked at again, so a title that spells a
placeholder stays a title. A name that is known but has no value becomes empty text; a name nobody knows stays as it is,
because the receiver's operator sees the typing error then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PLACEHOLDERS: frozenset[str] = frozenset(
    {
        "title", "displayTitle", "seriesTitle", "pixivId", "workId", "type", "targetId", "tag", "topic", "topicTag",
        "workTags", "author", "link", "spoiler", "xRestrict", "xRestrictLabel", "xRestrictTag", "rankingDate",
        "publishedDate", "language", "bookmarkCount", "viewCount", "scheduleId", "executionId", "occurrenceAt",
        "triggerSource", "slotId", "slotName", "slotDate", "idempotencyKey", "refetchRequestId",
    }
)  # fmt: skip
"""Every name that has a meaning."""

REQUEST_ID = "refetchRequestId"
REQUEST_ID_FIELD = "refetch_request_id"
"""The form field by which a requester recognises the answer to its request; both names are a fixed contract."""

_PLACEHOLDER = re.compile(r"\{\{[ \t]*([A-Za-z][A-Za-z0-9_]{0,63})[ \t]*\}\}")
_BRACED = re.compile(r"\{\{([^{}]{0,200})\}\}")
_UUID = re.compile(
    r"(?:urn:uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([1-8][0-9a-f]{3})-?([89ab][0-9a-f]{3})-?([0-9a-f]{12})\}?"
)


def render(template: str, values: Mapping[str, str]) -> str:
    """Fill in what `values` knows; a name of `PLACEHOLDERS` without a value becomes empty, any other stays literal."""

    def put(found: re.Match[str]) -> str:
        name = found.group(1)
        value = values.get(name)
        if value is not None:
            return value
        return "" if name in PLACEHOLDERS else found.group(0)

    return _PLACEHOLDER.sub(put, template)


def unresolved(text: str, values: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What stands in double braces in a template and would be sent literally, in order of appearance.

    Ask it about a template, not about rendered text: a value may rightly contain braces.
    """
    known = PLACEHOLDERS if values is None else PLACEHOLDERS | set(values)
    left: list[str] = []
    for found in _BRACED.finditer(text):
        name = _PLACEHOLDER.fullmatch(found.group(0))
        if name is None or name.group(1) not in known:
            left.append(found.group(1).strip())
    return tuple(left)


def request_id_fault(field: str, templates: Iterable[str], values: Mapping[str, str], *, requested: bool) -> str | None:
    """Why a form field must not be sent because of the request id in it, None when it may.

    A receiver that gets the literal placeholder cannot match the answer to the request (it happened in production), so
    the field that carries the id must resolve completely, and any field that means the id, however it is spelt, must
    resolve to an id when somebody asked for the work (`requested`). A planned work has no request: its field is empty.
    """
    for template in templates:
        literal = unresolved(template, values)
        meant = [name for name in literal if name.casefold().replace("_", "") == REQUEST_ID.casefold()]
        if meant or (field == REQUEST_ID_FIELD and "{{" in render(template, dict.fromkeys(values, ""))):
            return f"field {field[:60]!r} would send a literal placeholder instead of the request id"
        names = {found.group(1) for found in _PLACEHOLDER.finditer(template)}
        if requested and REQUEST_ID in names and not values.get(REQUEST_ID):
            return f"field {field[:60]!r} needs the request id, and this job has none that is a UUID"
    return None


def canonical_uuid(text: str | None) -> str:
    """A request id as lower-case dashed UUID (versions 1-8, RFC 9562 variant), "" for anything else."""
    found = _UUID.fullmatch(text.strip().lower()) if text is not None and text.isascii() else None
    return "-".join(found.groups()) if found else ""


def compact_count(count: int | None) -> str:
    """A count for people: 999, 1.2k, 12.3w (w = 10 000), "" when it is not known.

    Cut, never rounded up, so that a work is not said to have more bookmarks than it has; a trailing ".0" is dropped.
    """
    if count is None:
        return ""
    size = max(count, 0)
    if size < 1000:
        return str(size)
    unit, letter = (1000, "k") if size < 10_000 else (10_000, "w")
    whole, tenth = size // unit, size % unit * 10 // unit
    return f"{whole}.{tenth}{letter}" if tenth else f"{whole}{letter}"
