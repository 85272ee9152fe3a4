"""Deliveries: every answer leads to the right end, once, whatever happened meanwhile."""

from __future__ import annotations

import pytest
from ledger_desk import Desk, Motions, Now

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.cell import CellState
from pixivflow.domain.delivery import Answer, AnswerClass, DeliveryState, OutboxState
from pixivflow.domain.job import JobState, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, jobs, outbox
from pixivflow.ledger.ports import Tx

REF = WorkRef(WorkType.ILLUSTRATION, "11")


async def handed_over(
    desk: Desk, motions: Motions, routes: tuple[str, ...] = ("r",), storage: str = "persistent"
) -> str:
    """A job whose one work waits to be delivered."""
    job_id = await desk.admit()
    attempt = motions.dispatched[-1]
    await desk.begin(attempt)
    hold = cells.Hold(attempt, job_id, "t")
    await desk.ledger.write(lambda tx: cells.lock(tx, hold, REF, "title"))

    def close(tx: Tx) -> None:
        payload = {"target_id": "t", "work": {"type": "illustration", "id": "11"}}
        intents = [cells.Intent(route, f"key:{route}:{job_id}", payload, storage, 3) for route in routes]
        cells.ready(tx, hold, REF, intents)
        cells.finish(tx, attempt, job_id, [])
        attempts.end(tx, attempt, "default", places=1)

    await desk.ledger.write(close)
    return job_id


async def claim_one(desk: Desk) -> OutboxRow:
    rows = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    assert len(rows) == 1
    return rows[0]


async def settle(desk: Desk, row: OutboxRow, answer: AnswerClass, detail: str | None = None) -> outbox.Settled:
    return await desk.ledger.write(lambda tx: outbox.settle(tx, row, Answer(answer, detail=detail), retry_in_ms=1000))


@pytest.mark.parametrize(
    ("answer", "state", "delivery", "cell", "reason"),
    [
        (AnswerClass.ACCEPTED, JobState.SUCCEEDED, DeliveryState.DELIVERED, CellState.SUBMITTED, None),
        (AnswerClass.REPLAYED, JobState.SUCCEEDED, DeliveryState.DELIVERED, CellState.SUBMITTED, None),
        (
            AnswerClass.DUPLICATE,
            JobState.FAILED,
            DeliveryState.DUPLICATE,
            CellState.DUPLICATE,
            Reason.DUPLICATE_EXHAUSTED,
        ),
        (AnswerClass.FAILED_INSIDE, JobState.FAILED, DeliveryState.FAILED, CellState.FAILED, Reason.DELIVERY_REJECTED),
        (AnswerClass.PERMANENT, JobState.FAILED, DeliveryState.FAILED, CellState.FAILED, Reason.DELIVERY_REJECTED),
    ],
)
async def test_each_answer_leads_to_its_end(
    desk: Desk,
    motions: Motions,
    answer: AnswerClass,
    state: JobState,
    delivery: DeliveryState,
    cell: CellState,
    reason: Reason | None,
) -> None:
    job_id = await handed_over(desk, motions)
    before = await desk.job(job_id)
    assert (before.state, before.phase, before.lease_until) == (JobState.RUNNING, "deliver", None)
    await settle(desk, await claim_one(desk), answer)
    job = await desk.job(job_id)
    assert (job.state, job.cells[0].state) == (state, cell)
    assert job.reason == (reason.value if reason else None)
    rows = await desk.ledger.read(lambda tx: tx.all("deliveries_of_job", {"job_id": job_id}))
    assert [row["state"] for row in rows] == [delivery.value]


async def test_a_failed_try_waits_and_the_last_one_is_the_end(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await handed_over(desk, motions)
    for number in (1, 2):
        row = await claim_one(desk)
        assert row.attempt == number
        done = await settle(desk, row, AnswerClass.RETRYABLE, "500")
        assert done.state is OutboxState.RETRY_WAIT
        assert await desk.ledger.write(lambda tx: outbox.claim(tx, 10)) == []
        assert (await desk.job(job_id)).state is JobState.RUNNING
        now.forward(1)
    done = await settle(desk, await claim_one(desk), AnswerClass.RETRYABLE, "500 again")
    assert done.state is OutboxState.DEAD
    job = await desk.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, Reason.DELIVERY_FAILED.value)
    assert "500 again" in (job.message or "")


async def test_putting_off_uses_no_try(desk: Desk, motions: Motions, now: Now) -> None:
    await handed_over(desk, motions)
    row = await claim_one(desk)
    await desk.ledger.write(lambda tx: outbox.defer(tx, row, "not ready", 60_000))
    assert await desk.ledger.read(outbox.next_due) == now() + 60_000
    now.forward(60)
    assert (await claim_one(desk)).attempt == 1


async def test_only_the_holder_of_the_token_settles(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await handed_over(desk, motions)
    slow = await claim_one(desk)
    now.forward(outbox.LEASE_MS / 1000 + 1)
    fast = await claim_one(desk)
    assert (await settle(desk, slow, AnswerClass.PERMANENT)).state is None
    assert not await desk.ledger.write(lambda tx: outbox.may_send(tx, slow))
    await settle(desk, fast, AnswerClass.ACCEPTED)
    assert (await desk.job(job_id)).state is JobState.SUCCEEDED


async def test_a_renewed_lease_keeps_the_row(desk: Desk, motions: Motions, now: Now) -> None:
    await handed_over(desk, motions)
    row = await claim_one(desk)
    for _ in range(5):
        now.forward(60)
        assert await desk.ledger.write(lambda tx: outbox.renew(tx, row))
        assert await desk.ledger.write(lambda tx: outbox.claim(tx, 10)) == []


async def test_every_route_must_confirm(desk: Desk, motions: Motions) -> None:
    job_id = await handed_over(desk, motions, ("a", "b"))
    rows = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    assert [row.route for row in rows] == ["a", "b"]
    await settle(desk, rows[0], AnswerClass.ACCEPTED)
    assert (await desk.job(job_id)).state is JobState.RUNNING
    await settle(desk, rows[1], AnswerClass.PERMANENT, "no")
    job = await desk.job(job_id)
    assert (job.state, job.message) == (JobState.FAILED, "route b: no")


async def test_busy_routes_are_left_for_later(desk: Desk, motions: Motions) -> None:
    await handed_over(desk, motions, ("a", "b"))
    rows = await desk.ledger.write(lambda tx: outbox.claim(tx, 10, skip_routes={"a"}))
    assert [row.route for row in rows] == ["b"]
    assert await desk.ledger.read(lambda tx: outbox.next_due(tx, skip_routes={"a"})) == desk.now() + outbox.LEASE_MS


async def cancel(desk: Desk, job_id: str) -> None:
    await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED, message="bye"))


async def test_cancel_stops_what_waits(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await handed_over(desk, motions)
    await settle(desk, await claim_one(desk), AnswerClass.RETRYABLE)
    await cancel(desk, job_id)
    now.forward(3600)
    assert await desk.ledger.write(lambda tx: outbox.claim(tx, 10)) == []
    row = (await desk.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id)))[0]
    assert row["state"] == "cancelled"


async def test_cancel_between_claim_and_send_is_honoured(desk: Desk, motions: Motions) -> None:
    job_id = await handed_over(desk, motions)
    row = await claim_one(desk)
    await cancel(desk, job_id)
    assert not await desk.ledger.write(lambda tx: outbox.may_send(tx, row))
    stored = (await desk.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id)))[0]
    assert (stored["state"], stored["token"]) == ("cancelled", None)


@pytest.mark.parametrize(
    ("answer", "row_state", "delivery"),
    [(AnswerClass.ACCEPTED, "done", "delivered"), (AnswerClass.RETRYABLE, "dead", "dead")],
)
async def test_an_answer_after_the_cancel_changes_no_ended_job(
    desk: Desk, motions: Motions, now: Now, answer: AnswerClass, row_state: str, delivery: str
) -> None:
    job_id = await handed_over(desk, motions)
    row = await claim_one(desk)
    assert await desk.ledger.write(lambda tx: outbox.may_send(tx, row))
    await cancel(desk, job_id)
    ended = await desk.job(job_id)
    now.forward(1)
    await settle(desk, row, answer)
    assert await desk.job(job_id) == ended
    stored = (await desk.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id)))[0]
    assert stored["state"] == row_state
    rows = await desk.ledger.read(lambda tx: tx.all("deliveries_of_job", {"job_id": job_id}))
    assert [r["state"] for r in rows] == [delivery]


async def test_an_operator_can_give_up_and_try_again(desk: Desk, motions: Motions) -> None:
    job_id = await handed_over(desk, motions)
    row = await claim_one(desk)
    await settle(desk, row, AnswerClass.PERMANENT)
    assert (await desk.job(job_id)).state is JobState.FAILED
    assert await desk.ledger.write(lambda tx: outbox.replay(tx, row.id))
    again = await claim_one(desk)
    assert (again.key, again.attempt) == (row.key, 1)
    await settle(desk, again, AnswerClass.ACCEPTED)
    rows = await desk.ledger.read(lambda tx: tx.all("deliveries_of_job", {"job_id": job_id}))
    assert rows[0]["state"] == "delivered"
    assert (await desk.job(job_id)).state is JobState.FAILED, "a job that has ended stays as it ended"
    assert not await desk.ledger.write(lambda tx: outbox.replay(tx, row.id))


async def test_giving_a_waiting_row_up_ends_its_job_with_the_reason(desk: Desk, motions: Motions) -> None:
    job_id = await handed_over(desk, motions)
    rows = await desk.ledger.read(outbox.listing)
    assert await desk.ledger.write(lambda tx: outbox.cancel(tx, rows[0]["id"]))
    job = await desk.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, Reason.DELIVERY_ABANDONED.value)
    assert not await desk.ledger.write(lambda tx: outbox.cancel(tx, rows[0]["id"]))


async def test_a_new_start_takes_rows_in_hand_over_at_once(desk: Desk, motions: Motions) -> None:
    await handed_over(desk, motions)
    first = await claim_one(desk)
    assert await desk.ledger.write(outbox.release_all) == 1
    second = await claim_one(desk)
    assert second.key == first.key
    assert second.token != first.token
