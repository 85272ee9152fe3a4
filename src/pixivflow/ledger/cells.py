"""Cells and picks: what the live attempt of a job may write, and how a cell and its job come to their end.

Every function that takes an attempt id is fenced: an attempt that is no longer the live one of an open job writes
nothing and is told so with `Fenced`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixivflow.domain.cell import CLOSED, CellState, may_become, roll_up
from pixivflow.domain.delivery import DELIVERY_ATTEMPTS
from pixivflow.domain.job import CellRecord, JobRecord, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef
from pixivflow.ledger import attempts, jobs
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.rows import dump, write

_EMPTY_END: Mapping[Reason, CellState] = {
    Reason.NO_CANDIDATE: CellState.NO_CANDIDATE,
    Reason.FILTER_EXHAUSTED: CellState.NO_CANDIDATE,
    Reason.WORK_UNAVAILABLE: CellState.NO_CANDIDATE,
    Reason.DUPLICATE_EXHAUSTED: CellState.DUPLICATE,
}


class Fenced(Exception):
    """The attempt may not write any more."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One work to be sent to one route."""

    route: str
    key: str
    payload: Mapping[str, Any]
    storage: str
    max_attempts: int = DELIVERY_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Hold:
    """What one attempt holds: the fence, the job, and the cell it works on."""

    attempt_id: str
    job_id: str
    target_id: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a pick or cell ends without success."""

    reason: Reason
    message: str | None = None


@dataclass(frozen=True, slots=True)
class CellEnd:
    """How collecting a cell ended. `reason` counts when no pick speaks for the cell."""

    target_id: str
    reason: Reason | None
    message: str | None


def begin(tx: Tx, attempt_id: str, owner: str) -> attempts.Started | None:
    """Start an attempt and say so on its job. A job that keeps killing its process is given up with a reason.

    Only attempts that began and were lost count: one that was handed back at a stop says nothing about its job.
    """
    started = attempts.start(tx, attempt_id, owner)
    if started is None:
        return None
    jobs.apply(tx, started.job_id, Signal.START)
    rows = tx.all("attempts_of_job", {"job_id": started.job_id})
    if sum(row["state"] == "lost" and row["started_at"] is not None for row in rows) >= attempts.MAX_ATTEMPTS:
        jobs.apply(
            tx,
            started.job_id,
            Signal.FAIL,
            reason=Reason.INTERNAL_ERROR,
            message=f"given up after {attempts.MAX_ATTEMPTS} attempts that were cut off",
        )
    return started


def lock(tx: Tx, hold: Hold, ref: WorkRef, title: str) -> bool:
    """Bind a work to a cell. False when the job already has it."""
    _fence(tx, hold.attempt_id)
    changed = tx.run(
        "picks_insert", {**_pick(hold.job_id, ref), "target_id": hold.target_id, "title": title, "now": tx.now}
    )
    if changed:
        _roll(tx, _cell(tx, hold), hold.job_id, collecting=True)
        tx.run("jobs_touch", {"id": hold.job_id, "now": tx.now})
    return bool(changed)


def release(tx: Tx, hold: Hold, ref: WorkRef) -> None:
    """Give a provisional binding back."""
    _fence(tx, hold.attempt_id)
    tx.run("picks_delete_selected", {**_pick(hold.job_id, ref), "target_id": hold.target_id})
    tx.run("jobs_touch", {"id": hold.job_id, "now": tx.now})


def ready(
    tx: Tx, hold: Hold, ref: WorkRef, intents: Sequence[Intent], *, described: Mapping[str, Any] | None = None
) -> None:
    """The work's files are complete: queue its deliveries, or call it stored, in the same commit.

    `described` is what the job's consumer will be told of the work, whatever becomes of its files later.
    """
    _fence(tx, hold.attempt_id)
    if described is not None:
        tx.run("picks_describe", {**_pick(hold.job_id, ref), "described": write(described)})
    for intent in intents:
        row = {
            "key": intent.key,
            "route": intent.route,
            "job_id": hold.job_id,
            "target_id": hold.target_id,
            "work_type": ref.type.value,
            "work_id": ref.id,
            "storage": intent.storage,
            "now": tx.now,
        }
        tx.run("deliveries_insert", row)
        tx.run(
            "outbox_insert",
            {
                "kind": "delivery",
                "key": intent.key,
                "route": intent.route,
                "job_id": hold.job_id,
                "payload": dump(intent.payload),
                "max_attempts": intent.max_attempts,
                "now": tx.now,
            },
        )
    move_pick(tx, hold.job_id, ref, CellState.DELIVERY_PENDING if intents else CellState.STORED)
    tx.run("jobs_touch", {"id": hold.job_id, "now": tx.now})
    if intents:
        tx.signals.outbox(tx)


def failed(tx: Tx, hold: Hold, ref: WorkRef, verdict: Verdict) -> None:
    """The work should be there and is not."""
    _fence(tx, hold.attempt_id)
    move_pick(tx, hold.job_id, ref, CellState.FAILED, verdict)
    tx.run("jobs_touch", {"id": hold.job_id, "now": tx.now})


def report(tx: Tx, hold: Hold, funnel: Mapping[str, Any]) -> None:
    """Store the funnel."""
    _fence(tx, hold.attempt_id)
    tx.run("cells_report", {"job_id": hold.job_id, "target_id": hold.target_id, "report": dump(funnel), "now": tx.now})


def progress(tx: Tx, hold: Hold, stage: str, message: str | None) -> None:
    """Store the stage people see."""
    _fence(tx, hold.attempt_id)
    tx.run("jobs_progress", {"id": hold.job_id, "stage": stage, "message": message, "now": tx.now})


def finish(tx: Tx, attempt_id: str, job_id: str, ends: Sequence[CellEnd]) -> bool:
    """Collecting is over. False (and nothing written but a count) when the attempt has lost its right to say so."""
    if not attempts.may_write(tx, attempt_id):
        attempts.drop_late(tx, job_id, attempt_id)
        return False
    job = jobs.get(tx, job_id)
    if job is None:
        return False
    said = {end.target_id: end for end in ends}
    for cell in job.cells:
        _roll(tx, cell, job_id, collecting=False, end=said.get(cell.target_id))
    tx.run("jobs_handed_over", {"id": job_id, "now": tx.now})
    conclude(tx, job_id)
    return True


def settle_cell(tx: Tx, job_id: str, target_id: str) -> None:
    """A pick of the cell was settled by its deliveries: roll the cell up, and the job with it."""
    job = jobs.get(tx, job_id)
    if job is None or job.terminal:
        return
    collecting = job.phase == "collect"
    _roll(tx, _cell_in(job, target_id), job_id, collecting=collecting)
    tx.run("jobs_touch", {"id": job_id, "now": tx.now})
    if not collecting:
        conclude(tx, job_id)


def conclude(tx: Tx, job_id: str) -> None:
    """End a job whose cells have all ended: one that reached its end is a success, else the first reason speaks."""
    job = jobs.get(tx, job_id)
    if job is None or job.terminal or any(cell.state not in CLOSED for cell in job.cells):
        return
    if any(cell.state in (CellState.SUBMITTED, CellState.STORED) for cell in job.cells):
        jobs.apply(tx, job_id, Signal.SUCCEED)
        return
    first = next((cell for cell in job.cells if cell.reason), None)
    reason = Reason(first.reason) if first and first.reason else Reason.INTERNAL_ERROR
    jobs.apply(tx, job_id, Signal.FAIL, reason=reason, message=first.message if first else None)


def move_pick(tx: Tx, job_id: str, ref: WorkRef, to: CellState, verdict: Verdict | None = None) -> bool:
    """Move a pick if its state allows it; what has ended stays as it ended."""
    row = tx.one("picks_get", _pick(job_id, ref))
    if row is None or not may_become(CellState(row["state"]), to):
        return False
    what = {
        "state": row["state"],
        "to": to.value,
        "reason": verdict.reason.value if verdict else None,
        "message": verdict.message if verdict else None,
        "now": tx.now,
    }
    return bool(tx.run("picks_move", {**_pick(job_id, ref), **what}))


def _roll(tx: Tx, cell: CellRecord, job_id: str, *, collecting: bool, end: CellEnd | None = None) -> None:
    to = roll_up((pick.state for pick in cell.picks), collecting=collecting)
    reason = end.reason if end else None
    message = (end.message if end else None) or cell.message
    if not cell.picks and not collecting:
        reason = reason or Reason.NO_CANDIDATE
        to = _EMPTY_END.get(reason, CellState.FAILED)
    elif to in (CellState.FAILED, CellState.DUPLICATE):
        worst = next((pick for pick in cell.picks if pick.state is to), None)
        reason = (worst.reason if worst else None) or reason
        reason = reason or (Reason.DUPLICATE_EXHAUSTED if to is CellState.DUPLICATE else Reason.INTERNAL_ERROR)
        message = (worst.message if worst else None) or message
    elif to in CLOSED:
        reason = None
    if to is cell.state or not may_become(cell.state, to):
        return
    tx.run(
        "cells_move",
        {
            "job_id": job_id,
            "target_id": cell.target_id,
            "state": cell.state.value,
            "to": to.value,
            "reason": reason.value if reason else None,
            "message": message,
            "now": tx.now,
        },
    )


def _cell(tx: Tx, hold: Hold) -> CellRecord:
    job = jobs.get(tx, hold.job_id)
    if job is None:
        raise Fenced(f"no job {hold.job_id}")
    return _cell_in(job, hold.target_id)


def _cell_in(job: JobRecord, target_id: str) -> CellRecord:
    for cell in job.cells:
        if cell.target_id == target_id:
            return cell
    raise Fenced(f"no cell {target_id} in job {job.id}")


def _fence(tx: Tx, attempt_id: str) -> None:
    if not attempts.may_write(tx, attempt_id):
        raise Fenced(f"attempt {attempt_id} is no longer the live one of an open job")


def _pick(job_id: str, ref: WorkRef) -> dict[str, Any]:
    return {"job_id": job_id, "work_type": ref.type.value, "work_id": ref.id}
