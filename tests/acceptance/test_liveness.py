"""Promise: a slow run that moves is never swept, a hung one is, although its process lives.

Time belongs to the test: an hour of leases passes in no time, and exactly when it should.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import scene
from ledger_desk import Desk, Motions, Now
from manual_clock import ManualClock
from place import open_local

from pixivflow.domain.job import JobState
from pixivflow.engine.catalog import Budgets
from pixivflow.engine.heartbeat import BEAT_EVERY_S, Heartbeat, stop
from pixivflow.engine.run import Progress
from pixivflow.engine.sweeper import LEAST_PAUSE_S, Sweeper
from pixivflow.ledger import attempts, jobs
from pixivflow.ledger.attempts import LEASE_MS, Started
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger

STALL_S = 90


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def desk(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Desk]:
    motions = Motions()
    ledger = SqliteLedger(tmp_path / "ledger.db", now_ms=clock.now_ms, signals=motions)
    ledger.open()
    desk = Desk(ledger, Now())
    desk.now = clock.now_ms  # type: ignore[assignment]
    yield desk
    await ledger.aclose()


class Beating:
    """A heartbeat of a started attempt, and what a test asks about it."""

    def __init__(self, desk: Desk, clock: ManualClock, started: Started) -> None:
        self.desk, self.clock, self.started = desk, clock, started
        self.progress = Progress()
        self.lost = asyncio.Event()
        heart = Heartbeat(
            desk.ledger,
            started,
            "worker",
            self.progress,
            clock=clock,
            stall_ms=lambda: STALL_S * 1000,
            lost=self.lost.set,
        )
        self.task = asyncio.ensure_future(heart.beat())

    async def pass_a_beat(self, *, moving: bool) -> None:
        """Let the time of one beat pass, with or without movement of the work."""
        await self.clock.until_asleep(BEAT_EVERY_S)
        if moving:
            self.progress.say("downloading", f"{self.progress.mark} files")
        self.clock.forward(BEAT_EVERY_S)
        ended = asyncio.ensure_future(asyncio.wait({self.task}))
        asleep = asyncio.ensure_future(self.clock.until_asleep(BEAT_EVERY_S))
        await asyncio.wait({ended, asleep}, return_when=asyncio.FIRST_COMPLETED)
        for waiting in (ended, asleep):
            waiting.cancel()

    async def lease_s(self) -> float:
        """Seconds until the lease runs out."""
        rows = await self.desk.ledger.read(lambda tx: tx.all("attempts_live"))
        return float(rows[0]["lease_until"] - self.clock.now_ms()) / 1000


@pytest.fixture
async def beating(desk: Desk, clock: ManualClock) -> AsyncIterator[Beating]:
    job_id = await desk.admit()
    (attempt_id,) = await desk.live()
    started = await desk.begin(attempt_id)
    assert started is not None
    assert started.job_id == job_id
    found = Beating(desk, clock, started)
    yield found
    await stop(found.task)


async def test_a_slow_run_that_moves_keeps_its_lease_for_hours(beating: Beating) -> None:
    for _ in range(240):
        await beating.pass_a_beat(moving=True)
        assert await beating.lease_s() == LEASE_MS / 1000
    job = await beating.desk.job(beating.started.job_id)
    assert (job.state, job.heartbeat_at) == (JobState.RUNNING, beating.clock.now_ms())


async def test_a_run_that_does_not_move_loses_its_lease(beating: Beating) -> None:
    leases = []
    for _ in range(5):
        await beating.pass_a_beat(moving=False)
        leases.append(await beating.lease_s())
    full = LEASE_MS / 1000
    assert leases == [full, full, full - 30, full - 60, full - 90], "renewed until the stall budget, then withheld"
    await beating.pass_a_beat(moving=True)
    assert await beating.lease_s() == full, "a run that moves again lives on"


async def test_a_beat_learns_that_its_job_has_ended(beating: Beating) -> None:
    await beating.desk.ledger.write(lambda tx: attempts.lose(tx, beating.started.attempt_id, beating.started.job_id))
    await beating.pass_a_beat(moving=True)
    assert beating.lost.is_set()


class OneAccount:
    """A catalog with nothing but budgets."""

    account, places, budgets = "default", 1, Budgets(60_000, 60_000, 60_000)

    def plans(self) -> list[object]:
        return []


async def test_a_deadline_that_comes_during_the_shortest_pause_is_kept(desk: Desk, clock: ManualClock) -> None:
    """The call to look again arrives while the sweep rests; it must not be slept through until the next minute."""
    wake = asyncio.Event()
    sweeper = Sweeper(desk.ledger, OneAccount, clock, wake)  # type: ignore[arg-type]
    sweeper.start()
    try:
        await clock.until_asleep(LEAST_PAUSE_S)
        job_id = await desk.admit(deadline_s=1)
        wake.set()  # as the commit of the job does
        clock.forward(LEAST_PAUSE_S)
        await clock.until_asleep(LEAST_PAUSE_S)
        clock.forward(LEAST_PAUSE_S)
        await clock.until_asleep(1 - 2 * LEAST_PAUSE_S)
        clock.forward(1)
        await clock.until_asleep(LEAST_PAUSE_S)
        assert (await desk.job(job_id)).state is JobState.EXPIRED
    finally:
        await sweeper.stop()


async def test_one_bad_round_does_not_end_the_sweep(desk: Desk, clock: ManualClock) -> None:
    asked = 0

    def catalog() -> OneAccount:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise RuntimeError("a bug of ours")
        return OneAccount()

    sweeper = Sweeper(desk.ledger, catalog, clock, asyncio.Event())  # type: ignore[arg-type]
    sweeper.start()
    try:
        await clock.until_asleep(60.0)
        job_id = await desk.admit(deadline_s=1)
        clock.forward(60)
        await clock.until_asleep(LEAST_PAUSE_S)
        assert (await desk.job(job_id)).state is JobState.EXPIRED
    finally:
        await sweeper.stop()


async def test_a_hung_search_is_withheld_and_swept(tmp_path: Path, clock: ManualClock) -> None:
    """The whole chain: the source hangs, the beats stop, the lease runs out, the sweep names it and frees the place."""
    sections = {"schedulerRuntime": {"mode": "external", "watchConfig": False, "stallTimeoutMs": 60_000}}
    async with open_local(tmp_path, ["single"], clock=clock, sections=sections) as place:
        place.sandbox.set_faults([{"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}])
        job_id = await place.client.order(scene.task(place.subjects[0], "hangs for ever"))
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 1)

        async def look() -> jobs.JobRecord:
            def read(tx: Tx) -> jobs.JobRecord | None:
                return jobs.get(tx, job_id)

            found = await place.server.stack.ledger.read(read)
            assert found is not None
            return found

        begun = clock.now_ms()
        beats = set()
        while not (job := await look()).terminal:
            assert clock.now_ms() - begun < 20 * 60_000, "a hung run lives for ever"
            beats.add(job.heartbeat_at)
            clock.forward(5)
            await asyncio.sleep(0.005)  # let everybody who was woken do what they do
        assert (job.state, job.reason) == (JobState.EXPIRED, "stalled_no_heartbeat")
        assert max(beat for beat in beats if beat) - begun <= 95_000, "no beat was given once nothing moved"
        wire = await place.client.job(job_id)
        assert (wire["status"], wire["error"]["code"]) == ("expired", "stalled_no_progress")
