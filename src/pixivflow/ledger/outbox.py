"""The transactional outbox: intents are written with the change that causes them, and settled with what they caused.

A row is claimed under a token and a lease of 120 s. Only the holder of the token may settle it, so a worker that was
paused while another took over changes nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.cell import CellState
from pixivflow.domain.delivery import (
    Answer,
    AnswerClass,
    DeliveryState,
    OutboxState,
    failure_reason,
    settlement,
)
from pixivflow.domain.event import EventKind
from pixivflow.domain.job import JobState
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import cells, events
from pixivflow.ledger.ports import Row, Tx
from pixivflow.ledger.rows import load

LEASE_MS = 120_000


@dataclass(frozen=True, slots=True)
class Settled:
    """What settling a row did. `delay_ms` is set when the row waits for another try."""

    state: OutboxState | None
    job_id: str | None


def claim(tx: Tx, limit: int, *, skip_routes: Collection[str] = ()) -> list[OutboxRow]:
    """Claim due rows. A row whose job was ended from outside is closed instead."""
    claimed = []
    for due in tx.all("outbox_due", {"now": tx.now, "limit": limit, "skip": json.dumps(sorted(skip_routes))}):
        row = tx.one(
            "outbox_claim",
            {"id": due["id"], "now": tx.now, "lease_until": tx.now + LEASE_MS, "token": uuid.uuid4().hex},
        )
        if row is None:
            continue
        taken = _row(row)
        if may_send(tx, taken):
            claimed.append(taken)
    return claimed


def may_send(tx: Tx, row: OutboxRow) -> bool:
    """The last look before bytes leave: the token still holds the row, and nobody has ended the job from outside."""
    now = tx.one("outbox_get", {"id": row.id})
    if now is None or now["token"] != row.token:
        return False
    if row.kind != "delivery" or row.job_id is None:
        return True
    job = tx.one("jobs_state", {"id": row.job_id})
    if job is None or JobState(job["state"]) not in (JobState.CANCELLED, JobState.EXPIRED):
        return True
    _close(tx, row, OutboxState.CANCELLED, Answer(AnswerClass.PERMANENT, detail="work cancelled before it was sent"))
    tx.run("deliveries_move", _delivery(row, tx.now, DeliveryState.CANCELLED, None))
    events.append(tx, row.job_id, EventKind.OUTBOX_CANCELLED, {"key": row.key})
    return False


def settle(tx: Tx, row: OutboxRow, answer: Answer, *, retry_in_ms: int) -> Settled:
    """Record an answer and all that follows from it. A row that is no longer held by this token is left alone."""
    held = tx.one("outbox_get", {"id": row.id})
    if held is None or held["token"] != row.token:
        tx.run("counters_add", {"name": "late_answers_dropped", "by": 1})
        return Settled(None, row.job_id)
    # A try that failed is repeated only for a job that nobody has ended; else this was the last one.
    tries = row.max_attempts if _job_wants(tx, row) else row.attempt
    means = settlement(answer, attempt=row.attempt, max_attempts=tries)
    if means.outbox is OutboxState.RETRY_WAIT:
        tx.run("outbox_retry", {**_closing(row, answer), "due_at": tx.now + retry_in_ms, "now": tx.now})
        tx.signals.outbox(tx)
    else:
        _close(tx, row, means.outbox, answer)
    _tell(tx, row, means.event, answer)
    if row.kind == "delivery" and means.pick is not None:
        tx.run("deliveries_move", _delivery(row, tx.now, means.delivery, answer))
        _settle_pick(tx, row)
    return Settled(means.outbox, row.job_id)


def defer(tx: Tx, row: OutboxRow, why: str, delay_ms: int) -> None:
    """Put a row back without using a try."""
    tx.run(
        "outbox_defer", {"id": row.id, "token": row.token, "detail": why, "due_at": tx.now + delay_ms, "now": tx.now}
    )


def renew(tx: Tx, row: OutboxRow) -> bool:
    """Keep a row while a long upload runs."""
    lease = {"id": row.id, "token": row.token, "lease_until": tx.now + LEASE_MS, "now": tx.now}
    return bool(tx.run("outbox_renew", lease))


def next_due(tx: Tx, *, skip_routes: Collection[str] = ()) -> int | None:
    """Epoch ms of the earliest row that waits or whose lease ends."""
    row = tx.one("outbox_next_due", {"skip": json.dumps(sorted(skip_routes))})
    return row["at"] if row else None


def release_all(tx: Tx) -> int:
    """Every earlier owner is dead: their rows are due at once."""
    return tx.run("outbox_release_all", {"now": tx.now})


def cancel(tx: Tx, row_id: int) -> bool:
    """An operator gives a row up; its pick fails with the reason."""
    row = tx.one("outbox_get", {"id": row_id})
    if row is None or not tx.run("outbox_cancel_row", {"id": row_id, "detail": "cancelled by operator", "now": tx.now}):
        return False
    taken = _row(row)
    answer = Answer(AnswerClass.PERMANENT, detail="cancelled by operator")
    tx.run("deliveries_move", _delivery(taken, tx.now, DeliveryState.CANCELLED, answer))
    _tell(tx, taken, EventKind.OUTBOX_CANCELLED, answer)
    if row["kind"] == "delivery":
        _settle_pick(tx, taken)
    return True


def replay(tx: Tx, row_id: int) -> bool:
    """An operator wants a dead or waiting row tried at once, with a fresh set of tries. The key stays the same."""
    row = tx.one("outbox_get", {"id": row_id})
    if row is None or not tx.run("outbox_replay", {"id": row_id, "now": tx.now}):
        return False
    taken = _row(row)
    if row["kind"] == "delivery":
        tx.run("deliveries_move", _delivery(taken, tx.now, DeliveryState.PENDING, None))
    _tell(tx, taken, EventKind.OUTBOX_REPLAY, Answer(AnswerClass.RETRYABLE))
    tx.signals.outbox(tx)
    return True


def listing(tx: Tx, *, state: str | None = None, job_id: str | None = None, limit: int = 100) -> list[Row]:
    """Rows for people, newest first."""
    asked = {"job_id": job_id, "limit": limit}
    return tx.all("outbox_list_by_state", {**asked, "state": state}) if state else tx.all("outbox_list", asked)


_BAD = frozenset({DeliveryState.FAILED, DeliveryState.DEAD, DeliveryState.CANCELLED})


def _job_wants(tx: Tx, row: OutboxRow) -> bool:
    """A failed try is repeated only for a job that has not ended."""
    if row.job_id is None or row.kind != "delivery":
        return True
    job = tx.one("jobs_state", {"id": row.job_id})
    # A replay by an operator goes on for jobs that failed; one that was cancelled or expired stays so.
    return job is not None and JobState(job["state"]) not in (JobState.CANCELLED, JobState.EXPIRED)


def _settle_pick(tx: Tx, row: OutboxRow) -> None:
    """When every route of a pick has its answer, the pick has ended."""
    target_id, ref = _subject(row)
    found = tx.all("deliveries_of_pick", {**_pick(row, ref), "target_id": target_id})
    states = [DeliveryState(delivery["state"]) for delivery in found]
    if not states or DeliveryState.PENDING in states:
        return
    to, verdict = _verdict(found, states)
    if row.job_id is not None and cells.move_pick(tx, row.job_id, ref, to, verdict):
        cells.settle_cell(tx, row.job_id, target_id)


def _verdict(found: list[Row], states: list[DeliveryState]) -> tuple[CellState, cells.Verdict | None]:
    bad = next((row for row, state in zip(found, states, strict=True) if state in _BAD), None)
    if bad is not None:
        reason = failure_reason(DeliveryState(bad["state"]), bad["error_class"])
        return CellState.FAILED, cells.Verdict(reason, f"route {bad['route']}: {bad['detail'] or bad['state']}")
    if all(state is DeliveryState.DUPLICATE for state in states):
        return CellState.DUPLICATE, cells.Verdict(Reason.DUPLICATE_EXHAUSTED, "the receiver already had this work")
    return CellState.SUBMITTED, None


def _row(row: Row) -> OutboxRow:
    return OutboxRow(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        route=row["route"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        payload=load(row["payload"]) or {},
        token=row["token"] or "",
        job_id=row["job_id"],
    )


def _subject(row: OutboxRow) -> tuple[str, WorkRef]:
    work = row.payload.get("work", {})
    return str(row.payload.get("target_id", "")), WorkRef(WorkType(str(work.get("type"))), str(work.get("id")))


def _pick(row: OutboxRow, ref: WorkRef) -> dict[str, Any]:
    return {"job_id": row.job_id, "work_type": ref.type.value, "work_id": ref.id}


def _closing(row: OutboxRow, answer: Answer) -> dict[str, Any]:
    return {"id": row.id, "token": row.token, "error_class": answer.error_class, "detail": answer.detail}


def _close(tx: Tx, row: OutboxRow, state: OutboxState, answer: Answer) -> None:
    tx.run("outbox_close", {**_closing(row, answer), "to": state.value, "now": tx.now})


def _delivery(row: OutboxRow, now: int, state: DeliveryState, answer: Answer | None) -> dict[str, Any]:
    return {
        "key": row.key,
        "to": state.value,
        "remote_id": answer.remote_id if answer else None,
        "error_class": answer.error_class if answer else None,
        "detail": answer.detail if answer else None,
        "now": now,
    }


def _tell(tx: Tx, row: OutboxRow, kind: EventKind, answer: Answer) -> None:
    if row.job_id is not None:
        detail = {"key": row.key, "route": row.place, "attempt": row.attempt, "error_class": answer.error_class}
        events.append(tx, row.job_id, kind, {k: v for k, v in detail.items() if v is not None})
