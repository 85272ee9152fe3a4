"""Every two ends of one job against each other: there is one terminal state, one event, and the legal winner.

The ends are: the last delivery is confirmed (complete) or refused (fail), a request cancels, the sweep finds the job
stalled or its deadline passed, the process stops and hands its work back (shutdown), or dies and another takes its
jobs over (takeover). Each ordered pair is played
in both moments of a job's life in which the two can meet, twice: queued to the writer in that order while it is held
at a barrier (so that both land in one group commit), and from threads of their own that are let go at once, where
either may come first.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from judge_record import read_record
from ledger_desk import Desk, Motions, Now

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.delivery import Answer, AnswerClass
from pixivflow.domain.event import EventKind
from pixivflow.domain.job import JobState, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, events, jobs, outbox, sweep
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger

QUEUED_MS, STALL_MS = 1_800_000, 900_000
REF = WorkRef(WorkType.ILLUSTRATION, "77")
MOMENTS = ("collecting", "delivering")
ENDS = ("complete", "fail", "cancel", "stalled", "deadline", "shutdown", "takeover")
PAIRS = list(itertools.product(ENDS, ENDS))
GOES_ON = ("shutdown", "takeover")
ROUNDS_AT_ONCE = 2
OUTCOME = {
    "complete": (JobState.SUCCEEDED, None),
    "fail": (JobState.FAILED, None),
    "cancel": (JobState.CANCELLED, Reason.CANCELLED),
    "stalled": (JobState.EXPIRED, Reason.STALLED),
    "deadline": (JobState.EXPIRED, Reason.EXECUTION_TIMEOUT),
}
Outcomes = set[tuple[JobState, Reason | None] | None]
TERMINAL_KIND = {
    JobState.SUCCEEDED: EventKind.SUCCEEDED,
    JobState.FAILED: EventKind.FAILED,
    JobState.CANCELLED: EventKind.CANCELLED,
    JobState.EXPIRED: EventKind.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A job at the moment where two ends meet. `row` is its delivery in hand, when it has come that far."""

    ledger: SqliteLedger
    now: Now
    job_id: str
    attempt_id: str
    moment: str
    row: OutboxRow | None

    def end(self, name: str) -> Callable[[Tx], Any]:
        """The transaction the program makes for this end."""
        return {
            "complete": self._complete,
            "fail": self._fail,
            "cancel": self._cancel,
            "stalled": self._sweep,
            "deadline": self._sweep,
            "shutdown": self._hand_back,
            "takeover": sweep.take_over,
        }[name]

    def _complete(self, tx: Tx) -> None:
        if self.row is not None:
            outbox.settle(tx, self.row, Answer(AnswerClass.ACCEPTED, remote_id="r-1"), retry_in_ms=1000)
            return
        hold = cells.Hold(self.attempt_id, self.job_id, "t")
        cells.ready(tx, hold, REF, [])
        self._stopped(tx, cells.CellEnd("t", None, None))

    def _fail(self, tx: Tx) -> None:
        if self.row is not None:
            outbox.settle(tx, self.row, Answer(AnswerClass.PERMANENT, detail="no"), retry_in_ms=1000)
            return
        hold = cells.Hold(self.attempt_id, self.job_id, "t")
        cells.failed(tx, hold, REF, cells.Verdict(Reason.DOWNLOAD_FAILED, "cut off"))
        self._stopped(tx, cells.CellEnd("t", Reason.DOWNLOAD_FAILED, "cut off"))

    def _stopped(self, tx: Tx, end: cells.CellEnd) -> None:
        cells.finish(tx, self.attempt_id, self.job_id, [end])
        attempts.end(tx, self.attempt_id, "default", places=1)

    def _cancel(self, tx: Tx) -> None:
        jobs.apply(tx, self.job_id, Signal.CANCEL, reason=Reason.CANCELLED, message="cancelled on request")
        attempts.grant(tx, "default", places=1)

    def _hand_back(self, tx: Tx) -> None:
        attempts.end(tx, self.attempt_id, "default", places=0)

    def _sweep(self, tx: Tx) -> None:
        sweep.sweep(tx, queued_ms=QUEUED_MS, stall_ms=STALL_MS, places=1)


def _possible(first: str, second: str, moment: str) -> bool:
    """While a delivery is under way no attempt is live that a stop could hand back, and none is missed by a sweep."""
    return moment == "collecting" or not {"stalled", "shutdown"} & {first, second}


CASES = [(a, b, moment) for moment in MOMENTS for a, b in PAIRS if _possible(a, b, moment)]


@asynccontextmanager
async def _stage(folder: Path, pair: tuple[str, str], moment: str) -> AsyncIterator[Stage]:
    """A running job with one work in hand, and the budgets run out that the pair is about."""
    now = Now()
    ledger = SqliteLedger(folder / "ledger.db", purpose="a test", now_ms=now, signals=Motions())
    ledger.open()
    try:
        deadline_s = 2000 if "deadline" in pair else 90_000
        job_id = await Desk(ledger, now).admit(deadline_s=deadline_s)
        (attempt_id,) = await Desk(ledger, now).live()
        await Desk(ledger, now).begin(attempt_id)
        hold = cells.Hold(attempt_id, job_id, "t")
        await ledger.write(lambda tx: cells.lock(tx, hold, REF, "a title"))
        row = None
        if moment == "delivering":
            payload = {"target_id": "t", "work": {"type": REF.type.value, "id": REF.id}}
            intent = cells.Intent("main", f"main:{job_id}:{REF.id}", payload, "persistent")
            await ledger.write(lambda tx: cells.ready(tx, hold, REF, [intent]))
            await ledger.write(lambda tx: cells.finish(tx, attempt_id, job_id, []))
            await ledger.write(lambda tx: attempts.end(tx, attempt_id, "default", places=1))
            (row,) = await ledger.write(lambda tx: outbox.claim(tx, 10))
        if "deadline" in pair:
            now.forward(2001)
        if "stalled" in pair:
            # Its worker is silent: the lease runs out with the stall budget.
            now.forward(STALL_MS / 1000 + 1)
        yield Stage(ledger, now, job_id, attempt_id, moment, row)
    finally:
        await ledger.aclose()


async def _in_this_order(stage: Stage, pair: tuple[str, str]) -> list[Any]:
    """Hold the writer until both wait for it: it takes them in the order in which they were queued."""
    gate = threading.Event()
    held = asyncio.ensure_future(stage.ledger.write(lambda _: gate.wait(30)))
    await asyncio.sleep(0)
    queued = []
    for name in pair:
        queued.append(asyncio.ensure_future(stage.ledger.write(stage.end(name))))
        await asyncio.sleep(0)
    gate.set()
    await held
    return await asyncio.gather(*queued, return_exceptions=True)


def _at_once(stage: Stage, pair: tuple[str, str]) -> list[Any]:
    """Two threads with loops of their own let go together; the writer takes whichever it finds."""
    barrier = threading.Barrier(len(pair))
    said: list[Any] = [None, None]

    def one(number: int) -> None:
        async def write() -> None:
            barrier.wait(30)
            await stage.ledger.write(stage.end(pair[number]))

        try:
            asyncio.run(write())
        except Exception as error:  # noqa: BLE001 - looked at by the caller
            said[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(pair))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return said


def _legal(name: str, pair: tuple[str, str]) -> Outcomes:
    """What `name` may end the job with when it comes first; None when it leaves the job open.

    A sweep looks for every budget at once, the deadline first: what ran out beside the one the pair names counts too.
    A process that stops or dies ends nothing: its jobs go on.
    """
    if name in GOES_ON:
        return {None}
    if name in ("stalled", "deadline"):
        found = "deadline" if "deadline" in pair else "stalled"
        return {OUTCOME[found]}
    return {OUTCOME[name]}


def _expected(order: tuple[str, str], moment: str) -> Outcomes:
    """The first that ends the job wins. What ends nothing still fences what the owner wanted to say."""
    first, second = order
    if first not in GOES_ON:
        return _legal(first, order)
    if second in ("complete", "fail"):
        # The row or the attempt of the process that is gone is no longer its own.
        return {None}
    return _legal(second, order)


async def _check(stage: Stage, expected: Outcomes) -> None:
    # A row that was in hand when its process died waits for the next look, which sends nothing for an ended job.
    claimed = await stage.ledger.write(lambda tx: outbox.claim(tx, 10))
    record = read_record(stage.ledger.path)
    job = record.job(stage.job_id)
    assert job is not None
    state = JobState(job["state"])
    ends = [event for event in record.events if event["terminal"]]
    (cell,), (pick,) = record.cells, record.picks
    waiting = [row["state"] for row in record.outbox if row["state"] in ("pending", "retry_wait")]
    if state is JobState.RUNNING:
        assert None in expected
        assert ends == []
        assert job["phase"] == ("collect" if stage.moment == "collecting" else "deliver")
        # It is visibly still to be done: an attempt will be granted, or its delivery waits to be sent.
        assert len(claimed) == (0 if stage.moment == "collecting" else 1)
        assert cell["state"] in ("selected", "pending", "delivery_pending")
        return
    outcome = {(state, None), (state, Reason(job["reason"]) if job["reason"] else None)}
    assert outcome & {one for one in expected if one is not None}, (job["state"], job["reason"], expected)
    assert [event["kind"] for event in ends] == [TERMINAL_KIND[state].value]
    assert ends[0]["at"] == job["finished_at"]
    visible = [event["kind"] for event in record.events if event["visible"]]
    assert visible == [EventKind.REQUESTED.value, EventKind.STARTED.value, TERMINAL_KIND[state].value]
    assert (claimed, waiting) == ([], []), "nothing is to be sent for a job that has ended"
    if state is JobState.SUCCEEDED:
        assert (cell["state"], pick["state"]) in (("submitted", "submitted"), ("stored", "stored"))
    else:
        assert (cell["state"], cell["reason"]) == ("failed", job["reason"])
        assert (pick["state"], pick["reason"]) == ("failed", job["reason"])


async def _what_is_still_said_changes_nothing(stage: Stage, pair: tuple[str, str]) -> None:
    """Every end once more: a job that has ended stays as it is, to the letter."""
    before = read_record(stage.ledger.path)
    job = before.job(stage.job_id)
    assert job is not None
    if job["finished_at"] is None:
        return
    stage.now.forward(100_000)
    for name in (*pair, *ENDS):
        await asyncio.gather(stage.ledger.write(stage.end(name)), return_exceptions=True)
        assert await stage.ledger.write(lambda tx: outbox.claim(tx, 10)) == []
    after = read_record(stage.ledger.path)
    assert after.job(stage.job_id) == job
    assert (after.cells, after.picks) == (before.cells, before.picks)
    assert [e for e in after.events if e["visible"]] == [e for e in before.events if e["visible"]]
    assert [row for row in after.attempts if row["live"]] == []
    assert {row["state"] for row in after.outbox} <= {"done", "dead", "cancelled"}
    assert {row["state"] for row in after.deliveries} <= {"delivered", "failed", "dead", "cancelled"}


def _only_fenced(said: list[Any]) -> None:
    assert [one for one in said if isinstance(one, BaseException) and not isinstance(one, cells.Fenced)] == []


@pytest.mark.parametrize(("first", "second", "moment"), CASES)
async def test_in_this_order(tmp_path: Path, first: str, second: str, moment: str) -> None:
    pair = (first, second)
    async with _stage(tmp_path, pair, moment) as stage:
        _only_fenced(await _in_this_order(stage, pair))
        await _check(stage, _expected(pair, moment))
        page = await stage.ledger.read(lambda tx: events.page(tx, stage.job_id, after=None, from_ack=False))
        assert not page.more
        await _what_is_still_said_changes_nothing(stage, pair)


@pytest.mark.parametrize(
    ("first", "second", "moment"), [(a, b, moment) for a, b, moment in CASES if ENDS.index(a) < ENDS.index(b)]
)
async def test_at_once(tmp_path: Path, scale: int, first: str, second: str, moment: str) -> None:
    pair = (first, second)
    for number in range(ROUNDS_AT_ONCE * scale):
        async with _stage(tmp_path / str(number), pair, moment) as stage:
            _only_fenced(await asyncio.to_thread(_at_once, stage, pair))
            expected = _expected(pair, moment) | _expected((second, first), moment)
            await _check(stage, expected)
            await _what_is_still_said_changes_nothing(stage, pair)
