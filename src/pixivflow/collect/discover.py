"""Read a target's listing until enough candidates were found, and never further than the bounds allow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import date

from pixivflow.collect.select import Candidate, Judge, reject_of, sorted_locally
from pixivflow.domain.filters import jst_day
from pixivflow.domain.target import Mode, TagRelation, Target
from pixivflow.domain.work import Work
from pixivflow.sources.errors import SourceError, WorkUnavailable
from pixivflow.sources.ports import Source, SourcePage

RECORDS_MAX = 10_000
"""Records read for one target in one run, whatever else is asked for."""
EMPTY_PAGES_MAX = 20
"""Empty pages in a row after which a listing counts as ended, although it names a next page."""

Report = Callable[[int, int], None]
"""Told after each page: records read, candidates found."""


@dataclass(slots=True)
class Listing:
    """What reading a target's listing gave.

    Attributes:
        gap: the error that ended the reading early; what was found before it still counts.
    """

    candidates: list[Candidate] = field(default_factory=list)
    gap: SourceError | None = None


def read_bound(target: Target) -> int:
    """How many records are worth reading for a target's limit, before any stage of fallback.

    Filters and known works thin a search out, so several times the limit is read; a range of days thins an order by
    popularity out once more, since it cannot end the reading early. An author's works and a ranking are finite.
    """
    if target.mode is not Mode.SEARCH:
        return RECORDS_MAX
    dates = target.filters.start_date is not None or target.filters.end_date is not None
    popular_in_range = sorted_locally(target) and dates
    if target.limit < 50:
        bound = max(5 * target.limit, 100) * (10 if popular_in_range else 1)
    else:
        bound = max(2 * target.limit, 200) * (3 if popular_in_range else 1)
    return min(bound, RECORDS_MAX)


def past_range(target: Target, works: tuple[Work, ...]) -> bool:
    """Whether a listing sorted by date has left the target's range of days, so that nothing wanted can follow.

    The last dated record of a page speaks for what follows. Several words searched apart are several listings in one,
    each with an order of its own: those are read on.
    """
    days = [jst_day(work.created_at) for work in works if work.created_at is not None]
    order = _date_order(target)
    if not days or order is None:
        return False
    limit: date | None = target.filters.start_date if order == "date_desc" else target.filters.end_date
    if limit is None:
        return False
    return days[-1] < limit if order == "date_desc" else days[-1] > limit


def _date_order(target: Target) -> str | None:
    if target.mode is Mode.USER:
        return "date_desc"
    apart = target.tag_relation is TagRelation.OR and len(target.tags) > 1
    if target.mode is Mode.SEARCH and target.sort in ("date_desc", "date_asc") and not apart:
        return target.sort
    return None


async def discover(
    source: Source, target: Target, judge: Judge, *, fallback_stages: int, report: Report = lambda _read, _found: None
) -> Listing:
    """Read and judge a listing page by page.

    Stops when enough candidates stand in the target's own order, at the end of the listing or of the range of days, or
    at the bound. The bound doubles up to `fallback_stages` times while nothing was found at all. A source that fails
    in between leaves `gap`; cancellation and errors of the archive go through.
    """
    listing = Listing()
    if target.mode is Mode.WORK:
        await _single(source, target, judge, listing)
        return listing
    enough = RECORDS_MAX if sorted_locally(target) else max(target.scan_limit, target.limit)
    bound, stages, empty = read_bound(target), fallback_stages, 0
    pages = source.pages(target)
    try:
        async for page in pages:
            listing.candidates += await judge.judge(page.works)
            judge.funnel.quarantined += len(page.quarantined)
            report(judge.funnel.fetched, len(listing.candidates))
            empty = 0 if page.works or page.quarantined else empty + 1
            counted = _counted(target, judge)
            while counted >= bound and not listing.candidates and stages > 0:
                bound, stages = bound * 2, stages - 1
            if (
                page.cursor is None
                or len(listing.candidates) >= enough
                or counted >= bound
                or judge.funnel.fetched + judge.funnel.quarantined >= RECORDS_MAX
                or empty >= EMPTY_PAGES_MAX
                or past_range(target, page.works)
            ):
                break
    except SourceError as error:
        listing.gap = error
    finally:
        await _close(pages)
    return listing


def _counted(target: Target, judge: Judge) -> int:
    """The records that use up the bound. Known works are the normal beginning of an oldest-first listing."""
    read = judge.funnel.fetched + judge.funnel.quarantined
    return read - judge.duplicates if target.sort == "date_asc" else read


async def _single(source: Source, target: Target, judge: Judge, listing: Listing) -> None:
    ref = target.work_ref
    if ref is None:
        return
    try:
        listing.candidates += await judge.judge([await source.work(ref)])
    except WorkUnavailable as error:
        judge.funnel.fetched += 1
        judge.reject(ref.id, reject_of(error))
    except SourceError as error:
        listing.gap = error


async def _close(pages: AsyncIterator[SourcePage]) -> None:
    close = getattr(pages, "aclose", None)
    if close is not None:
        await close()
