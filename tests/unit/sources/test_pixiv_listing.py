"""From a target to its lists, and through their pages."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixivflow.domain.target import Filters, Mode, TagRelation, Target
from pixivflow.domain.work import WorkType
from pixivflow.sources.errors import BadQuestion, ShapeChanged
from pixivflow.sources.pixiv.listing import Walk, walk_merged, walk_one
from pixivflow.sources.pixiv.questions import (
    Part,
    Place,
    merge_key,
    next_query,
    next_window,
    offset_of,
    parts_of,
    ranking_day_runs,
    ranking_may_be_late,
    read_cursor,
    write_cursor,
)

JST = timezone(timedelta(hours=9))
ILLUST, NOVEL = WorkType.ILLUSTRATION, WorkType.NOVEL


def target(**changed: Any) -> Any:
    return Target(**{"id": "t", "type": ILLUST, "mode": Mode.SEARCH, "tag": "a", **changed})


def record(ident: Any, day: Any = 1, bookmarks: Any = 0) -> Any:
    when = datetime(2025, 1, 1, tzinfo=JST) + timedelta(days=day)
    urls = {"original_image_url": f"https://i.pximg.net/img/{ident}_p0.png"}
    return {
        "id": ident,
        "type": "illust",
        "meta_single_page": urls,
        "create_date": when.isoformat(),
        "total_bookmarks": bookmarks,
        "user": {"id": 1},
    }


def body(records: Any, next_url: Any = None, **more: Any) -> Any:
    return json.dumps({"illusts": records, "next_url": next_url, **more}).encode()


class Site:
    """Serves lists by word, a few works a page, with the real site's offset wall if wanted."""

    def __init__(self, works: Any, page_size: Any = 3, wall: Any = None) -> None:
        self.works, self.page_size, self.wall = works, page_size, wall
        self.asked = []

    async def __call__(self, part: Any, query: Any) -> Any:
        self.asked.append(query)
        asked = dict(parse_qsl(query))
        offset = int(asked.get("offset", 0))
        if self.wall is not None and offset > self.wall:
            raise BadQuestion("offset must be no more than 5000", code="offset_limit")
        found = [
            work
            for work in self.works[asked["word"]]
            if asked.get("start_date", "0") <= work["create_date"][:10] <= asked.get("end_date", "9")
        ]
        more = offset + self.page_size < len(found)
        following = {**asked, "offset": str(offset + self.page_size)}
        url = f"https://evil.example/elsewhere?{urlencode(following)}" if more else None
        return body(found[offset : offset + self.page_size], url)


async def ids(pages: Any) -> Any:
    return [int(work.id) async for page in pages for work in page.works]


def walks(what: Any, site: Any) -> Any:
    return tuple(Walk(part, site, Place(part.first)) for part in parts_of(what))


def query_of(what: Any) -> Any:
    return {key: values[0] for key, values in parse_qs(parts_of(what)[0].first).items()}


def test_the_search_question() -> None:
    filters = Filters(start_date=date(2025, 1, 2), end_date=date(2025, 1, 3))
    query = query_of(target(tag="空  海", filters=filters, sort="popular_desc", search_target="exact_match_for_tags"))
    assert query == {
        "word": "空 海",
        "search_target": "exact_match_for_tags",
        "sort": "popular_desc",
        "include_translated_tag_results": "true",
        "start_date": "2025-01-02",
        "end_date": "2025-01-03",
        "filter": "for_ios",
    }


def test_restricted_targets_drop_the_filter_everywhere() -> None:
    free = Filters(r18=True)
    for what in (target(filters=free), target(mode=Mode.USER, user_id="7", filters=free)):
        assert "filter" not in query_of(what)
    assert "filter" not in query_of(target(mode=Mode.RANKING, ranking_mode="day_r18"))
    assert query_of(target(mode=Mode.RANKING))["filter"] == "for_ios"


def test_paths_of_every_kind() -> Any:
    def paths(**changed: Any) -> Any:
        return [(part.path, part.query.get("type"), part.query.get("date")) for part in parts_of(target(**changed))]

    assert paths() == [("/v1/search/illust", None, None)]
    assert paths(type=NOVEL) == [("/v1/search/novel", None, None)]
    assert paths(mode=Mode.RANKING) == [("/v1/illust/ranking", None, None)]
    assert paths(mode=Mode.RANKING, type=NOVEL, ranking_date=date(2025, 3, 4)) == [
        ("/v1/novel/ranking", None, "2025-03-04")
    ]
    # One list without a `type` holds every kind, newest first.
    assert paths(mode=Mode.USER, user_id="7") == [("/v1/user/illusts", None, None)]
    assert paths(mode=Mode.USER, user_id="7", type=NOVEL) == [("/v1/user/novels", None, None)]


def test_any_of_the_words_means_one_question_each() -> None:
    parts = parts_of(target(tag="a b a", tag_relation=TagRelation.OR))
    assert [part.query["word"] for part in parts] == ["a", "b"]


@pytest.mark.parametrize(
    "bad", [{"tag": "  "}, {"mode": Mode.USER}, {"mode": Mode.USER, "user_id": "7/x"}, {"mode": Mode.WORK}]
)
def test_targets_that_do_not_say_enough(bad: Any) -> None:
    with pytest.raises(BadQuestion, match="target t"):
        parts_of(target(**bad))


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("https://app-api.pixiv.net/v1/x?word=%E7%A9%BA&offset=30", "word=%E7%A9%BA&offset=30"),
        ("https://evil.example/steal?offset=30", "offset=30"),
        ("?viewed[0]=1&viewed[1]=2", "viewed%5B0%5D=1&viewed%5B1%5D=2"),
        ("https://app-api.pixiv.net/v1/x", None),
        ("https://app-api.pixiv.net/v1/x?%ff=%fe", None),
        ("https://[bad?x=1", None),
        ("?" + "a" * 20_000, None),
        ("", None),
    ],
)
def test_of_a_next_address_only_the_query_counts(url: Any, query: Any) -> None:
    assert next_query(url) == query


def test_offsets() -> None:
    assert [offset_of(query) for query in ("offset=30&a=1", "a=1", "offset=x", "offset=-5", "offset=" + "9" * 40)] == [
        30,
        0,
        0,
        0,
        0,
    ]


@given(st.lists(st.tuples(st.none() | st.text(min_size=1, max_size=20), st.integers(0, 99)), min_size=1, max_size=4))
def test_cursors_survive_the_way_out_and_back(raw: Any) -> None:
    parts = tuple(Part("/p", {}, ILLUST) for _ in raw)
    places = tuple(Place(None if text is None else urlencode({"k": text}), skip) for text, skip in raw)
    cursor = write_cursor(places)
    if all(place.query is None for place in places):
        assert cursor is None
    else:
        assert read_cursor(cursor, parts) == places


@pytest.mark.parametrize(
    "cursor", ["", "x", "{}", "[]", '[["a=1",0],["b=1",0]]', '[["a=1",-1]]', '[["a=1"]]', "[" * 9999]
)
def test_strange_cursors_are_refused(cursor: Any) -> None:
    with pytest.raises(BadQuestion):
        read_cursor(cursor, (Part("/p", {}, ILLUST),))


async def test_pages_are_followed_to_the_end_in_order() -> None:
    site = Site({"a": [record(n) for n in range(1, 9)]})
    (walk,) = walks(target(), site)
    assert await ids(walk_one(walk)) == list(range(1, 9))
    assert [offset_of(query) for query in site.asked] == [0, 3, 6]


async def test_a_listing_goes_on_from_its_cursor() -> None:
    site = Site({"a": [record(n) for n in range(1, 9)]})
    (walk,) = walks(target(), site)
    pages = walk_one(walk)
    first = await anext(pages)
    await pages.aclose()
    (place,) = read_cursor(first.cursor, parts_of(target()))
    assert await ids(walk_one(Walk(parts_of(target())[0], site, place))) == [4, 5, 6, 7, 8]


async def test_a_work_that_shifts_to_the_next_page_comes_once() -> Any:
    answers = [body([record(1), record(2)], "?offset=2"), body([record(2), record(3)])]

    async def ask(part: Any, query: Any) -> Any:
        return answers.pop(0)

    (walk,) = walks(target(), ask)
    assert await ids(walk_one(walk)) == [1, 2, 3]


async def test_empty_pages_lead_on() -> Any:
    answers = [body([], "?offset=30"), body([], "?offset=60"), body([record(5)])]

    async def ask(part: Any, query: Any) -> Any:
        return answers.pop(0)

    (walk,) = walks(target(), ask)
    pages = [page async for page in walk_one(walk)]
    assert [len(page.works) for page in pages] == [0, 0, 1]
    assert pages[0].cursor is not None
    assert pages[2].cursor is None


@pytest.mark.parametrize("some", [False, True])
async def test_a_list_that_only_leads_on_ends(some: Any) -> Any:
    asked = []

    async def ask(part: Any, query: Any) -> Any:
        asked.append(query)
        return body([record(1)] if some and len(asked) == 1 else [], f"?offset={len(asked)}")

    (walk,) = walks(target(), ask)
    if some:
        assert await ids(walk_one(walk)) == [1]
    else:
        with pytest.raises(ShapeChanged, match="empty pages"):
            await ids(walk_one(walk))
    assert len(asked) == 10 + some


async def test_a_list_that_leads_in_a_circle_is_told_after_its_works() -> Any:
    async def ask(part: Any, query: Any) -> Any:
        return body([record(1 + offset_of(query))], f"?offset={(offset_of(query) + 1) % 3}")

    part = Part("/v1/x", {"offset": "0"}, ILLUST)
    pages = walk_one(Walk(part, ask, Place(part.first)))
    assert [int((await anext(pages)).works[0].id) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(ShapeChanged, match="offset=0"):
        await anext(pages)


async def test_a_next_address_without_a_query_is_told() -> Any:
    async def ask(part: Any, query: Any) -> Any:
        return body([record(1)], "https://app-api.pixiv.net/v1/x")

    (walk,) = walks(target(), ask)
    with pytest.raises(ShapeChanged, match="next page"):
        await ids(walk_one(walk))


async def test_broken_records_are_reported_with_their_page() -> Any:
    async def ask(part: Any, query: Any) -> Any:
        return body([record(1), {"id": 2}])

    (walk,) = walks(target(), ask)
    (page,) = [page async for page in walk_one(walk)]
    assert [q.id for q in page.quarantined] == ["2"]


async def test_a_newest_first_search_stops_behind_its_first_day() -> Any:
    works = [record(n, day=100 - n) for n in range(1, 30)]

    class Ignorant(Site):
        async def __call__(self, part: Any, query: Any) -> Any:
            kept = dict(parse_qsl(query))
            return await super().__call__(part, urlencode({k: v for k, v in kept.items() if "date" not in k}))

    site = Ignorant({"a": works})
    start = (datetime(2025, 1, 1, tzinfo=JST) + timedelta(days=95)).date()
    (walk,) = walks(target(filters=Filters(start_date=start)), site)
    assert await ids(walk_one(walk)) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(site.asked) == 3


async def test_merged_words_come_in_date_order_once_each() -> None:
    site = Site(
        {
            "a": [record(1, 90), record(2, 70), record(3, 50), record(4, 10)],
            "b": [record(11, 80), record(2, 70), record(12, 60), record(13, 5), record(14, 1)],
        }
    )
    what = target(tag="a b", tag_relation=TagRelation.OR)
    assert await ids(walk_merged(walks(what, site), merge_key(what))) == [1, 11, 2, 12, 3, 4, 13, 14]


async def test_merging_asks_only_for_the_pages_it_needs() -> None:
    site = Site({"a": [record(n, 500 - n) for n in range(1, 200)], "b": [record(n, 100 - n) for n in range(301, 310)]})
    what = target(tag="a b", tag_relation=TagRelation.OR)
    pages = walk_merged(walks(what, site), merge_key(what))
    first = await anext(pages)
    await pages.aclose()
    assert [int(work.id) for work in first.works] == [1, 2, 3]
    assert len(site.asked) == 2


async def test_merged_popular_works_come_by_bookmarks() -> None:
    site = Site({"a": [record(1, bookmarks=9), record(2, bookmarks=4)], "b": [record(3, bookmarks=7)]})
    what = target(tag="a b", tag_relation=TagRelation.OR, sort="popular_desc")
    assert await ids(walk_merged(walks(what, site), merge_key(what))) == [1, 3, 2]


days = st.lists(st.integers(0, 400), max_size=25, unique=True)


@settings(max_examples=60, deadline=None)
@given(first=days, second=days, third=days, stop=st.integers(0, 12), ascending=st.booleans())
async def test_a_merged_listing_can_stop_at_any_page_and_go_on(
    first: Any, second: Any, third: Any, stop: Any, ascending: Any
) -> None:
    lists = [sorted(one, reverse=not ascending) for one in (first, second, third)]
    site = Site(
        {word: [record(1 + day, day) for day in one] for word, one in zip("abc", lists, strict=True)}, page_size=4
    )
    what = target(tag="a b c", tag_relation=TagRelation.OR, sort="date_asc" if ascending else "date_desc")
    parts, got, cursor = parts_of(what), [], None
    pages = walk_merged(walks(what, site), merge_key(what))
    for _ in range(stop):
        page = await anext(pages, None)
        if page is None:
            break
        got += [int(work.id) for work in page.works]
        cursor = page.cursor
    await pages.aclose()
    if cursor is not None:
        again = tuple(Walk(part, site, place) for part, place in zip(parts, read_cursor(cursor, parts), strict=True))
        rest = await ids(walk_merged(again, merge_key(what)))
        got += [ident for ident in rest if ident not in got]
    elif not stop:
        got = await ids(walk_merged(walks(what, site), merge_key(what)))
    assert got == sorted({1 + day for one in lists for day in one}, reverse=not ascending)


@pytest.mark.parametrize("ascending", [False, True])
async def test_the_offset_wall_is_passed_by_windows_of_days(ascending: Any) -> None:
    # 5 400 works, three per hour, as in the report; the site refuses offsets over 5 000.
    start = datetime(2025, 1, 1, tzinfo=JST)
    works = [{**record(1 + n), "create_date": (start + timedelta(minutes=20 * n)).isoformat()} for n in range(5400)]
    site = Site({"a": works if ascending else works[::-1]}, page_size=30, wall=5000)
    (walk,) = walks(target(sort="date_asc" if ascending else "date_desc"), site)
    got = await ids(walk_one(walk))
    assert sorted(got) == list(range(1, 5401))
    assert len(got) == len(set(got))
    assert walk.windows == 2
    assert max(offset_of(query) for query in site.asked) < 5000


async def test_a_day_with_more_works_than_the_wall_is_left_behind_and_not_read_for_ever() -> None:
    works = [record(n, 300) for n in range(1, 5200)] + [record(9000 + n, 200) for n in range(5)]
    site = Site({"a": works}, page_size=100, wall=5000)
    (walk,) = walks(target(), site)
    got = await ids(walk_one(walk))
    assert got[-5:] == [9000, 9001, 9002, 9003, 9004]
    assert len(got) == 5005
    assert walk.windows == 4


async def test_a_popular_search_ends_at_the_wall() -> None:
    site = Site({"a": [record(n) for n in range(1, 5200)]}, page_size=100, wall=5000)
    (walk,) = walks(target(sort="popular_desc"), site)
    assert len(await ids(walk_one(walk))) == 5000


async def test_a_refused_offset_in_a_list_without_dates_is_its_end() -> Any:
    async def ask(part: Any, query: Any) -> Any:
        if offset_of(query) > 60:
            raise BadQuestion("offset", code="offset_limit")
        return body([record(1 + offset_of(query))], f"?offset={offset_of(query) + 30}")

    (walk,) = walks(target(mode=Mode.USER, user_id="1"), ask)
    assert await ids(walk_one(walk)) == [1, 31, 61]


def test_windows_stay_inside_the_wanted_range() -> None:
    filters = Filters(start_date=date(2025, 1, 5), end_date=date(2025, 1, 9))
    (part,) = parts_of(target(filters=filters))
    inside = next_window(part, part.first, date(2025, 1, 7))
    assert inside is not None
    assert "end_date=2025-01-08" in inside[0]
    assert not inside[1]
    border = next_window(part, "end_date=2025-01-05", date(2025, 1, 5))
    assert border is None


@pytest.mark.parametrize(
    ("now", "day", "runs", "late"),
    [
        ("2026-03-10T10:30", date(2026, 3, 9), False, True),
        ("2026-03-10T11:59", date(2026, 3, 9), False, True),
        ("2026-03-10T23:59", date(2026, 3, 9), False, True),
        ("2026-03-11T00:00", date(2026, 3, 9), False, False),
        ("2026-03-10T10:30", date(2026, 3, 8), False, False),
        ("2026-03-10T00:00", date(2026, 3, 10), True, True),
        ("2026-03-09T23:59", date(2026, 3, 10), True, True),
    ],
)
def test_when_a_ranking_is_due(now: Any, day: Any, runs: Any, late: Any) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=JST).timestamp()
    assert (ranking_day_runs(day, moment), ranking_may_be_late(day, moment)) == (runs, late)
