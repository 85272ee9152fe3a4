"""From records to a queue of candidates: filters, what the ledger already knows, and the order they are opened in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pixivflow.collect.ports import Archive, KnownState, KnownWork
from pixivflow.domain.filters import DUPLICATES, Criteria, Reject, criteria_of, restricted, why_not
from pixivflow.domain.ranking import Funnel, by_popularity
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Work, WorkRef
from pixivflow.sources.errors import Restricted, WorkUnavailable


@dataclass(frozen=True, slots=True)
class Candidate:
    """A work that passed. `repair` means it was begun before and never became whole."""

    work: Work
    repair: bool = False


def known_reject(work: Work, known: KnownWork | None, routes: Iterable[str]) -> Reject | None:
    """Why the ledger's knowledge speaks against a work, or None.

    With routes only the deliveries count: a work is done when every route confirmed it or has it in its queue. Without
    routes the files are the result: a whole work is done, unless it has grown since.
    """
    if known is None:
        return None
    wanted = set(routes)
    if wanted:
        return Reject.ALREADY_DELIVERED if wanted <= known.delivered else None
    whole = known.state is KnownState.COMPLETE and known.page_count >= work.page_count
    return Reject.ALREADY_DOWNLOADED if whole else None


def reject_of(error: WorkUnavailable) -> Reject:
    """The funnel's code for a work that turned out not to be available."""
    return restricted(error.restriction) if isinstance(error, Restricted) else Reject.UNAVAILABLE


class Judge:
    """Passes the records of one target, page by page, and keeps the account of those it turns away."""

    def __init__(self, target: Target, archive: Archive, funnel: Funnel, *, taken: Iterable[WorkRef] = ()) -> None:
        self._target = target
        self._archive = archive
        self._criteria: Criteria = criteria_of(target)
        self._seen: set[WorkRef] = set()
        self._taken = frozenset(taken)
        self.funnel = funnel
        self.duplicates = 0

    async def judge(self, works: Sequence[Work]) -> list[Candidate]:
        """The candidates among one page's records, in their order. One question to the archive per page."""
        self.funnel.fetched += len(works)
        wanted: list[Work] = []
        for work in works:
            code = self._repeated(work) or why_not(work, self._criteria)
            if code is None:
                wanted.append(work)
            else:
                self.reject(work.id, code)
        if not wanted:
            return []
        known = await self._archive.known([work.ref for work in wanted])
        passed: list[Candidate] = []
        for work in wanted:
            code = known_reject(work, known.get(work.ref), self._target.routes)
            if code is None:
                passed.append(_candidate(work, known.get(work.ref)))
            else:
                self.reject(work.id, code)
        return passed

    def again(self, work: Work) -> Reject | None:
        """Judge the full record of a candidate whose list record was not enough."""
        return why_not(work, self._criteria)

    def reject(self, work_id: str, code: Reject) -> None:
        """Count one work out."""
        self.duplicates += code in DUPLICATES
        self.funnel.reject(work_id, code.value)

    def _repeated(self, work: Work) -> Reject | None:
        if work.ref in self._seen:
            return Reject.REPEATED
        self._seen.add(work.ref)
        return Reject.TAKEN if work.ref in self._taken else None


def _candidate(work: Work, known: KnownWork | None) -> Candidate:
    return Candidate(work, repair=known is not None and known.state is not KnownState.COMPLETE)


def sorted_locally(target: Target) -> bool:
    """Whether the source's order is not the target's, so that all records must be read before the first is opened."""
    return target.mode is Mode.SEARCH and target.sort == "popular_desc"


def queue_of(target: Target, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates to open, in order, at most `scan_limit` (never fewer than `limit`)."""
    bound = max(target.scan_limit, target.limit)
    if not sorted_locally(target):
        return list(candidates[:bound])
    by_ref = {candidate.work.ref: candidate for candidate in candidates}
    return [by_ref[work.ref] for work in by_popularity(c.work for c in candidates)[:bound]]
