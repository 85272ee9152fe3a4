"""What an answer of the site means. Pure: status, headers and body in, one outcome out.

The body is looked at first and the status second, because the site says "rate limit" with 403 and "your token is old"
with 400.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from pixivflow.sources.errors import (
    BadQuestion,
    Forbidden,
    NotFound,
    RateLimited,
    ShapeChanged,
    SourceError,
    Unavailable,
)
from pixivflow.sources.pixiv import fields

OFFSET_LIMIT = "offset_limit"
LONGEST_RETRY_AFTER_S = 24 * 3600.0
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came. `retry_after_s` is already a number of seconds."""

    status: int
    body: bytes
    content_type: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A good answer."""

    body: bytes


@dataclass(frozen=True, slots=True)
class TokenExpired:
    """The access token is not taken any more; a new one may be."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Anything else, with how long the site asked to wait."""

    error: SourceError
    retry_after_s: float | None = None
    repeat: bool = False
    """Whether the same request may simply be sent again after a moment (server trouble, not a verdict)."""


Outcome = Accepted | TokenExpired | Refused


def classify(reply: Reply, *, endpoint: str, wants_json: bool = True, secrets: tuple[str, ...] = ()) -> Outcome:
    """Tell what the answer means. `secrets` are removed from any text of the site that is shown."""
    if 200 <= reply.status < 300:
        return _good(reply, endpoint=endpoint, wants_json=wants_json)
    record = _object(reply.body)
    said = _message(record)
    shown = _shown(said, secrets)
    lowered = said.lower()
    where = f"{endpoint}: " if endpoint else ""
    status = reply.status

    if status == 401 or (status == 400 and ("invalid_grant" in lowered or "oauth" in lowered)):
        return TokenExpired(f"{where}the access token is not taken")
    if status == 429 or (status == 403 and "rate limit" in lowered):
        limited = RateLimited(
            f"{where}the site limits the rate", retry_after_s=reply.retry_after_s, status=status, endpoint=endpoint
        )
        return Refused(limited, reply.retry_after_s)
    if status >= 500:
        trouble = Unavailable(f"{where}the site has trouble (HTTP {status})", status=status, endpoint=endpoint)
        # A challenge page is meant for a person in front of a browser: asking again at once only makes it worse.
        return Refused(trouble, reply.retry_after_s, repeat=not (status == 503 and _is_page(reply, record)))
    if status == 403 and _is_page(reply, record):
        return Refused(
            Unavailable(f"{where}a challenge page came instead of an answer", status=status, endpoint=endpoint)
        )
    return Refused(_verdict(status, lowered, f"{where}HTTP {status}{shown}", endpoint))


def _good(reply: Reply, *, endpoint: str, wants_json: bool) -> Outcome:
    start = reply.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if wants_json and start != b"{":
        return Refused(
            ShapeChanged(f"{endpoint}: the answer is not a JSON object", status=reply.status, endpoint=endpoint)
        )
    return Accepted(reply.body)


def _verdict(status: int, lowered: str, text: str, endpoint: str) -> SourceError:
    if status in (404, 410):
        # A route that is gone must not be mistaken for a work that is gone.
        if "endpoint" in lowered or "end-point" in lowered:
            return ShapeChanged(text, status=status, endpoint=endpoint)
        return NotFound(text, status=status, endpoint=endpoint)
    if status in (403, 451):
        return Forbidden(text, status=status, endpoint=endpoint)
    if status in (408, 425) or status < 400:
        return Unavailable(text, status=status, endpoint=endpoint)
    if status == 400 and "offset" in lowered:
        return BadQuestion(text, status=status, endpoint=endpoint, code=OFFSET_LIMIT)
    return BadQuestion(text, status=status, endpoint=endpoint)


def retry_after_s(header: str | None, now: float) -> float | None:
    """Seconds asked for by a Retry-After header, in either form. None when absent or unreadable.

    `now` (epoch seconds) is what an HTTP date is compared with.
    """
    if header is None:
        return None
    value = header.strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", value, re.ASCII):
        return min(float(value), LONGEST_RETRY_AFTER_S)
    try:
        until = parsedate_to_datetime(value)
        until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
        return min(max((until - datetime.fromtimestamp(now, UTC)).total_seconds(), 0.0), LONGEST_RETRY_AFTER_S)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _object(body: bytes) -> dict[str, object] | None:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _message(record: dict[str, object] | None) -> str:
    """Everything an error body says, in one text: the app API's envelope and the OAuth form."""
    if record is None:
        return ""
    error = record.get("error")
    if not isinstance(error, dict):
        system = fields.mapping(fields.mapping(record.get("errors")).get("system"))
        return " ".join(part for part in (fields.text(system.get("message")), fields.text(error)) if part)
    parts = [fields.text(error.get(key)) for key in ("message", "user_message", "reason")]
    details = fields.mapping(error.get("user_message_details"))
    parts += [f"{key}: {value}" for key, value in details.items()]
    return " ".join(part for part in parts if part)


def _shown(said: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        if secret:
            said = said.replace(secret, "***")
    said = " ".join("".join(char if char.isprintable() else " " for char in said).split())
    return f" ({said[:_SHOWN]})" if said else ""


def _is_page(reply: Reply, record: dict[str, object] | None) -> bool:
    """Whether a web page came where JSON was expected: a challenge, or a server's own error page."""
    if record is not None:
        return False
    return "html" in reply.content_type.lower() or reply.body[:512].lstrip().lower().startswith(
        (b"<!doctype", b"<html")
    )
