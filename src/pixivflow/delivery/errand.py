"""One claimed row, from its payload to a settled answer. Whatever happens in between, the row is never lost.

A row ends here in one of these ways: settled with an answer; put back without using a try; closed by the outbox because
its owner was cancelled; or left alone, when the lease or the ledger is lost, so that the lease's end brings it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import structlog

from pixivflow.delivery.intent import InvalidPayload, read_payload
from pixivflow.delivery.ports import Outbox, OutboxRow, Route, Sender
from pixivflow.domain.delivery import Answer, AnswerClass, OutboxState, settlement
from pixivflow.engine.clock import Clock

_log = structlog.get_logger(__name__)

_SETTLE_TRIES = 3


class Outcome(StrEnum):
    """What became of a row."""

    DONE = "done"
    RETRIED = "retried"
    DEAD = "dead"
    DEFERRED = "deferred"
    SKIPPED = "skipped"  # cancelled before it was sent, or the lease was lost
    UNSETTLED = "unsettled"  # the answer could not be recorded; the same key is sent again when the lease ends


@dataclass(frozen=True, slots=True)
class Patience:
    """Times of one row, in seconds unless named otherwise.

    Attributes:
        send_s: for a whole send; a route's own limit should be below it.
        ready_s: for the question whether the receiver is ready.
        renew_s: how often the lease (120 s) is extended during a send.
        not_ready_ms: how long a row waits for a receiver that is not ready.
    """

    send_s: float = 330.0
    ready_s: float = 5.0
    renew_s: float = 40.0
    not_ready_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class _Errand:
    ready: Callable[[], Awaitable[str | None]]
    send: Callable[[], Awaitable[Answer]]
    min_interval_ms: int = 0


class RowRunner:
    """Carries single rows. Safe to call for several rows at once."""

    def __init__(
        self,
        outbox: Outbox,
        routes: Mapping[str, Route],
        senders: Mapping[str, Sender],
        library_root: Path,
        *,
        clock: Clock,
        random: Callable[[], float],
        patience: Patience,
    ) -> None:
        self._outbox = outbox
        self._routes = routes
        self._senders = senders
        self._library_root = library_root
        self._clock = clock
        self._random = random
        self._patience = patience
        self._next_start_ms: dict[str, int] = {}

    async def run(self, row: OutboxRow) -> Outcome:
        """Carry one row to its end. Raises only what the ledger raises."""
        errand = await self._errand(row)
        if isinstance(errand, Answer):
            return await self._settle(row, errand)
        why = await self._not_ready(row, errand)
        if why is not None:
            await self._outbox.defer(row, why, self._jittered(self._patience.not_ready_ms))
            _log.info("delivery.deferred", row=row.id, route=row.place, why=why)
            return Outcome.DEFERRED
        pause_ms = self._reserve(row.route, errand.min_interval_ms)
        if pause_ms > 0:
            await self._outbox.defer(row, "the route's least interval between sends", pause_ms)
            return Outcome.DEFERRED
        if not await self._outbox.may_send(row):
            _log.info("delivery.skipped", row=row.id, route=row.place, job_id=row.job_id)
            return Outcome.SKIPPED
        answer = await self._send(row, errand)
        if answer is None:
            _log.warning("delivery.lease_lost", row=row.id, route=row.place)
            return Outcome.SKIPPED
        return await self._settle(row, answer)

    async def give_back(self, row: OutboxRow) -> None:
        """Put a row back that was cut off by a stop, so that the next start need not wait for the lease."""
        await self._outbox.defer(row, "the program stopped", 0)

    async def _errand(self, row: OutboxRow) -> _Errand | Answer:
        if row.kind != "delivery":
            sender = self._senders.get(row.kind)
            if sender is None:
                return _permanent("configuration_error", f"nothing here sends rows of the kind {row.kind[:40]!r}")
            return _Errand(partial(sender.ready, row), partial(sender.send, row))
        route = self._routes.get(row.route)
        if route is None:
            return _permanent("configuration_error", f"there is no route {row.route[:80]!r} in the configuration")
        try:
            # In a thread: resolving paths may wait for a network file system.
            item = await asyncio.to_thread(read_payload, row.payload, self._library_root, row.route, key=row.key)
        except InvalidPayload as error:
            return _permanent("invalid_payload", str(error))
        return _Errand(route.ready, partial(route.send, item), route.min_interval_ms)

    async def _not_ready(self, row: OutboxRow, errand: _Errand) -> str | None:
        try:
            async with asyncio.timeout(self._patience.ready_s):
                return await errand.ready()
        except TimeoutError:
            return "the receiver did not say in time whether it is ready"
        except Exception as error:  # noqa: BLE001 - a route's mistake must cost a delay, not the row
            _log.error("delivery.ready_raised", row=row.id, route=row.place, error=type(error).__name__)
            return "whether the receiver is ready could not be found out"

    async def _send(self, row: OutboxRow, errand: _Errand) -> Answer | None:
        """Send under one total limit while the lease is kept. None when the lease is lost."""
        sending = asyncio.ensure_future(errand.send())
        keeping = asyncio.ensure_future(self._keep_lease(row))
        try:
            await asyncio.wait({sending, keeping}, timeout=self._patience.send_s, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                return sending.result()
            if keeping.done():
                return None
            return _later("network_timeout", "the receiver did not answer in time")
        except Exception as error:  # noqa: BLE001 - a route that breaks its promise must not lose the row
            _log.error("delivery.send_raised", row=row.id, route=row.place, error=type(error).__name__)
            return _later("internal_error", f"the route failed unexpectedly ({type(error).__name__})")
        finally:
            sending.cancel()
            keeping.cancel()
            await asyncio.gather(sending, keeping, return_exceptions=True)

    async def _keep_lease(self, row: OutboxRow) -> None:
        while True:
            await self._clock.sleep(self._patience.renew_s)
            try:
                if not await self._outbox.renew(row):
                    return
            except Exception as error:  # noqa: BLE001 - unknown is not lost; the fence decides when settling
                _log.warning("delivery.renew_failed", row=row.id, error=type(error).__name__)

    async def _settle(self, row: OutboxRow, answer: Answer) -> Outcome:
        """Record the answer. The ledger gets a few chances, because the receiver may already have the work."""
        for left in reversed(range(_SETTLE_TRIES)):
            try:
                await self._outbox.settle(row, answer)
                break
            except Exception as error:  # noqa: BLE001 - reported; the row comes back when its lease ends
                _log.error("delivery.settle_failed", row=row.id, error=type(error).__name__, tries_left=left)
                if not left:
                    return Outcome.UNSETTLED
                await self._clock.sleep(0.5 + self._random())
        end = settlement(answer, attempt=row.attempt, max_attempts=row.max_attempts)
        _log.info(
            "delivery.settled",
            row=row.id,
            route=row.place,
            job_id=row.job_id,
            attempt=row.attempt,
            answer=answer.answer.value,
            error_class=answer.error_class,
            status=answer.status,
            detail=answer.detail,
        )
        if end.outbox is OutboxState.DONE:
            return Outcome.DONE
        return Outcome.RETRIED if end.outbox is OutboxState.RETRY_WAIT else Outcome.DEAD

    def _reserve(self, route: str, interval_ms: int) -> int:
        """Take the route's next start, or say how many milliseconds are left until it is free."""
        if interval_ms <= 0:
            return 0
        now = self._clock.now_ms()
        free = self._next_start_ms.get(route, 0)
        if free > now:
            return min(free - now, interval_ms)  # never longer, whatever the wall clock did
        self._next_start_ms[route] = now + interval_ms
        return 0

    def _jittered(self, delay_ms: int) -> int:
        return int(delay_ms * (0.75 + 0.25 * self._random()))


def _permanent(error_class: str, detail: str) -> Answer:
    return Answer(AnswerClass.PERMANENT, error_class=error_class, detail=detail[:200])


def _later(error_class: str, detail: str) -> Answer:
    return Answer(AnswerClass.RETRYABLE, error_class=error_class, detail=detail[:200])
