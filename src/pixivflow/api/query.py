"""Query strings of the job surface: one value a name, and cursors nobody needs to understand."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from pixivflow.api.errors import Problem
from pixivflow.api.ports import DEFAULT_PAGE, MAX_PAGE, JobQuery
from pixivflow.domain.job import JobState
from pixivflow.domain.task import MAX_CORRELATION, trimmed_key

_MAX_FIELDS: Final = 32
_CURSOR: Final = re.compile(rb"jobs:(\d{1,18})\Z")
_FLAGS: Final[Mapping[str, bool]] = {"1": True, "true": True, "0": False, "false": False, "": False}

Query = Mapping[str, Sequence[str]]


def parse_query(raw: bytes) -> Query:
    """Names and their values, in order."""
    if not raw:
        return {}
    try:
        return parse_qs(raw.decode(errors="replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Problem(400, "too many query parameters") from None


def bad(name: str, message: str) -> Problem:
    """A query parameter that cannot be read."""
    return Problem(400, f"{name} {message}", detail={"field": name})


def single(query: Query, name: str) -> str | None:
    """The value of a parameter that may be given once; None when it is absent."""
    values = query.get(name)
    if values is None:
        return None
    if len(values) != 1:
        raise bad(name, "must be given once")
    return values[0]


def nonempty(query: Query, name: str) -> str | None:
    """As `single`, for parameters that say something when they are there."""
    value = single(query, name)
    if value is not None and not value:
        raise bad(name, "must be a non-empty string")
    return value


def flag(query: Query, name: str) -> bool:
    """`1`/`true`, or `0`/`false`/empty/absent."""
    value = single(query, name)
    if value is None:
        return False
    if value not in _FLAGS:
        raise bad(name, "must be 1, true, 0 or false")
    return _FLAGS[value]


def idempotency_key(query: Query) -> str | None:
    """The key to look up, trimmed as it was when it was stored."""
    value = single(query, "idempotency_key")
    if value is None:
        return None
    key = trimmed_key(value)
    if not key:
        raise bad("idempotency_key", "must be a non-blank string")
    return key


def job_query(query: Query) -> JobQuery:
    """The filters of `GET /jobs`."""
    status = nonempty(query, "status")
    if status is not None and status not in frozenset(JobState):
        raise bad("status", f"must be one of {', '.join(JobState)}")
    correlation = nonempty(query, "correlation_id")
    if correlation is not None and len(correlation) > MAX_CORRELATION:
        raise bad("correlation_id", f"must be at most {MAX_CORRELATION} characters")
    return JobQuery(
        correlation_id=correlation,
        status=None if status is None else JobState(status),
        job_type=nonempty(query, "job_type"),
        limit=_limit(query),
        after_seq=_after(query),
    )


def _limit(query: Query) -> int:
    value = single(query, "limit")
    if value is None:
        return DEFAULT_PAGE
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(MAX_PAGE)) and 1 <= int(value) <= MAX_PAGE):
        raise bad("limit", f"must be an integer from 1 to {MAX_PAGE}")
    return int(value)


def _after(query: Query) -> int | None:
    value = single(query, "cursor")
    # The last page names no cursor; a client that sends the nothing it got starts again.
    if not value:
        return None
    seq = read_cursor(value)
    if seq is None:
        raise bad("cursor", "is not one of this server's cursors")
    return seq


def write_cursor(seq: int) -> str:
    """The opaque cursor of the page after the job with this sequence number."""
    return base64.urlsafe_b64encode(b"jobs:%d" % seq).decode().rstrip("=")


def read_cursor(text: str) -> int | None:
    """What `write_cursor` wrote, None for anything else."""
    try:
        raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    found = _CURSOR.match(raw)
    return int(found.group(1)) if found else None
