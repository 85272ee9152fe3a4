"""The sweep: every minute, at the next deadline, and when asked. One bad round never stops the next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pixivflow.engine.catalog import Catalog
from pixivflow.engine.clock import Clock
from pixivflow.ledger import sweep
from pixivflow.ledger.errors import LedgerClosed, OutcomeUnknown
from pixivflow.ledger.ports import Ledger

log = logging.getLogger(__name__)

SWEEP_EVERY_S = 60.0
LEAST_PAUSE_S = 0.05


class Sweeper:
    """Runs the sweep as long as the engine lives."""

    def __init__(self, ledger: Ledger, catalog: Callable[[], Catalog], clock: Clock, wake: asyncio.Event) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._clock = clock
        self._wake = wake
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the first round is at once."""
        self._task = asyncio.create_task(self._loop(), name="sweep")

    async def stop(self) -> None:
        """End; a round under way is finished by the ledger."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def once(self) -> sweep.Swept:
        """One round."""
        catalog = self._catalog()
        budgets, places = catalog.budgets, catalog.places
        swept = await self._ledger.write(
            lambda tx: sweep.sweep(tx, queued_ms=budgets.queued_ms, stall_ms=budgets.stall_ms, places=places)
        )
        if swept.anything:
            log.info("sweep: %s", swept)
        return swept

    async def _loop(self) -> None:
        due = self._clock.monotonic()
        while True:
            # Cleared before anything is read: what is committed from here on wakes this again.
            self._wake.clear()
            try:
                now = self._clock.monotonic()
                deadline = await self._ledger.read(sweep.next_deadline)
                overdue = deadline is not None and deadline <= self._clock.now_ms()
                if overdue or now >= due:
                    await self.once()
                    due = self._clock.monotonic() + SWEEP_EVERY_S
                    deadline = await self._ledger.read(sweep.next_deadline)
                await self._rest(due, deadline)
            except (LedgerClosed, OutcomeUnknown):
                return
            except Exception:
                log.exception("a sweep failed; the next one tries again")
                await self._clock.sleep(SWEEP_EVERY_S)

    async def _rest(self, due: float, deadline: int | None) -> None:
        pause = due - self._clock.monotonic()
        if deadline is not None:
            pause = min(pause, (deadline - self._clock.now_ms()) / 1000)
        # A burst of jobs wakes this at most twenty times a second.
        await self._clock.sleep(LEAST_PAUSE_S)
        woken = asyncio.ensure_future(self._wake.wait())
        rested = asyncio.ensure_future(self._clock.sleep(max(LEAST_PAUSE_S, pause - LEAST_PAUSE_S)))
        try:
            await asyncio.wait({woken, rested}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            rested.cancel()
            await asyncio.gather(woken, rested, return_exceptions=True)
