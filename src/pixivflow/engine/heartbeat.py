"""The heartbeat of an attempt: renews its lease while its work moves, and shows where the work is.

A beat survives errors of the ledger (a beat that dies with the first one lets the lease lapse and the job run twice).
It is withheld when the work has not moved for the stall budget, so that a hung run is swept although its process lives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pixivflow.engine.clock import Clock
from pixivflow.engine.run import PROGRESS_EVERY_S, Progress
from pixivflow.ledger import attempts, cells
from pixivflow.ledger.errors import LedgerBusy
from pixivflow.ledger.ports import Ledger, Tx

log = logging.getLogger(__name__)

BEAT_EVERY_S = 30.0


class Heartbeat:
    """Beats for one attempt until cancelled. `lost` is called once when the attempt may not go on."""

    def __init__(
        self,
        ledger: Ledger,
        started: attempts.Started,
        owner: str,
        progress: Progress,
        *,
        clock: Clock,
        stall_ms: Callable[[], int],
        lost: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._started = started
        self._owner = owner
        self._progress = progress
        self._clock = clock
        self._stall_ms = stall_ms
        self._lost = lost

    async def beat(self) -> None:
        """Renew the lease every 30 s."""
        seen = self._progress.mark
        moved_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(BEAT_EVERY_S)
            moved = self._progress.mark != seen
            if moved:
                seen, moved_at = self._progress.mark, self._clock.monotonic()
            elif (self._clock.monotonic() - moved_at) * 1000 >= self._stall_ms():
                continue
            if not await self._renew(moved=moved):
                self._lost()
                return

    async def show(self) -> None:
        """Store stage changes, at most one a second."""
        hold = cells.Hold(self._started.attempt_id, self._started.job_id, "")
        while True:
            await self._progress.changed.wait()
            self._progress.changed.clear()
            try:
                await self._ledger.write(self._store_progress(hold))
            except cells.Fenced:
                self._lost()
                return
            except LedgerBusy:
                self._progress.changed.set()
            await self._clock.sleep(PROGRESS_EVERY_S)

    def _store_progress(self, hold: cells.Hold) -> Callable[[Tx], None]:
        stage, message = self._progress.stage, self._progress.message or None
        return lambda tx: cells.progress(tx, hold, stage, message)

    async def _renew(self, *, moved: bool) -> bool:
        started = self._started
        try:
            return await self._ledger.write(
                lambda tx: attempts.beat(tx, started.attempt_id, self._owner, job_id=started.job_id, moved=moved)
            )
        except LedgerBusy:
            log.warning("the heartbeat of %s could not be written; trying again", started.job_id)
            return True


async def stop(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait until they are gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
