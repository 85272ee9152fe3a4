"""Jobs, attempts and events: one owner, one end, one story."""

from __future__ import annotations

import apsw
import pytest
from ledger_desk import Desk, Motions, Now

from pixivflow.domain.cell import CellState
from pixivflow.domain.event import EventKind, event_id
from pixivflow.domain.job import JobState, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, events, jobs, sweep
from pixivflow.ledger.sqlite import SqliteLedger

REF = WorkRef(WorkType.ILLUSTRATION, "11")


async def kinds(ledger: SqliteLedger, job_id: str) -> list[EventKind]:
    page = await ledger.read(lambda tx: events.page(tx, job_id, after=None, from_ack=False))
    return [event.kind for event in page.events]


async def test_a_job_is_granted_at_once_when_its_account_is_free(desk: Desk, motions: Motions) -> None:
    first = await desk.admit()
    second = await desk.admit()
    other = await desk.admit(account="other")
    assert len(motions.dispatched) == 2
    started = [await desk.begin(attempt) for attempt in motions.dispatched]
    assert [s.job_id for s in started if s] == [first, other]
    assert (await desk.job(second)).state is JobState.QUEUED
    assert (await desk.job(first)).lease_until == desk.now() + attempts.LEASE_MS


async def test_an_attempt_starts_once(desk: Desk, motions: Motions) -> None:
    await desk.admit()
    assert await desk.begin(motions.dispatched[0]) is not None
    assert await desk.begin(motions.dispatched[0]) is None


async def test_the_next_job_starts_when_the_work_has_really_stopped(desk: Desk, motions: Motions) -> None:
    first, second = await desk.admit(), await desk.admit()
    await desk.begin(motions.dispatched[0])
    await desk.ledger.write(lambda tx: jobs.apply(tx, first, Signal.CANCEL, reason=Reason.CANCELLED))
    assert motions.forgotten == [motions.dispatched[0]]
    assert len(motions.dispatched) == 1, "the cancelled work still runs, so its place is not free"
    await desk.ledger.write(lambda tx: attempts.end(tx, motions.dispatched[0], "default", places=1))
    started = await desk.begin(motions.dispatched[1])
    assert started is not None
    assert started.job_id == second


async def test_a_cancelled_job_that_never_started_never_starts(desk: Desk, motions: Motions) -> None:
    job_id = await desk.admit()
    await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED))
    assert await desk.begin(motions.dispatched[0]) is None
    assert await kinds(desk.ledger, job_id) == [EventKind.REQUESTED, EventKind.CANCELLED]
    assert (await desk.job(job_id)).started_at is None


async def test_a_second_cancel_changes_nothing(desk: Desk, now: Now) -> None:
    job_id = await desk.admit()
    assert await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED))
    before = await desk.job(job_id)
    now.forward(5)
    assert not await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED))
    assert await desk.job(job_id) == before


async def test_a_lost_attempt_may_not_write_and_its_late_result_is_counted(
    desk: Desk, motions: Motions, now: Now
) -> None:
    job_id = await desk.admit()
    zombie = motions.dispatched[0]
    await desk.begin(zombie)
    now.forward(attempts.LEASE_MS / 1000 + 1)
    swept = await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=10**9, stall_ms=10**9, places=1))
    assert (swept.lost, swept.granted) == (1, 1)
    await desk.begin(motions.dispatched[1], "other")
    hold = cells.Hold(zombie, job_id, "t")
    with pytest.raises(cells.Fenced):
        await desk.ledger.write(lambda tx: cells.lock(tx, hold, REF, "x"))
    assert not await desk.ledger.write(lambda tx: cells.finish(tx, zombie, job_id, []))
    counted = await desk.ledger.read(lambda tx: tx.all("counters_all"))
    assert counted == [{"name": "late_results_dropped", "value": 1}]
    assert await kinds(desk.ledger, job_id) == [EventKind.REQUESTED, EventKind.STARTED]
    assert not await desk.ledger.write(lambda tx: attempts.beat(tx, zombie, "worker", job_id=job_id, moved=True))


async def test_a_resumed_attempt_keeps_the_chosen_work(desk: Desk, motions: Motions) -> None:
    job_id = await desk.admit()
    await desk.begin(motions.dispatched[0])
    hold = cells.Hold(motions.dispatched[0], job_id, "t")
    assert await desk.ledger.write(lambda tx: cells.lock(tx, hold, REF, "title"))
    assert not await desk.ledger.write(lambda tx: cells.lock(tx, hold, REF, "title"))
    await desk.ledger.write(sweep.take_over)
    await desk.ledger.write(lambda tx: sweep.grant_all(tx, places=1))
    job = await desk.job(job_id)
    assert [(pick.ref, pick.state) for pick in job.cells[0].picks] == [(REF, CellState.SELECTED)]
    assert job.attempt == 2
    assert job.state is JobState.RUNNING


async def test_a_job_that_kills_every_attempt_is_given_up(desk: Desk, motions: Motions) -> None:
    job_id = await desk.admit()
    for number in range(attempts.MAX_ATTEMPTS + 1):
        await desk.begin(motions.dispatched[number])
        await desk.ledger.write(sweep.take_over)
        await desk.ledger.write(lambda tx: sweep.grant_all(tx, places=1))
    job = await desk.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, Reason.INTERNAL_ERROR.value)
    assert "attempts" in (job.message or "")


async def test_the_deadline_ends_a_job_wherever_it_is(desk: Desk, motions: Motions, now: Now) -> None:
    running, waiting = await desk.admit(deadline_s=60), await desk.admit(deadline_s=60)
    await desk.begin(motions.dispatched[0])
    now.forward(61)
    swept = await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=10**9, stall_ms=10**9, places=1))
    assert swept.overdue == 2
    for job_id in (running, waiting):
        job = await desk.job(job_id)
        assert (job.state, job.reason) == (JobState.EXPIRED, Reason.EXECUTION_TIMEOUT.value)
        assert job.cells[0].state is CellState.FAILED


async def test_waiting_behind_a_run_of_the_account_is_not_waiting_too_long(
    desk: Desk, motions: Motions, now: Now
) -> None:
    await desk.admit(deadline_s=10**6)
    waiting = await desk.admit(deadline_s=10**6)
    await desk.begin(motions.dispatched[0])
    for _ in range(40):
        now.forward(60)
        first = await desk.job("p@manual-1")
        await desk.ledger.write(
            lambda tx, job=first: attempts.beat(tx, motions.dispatched[0], "worker", job_id=job.id, moved=True)
        )
        await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=1_800_000, stall_ms=900_000, places=1))
    assert (await desk.job(waiting)).state is JobState.QUEUED
    await desk.ledger.write(lambda tx: attempts.end(tx, motions.dispatched[0], "default", places=0))
    now.forward(1801)
    await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=1_800_000, stall_ms=900_000, places=0))
    job = await desk.job(waiting)
    assert (job.state, job.reason) == (JobState.EXPIRED, Reason.QUEUED_TOO_LONG.value)
    assert await kinds(desk.ledger, waiting) == [EventKind.REQUESTED, EventKind.EXPIRED]


async def test_a_live_lease_is_never_swept_and_a_silent_one_is(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await desk.admit(deadline_s=10**6)
    await desk.begin(motions.dispatched[0])
    for _ in range(30):
        now.forward(60)
        await desk.ledger.write(
            lambda tx: attempts.beat(tx, motions.dispatched[0], "worker", job_id=job_id, moved=False)
        )
        await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=10**9, stall_ms=900_000, places=1))
    assert (await desk.job(job_id)).state is JobState.RUNNING
    now.forward(181)
    await desk.ledger.write(lambda tx: sweep.sweep(tx, queued_ms=10**9, stall_ms=900_000, places=1))
    job = await desk.job(job_id)
    assert (job.state, job.reason) == (JobState.EXPIRED, Reason.STALLED.value)


async def test_events_are_read_by_cursor_and_acknowledged_for_good(desk: Desk, motions: Motions) -> None:
    job_id, other = await desk.admit(), await desk.admit(account="b")
    await desk.begin(motions.dispatched[0])
    read = desk.ledger.read
    whole = await read(lambda tx: events.page(tx, job_id, after=None, from_ack=False))
    assert (len(whole.events), whole.more, whole.unacked) == (2, False, 2)
    first, second = (event_id(event.at, event.seq) for event in whole.events)
    rest = await read(lambda tx: events.page(tx, job_id, after=first, from_ack=False))
    assert [event_id(e.at, e.seq) for e in rest.events] == [second]
    assert rest.unacked == 2
    foreign = await read(lambda tx: events.page(tx, other, after=None, from_ack=False))
    alien = event_id(foreign.events[0].at, foreign.events[0].seq)
    for nonsense in ("evt-1-999999", "garbage", alien, "evt-1-1\n", "evt-\u0661-1"):
        page = await read(lambda tx, n=nonsense: events.page(tx, job_id, after=n, from_ack=False))
        assert len(page.events) == 2
        state = await desk.ledger.write(lambda tx, n=nonsense: events.ack(tx, job_id, n))
        assert (state.acked, state.unacked) == (0, 2)
    assert await desk.ledger.write(lambda tx: events.ack(tx, job_id, second)) == events.AckState(2, 0)
    assert await desk.ledger.write(lambda tx: events.ack(tx, job_id, first)) == events.AckState(2, 0)
    unacked = await read(lambda tx: events.page(tx, job_id, after=first, from_ack=True))
    assert (unacked.events, unacked.unacked) == ((), 0)
    again = await read(lambda tx: events.page(tx, job_id, after=None, from_ack=False))
    assert again.events == whole.events
    small = await read(lambda tx: events.page(tx, job_id, after=None, from_ack=False, limit=1))
    assert (len(small.events), small.more) == (1, True)


async def test_event_times_never_go_back_when_the_clock_does(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await desk.admit()
    now.forward(-3600)
    await desk.begin(motions.dispatched[0])
    page = await desk.ledger.read(lambda tx: events.page(tx, job_id, after=None, from_ack=False))
    assert page.events[1].at >= page.events[0].at
    assert page.events[1].seq > page.events[0].seq


async def test_inner_events_are_never_seen_counted_or_acknowledged(desk: Desk, motions: Motions) -> None:
    job_id = await desk.admit()
    await desk.ledger.write(lambda tx: events.append(tx, job_id, EventKind.OUTBOX_RETRY, {"key": "k"}))
    page = await desk.ledger.read(lambda tx: events.page(tx, job_id, after=None, from_ack=False))
    assert ([event.kind for event in page.events], page.unacked) == ([EventKind.REQUESTED], 1)
    inner = event_id(desk.now(), page.events[0].seq + 1)
    assert await desk.ledger.write(lambda tx: events.ack(tx, job_id, inner)) == events.AckState(0, 1)


async def test_the_schema_refuses_a_second_end(desk: Desk) -> None:
    job_id = await desk.admit()
    await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED))
    with pytest.raises(apsw.ConstraintError):
        await desk.ledger.write(lambda tx: events.append(tx, job_id, EventKind.FAILED))


async def test_jobs_are_listed_newest_first_in_pages(desk: Desk) -> None:
    made = [await desk.admit(account=f"a{n}") for n in range(5)]
    page, following = await desk.ledger.read(lambda tx: jobs.listing(tx, limit=3))
    assert [job.id for job in page] == made[:1:-1]
    rest, end = await desk.ledger.read(lambda tx: jobs.listing(tx, before=following, limit=3))
    assert [job.id for job in rest] == [made[1], made[0]]
    assert end is None
    queued, _ = await desk.ledger.read(lambda tx: jobs.listing(tx, state="running"))
    assert queued == ()
