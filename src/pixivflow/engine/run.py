"""The attempt as the collector sees it: every write goes through the fence, progress is cheap and shown in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar
from zoneinfo import ZoneInfo

from pixivflow.collect.ports import AttemptLost
from pixivflow.delivery.intent import JobContext, build_payload, context_of
from pixivflow.domain.candidate import describe
from pixivflow.domain.cell import CellState
from pixivflow.domain.delivery import delivery_key
from pixivflow.domain.job import CellRecord, JobRecord
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import Reason
from pixivflow.domain.target import Target
from pixivflow.domain.work import Asset, Work, WorkRef
from pixivflow.engine.snapshot import occurrence_of
from pixivflow.ledger import cells, jobs
from pixivflow.ledger.ports import Ledger, Tx

T = TypeVar("T")
PROGRESS_EVERY_S = 1.0


class Progress:
    """What the work is doing, and the mark that proves it moves. Shared by the cells of one attempt."""

    def __init__(self) -> None:
        self.stage = "searching"
        self.message = ""
        self.mark = 0
        self.changed = asyncio.Event()

    def say(self, stage: str, message: str) -> None:
        """Note a step."""
        self.mark += 1
        if (stage, message) != (self.stage, self.message):
            self.stage, self.message = stage, message
            self.changed.set()


class LedgerRun:
    """`collect.ports.Run` on the ledger, for one cell of one attempt."""

    def __init__(self, ledger: Ledger, hold: cells.Hold, target: Target, progress: Progress) -> None:
        self._ledger = ledger
        self._hold = hold
        self._target = target
        self._progress = progress

    @property
    def attempt_id(self) -> str:
        """The fence."""
        return self._hold.attempt_id

    def progress(self, stage: str, message: str = "", *, done: int = 0, total: int | None = None) -> None:
        """Say what is going on."""
        counted = f"{message} ({done}/{total})".strip() if total else message
        self._progress.say(stage, counted)

    async def locked(self) -> tuple[WorkRef, ...]:
        """Works an earlier attempt has picked and not finished."""
        return tuple(pick.ref for pick in (await self._cell()).picks if pick.state is CellState.SELECTED)

    async def settled(self) -> int:
        """How many picks are ready or beyond, or have failed for good."""
        return sum(pick.state is not CellState.SELECTED for pick in (await self._cell()).picks)

    async def lock(self, work: Work) -> bool:
        """Bind a work to the cell."""
        return await self._write(lambda tx: cells.lock(tx, self._hold, work.ref, work.title))

    async def release(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """Give a bound work back."""
        self._progress.say(self._progress.stage, f"{ref} given back ({reason.value}): {message}")
        await self._write(lambda tx: cells.release(tx, self._hold, ref))

    async def ready(self, work: Work, assets: Sequence[Asset]) -> None:
        """Queue the work's deliveries in the commit that says its files are complete."""
        await self._write(lambda tx: self._ready(tx, work, assets))

    async def failed(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """The work should be there and is not."""
        await self._write(lambda tx: cells.failed(tx, self._hold, ref, cells.Verdict(reason, message)))

    async def report(self, funnel: Funnel) -> None:
        """Store the funnel as it stands."""
        stored = funnel.as_json()
        await self._write(lambda tx: cells.report(tx, self._hold, stored))

    def _ready(self, tx: Tx, work: Work, assets: Sequence[Asset]) -> None:
        job = jobs.get(tx, self._hold.job_id)
        if job is None:
            raise cells.Fenced("the job is gone")
        routes = self._target.routes
        context = self._context(tx, job) if routes else None
        intents = [self._intent(context, work, assets, route) for route in routes if context is not None]
        cells.ready(tx, self._hold, work.ref, intents, described=describe(work, self._target, assets))

    def _context(self, tx: Tx, job: JobRecord) -> JobContext:
        moment = occurrence_of(jobs.snapshot(tx, job.id)) if job.key is None else None
        if moment is None:
            return context_of(job, execution_id=self._hold.attempt_id)
        # A planned run carries the time it was due, in its plan's zone, however late it came to run.
        return context_of(
            job, occurrence_at=moment.at_ms, execution_id=self._hold.attempt_id, zone=ZoneInfo(moment.timezone)
        )

    def _intent(self, context: JobContext, work: Work, assets: Sequence[Asset], route: str) -> cells.Intent:
        return cells.Intent(
            route=route,
            key=delivery_key(route, work.ref, context.job_id, self._target.id),
            payload=build_payload(work=work, assets=assets, job=context, target=self._target, route=route),
            storage=self._target.storage.value,
        )

    async def _cell(self) -> CellRecord:
        job = await self._ledger.read(lambda tx: jobs.get(tx, self._hold.job_id))
        for cell in job.cells if job else ():
            if cell.target_id == self._hold.target_id:
                return cell
        raise AttemptLost(f"the cell {self._hold.target_id} is gone")

    async def _write(self, work: Callable[[Tx], T]) -> T:
        self._progress.mark += 1
        try:
            return await self._ledger.write(work)
        except cells.Fenced as fenced:
            raise AttemptLost(str(fenced)) from None
