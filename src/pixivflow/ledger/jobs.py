"""Jobs: admission, and the one place where a job changes its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixivflow.domain.event import EventKind
from pixivflow.domain.job import TERMINAL, JobRecord, JobState, Signal, Stay, decide
from pixivflow.domain.reason import Reason
from pixivflow.ledger import attempts, callbacks, events, outcomes
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.rows import dump, load, read_job

_STAGE_AT_START = "searching"
_GOOD = (JobState.SUCCEEDED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class NewJob:
    """What admission stores in one commit.

    Attributes:
        cells: (target id, work type) in order.
        snapshot: the targets and the retrieval as frozen for this job (JSON-able).
    """

    id: str
    type: str
    plan_id: str
    account: str
    trigger: str
    cells: Sequence[tuple[str, str]]
    snapshot: Mapping[str, Any]
    key: str | None = None
    correlation_id: str | None = None
    callback_url: str | None = None
    labels: Mapping[str, str] | None = None
    params: str | None = None
    deadline_at: int | None = None


def insert(tx: Tx, job: NewJob) -> JobRecord:
    """Store a job with its cells, its first event and the intent to tell of it. Granting is a step of its own."""
    tx.run(
        "jobs_insert",
        {
            "id": job.id,
            "type": job.type,
            "plan_id": job.plan_id,
            "account": job.account,
            "trigger_source": job.trigger,
            "idempotency_key": job.key,
            "correlation_id": job.correlation_id,
            "callback_url": job.callback_url,
            "labels": dump(job.labels),
            "params": job.params,
            "snapshot": dump(job.snapshot),
            "deadline_at": job.deadline_at,
            "now": tx.now,
        },
    )
    for ordinal, (target_id, work_type) in enumerate(job.cells):
        tx.run(
            "cells_insert",
            {"job_id": job.id, "target_id": target_id, "ordinal": ordinal, "work_type": work_type, "now": tx.now},
        )
    events.append(tx, job.id, EventKind.REQUESTED)
    tx.signals.moved(tx, job.id)
    record = read_job(tx, tx.all("jobs_get", {"id": job.id})[0])
    callbacks.intend(tx, record, EventKind.REQUESTED)
    return record


def get(tx: Tx, job_id: str) -> JobRecord | None:
    """A job by id."""
    row = tx.one("jobs_get", {"id": job_id})
    return read_job(tx, row) if row else None


def find(tx: Tx, key: str) -> JobRecord | None:
    """A job by idempotency key."""
    row = tx.one("jobs_get_by_key", {"key": key})
    return get(tx, row["id"]) if row else None


def snapshot(tx: Tx, job_id: str) -> Mapping[str, Any]:
    """What a job was admitted with."""
    row = tx.one("jobs_get", {"id": job_id})
    value = load(row["snapshot"]) if row else {}
    return value if isinstance(value, dict) else {}


def listing(
    tx: Tx,
    *,
    state: str | None = None,
    job_type: str | None = None,
    correlation_id: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> tuple[tuple[JobRecord, ...], int | None]:
    """Jobs newest first, and the sequence number to continue below (None on the last page)."""
    asked = {"before": before, "limit": limit + 1}
    if correlation_id is not None:
        rows = tx.all(
            "jobs_list_by_correlation", {**asked, "correlation_id": correlation_id, "state": state, "type": job_type}
        )
    elif state is not None and job_type is not None:
        rows = tx.all("jobs_list_by_type_and_state", {**asked, "state": state, "type": job_type})
    elif state is not None:
        rows = tx.all("jobs_list_by_state", {**asked, "state": state})
    elif job_type is not None:
        rows = tx.all("jobs_list_by_type", {**asked, "type": job_type})
    else:
        rows = tx.all("jobs_list", asked)
    jobs = tuple(read_job(tx, row) for row in rows[:limit])
    return jobs, (jobs[-1].seq if len(rows) > limit else None)


def apply(tx: Tx, job_id: str, signal: Signal, *, reason: Reason | None = None, message: str | None = None) -> bool:
    """Move a job, with everything that must be true in the same commit. False when the signal comes too late.

    Ending a job closes what is still open in it with the same reason, cancels what waits to be sent, records the one
    terminal event, and stops the attempt that works for it; the attempt's place is freed when the work has stopped.
    What a job with a callback address has become is queued for that address, and an order that came to nothing is told
    to the consumer of its route.
    """
    row = tx.one("jobs_state", {"id": job_id})
    if row is None:
        return False
    state = JobState(row["state"])
    decision = decide(state, signal)
    if isinstance(decision, Stay):
        return False
    if decision.emits is None:
        return True
    ends = decision.to in TERMINAL
    if ends and decision.to is not JobState.SUCCEEDED:
        _close_open(tx, job_id, reason or Reason.INTERNAL_ERROR, message)
    tx.run(
        "jobs_move",
        {
            "id": job_id,
            "state": state.value,
            "to": decision.to.value,
            "phase": "done" if ends else row["phase"],
            "stage": _stage(decision.to),
            "reason": None
            if decision.to in (JobState.SUCCEEDED, JobState.RUNNING)
            else (reason or Reason.INTERNAL_ERROR),
            "message": message if ends else None,
            "now": tx.now,
        },
    )
    events.append(tx, job_id, decision.emits)
    # The row at hand says whether anybody waits to be told: for most jobs nobody does, and nothing more is asked.
    heard = outcomes.heard_of(decision.to, job_type=row["type"], trigger=row["trigger_source"])
    moved = get(tx, job_id) if heard or row["callback_url"] is not None else None
    if moved is not None:
        callbacks.intend(tx, moved, decision.emits)
        if heard:
            outcomes.intend(tx, moved, snapshot(tx, job_id))
    if ends:
        attempts.stop_of_job(tx, job_id)
    tx.signals.moved(tx, job_id)
    return True


def _stage(state: JobState) -> str:
    if state is JobState.SUCCEEDED:
        return "done"
    return _STAGE_AT_START if state is JobState.RUNNING else state.value


def _close_open(tx: Tx, job_id: str, reason: Reason, message: str | None) -> None:
    what = {"job_id": job_id, "reason": reason.value, "message": message, "now": tx.now}
    tx.run("picks_close_open", what)
    tx.run("cells_close_open", what)
    detail = {"job_id": job_id, "detail": message or f"job ended: {reason.value}", "now": tx.now}
    tx.run("outbox_cancel_job", detail)
    tx.run("deliveries_cancel_job", detail)
