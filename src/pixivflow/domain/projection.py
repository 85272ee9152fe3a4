"""How a stored job and its events look on the wire (Workflow Protocol v1, sections 5, 6 and 8).

Pure: the same record and clock give the same bytes. A finished job no longer depends on the clock, so it reads the same
for ever, however often it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from pixivflow.domain.cell import CLOSED, CellState
from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventRecord, event_id
from pixivflow.domain.filters import protocol_reason
from pixivflow.domain.job import JobRecord, JobState
from pixivflow.domain.reason import RETRYABLE, Code, code_of
from pixivflow.domain.result import ReasonNames, is_count, project_result, scanned, work_url
from pixivflow.domain.task import PROTOCOL_VERSION

__all__ = ["job_path", "project_error", "project_event", "project_job", "work_url"]

_UNNAMED: Final = "other"
_DELIVERING: Final = frozenset({CellState.ARTIFACT_READY, CellState.DELIVERY_PENDING})


@lru_cache(maxsize=4096)
def job_path(job_id: str) -> str:
    """The address of a job relative to the server. Any character of an id survives in it."""
    return f"/jobs/{quote(job_id, safe='')}"


def project_job(record: JobRecord, now_ms: int, reason_names: ReasonNames = protocol_reason) -> dict[str, Any]:
    """The Job object.

    Args:
        record: the job with its cells.
        now_ms: epoch milliseconds; only a live lease is judged by it.
        reason_names: turns a stored reject code into one of the wire's `filtered` reasons.
    """
    updated_at = _updated_at(record)
    leased = record.lease_until is not None and not record.terminal
    job: dict[str, Any] = {
        "protocol_version": PROTOCOL_VERSION,
        "job_id": record.id,
        "job_type": record.type,
        "status": record.state.value,
        "created_at": record.created_at,
        "updated_at": updated_at,
        "started_at": record.started_at,
        "heartbeat_at": record.heartbeat_at,
        "deadline_at": record.deadline_at,
        "lease_active": leased and record.lease_until is not None and record.lease_until > now_ms,
        "lease_expires_at": record.lease_until if leased else None,
        "attempt": record.attempt,
        "progress": _progress(record, updated_at),
    }
    if record.key:
        job["idempotency_key"] = record.key
    if record.correlation_id:
        job["correlation_id"] = record.correlation_id
    if record.labels:
        job["labels"] = dict(record.labels)
    job["events_url"] = f"{job_path(record.id)}/events"
    if record.state is JobState.SUCCEEDED:
        job["result"] = project_result(record, reason_names)
    elif record.terminal:
        job["error"] = project_error(record, reason_names)
    return job


def project_error(record: JobRecord, reason_names: ReasonNames = protocol_reason) -> dict[str, Any]:
    """Why a job ended without success. A job without a stored reason is an internal error, never one without an error.

    When nothing was found the detail says what was looked at: `scanned` and how many works each reason took away.
    """
    reason, message = _why(record)
    code = code_of(reason)
    error: dict[str, Any] = {"code": code.value}
    if message:
        error["message"] = message
    error["retryable"] = RETRYABLE[code]
    detail: dict[str, Any] = {"internal_code": reason} if reason else {}
    if code is Code.NO_CANDIDATE and any(cell.report for cell in record.cells):
        detail["scanned"] = scanned(record.cells, 0)
        detail["filtered"] = _filtered_counts(record, reason_names)
    if detail:
        error["detail"] = detail
    return error


def project_event(event: EventRecord, job: JobRecord, now_ms: int) -> dict[str, Any] | None:
    """The Event object, or None for what is not part of the public stream.

    Only terminal events carry the job: it no longer changes then, so a page read twice is the same page. What the job
    looked like when it was accepted or started is not stored, and a guess would change from one read to the next.
    """
    kind = WIRE_TYPE.get(event.kind)
    if kind is None:
        return None
    out: dict[str, Any] = {
        "protocol_version": PROTOCOL_VERSION,
        "event_id": event_id(event.at, event.seq),
        "job_id": event.job_id,
    }
    if job.correlation_id:
        out["correlation_id"] = job.correlation_id
    out["type"] = kind
    out["at"] = event.at
    payload: dict[str, Any] = {}
    if event.kind in TERMINAL_KINDS:
        snapshot = project_job(job, now_ms)
        payload["job"] = snapshot
        payload.update({name: snapshot[name] for name in ("result", "error") if name in snapshot})
    payload["detail"] = {"internal_kind": event.kind.value}
    out["payload"] = payload
    return out


def _updated_at(record: JobRecord) -> int:
    # A late write (a callback's answer, a file tidied away) must not move the time of a job that has ended.
    if record.terminal and record.finished_at is not None:
        return record.finished_at
    return record.updated_at


def _progress(record: JobRecord, updated_at: int) -> dict[str, Any]:
    progress: dict[str, Any] = {"stage": _stage(record), "at": updated_at}
    if record.stage_message and not record.terminal:
        progress["message"] = record.stage_message
    return progress


def _stage(record: JobRecord) -> str:
    if record.state is JobState.SUCCEEDED:
        return "done"
    if record.state is not JobState.RUNNING:
        return record.state.value
    open_cells = [cell.state for cell in record.cells if cell.state not in CLOSED]
    if open_cells and all(state in _DELIVERING for state in open_cells):
        return "delivering"
    return record.stage if record.stage and record.stage != "queued" else "searching"


def _filtered_counts(record: JobRecord, reason_names: ReasonNames) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for cell in record.cells:
        for entry in cell.report.get("reasons") or ():
            if isinstance(entry, Mapping) and is_count(entry.get("count")):
                counts[str(reason_names(str(entry.get("code", _UNNAMED))))] += entry["count"]
    return dict(sorted(counts.items()))


def _why(record: JobRecord) -> tuple[str | None, str | None]:
    if record.reason:
        return record.reason, record.message
    for cell in record.cells:
        if cell.reason:
            return cell.reason, record.message or cell.message
    return None, record.message
