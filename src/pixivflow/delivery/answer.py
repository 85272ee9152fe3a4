"""What a receiver's answer means. Pure: status, headers and the bounded body come in, an Answer goes out.

How an answer is read (the first line that fits wins):

* 429 is "later" with the pause it names; 408, 425 and 5xx are "later"; 409 means the receiver has it already; any other
  4xx is a no; a redirect is a wrong address, because following it would send the files to somebody not configured.
* 2xx says the request was read, not that the record is good. The record is looked for at `data_path`, else at the top:
  a failure word ends the delivery, whatever the status code says; a record found by our own key is our own earlier try;
  one found by anything else is somebody else's.
* 2xx with an empty body, a JSON value without a record, or a short plain word of consent is a yes.
* 2xx with anything else (an HTML page of a proxy or a login, a cut or oversized document) is "later": it never books a
  success nobody confirmed, and since every try carries the same key a receiver that did store it shows it once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from pixivflow.domain.backoff import RETRY_AFTER_MAX_MS
from pixivflow.domain.delivery import DETAIL_LIMIT, Answer, AnswerClass

BODY_LIMIT = 65_536

FAILURE_WORDS = frozenset({"failed", "failure", "rejected", "invalid", "expired", "blocked", "error"})
DUPLICATE_WORDS = frozenset({"duplicate", "duplicate_existing", "already_exists"})
REPLAY_WORDS = frozenset({"replayed", "idempotent_replay"})
CONSENT_WORDS = frozenset({"ok", "okay", "accepted", "success", "created", "queued", "received", "sent", "published"})

_PAUSES = {
    408: ("network_timeout", "the receiver gave up waiting (408)"),
    425: ("dependency_not_ready", "the receiver says too early (425)"),
    429: ("rate_limited", "the receiver asks for a pause (429)"),
}


@dataclass(frozen=True, slots=True)
class AckPaths:
    """Where the receiver's JSON holds its answer. The names are configuration (`ack`)."""

    data_path: str = "data"
    id_field: str = "review_id"
    status_field: str = "status"
    reused_field: str = "reused"
    reason_field: str = "reuse_reason"
    key_field: str = "matched_idempotency_key"


def read_answer(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    ack: AckPaths,
    keys: Collection[str],
    now_ms: int,
    cut: bool = False,
) -> Answer:
    """Class, record id and detail of a whole answer.

    `headers` is a case-insensitive mapping. `body` holds at most `BODY_LIMIT` bytes; `cut` says that there was more.
    `keys` are the idempotency keys this delivery has sent. `now_ms` is for a Retry-After that names a date.
    """
    document = _UNREADABLE if cut else _parse(body)
    if 200 <= status < 300:
        return _inside_success(status, body, document, ack, keys)
    if status == 409:
        return _conflict(document, ack, keys)
    if status in _PAUSES or status >= 500:
        error_class, detail = _PAUSES.get(status, ("remote_5xx", f"the receiver answered {status}{_said(document)}"))
        return _later(status, error_class, detail, retry_after_ms(headers.get("Retry-After"), now_ms))
    if 400 <= status < 500:
        return _no(status, "remote_4xx", f"the receiver answered {status}{_said(document)}")
    if 300 <= status < 400:
        return _no(status, "configuration_error", f"the receiver redirects ({status}); redirects are not followed")
    return _later(status, "internal_error", f"the receiver answered with status {status}", None)


def retry_after_ms(text: str | None, now_ms: int) -> int | None:
    """The pause a Retry-After header asks for (seconds or an HTTP date), bounded; None when there is none to read."""
    if text is None:
        return None
    plain = text.strip()
    if plain.isascii() and plain.isdigit():
        return min(int(plain[:9]) * 1000, RETRY_AFTER_MAX_MS)
    try:
        date = parsedate_to_datetime(plain[:64])
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        wait = int(date.timestamp() * 1000) - now_ms
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return min(max(wait, 0), RETRY_AFTER_MAX_MS)


def one_line(text: str, limit: int = DETAIL_LIMIT) -> str:
    """Text of a stranger as one short printable line: no controls, no line breaks, nothing that turns the direction."""
    shown = "".join(char if char.isprintable() else " " for char in text[: limit * 4])
    return " ".join(shown.split())[:limit]


class _Unreadable:
    """Stands for a body that is not JSON."""


_UNREADABLE = _Unreadable()


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _inside_success(status: int, body: bytes, document: Any, ack: AckPaths, keys: Collection[str]) -> Answer:
    if len(body) < BODY_LIMIT and not body.strip():
        return Answer(AnswerClass.ACCEPTED, status=status)
    if isinstance(document, _Unreadable):
        if _word(body.decode("utf-8", "replace").strip().rstrip(".!")) in CONSENT_WORDS:
            return Answer(AnswerClass.ACCEPTED, status=status)
        return _later(status, "internal_error", f"the receiver answered {status} with a body that cannot be read", None)
    if isinstance(document, str):
        document = {ack.status_field: document}
    if not isinstance(document, dict):
        if document is False:
            return _failed(status, None, "false", document)
        return Answer(AnswerClass.ACCEPTED, status=status)
    return _record(status, document, ack, keys)


def _record(status: int, document: dict[str, Any], ack: AckPaths, keys: Collection[str]) -> Answer:
    record = _find(document, ack.data_path)
    outer = _word(document.get(ack.status_field)) if record is not document else ""
    word = _word(record.get(ack.status_field)) or outer
    remote_id = _text(record.get(ack.id_field)) or _text(record.get("message_id"))
    reused = record.get(ack.reused_field) in (True, 1, "true", "1")
    known = reused or word in DUPLICATE_WORDS or word in REPLAY_WORDS
    matched = _text(record.get(ack.key_field))
    ours = matched in keys if matched else word in REPLAY_WORDS or "idempot" in _word(record.get(ack.reason_field))
    if known and not ours and outer not in FAILURE_WORDS:
        # The status of a record that is not ours tells how somebody else's submission fared, nothing about this one.
        return _duplicate(status, remote_id, record, ack)
    if word in FAILURE_WORDS or outer in FAILURE_WORDS:
        return _failed(status, remote_id, word if word in FAILURE_WORDS else outer, document)
    if False in (document.get("ok"), document.get("success")):
        return _failed(status, remote_id, "not ok", document)
    return Answer(AnswerClass.REPLAYED if known else AnswerClass.ACCEPTED, remote_id=remote_id, status=status)


def _conflict(document: Any, ack: AckPaths, keys: Collection[str]) -> Answer:
    if not isinstance(document, dict):
        return _duplicate(409, None, {}, ack)
    record = _find(document, ack.data_path)
    remote_id = _text(record.get(ack.id_field)) or _text(record.get("message_id"))
    matched = _text(record.get(ack.key_field))
    word = _word(record.get(ack.status_field))
    if (matched and matched in keys) or (not matched and word in REPLAY_WORDS):
        if word in FAILURE_WORDS:
            return _failed(409, remote_id, word, document)
        return Answer(AnswerClass.REPLAYED, remote_id=remote_id, status=409)
    return _duplicate(409, remote_id, record, ack)


def _find(document: dict[str, Any], path: str) -> dict[str, Any]:
    """The record at the dotted path; the document itself where there is none (receivers without an envelope)."""
    here: Any = document
    for step in path.split(".") if path else ():
        here = here.get(step) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else document


def _duplicate(status: int, remote_id: str | None, record: Mapping[str, Any], ack: AckPaths) -> Answer:
    reason = _text(record.get(ack.reason_field))
    detail = one_line("the receiver already has this work" + (f": {reason}" if reason else ""))
    return Answer(AnswerClass.DUPLICATE, remote_id=remote_id, error_class="duplicate", detail=detail, status=status)


def _failed(status: int, remote_id: str | None, word: str, document: Any) -> Answer:
    detail = one_line(f"the receiver took the request ({status}) but says {word!r}{_said(document)}")
    return Answer(
        AnswerClass.FAILED_INSIDE, remote_id=remote_id, error_class="remote_rejected", detail=detail, status=status
    )


def _later(status: int, error_class: str, detail: str, wait: int | None) -> Answer:
    detail = one_line(detail)
    return Answer(AnswerClass.RETRYABLE, error_class=error_class, detail=detail, retry_after_ms=wait, status=status)


def _no(status: int, error_class: str, detail: str) -> Answer:
    return Answer(AnswerClass.PERMANENT, error_class=error_class, detail=one_line(detail), status=status)


def _said(document: Any) -> str:
    """What a JSON error says for people, in the places where such texts usually stand."""
    if not isinstance(document, dict):
        return ""
    error = document.get("error")
    places = [error] if not isinstance(error, dict) else [error.get("message"), error.get("code")]
    for found in (*places, *(document.get(name) for name in ("message", "detail", "title", "description", "reason"))):
        if isinstance(found, str) and found.strip():
            return f": {found}"
    return ""


def _word(value: Any) -> str:
    return value.strip().casefold()[:64] if isinstance(value, str) else ""


def _text(value: Any) -> str | None:
    """An id or key from outside as text: a plain string or whole number, bounded; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    try:
        return one_line(str(value), 300) or None
    except ValueError:  # a number with more digits than Python turns into text
        return None
