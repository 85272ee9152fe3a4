"""Running one attempt: begin, collect each cell, finish, and free the account's place whatever happened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pixivflow.collect.ports import AttemptLost, Run
from pixivflow.domain.cell import CLOSED
from pixivflow.domain.reason import Reason
from pixivflow.domain.target import Target
from pixivflow.domain.work import WorkRef
from pixivflow.engine.clock import Clock
from pixivflow.engine.heartbeat import Heartbeat, stop
from pixivflow.engine.run import LedgerRun, Progress
from pixivflow.engine.snapshot import CorruptSnapshot, thaw
from pixivflow.ledger import attempts, cells, jobs
from pixivflow.ledger.errors import LedgerError
from pixivflow.ledger.ports import Ledger, Tx

log = logging.getLogger(__name__)


class Outcome(Protocol):
    """What collecting a target came to (see `collect.collector.CellOutcome`)."""

    @property
    def ready(self) -> int:
        """Works whose files are complete."""
        ...

    @property
    def failed(self) -> Sequence[tuple[WorkRef, Reason, str]]:
        """Works that should be there and are not."""
        ...

    @property
    def reason(self) -> Reason | None:
        """Why nothing was ready."""
        ...

    @property
    def message(self) -> str | None:
        """A sentence for people."""
        ...


class Collects(Protocol):
    """The collecting pipeline."""

    async def collect(self, target: Target, run: Run) -> Outcome:
        """Collect one target for one attempt."""
        ...


class Incoming(Protocol):
    """Where an attempt's unfinished files are."""

    async def discard(self, attempt_id: str) -> None:
        """Remove them."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What the runner must know of the live configuration."""

    places: Callable[[], int]
    stall_ms: Callable[[], int]


class Runner:
    """Runs attempts. One object serves all of them."""

    def __init__(
        self, ledger: Ledger, collector: Collects, incoming: Incoming, *, clock: Clock, owner: str, limits: Limits
    ) -> None:
        self._ledger = ledger
        self._collector = collector
        self._incoming = incoming
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._progress: set[Progress] = set()
        self._closing: set[asyncio.Future[None]] = set()

    def waits(self, why: str, seconds: float) -> None:
        """The account's source waits by its own design: that is progress, and people should see it."""
        for progress in self._progress:
            progress.say("waiting", f"{why}, {seconds:.0f} s" if seconds else why)

    async def run(self, attempt_id: str) -> None:
        """Run an attempt to its end. Cancelling this task is how it is stopped; its place is freed all the same."""
        beginning = asyncio.ensure_future(self._ledger.write(lambda tx: cells.begin(tx, attempt_id, self._owner)))
        ends: list[cells.CellEnd] | None = None
        try:
            started = await asyncio.shield(beginning)
            if started is not None:
                ends = await self._collect_all(started)
        except AttemptLost:
            log.info("attempt %s may no longer write; its work is dropped", attempt_id)
        except LedgerError:
            log.exception("the ledger failed under attempt %s", attempt_id)
        finally:
            closing = asyncio.ensure_future(self._close(beginning, ends))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
            await asyncio.shield(closing)

    async def closed(self) -> None:
        """Until every attempt that was stopped has freed its place. A second cancel ends `run` before that."""
        if self._closing:
            await asyncio.wait(set(self._closing))

    async def _close(
        self, beginning: asyncio.Future[attempts.Started | None], ends: list[cells.CellEnd] | None
    ) -> None:
        """Remove unfinished files, then, in one commit, say how it ended and free the place.

        Whether the attempt began is for the ledger to say, also when the task was stopped before it heard: a place that
        was taken unseen would stay taken until its lease runs out.
        """
        try:
            started = await beginning
        except LedgerError:
            return  # told already; nothing began
        if started is None:
            return
        try:
            await self._incoming.discard(started.attempt_id)
        except Exception:
            # A disk that refuses must not keep the account: the next start clears what is left.
            log.exception("unfinished files of attempt %s could not be removed", started.attempt_id)
        places = self._limits.places()

        def close(tx: Tx) -> None:
            if ends is not None:
                cells.finish(tx, started.attempt_id, started.job_id, ends)
            attempts.end(tx, started.attempt_id, started.account, places=places)

        try:
            await self._ledger.write(close)
        except LedgerError:
            log.exception("attempt %s could not be closed; the next start takes it over", started.attempt_id)

    async def _collect_all(self, started: attempts.Started) -> list[cells.CellEnd]:
        job, targets = await self._ledger.read(lambda tx: (jobs.get(tx, started.job_id), _targets(tx, started.job_id)))
        progress = Progress()
        self._progress.add(progress)
        current = asyncio.current_task()

        def lost() -> None:
            if current is not None:
                current.cancel()

        heartbeat = Heartbeat(
            self._ledger,
            started,
            self._owner,
            progress,
            clock=self._clock,
            stall_ms=self._limits.stall_ms,
            lost=lost,
        )
        beats = [asyncio.ensure_future(heartbeat.beat()), asyncio.ensure_future(heartbeat.show())]
        try:
            ends = []
            for cell in job.cells if job else ():
                if cell.state in CLOSED:
                    continue
                hold = cells.Hold(started.attempt_id, started.job_id, cell.target_id)
                ends.append(await self._collect_cell(hold, targets.get(cell.target_id), progress))
            return ends
        finally:
            self._progress.discard(progress)
            await stop(*beats)

    async def _collect_cell(self, hold: cells.Hold, target: Target | None, progress: Progress) -> cells.CellEnd:
        if target is None:
            return cells.CellEnd(hold.target_id, Reason.INTERNAL_ERROR, "the stored target cannot be read")
        run = LedgerRun(self._ledger, hold, target, progress)
        try:
            outcome = await self._collector.collect(target, run)
        except (AttemptLost, LedgerError):
            raise
        except Exception as error:
            # One cell's bug must end that cell with its name, not the process or the other cells.
            log.exception("collecting %s for %s failed unexpectedly", hold.target_id, hold.job_id)
            return cells.CellEnd(
                hold.target_id, Reason.INTERNAL_ERROR, f"unexpected {type(error).__name__}; see the log"
            )
        return cells.CellEnd(hold.target_id, outcome.reason, outcome.message)


def _targets(tx: Tx, job_id: str) -> dict[str, Target]:
    found = {}
    for stored in jobs.snapshot(tx, job_id).get("targets", []):
        try:
            target = thaw(stored)
        except CorruptSnapshot:
            log.exception("a target stored with %s cannot be read", job_id)
            continue
        found[target.id] = target
    return found
