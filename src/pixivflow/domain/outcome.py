"""The message that an order came to nothing, in the form the protocol's older consumers read (section 14.3).

A work that was found needs no such message: the delivery itself carries the request's id. A cancelled order needs none
either, because whoever cancelled it knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from pixivflow.domain.cell import CellState
from pixivflow.domain.filters import ProtocolReason, protocol_reason
from pixivflow.domain.job import CellRecord, JobRecord, JobState
from pixivflow.domain.template import canonical_uuid

MANUAL: Final = "manual"
"""The trigger of a job that somebody asked for."""

TOLD: Final = frozenset({JobState.FAILED, JobState.EXPIRED})
"""The ends of a job that are told of."""

_MAX_TEXT: Final = 200
_NOTHING: Final = frozenset({CellState.NO_CANDIDATE, CellState.DUPLICATE})
_TEXTS: Final[Mapping[CellState, str]] = {
    CellState.NO_CANDIDATE: "no work that fits was found",
    CellState.DUPLICATE: "only works that were handed on before were found",
    CellState.FAILED: "the request failed",
}


def outcome_key(job_id: str, target_id: str) -> str:
    """The idempotency key of the one message about a target of a job."""
    return f"refetch-outcome:{job_id}:{target_id}"


def outcome_body(job: JobRecord, cell: CellRecord) -> dict[str, Any] | None:
    """The message about a cell of a job that has ended, None when there is nothing to say.

    Every end without a work is final here: a job that has ended is never run again, so each is told. `reason_code` is
    our internal reason, as on the older status route; `reason` is for people. `skipped` counts works by why they were
    not taken, and is left out like `scanned` when nothing was looked at.
    """
    if job.state not in TOLD or cell.state not in _TEXTS:
        return None
    body: dict[str, Any] = {
        "request_id": canonical_uuid(job.key) or job.key or "",
        "disposition": "no_alternative" if cell.state in _NOTHING else "failed",
    }
    reason = cell.reason or job.reason
    if reason:
        body["reason_code"] = reason
    body["reason"] = (cell.message or job.message or _TEXTS[cell.state])[:_MAX_TEXT]
    if cell.picks:
        body["work_id"] = cell.picks[0].ref.id
    if cell.report:
        body["scanned"] = _count(cell.report.get("fetched"))
        body["skipped"] = _skipped(cell.report)
    return body


def _skipped(report: Mapping[str, Any]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    reasons = report.get("reasons")
    for entry in reasons if isinstance(reasons, list) else ():
        if not isinstance(entry, Mapping):
            continue
        kind = protocol_reason(str(entry.get("code")))
        # Three words are all this message has; a work that is unwanted or unreadable is "invalid" in it.
        word = kind if kind in (ProtocolReason.DUPLICATE, ProtocolReason.UNAVAILABLE) else ProtocolReason.INVALID
        counts[word.value] += _count(entry.get("count"))
    return {"total": counts.total(), **{word: counts[word] for word in ("duplicate", "invalid", "unavailable")}}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
