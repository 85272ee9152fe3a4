"""The delivery worker: claims due rows and carries them, a few at once, until it is told to stop.

A slow receiver holds only its own rows up: a route with enough sends on the way is left out of the next claim. One bad
row, one failing claim or one lost connection to the ledger never ends the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from pixivflow.delivery.errand import Outcome, Patience, RowRunner
from pixivflow.delivery.ports import Outbox, OutboxRow, Route, Sender
from pixivflow.engine.clock import Clock

_log = structlog.get_logger(__name__)

_CANCEL_S = 2.0
_PAUSE_LEAST_S = 0.05


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much at once, and how long.

    Attributes:
        batch: rows of one claim.
        per_route: a route with this many sends on the way is left out of a claim. One claim may exceed it by a batch.
        in_flight_max: sends on the way over all routes.
        poll_s: the longest sleep; wakes and due times come earlier.
        stop_grace_s: how long a stop waits for sends on the way before it cuts them off.
        patience: times of one row.
    """

    batch: int = 4
    per_route: int = 2
    in_flight_max: int = 32
    poll_s: float = 10.0
    stop_grace_s: float = 10.0
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class DrainResult:
    """What a drain came to, in rows. `deferred` and `skipped` used no try."""

    processed: int = 0
    done: int = 0
    retried: int = 0
    dead: int = 0
    deferred: int = 0
    skipped: int = 0


class DeliveryWorker:
    """Sends what the outbox holds. `idle` is set while nothing is on the way and nothing is due."""

    def __init__(
        self,
        outbox: Outbox,
        routes: Mapping[str, Route],
        library_root: Path,
        *,
        clock: Clock,
        random: Callable[[], float],
        wake: asyncio.Event,
        settings: WorkerSettings | None = None,
        senders: Mapping[str, Sender] | None = None,
    ) -> None:
        """Take the parts. `wake` is set by whoever committed a row; `senders` carry rows of kinds but `delivery`."""
        self.idle = asyncio.Event()
        self._settings = settings or WorkerSettings()
        self._outbox = outbox
        self._clock = clock
        self._random = random
        self._wake = wake
        self._runner = RowRunner(
            outbox, routes, senders or {}, library_root, clock=clock, random=random, patience=self._settings.patience
        )
        self._on_the_way: dict[int, tuple[OutboxRow, asyncio.Task[None]]] = {}
        self._filling = asyncio.Lock()
        self._tallies: set[_Tally] = set()
        self._loop_task: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Begin to work; returns when the loop runs. A second call changes nothing."""
        if self._loop_task is None:
            self._stopping = False
            self._loop_task = asyncio.create_task(self._loop(), name="delivery-worker")

    async def stop(self) -> None:
        """Claim no more, let sends on the way finish within the grace, then cut them off and put them back.

        Idempotent and bounded. What is cut off is sent again later with the same key.
        """
        self._stopping = True
        self._wake.set()
        loop, self._loop_task = self._loop_task, None
        if loop is not None:
            await _finish({loop}, self._settings.stop_grace_s)
        await _finish({task for _, task in self._on_the_way.values()}, self._settings.stop_grace_s)

    async def drain(self) -> DrainResult:
        """Carry every row that is due now, also without `start`; returns when none is due and none is on the way."""
        tally = _Tally()
        self._tallies.add(tally)
        try:
            while not self._stopping:
                claimed = await self._fill()
                running = [task for _, task in self._on_the_way.values()]
                if running:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                elif not claimed:
                    break
        finally:
            self._tallies.discard(tally)
        return tally.result()

    async def _loop(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                if await self._fill():
                    continue
                await self._rest()
            except Exception as error:  # noqa: BLE001 - the ledger may be away for a while; the loop must outlive that
                _log.error("delivery.loop_failed", error=type(error).__name__)
                await self._sleep(self._settings.poll_s)

    async def _fill(self) -> int:
        """Claim once and send what was claimed on its way; the number of rows claimed."""
        async with self._filling:
            room = self._settings.in_flight_max - len(self._on_the_way)
            if self._stopping or room <= 0:
                return 0
            rows = await self._outbox.claim(min(self._settings.batch, room), skip_routes=self._busy())
            for row in rows:
                self.idle.clear()
                if row.id in self._on_the_way:
                    # Its lease ran out under us. Two sends at once help nobody; the fence drops the older one's answer.
                    await self._outbox.defer(row, "an earlier try is still on the way", 5_000)
                    continue
                task = asyncio.create_task(self._carry(row), name=f"delivery-row-{row.id}")
                self._on_the_way[row.id] = (row, task)
            return len(rows)

    async def _carry(self, row: OutboxRow) -> None:
        outcome = Outcome.UNSETTLED
        try:
            outcome = await self._runner.run(row)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await self._runner.give_back(row)
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the others; its lease brings it back
            _log.error("delivery.row_failed", row=row.id, route=row.place, error=type(error).__name__)
        finally:
            self._on_the_way.pop(row.id, None)
            for tally in self._tallies:
                tally.count(outcome)
            self._wake.set()

    async def _rest(self) -> None:
        """Sleep until something is due, something finished, or somebody wakes us."""
        busy = self._busy()
        full = len(self._on_the_way) >= self._settings.in_flight_max
        due = None if full else await self._outbox.next_due_ms(skip_routes=busy)
        now = self._clock.now_ms()
        if not self._on_the_way and (due is None or due > now):
            self.idle.set()
        pause = self._settings.poll_s * (0.9 + 0.1 * self._random())
        if due is not None:
            pause = min(pause, max((due - now) / 1000, _PAUSE_LEAST_S))
        await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        woken = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({timer, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            woken.cancel()
            await asyncio.gather(timer, woken, return_exceptions=True)

    def _busy(self) -> frozenset[str]:
        sends = Counter(row.route for row, _ in self._on_the_way.values())
        return frozenset(route for route, count in sends.items() if count >= self._settings.per_route)


class _Tally:
    def __init__(self) -> None:
        self._counts: Counter[Outcome] = Counter()

    def count(self, outcome: Outcome) -> None:
        self._counts[outcome] += 1

    def result(self) -> DrainResult:
        return DrainResult(
            processed=self._counts.total(),
            done=self._counts[Outcome.DONE],
            retried=self._counts[Outcome.RETRIED],
            dead=self._counts[Outcome.DEAD],
            deferred=self._counts[Outcome.DEFERRED],
            skipped=self._counts[Outcome.SKIPPED],
        )


async def _finish(tasks: set[asyncio.Task[None]], grace_s: float) -> None:
    """Wait for tasks, then cancel what is left and wait a little more; never longer than the two together."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace_s)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=_CANCEL_S)
