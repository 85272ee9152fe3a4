"""One target, from question to files: the list of steps, and what each outcome of a pick leads to."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pixivflow.collect.cell import CellAccount
from pixivflow.collect.discover import Listing, discover
from pixivflow.collect.fetch import Fetcher
from pixivflow.collect.outcome import CellOutcome, Gap, Plan, conclude, conclude_plan
from pixivflow.collect.parts import Gone, Lacking, Outcome, Whole
from pixivflow.collect.ports import Archive, AttemptLost, KnownState, Run
from pixivflow.collect.select import Candidate, Judge, queue_of, reject_of
from pixivflow.collect.settings import CollectSettings
from pixivflow.collect.together import together
from pixivflow.domain.filters import Reject
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import Reason
from pixivflow.domain.target import Target
from pixivflow.domain.work import Work, WorkRef
from pixivflow.engine.clock import Clock
from pixivflow.library.errors import LibraryCode, LibraryError
from pixivflow.library.store import Library
from pixivflow.sources.errors import AuthFailed, RateLimited, SourceError, WorkUnavailable
from pixivflow.sources.ports import Source

logger = logging.getLogger(__name__)

# Faults of one name. Every other fault of the library meets the next work as well.
_ONE_WORK_ONLY = frozenset({LibraryCode.NAME_TOO_LONG, LibraryCode.EXISTS, LibraryCode.OUTSIDE})


@dataclass(slots=True)
class _Cell:
    """What the steps of one call share."""

    target: Target
    run: Run
    judge: Judge
    account: CellAccount
    fetcher: Fetcher


class Collector:
    """Collects targets through one account's source into one library."""

    def __init__(
        self, source: Source, library: Library, archive: Archive, settings: CollectSettings, clock: Clock
    ) -> None:
        self._source = source
        self._library = library
        self._archive = archive
        self._settings = settings
        self._clock = clock
        self._conversions = asyncio.Semaphore(settings.conversions)

    async def collect(self, target: Target, run: Run) -> CellOutcome:
        """Collect up to the target's limit of works for one attempt.

        Picks of an earlier attempt come first and are never swapped. Raises AttemptLost as soon as the attempt may not
        write any more, CancelledError at a cancel, and what the archive and the run raise; unfinished files are removed
        in every case. Every trouble of source, account, network and disk is in the outcome.
        """
        locked = await run.locked()
        settled = await run.settled()
        cell = self._cell(target, run, locked, wanted=max(0, target.limit - settled))
        await self._finish(cell, locked)
        listing = Listing()
        if cell.account.has_place:
            listing = await self._search(cell)
            await self._open_all(cell, queue_of(target, listing.candidates))
            # An attempt that only finishes earlier picks has looked at nothing: the report of their search stands.
            await run.report(cell.account.funnel)
        return conclude(
            ready=cell.account.ready,
            settled=settled,
            failed=cell.account.failed,
            funnel=cell.account.funnel,
            gap=cell.account.stopped or _gap_of(listing.gap),
            wanted=target.limit,
        )

    async def plan(self, target: Target) -> Plan:
        """Say what `collect` would pick now. Asks the source and the archive, writes nothing, fetches no file."""
        funnel = Funnel()
        judge = Judge(target, self._archive, funnel)
        listing = await discover(self._source, target, judge, fallback_stages=self._settings.max_fallback_stages)
        gap = _gap_of(listing.gap)
        works: list[Work] = []
        for candidate in queue_of(target, listing.candidates):
            if len(works) >= target.limit:
                break
            try:
                opened = await self._full(candidate.work, judge)
            except (AuthFailed, RateLimited) as error:
                gap = gap or _gap_of(error)
                break
            except SourceError as error:
                gap = gap or _gap_of(error)
                continue
            if opened is not None:
                works.append(opened)
        funnel.selected = len(works)
        return conclude_plan(works, funnel, gap)

    # -- the steps -----------------------------------------------------------------------------------------------

    def _cell(self, target: Target, run: Run, locked: Sequence[WorkRef], *, wanted: int) -> _Cell:
        funnel = Funnel()
        account = CellAccount(wanted=wanted, funnel=funnel)

        def moved(count: int) -> None:
            account.bytes += count
            message = f"{account.bytes / 1_000_000:.1f} MB received"
            run.progress("downloading", message, done=account.ready, total=wanted)

        fetcher = Fetcher(
            source=self._source,
            library=self._library,
            archive=self._archive,
            settings=self._settings,
            clock=self._clock,
            conversions=self._conversions,
            attempt_id=run.attempt_id,
            say=lambda stage, line: run.progress(stage, line, done=account.ready, total=wanted),
            moved=moved,
        )
        return _Cell(target, run, Judge(target, self._archive, funnel, taken=locked), account, fetcher)

    async def _finish(self, cell: _Cell, locked: Sequence[WorkRef]) -> None:
        """Bring the picks of an earlier attempt to their end, with records read anew."""
        queue = deque(locked)

        async def worker() -> None:
            while queue and cell.account.stopped is None:
                ref = queue.popleft()
                cell.account.take()
                await self._finish_one(cell, ref)

        await together(worker() for _ in range(self._settings.concurrency))
        for ref in queue:  # the cell was stopped: these picks share the cause
            if cell.account.stopped is not None:
                await self._fail(cell, ref, cell.account.stopped.reason, cell.account.stopped.message)

    async def _finish_one(self, cell: _Cell, ref: WorkRef) -> None:
        cell.account.funnel.fetched += 1
        cell.account.funnel.selected += 1
        try:
            work = await self._source.work(ref)
        except WorkUnavailable as error:
            await self._release(cell, ref, reject_of(error), str(error))
        except SourceError as error:
            await self._fail(cell, ref, error.reason, str(error), stop=isinstance(error, (AuthFailed, RateLimited)))
        else:
            await self._fetch(cell, Candidate(work))

    async def _search(self, cell: _Cell) -> Listing:
        run, target = cell.run, cell.target
        run.progress("searching", target.tag, total=target.limit)
        listing = await discover(
            self._source,
            target,
            cell.judge,
            fallback_stages=self._settings.max_fallback_stages,
            report=lambda read, found: run.progress("searching", f"{read} works read, {found} candidates"),
        )
        if isinstance(listing.gap, AuthFailed):
            cell.account.stop(listing.gap.reason, str(listing.gap))
        await run.report(cell.account.funnel)
        return listing

    async def _open_all(self, cell: _Cell, candidates: Sequence[Candidate]) -> None:
        """Open candidates in order, several at a time, until the places are filled."""
        queue = deque(candidates)

        async def worker() -> None:
            # Whoever gives a place back goes on with the next candidate, so a worker that found no place may end.
            while queue and cell.account.has_place:
                cell.account.take()
                await self._open(cell, queue.popleft())

        await together(worker() for _ in range(self._settings.concurrency))

    async def _open(self, cell: _Cell, candidate: Candidate) -> None:
        ref = candidate.work.ref
        trouble: SourceError | None = None
        work: Work | None = candidate.work
        try:
            work = await self._full(candidate.work, cell.judge)
        except SourceError as error:
            trouble = error
        if work is None:
            cell.account.give_back()
            return
        if not await cell.run.lock(work):
            cell.account.give_back()
            cell.judge.reject(ref.id, Reject.TAKEN)
            return
        cell.account.funnel.selected += 1
        if trouble is not None:
            stop = isinstance(trouble, (AuthFailed, RateLimited))
            await self._fail(cell, ref, trouble.reason, str(trouble), stop=stop)
            return
        await self._fetch(cell, Candidate(work, candidate.repair))

    async def _full(self, work: Work, judge: Judge) -> Work | None:
        """The record with everything that fetching needs; None when it makes the work a reject after all."""
        if work.complete_record:
            judge.funnel.requests_saved += 1
            return work
        try:
            full = await self._source.work(work.ref)
        except WorkUnavailable as error:
            judge.reject(work.id, reject_of(error))
            return None
        code = judge.again(full)
        if code is not None:
            judge.reject(work.id, code)
            return None
        return full

    async def _fetch(self, cell: _Cell, candidate: Candidate) -> None:
        work, outcome = await self._fetched(cell, candidate.work)
        await self._settle(cell, Candidate(work, candidate.repair), outcome)

    async def _fetched(self, cell: _Cell, work: Work) -> tuple[Work, Outcome | Gap]:
        """The outcome of one work's files; a Gap when nothing more can be fetched at all."""
        cell.run.progress("downloading", work.title, done=cell.account.ready, total=cell.account.wanted)
        try:
            return await cell.fetcher.fetch(work, cell.target)
        except (AuthFailed, RateLimited) as error:
            return work, Gap(error.reason, str(error))
        except LibraryError as error:
            if error.code in _ONE_WORK_ONLY:
                return work, Lacking(KnownState.INCOMPLETE, Reason.STORAGE_FAILED, error.message)
            return work, Gap(Reason.STORAGE_FAILED, error.message)
        except AttemptLost:
            raise
        except Exception as error:
            # What one work's content can do to our code must stay with that work: its neighbours count.
            logger.exception("collecting %s failed unexpectedly", work.ref)
            return work, Lacking(KnownState.INCOMPLETE, Reason.INTERNAL_ERROR, f"unexpected {type(error).__name__}")

    async def _settle(self, cell: _Cell, candidate: Candidate, outcome: Outcome | Gap) -> None:
        work = candidate.work
        match outcome:
            case Whole():
                await cell.run.ready(work, outcome.assets)
                cell.account.ready += 1
                cell.run.progress("downloading", work.title, done=cell.account.ready, total=cell.account.wanted)
            case Gone():
                await self._release(cell, work.ref, outcome.code, outcome.message)
            case Lacking():
                if candidate.repair or outcome.stands_aside:
                    cell.account.give_back()
                await self._fail(cell, work.ref, outcome.reason, outcome.message)
            case Gap():
                await self._fail(cell, work.ref, outcome.reason, outcome.message, stop=True)

    async def _release(self, cell: _Cell, ref: WorkRef, code: Reject, message: str) -> None:
        await cell.run.release(ref, Reason.WORK_UNAVAILABLE, message)
        cell.account.give_back()
        cell.account.funnel.selected -= 1
        cell.judge.reject(ref.id, code)

    async def _fail(self, cell: _Cell, ref: WorkRef, reason: Reason, message: str, *, stop: bool = False) -> None:
        if stop:
            cell.account.stop(reason, message)
        await cell.run.failed(ref, reason, message)
        cell.account.fail(ref, reason, message)


def _gap_of(error: SourceError | None) -> Gap | None:
    return Gap(error.reason, str(error)) if error is not None else None
