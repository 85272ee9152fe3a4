"""How far a listing is read: over-fetching, the range of days, the bound and its fallback, and the gap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import pytest

from pixivflow.collect.discover import EMPTY_PAGES_MAX, RECORDS_MAX, Listing, discover, past_range, read_bound
from pixivflow.collect.memory import MemoryArchive
from pixivflow.collect.ports import KnownState
from pixivflow.collect.select import Judge, known_reject, queue_of
from pixivflow.domain.filters import Reject
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.target import Filters, Mode, TagRelation, Target
from pixivflow.domain.work import Author, Work, WorkRef, WorkType
from pixivflow.sources.errors import NotPublishedYet, SourceError, Unavailable
from pixivflow.sources.ports import Source, SourcePage

NEWEST = datetime(2026, 3, 31, 3, tzinfo=UTC)
SEARCH = Target(id="t", type=WorkType.NOVEL, mode=Mode.SEARCH, tag="sky", limit=10, scan_limit=10)
POPULAR = replace(SEARCH, sort="popular_desc")
IN_MARCH = Filters(start_date=date(2026, 3, 1))


def novel(number: int, **changes: Any) -> Work:
    made = Work(WorkRef(WorkType.NOVEL, str(number)), author=Author("7"), bookmarks=number, created_at=NEWEST)
    return replace(made, **changes)


class Pages:
    """A source that only lists. `endless` goes on naming a next page."""

    def __init__(self, *pages: Sequence[Work], error: SourceError | None = None, endless: bool = False) -> None:
        self._pages = pages
        self._error = error
        self._endless = endless
        self.asked = 0
        self.closed = False

    async def pages(self, _target: Target, *, cursor: str | None = None) -> AsyncIterator[SourcePage]:
        del cursor
        try:
            for number, works in enumerate(self._pages):
                self.asked += 1
                last = number + 1 == len(self._pages) and self._error is None and not self._endless
                yield SourcePage(tuple(works), None if last else str(number + 1))
            if self._error is not None:
                raise self._error
            while self._endless:
                self.asked += 1
                yield SourcePage((), "more")
        finally:
            self.closed = True


async def read(
    pages: Pages, target: Target, archive: MemoryArchive | None = None, stages: int = 3
) -> tuple[Listing, Funnel]:
    judge = Judge(target, archive or MemoryArchive(), Funnel())
    listing = await discover(cast("Source", pages), target, judge, fallback_stages=stages)
    assert pages.closed
    return listing, judge.funnel


def numbered(start: int, count: int, **changes: Any) -> list[Work]:
    return [novel(number, **changes) for number in range(start, start + count)]


@pytest.mark.parametrize(
    ("target", "bound"),
    [
        (replace(SEARCH, limit=1), 100),
        (replace(SEARCH, limit=30), 150),
        (replace(SEARCH, limit=50), 200),
        (replace(SEARCH, limit=100), 200),
        (POPULAR, 100),
        (replace(POPULAR, filters=IN_MARCH), 1000),
        (replace(POPULAR, limit=100, filters=IN_MARCH), 600),
        (replace(SEARCH, filters=IN_MARCH), 100),
        (replace(SEARCH, mode=Mode.USER, user_id="1"), RECORDS_MAX),
        (replace(SEARCH, mode=Mode.RANKING), RECORDS_MAX),
    ],
)
def test_how_many_records_are_worth_reading(target: Target, bound: int) -> None:
    assert read_bound(target) == bound


async def test_reading_stops_as_soon_as_enough_candidates_stand_in_order() -> None:
    pages = Pages(numbered(1, 6), numbered(7, 6), numbered(13, 6))
    listing, funnel = await read(pages, SEARCH)
    assert (pages.asked, funnel.fetched, len(listing.candidates)) == (2, 12, 12)
    assert [c.work.id for c in queue_of(SEARCH, listing.candidates)] == [str(n) for n in range(1, 11)]


async def test_an_order_by_popularity_reads_to_its_bound_before_it_chooses() -> None:
    pages = Pages(*(numbered(30 * page, 30) for page in range(6)))
    listing, funnel = await read(pages, POPULAR)
    assert (pages.asked, funnel.fetched) == (4, 120)
    assert [c.work.id for c in queue_of(POPULAR, listing.candidates)][:2] == ["119", "118"]


async def test_the_bound_doubles_while_nothing_was_found() -> None:
    picky = replace(SEARCH, filters=Filters(min_bookmarks=1_000))
    poor = [numbered(50 * page, 50, bookmarks=1) for page in range(30)]
    pages = Pages(*poor)
    _, funnel = await read(pages, picky)
    assert funnel.fetched == 800
    pages = Pages(*poor)
    _, funnel = await read(pages, picky, stages=0)
    assert funnel.fetched == 100


async def test_one_find_ends_the_doubling() -> None:
    picky = replace(SEARCH, filters=Filters(min_bookmarks=1_000))
    pages = Pages(*([*numbered(50 * page, 50, bookmarks=1), novel(9000 + page)] for page in range(9)))
    listing, funnel = await read(pages, picky)
    assert funnel.fetched == 102
    assert len(listing.candidates) == 2


async def test_known_works_at_the_head_of_an_oldest_first_listing_do_not_use_up_the_bound() -> None:
    archive = MemoryArchive()
    for work in numbered(0, 300):
        await archive.remember(work, KnownState.COMPLETE)
    pages = Pages(*(numbered(50 * page, 50) for page in range(8)))
    listing, funnel = await read(pages, replace(SEARCH, sort="date_asc"), archive, stages=0)
    assert len(listing.candidates) == 50
    assert funnel.rejected["already_downloaded"] == 300


@pytest.mark.parametrize("sort", ["date_desc", "date_asc"])
async def test_a_listing_by_date_is_left_with_its_range(sort: str) -> None:
    filters = Filters(start_date=date(2026, 3, 20), end_date=date(2026, 3, 25))
    target = replace(SEARCH, sort=sort, filters=filters, scan_limit=100)
    days = [NEWEST - timedelta(days=n) for n in range(31)]
    ordered = days if sort == "date_desc" else days[::-1]
    works = [novel(number, created_at=day) for number, day in enumerate(ordered)]
    pages = Pages(*(works[start : start + 5] for start in range(0, 31, 5)))
    listing, _ = await read(pages, target)
    assert len(listing.candidates) == 6
    assert pages.asked == (3 if sort == "date_desc" else 6)


def test_what_may_leave_a_listing_early() -> None:
    old = (novel(1, created_at=NEWEST - timedelta(days=90)),)
    dated = replace(SEARCH, filters=IN_MARCH)
    assert past_range(dated, old)
    assert past_range(replace(dated, mode=Mode.USER, sort="date_asc"), old), "an author's works come newest first"
    assert not past_range(replace(POPULAR, filters=IN_MARCH), old)
    assert not past_range(replace(dated, mode=Mode.RANKING), old)
    assert not past_range(replace(dated, tag="a b", tag_relation=TagRelation.OR), old)
    assert not past_range(SEARCH, old)
    assert not past_range(dated, (novel(1, created_at=None),))
    assert not past_range(dated, ())
    assert not past_range(dated, (*old, novel(2))), "one stray record does not end a listing"


async def test_a_work_listed_twice_is_one_candidate() -> None:
    listing, funnel = await read(Pages([novel(1), novel(2)], [novel(2), novel(3)]), SEARCH)
    assert [c.work.id for c in listing.candidates] == ["1", "2", "3"]
    assert funnel.named == [("2", "repeated")]
    assert funnel.fetched == 4


async def test_a_source_that_fails_in_between_leaves_a_gap_and_what_was_found() -> None:
    error = Unavailable("search: HTTP 503")
    listing, _ = await read(Pages([novel(1)], error=error), SEARCH)
    assert listing.gap is error
    assert [c.work.id for c in listing.candidates] == ["1"]


async def test_a_ranking_that_is_not_out_is_a_gap() -> None:
    listing, _ = await read(Pages(error=NotPublishedYet("not yet")), replace(SEARCH, mode=Mode.RANKING))
    assert isinstance(listing.gap, NotPublishedYet)


async def test_a_listing_that_never_ends_is_left() -> None:
    pages = Pages([novel(1)], endless=True)
    listing, _ = await read(pages, SEARCH)
    assert pages.asked == 1 + EMPTY_PAGES_MAX
    assert len(listing.candidates) == 1


async def test_whatever_is_asked_the_number_of_records_is_bounded() -> None:
    picky = replace(SEARCH, mode=Mode.USER, user_id="1", filters=Filters(min_bookmarks=10**9))
    pages = Pages(*(numbered(500 * page, 500) for page in range(40)))
    _, funnel = await read(pages, picky)
    assert funnel.fetched == RECORDS_MAX


@pytest.mark.parametrize(
    ("state", "stored_pages", "delivered", "routes", "code"),
    [
        (KnownState.COMPLETE, 3, (), (), Reject.ALREADY_DOWNLOADED),
        (KnownState.COMPLETE, 2, (), (), None),
        (KnownState.REDUCED, 3, (), (), None),
        (KnownState.INCOMPLETE, 3, (), (), None),
        (KnownState.COMPLETE, 3, (), ("a", "b"), None),
        (KnownState.COMPLETE, 3, ("a",), ("a", "b"), None),
        (KnownState.COMPLETE, 3, ("a", "b", "c"), ("a", "b"), Reject.ALREADY_DELIVERED),
        (KnownState.COMPLETE, 2, ("a",), ("a",), Reject.ALREADY_DELIVERED),
    ],
)
async def test_what_the_archive_says_against_a_work(
    state: KnownState, stored_pages: int, delivered: tuple[str, ...], routes: tuple[str, ...], code: Reject | None
) -> None:
    archive = MemoryArchive()
    work = novel(1, page_count=3)
    await archive.remember(replace(work, page_count=stored_pages), state)
    archive.delivered[work.ref] |= set(delivered)
    known = await archive.known([work.ref])
    assert known_reject(work, known[work.ref], routes) is code
    assert known_reject(work, None, routes) is None
