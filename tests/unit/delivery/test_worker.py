"""The worker's loop and one row's way, with routes that do as a test says and a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pixivflow.delivery.errand import Patience
from pixivflow.delivery.intent import JobContext, build_payload
from pixivflow.delivery.memory import LEASE_MS, MemoryOutbox, MemoryRow
from pixivflow.delivery.ports import DeliveryItem, OutboxRow, Route, Sender
from pixivflow.delivery.worker import DeliveryWorker, DrainResult, WorkerSettings
from pixivflow.domain.delivery import Answer, AnswerClass, DeliveryState, OutboxState
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Asset, AssetRole, Work, WorkRef, WorkType

ACCEPTED = Answer(AnswerClass.ACCEPTED, remote_id="r")
LATER = Answer(AnswerClass.RETRYABLE, error_class="remote_5xx")


class StillClock:
    """Time that moves only by `advance`, and sleepers that wake by it."""

    def __init__(self) -> None:
        self.at_ms = 1_000_000
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []
        self.asleep = asyncio.Event()

    def now_ms(self) -> int:
        return self.at_ms

    def now(self) -> float:
        return self.at_ms / 1000

    def monotonic(self) -> float:
        return self.at_ms / 1000

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.at_ms + int(seconds * 1000), future))
        self.asleep.set()
        await future

    def advance(self, ms: int) -> None:
        self.at_ms += ms
        for at, future in self._sleepers:
            if at <= self.at_ms and not future.done():
                future.set_result(None)
        self._sleepers = [entry for entry in self._sleepers if not entry[1].done()]


class QuickClock(StillClock):
    """A clock whose sleepers wake at once."""

    async def sleep(self, seconds: float) -> None:
        self.at_ms += int(seconds * 1000)
        await asyncio.sleep(0)


@dataclass
class ScriptedRoute:
    """Answers from a list, then ACCEPTED; a callable in the list is awaited for the answer."""

    name: str
    answers: list[Any] = field(default_factory=list)
    readiness: list[Any] = field(default_factory=list)
    min_interval_ms: int = 0
    sent: list[DeliveryItem] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)

    async def ready(self) -> str | None:
        why = self.readiness.pop(0) if self.readiness else None
        if callable(why):
            return await why()
        return why

    async def send(self, item: DeliveryItem) -> Answer:
        self.sent.append(item)
        self.began.set()
        answer = self.answers.pop(0) if self.answers else ACCEPTED
        if isinstance(answer, Exception):
            raise answer
        return await answer() if callable(answer) else answer

    async def aclose(self) -> None:
        pass


class FlakyOutbox(MemoryOutbox):
    """Raises as often as told, per call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.failures: dict[str, int] = {}
        self.renewed = asyncio.Event()

    def _fail(self, name: str) -> None:
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            raise OSError("the database is away")

    async def claim(self, limit: int, *, skip_routes: Collection[str] = ()) -> Sequence[OutboxRow]:
        self._fail("claim")
        return await super().claim(limit, skip_routes=skip_routes)

    async def settle(self, row: OutboxRow, answer: Answer) -> None:
        self._fail("settle")
        await super().settle(row, answer)

    async def renew(self, row: OutboxRow) -> bool:
        self.renewed.set()
        self._fail("renew")
        return await super().renew(row)

    async def may_send(self, row: OutboxRow) -> bool:
        self._fail("may_send")
        return await super().may_send(row)


@dataclass
class Scene:
    clock: StillClock
    outbox: FlakyOutbox
    worker: DeliveryWorker
    routes: dict[str, Route]
    wake: asyncio.Event

    def route(self, name: str, *answers: Any, **more: Any) -> ScriptedRoute:
        route = ScriptedRoute(name, list(answers), **more)
        self.routes[name] = route
        return route

    def queue(self, route: str = "main", job: str = "j1", work: str = "1", max_attempts: int = 8) -> MemoryRow:
        payload = build_payload(
            work=Work(WorkRef(WorkType.ILLUSTRATION, work)),
            assets=[Asset(AssetRole.PAGE, 0, f"{work}.jpg", 1, "", "image/jpeg")],
            job=JobContext(job, "cron", "p", 0),
            target=Target("t", WorkType.ILLUSTRATION, Mode.WORK),
            route=route,
        )
        row = self.outbox.add(route, payload, key=payload["key"], job=job, max_attempts=max_attempts)
        self.wake.set()
        return row


Make = Callable[..., Awaitable[Scene]]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    scenes: list[Scene] = []

    async def build(
        *, clock: StillClock | None = None, senders: dict[str, Sender] | None = None, **settings: Any
    ) -> Scene:
        clock = clock or StillClock()
        outbox = FlakyOutbox(clock.now_ms, base_ms=1_000, max_ms=1_000)
        routes: dict[str, Route] = {}
        wake = asyncio.Event()
        worker = DeliveryWorker(
            outbox,
            routes,
            Path("/library"),
            clock=clock,
            random=lambda: 1.0,
            wake=wake,
            settings=WorkerSettings(**{"stop_grace_s": 0.0, **settings}),
            senders=senders,
        )
        scenes.append(Scene(clock, outbox, worker, routes, wake))
        return scenes[-1]

    yield build
    for scene in scenes:
        await scene.worker.stop()


async def test_a_row_committed_while_the_worker_sleeps_is_sent_at_once(make: Make) -> None:
    scene = await make()
    route = scene.route("main")
    await scene.worker.start()
    await scene.worker.start()
    await scene.worker.idle.wait()
    row = scene.queue()
    await route.began.wait()
    assert (await scene.worker.drain()).dead == 0
    assert row.state is OutboxState.DONE
    assert len(route.sent) == 1


async def test_a_row_that_falls_due_is_sent_without_a_signal(make: Make) -> None:
    scene = await make()
    route = scene.route("main", LATER)
    row = scene.queue()
    await scene.worker.start()
    await scene.worker.idle.wait()
    assert row.state is OutboxState.RETRY_WAIT
    scene.clock.asleep.clear()
    await scene.clock.asleep.wait()  # the worker says that it is idle just before it lies down
    scene.worker.idle.clear()
    scene.clock.advance(1_000)
    await scene.worker.idle.wait()
    assert (row.state, len(route.sent)) == (OutboxState.DONE, 2)


async def test_a_slow_receiver_holds_nobody_else_up(make: Make) -> None:
    scene = await make(per_route=2, batch=2)
    let_go = asyncio.Event()

    async def slow() -> Answer:
        await let_go.wait()
        return ACCEPTED

    slow_route = scene.route("slow", *[slow] * 10)
    for number in range(10):
        scene.queue("slow", work=str(number))
    quick = scene.route("quick")
    row = scene.queue("quick")
    await scene.worker.start()
    await quick.began.wait()
    assert len(slow_route.sent) <= 2, "a route with enough sends on the way is left out of a claim"
    let_go.set()
    assert (await scene.worker.drain()).dead == 0
    assert row.state is OutboxState.DONE
    assert len(slow_route.sent) == 10
    assert {held.state for held in scene.outbox.rows} == {OutboxState.DONE}


async def test_a_route_that_raises_costs_a_try_and_never_the_row(make: Make) -> None:
    scene = await make()
    scene.route("main", RuntimeError("token=abc"))
    row = scene.queue()
    assert (await scene.worker.drain()).retried == 1
    assert (row.state, row.answers[0].error_class) == (OutboxState.RETRY_WAIT, "internal_error")
    assert "abc" not in (row.answers[0].detail or "")


@pytest.mark.parametrize("broken", ["payload", "may_send"])
async def test_one_bad_row_does_not_stop_the_others(make: Make, broken: str) -> None:
    scene = await make(batch=1)
    scene.route("main")
    bad, good = scene.queue(work="1"), scene.queue(work="2")
    if broken == "payload":
        bad.payload = {"version": 1, "assets": [{"path": "../../etc/passwd"}]}
    else:
        scene.outbox.failures["may_send"] = 1
    assert (await scene.worker.drain()).done == 1
    assert good.state is OutboxState.DONE
    if broken == "payload":
        assert (bad.state, bad.answers[0].error_class) == (OutboxState.DEAD, "invalid_payload")
    else:
        assert bad.state is OutboxState.PROCESSING
        scene.clock.advance(LEASE_MS)
        assert (await scene.worker.drain()).done == 1


async def test_the_loop_outlives_a_ledger_that_is_away(make: Make) -> None:
    scene = await make()
    route = scene.route("main")
    scene.outbox.failures["claim"] = 1
    scene.queue()
    await scene.worker.start()
    await scene.clock.asleep.wait()
    assert route.sent == []
    scene.clock.advance(10_000)
    await route.began.wait()
    assert len(route.sent) == 1


async def test_a_cancel_after_the_claim_stops_the_send(make: Make) -> None:
    scene = await make()

    async def cancelled_meanwhile() -> None:
        scene.outbox.cancelled.add("j1")

    route = scene.route("main", readiness=[cancelled_meanwhile])
    row = scene.queue(job="j1")
    assert await scene.worker.drain() == DrainResult(processed=1, skipped=1)
    assert (route.sent, row.state) == ([], OutboxState.CANCELLED)


@pytest.mark.parametrize("answer", [ACCEPTED, LATER])
async def test_a_cancel_on_the_wire_lets_the_try_end_and_forbids_another(make: Make, answer: Answer) -> None:
    scene = await make()

    async def on_the_wire() -> Answer:
        scene.outbox.cancelled.add("j1")
        return answer

    route = scene.route("main", on_the_wire)
    row = scene.queue(job="j1")
    await scene.worker.drain()
    scene.clock.advance(10_000)
    await scene.worker.drain()
    assert len(route.sent) == 1
    assert row.settled is not None
    if answer is ACCEPTED:
        assert row.settled.delivery is DeliveryState.DELIVERED
    else:
        assert row.state is OutboxState.CANCELLED


async def test_a_long_upload_keeps_its_lease(make: Make) -> None:
    scene = await make()
    let_go = asyncio.Event()

    async def long() -> Answer:
        await let_go.wait()
        return ACCEPTED

    route = scene.route("main", long)
    row = scene.queue()
    scene.outbox.failures["renew"] = 1
    draining = asyncio.create_task(scene.worker.drain())
    await route.began.wait()
    for _ in range(5):
        scene.outbox.renewed.clear()
        await scene.clock.asleep.wait()
        scene.clock.asleep.clear()
        scene.clock.advance(40_000)
        await scene.outbox.renewed.wait()
    assert await scene.outbox.claim(1) == []
    let_go.set()
    assert (await draining).done == 1
    assert (row.state, row.attempt) == (OutboxState.DONE, 1)


async def test_a_lost_lease_ends_the_send_and_the_other_owner_decides(make: Make) -> None:
    scene = await make()
    cut = asyncio.Event()

    async def long() -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()
        return ACCEPTED

    route = scene.route("main", long)
    row = scene.queue()
    draining = asyncio.create_task(scene.worker.drain())
    await route.began.wait()
    row.token = "another owner"
    await scene.clock.asleep.wait()
    scene.clock.advance(40_000)
    assert (await draining).skipped == 1
    assert cut.is_set()
    assert (row.answers, row.state) == ([], OutboxState.PROCESSING)


async def test_a_row_still_on_the_way_is_not_sent_beside_itself(make: Make) -> None:
    scene = await make()
    let_go = asyncio.Event()

    async def long() -> Answer:
        await let_go.wait()
        return ACCEPTED

    route = scene.route("main", long)
    row = scene.queue()
    draining = asyncio.create_task(scene.worker.drain())
    await route.began.wait()
    row.lease_until = 0
    second = asyncio.create_task(scene.worker.drain())
    let_go.set()
    await asyncio.gather(draining, second)
    assert len(route.sent) == 1
    assert row.deferred == ["an earlier try is still on the way"]


async def test_a_send_over_the_limit_is_cut(make: Make) -> None:
    scene = await make(patience=Patience(send_s=0.05))
    scene.route("main", asyncio.Event().wait)
    row = scene.queue()
    assert (await scene.worker.drain()).retried == 1
    assert row.answers[0].error_class == "network_timeout"


@pytest.mark.parametrize("readiness", ["closed", asyncio.Event().wait, OSError])
async def test_a_receiver_that_is_not_ready_uses_no_try(make: Make, readiness: Any) -> None:
    scene = await make(patience=Patience(ready_s=0.05))

    async def broken() -> str | None:
        raise OSError("secret")

    route = scene.route("main", readiness=[broken if readiness is OSError else readiness])
    row = scene.queue()
    assert (await scene.worker.drain()).deferred == 1
    assert (row.attempt, route.sent, row.state) == (0, [], OutboxState.RETRY_WAIT)
    assert "secret" not in row.deferred[0]
    scene.clock.advance(60_000)
    assert (await scene.worker.drain()).done == 1


async def test_a_least_interval_between_sends_is_kept(make: Make) -> None:
    scene = await make()
    route = scene.route("main", min_interval_ms=5_000)
    rows = [scene.queue(work="1"), scene.queue(work="2")]
    assert await scene.worker.drain() == DrainResult(processed=2, done=1, deferred=1)
    scene.clock.advance(5_000)
    assert (await scene.worker.drain()).done == 1
    assert (len(route.sent), [row.attempt for row in rows]) == (2, [1, 1])


async def test_an_answer_is_recorded_though_the_ledger_stumbles(make: Make) -> None:
    scene = await make(clock=QuickClock())
    route = scene.route("main")
    row = scene.queue()
    scene.outbox.failures["settle"] = 2
    assert (await scene.worker.drain()).done == 1
    assert (row.state, len(route.sent)) == (OutboxState.DONE, 1)


async def test_an_answer_that_cannot_be_recorded_brings_the_row_back_with_its_key(make: Make) -> None:
    scene = await make(clock=QuickClock())
    route = scene.route("main")
    row = scene.queue()
    scene.outbox.failures["settle"] = 3
    assert await scene.worker.drain() == DrainResult(processed=1)
    assert row.state is OutboxState.PROCESSING
    scene.clock.advance(LEASE_MS)
    assert (await scene.worker.drain()).done == 1
    assert [item.key for item in route.sent] == [row.key, row.key]


async def test_a_stop_cuts_off_and_puts_back(make: Make) -> None:
    scene = await make()
    route = scene.route("main", asyncio.Event().wait)
    row = scene.queue()
    await scene.worker.start()
    await route.began.wait()
    await scene.worker.stop()
    await scene.worker.stop()
    assert (row.state, row.attempt) == (OutboxState.RETRY_WAIT, 0)
    await scene.worker.start()
    scene.wake.set()
    assert (await scene.worker.drain()).processed <= 1
    assert row.state is OutboxState.DONE


async def test_a_stop_lets_a_send_finish_within_the_grace(make: Make) -> None:
    scene = await make(stop_grace_s=30.0)
    let_go = asyncio.Event()

    async def nearly_done() -> Answer:
        await let_go.wait()
        return ACCEPTED

    route = scene.route("main", nearly_done)
    row = scene.queue()
    await scene.worker.start()
    await route.began.wait()
    stopping = asyncio.create_task(scene.worker.stop())
    scene.queue(work="late")
    let_go.set()
    await stopping
    assert row.state is OutboxState.DONE
    assert len(route.sent) == 1


async def test_other_kinds_have_their_own_senders(make: Make) -> None:
    @dataclass
    class Callbacks:
        sent: list[int] = field(default_factory=list)

        async def ready(self, row: OutboxRow) -> str | None:
            return None

        async def send(self, row: OutboxRow) -> Answer:
            self.sent.append(row.payload["n"])
            return ACCEPTED

    sender = Callbacks()
    scene = await make(senders={"event_callback": sender})
    scene.outbox.cancelled.add("j1")  # callbacks of a cancelled job are still sent
    scene.outbox.add("http://x", {"n": 1}, key="a", kind="event_callback", job="j1")
    lost = scene.outbox.add("http://x", {}, key="b", kind="telegram")
    assert await scene.worker.drain() == DrainResult(processed=2, done=1, dead=1)
    assert sender.sent == [1]
    assert lost.answers[0].error_class == "configuration_error"


async def test_a_key_is_queued_once(make: Make) -> None:
    scene = await make()
    assert scene.queue() is scene.queue()
    assert len(scene.outbox.rows) == 1
