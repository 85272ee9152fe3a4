"""Orders that came to nothing: one message for ever, in the commit of their end (section 14.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ledger_desk import Desk, Motions

from pixivflow.domain.delivery import Answer, AnswerClass, OutboxState
from pixivflow.domain.job import JobState, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, jobs, outbox, sweep
from pixivflow.ledger.outcomes import OUTCOME_KIND
from pixivflow.ledger.ports import Row, Tx

KEY = "3d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b11"
REF = WorkRef(WorkType.ILLUSTRATION, "11")
SNAPSHOT = {"targets": [{"id": "t", "routes": ["main", "second"]}]}


def order(**changes: Any) -> jobs.NewJob:
    given: dict[str, Any] = {
        "id": f"p@manual-{KEY}",
        "type": "candidate_search",
        "plan_id": "p",
        "account": "default",
        "trigger": "manual",
        "cells": [("t", "illustration")],
        "snapshot": SNAPSHOT,
        "key": KEY,
        "deadline_at": None,
    }
    return jobs.NewJob(**{**given, **changes})


async def running(desk: Desk, **changes: Any) -> tuple[str, str]:
    """A job that runs, and its attempt."""
    new = order(**changes)

    def work(tx: Tx) -> list[str]:
        jobs.insert(tx, new)
        return attempts.grant(tx, "default", places=1)

    (attempt,) = await desk.ledger.write(work)
    assert await desk.begin(attempt) is not None
    return new.id, attempt


async def ended(desk: Desk, reason: Reason, message: str | None = None, **changes: Any) -> str:
    """A job whose only cell found nothing for a reason."""
    job_id, attempt = await running(desk, **changes)
    end = cells.CellEnd("t", reason, message)
    assert await desk.ledger.write(lambda tx: cells.finish(tx, attempt, job_id, [end]))
    return job_id


async def rows(desk: Desk, job_id: str) -> list[Row]:
    found = await desk.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id))
    return [row for row in found if row["kind"] == OUTCOME_KIND]


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [
        (Reason.NO_CANDIDATE, "no_alternative"),
        (Reason.FILTER_EXHAUSTED, "no_alternative"),
        (Reason.DUPLICATE_EXHAUSTED, "no_alternative"),
        (Reason.AUTH_FAILED, "failed"),
        (Reason.NETWORK_ERROR, "failed"),
    ],
)
async def test_an_order_without_a_work_is_told_to_its_primary_route(
    desk: Desk, motions: Motions, reason: Reason, disposition: str
) -> None:
    """Case 179. The route is named, never an address, and the notice goes nowhere else."""
    sends = motions.sends
    job_id = await ended(desk, reason, "why")
    (row,) = await rows(desk, job_id)
    assert (row["key"], row["route"]) == (f"refetch-outcome:{job_id}:t", "main")
    assert (row["state"], row["max_attempts"]) == ("pending", 8)
    payload = json.loads(row["payload"])
    assert payload["outcome"] == {
        "request_id": KEY,
        "disposition": disposition,
        "reason_code": reason.value,
        "reason": "why",
    }
    assert motions.sends == sends + 1, "the worker is woken"


async def test_a_late_no_of_the_receiver_is_told_too(desk: Desk) -> None:
    """Case 181. A delivery that is refused for good ends the job, and the consumer hears of it."""
    job_id, attempt = await running(desk)
    hold = cells.Hold(attempt, job_id, "t")
    payload = {"target_id": "t", "work": {"type": "illustration", "id": "11"}}

    def ready(tx: Tx) -> None:
        cells.lock(tx, hold, REF, "a work")
        cells.ready(tx, hold, REF, [cells.Intent("main", "k", payload, "persistent")])
        cells.finish(tx, attempt, job_id, [cells.CellEnd("t", None, None)])

    await desk.ledger.write(ready)
    assert await rows(desk, job_id) == [], "nothing has ended yet"
    (row,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 4))
    no = Answer(AnswerClass.PERMANENT, error_class="remote_4xx", detail="the receiver answered 400", status=400)
    await desk.ledger.write(lambda tx: outbox.settle(tx, row, no, retry_in_ms=0))
    job = await desk.job(job_id)
    assert job.state is JobState.FAILED
    (told,) = await rows(desk, job_id)
    body = json.loads(told["payload"])["outcome"]
    assert (body["disposition"], body["work_id"], body["reason_code"]) == ("failed", "11", job.reason)


async def test_an_order_that_runs_out_of_time_is_told(desk: Desk) -> None:
    job_id, _ = await running(desk, deadline_at=desk.now() + 1000)
    desk.now.forward(2)
    await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=60_000, stall_ms=60_000, places=1))
    (row,) = await rows(desk, job_id)
    body = json.loads(row["payload"])["outcome"]
    assert (body["disposition"], body["reason_code"]) == ("failed", "execution_timeout")


async def test_a_cancel_is_not_told(desk: Desk) -> None:
    """Case 131. Also not when the run that was cancelled ends afterwards."""
    job_id, attempt = await running(desk)
    await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED))
    end = cells.CellEnd("t", Reason.NETWORK_ERROR, None)
    assert not await desk.ledger.write(lambda tx: cells.finish(tx, attempt, job_id, [end]))
    assert await rows(desk, job_id) == []


async def test_a_success_is_not_told(desk: Desk) -> None:
    job_id, attempt = await running(desk)
    hold = cells.Hold(attempt, job_id, "t")

    def store(tx: Tx) -> None:
        cells.lock(tx, hold, REF, "a work")
        cells.ready(tx, hold, REF, [])
        cells.finish(tx, attempt, job_id, [cells.CellEnd("t", None, None)])

    await desk.ledger.write(store)
    assert (await desk.job(job_id)).state is JobState.SUCCEEDED
    assert await rows(desk, job_id) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"trigger": "schedule", "key": None},
        {"trigger": "recovery", "key": None},
        {"trigger": "cli", "key": None},
        {"type": "collection"},
        {"snapshot": {"targets": [{"id": "t", "routes": []}]}},
        {"snapshot": {"targets": "corrupt"}},
        {"snapshot": {}},
    ],
)
async def test_nobody_waits_to_hear_of_other_jobs(desk: Desk, changes: dict[str, Any]) -> None:
    job_id = await ended(desk, Reason.NO_CANDIDATE, **changes)
    assert (await desk.job(job_id)).state is JobState.FAILED
    assert await rows(desk, job_id) == []


async def test_a_dead_message_changes_no_job(desk: Desk) -> None:
    """Case 180."""
    job_id = await ended(desk, Reason.NO_CANDIDATE)
    before = await desk.job(job_id)
    (row,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 4))
    no = Answer(AnswerClass.PERMANENT, error_class="remote_4xx", detail="the receiver answered 404", status=404)
    settled = await desk.ledger.write(lambda tx: outbox.settle(tx, row, no, retry_in_ms=0))
    assert settled.state is OutboxState.DEAD
    assert await desk.job(job_id) == before


async def test_the_message_of_a_job_that_ended_is_sent_although_it_ended(desk: Desk) -> None:
    """An ended job cancels its deliveries, not what is told of its end."""
    job_id, _ = await running(desk, deadline_at=desk.now() + 1000)
    desk.now.forward(2)
    await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=60_000, stall_ms=60_000, places=1))
    (row,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 4))
    assert (row.kind, row.job_id) == (OUTCOME_KIND, job_id)
    assert await desk.ledger.write(lambda tx: outbox.may_send(tx, row))
