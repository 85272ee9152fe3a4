"""Each mode lists exactly what the site has, in its order."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from pixivflow.domain.target import Filters, Mode, TagRelation, Target
from pixivflow.domain.work import IllustKind, Restriction, WorkRef, WorkType
from pixivflow.sandbox import World, records
from pixivflow.sandbox.ranking import ILLUST_MODES, rank
from pixivflow.sandbox.search import Query, run_search
from pixivflow.sources.errors import NotFound, NotPublishedYet, Restricted, ShapeChanged, Unavailable, WorkUnavailable

ILLUST, NOVEL = WorkType.ILLUSTRATION, WorkType.NOVEL
MORNING = datetime(2026, 3, 10, 1, 30, tzinfo=UTC)  # 10:30 in Japan


def target(**changed: Any) -> Target:
    return Target(**{"id": "t", "type": ILLUST, "mode": Mode.SEARCH, "tag": "オリジナル", **changed})


async def ids(source: Any, what: Target, **options: Any) -> list[int]:
    return [int(work.id) async for page in source.pages(what, **options) for work in page.works]


def found(world: World, kind: Any, word: str, **options: Any) -> list[int]:
    return [work.id for work in run_search(world.newest(kind), Query(kind=kind, word=word, **options))]


def common_tag(world: World, rank_: int = 0) -> str:
    """A tag that many works carry, so that paging is needed."""
    counts: dict[str, int] = {}
    for work in world.newest("illust"):
        for name in {tag["name"] for tag in work.record["tags"]}:
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], name))[rank_]


@pytest.mark.parametrize("sort", ["date_desc", "date_asc", "popular_desc"])
@pytest.mark.parametrize("r18", [False, True])
async def test_search_lists_exactly_what_is_there(opened: Any, connect: Any, sort: str, *, r18: bool) -> None:
    sandbox = await opened(page_size=7)
    tag = common_tag(sandbox.world)
    expected = found(sandbox.world, "illust", tag, sort=sort, all_ages_only=not r18)
    got = await ids(connect(sandbox), target(tag=tag, sort=sort, filters=Filters(r18=r18)))
    assert got == expected
    assert len(got) > 14


async def test_all_words_and_any_of_the_words(opened: Any, connect: Any) -> None:
    sandbox = await opened(page_size=5)
    first, second = common_tag(sandbox.world), common_tag(sandbox.world, 1)
    source = connect(sandbox)
    both = found(sandbox.world, "illust", f"{first} {second}", all_ages_only=True)
    assert await ids(source, target(tag=f"{first} {second}")) == both
    either = found(sandbox.world, "illust", f"{first} OR {second}", all_ages_only=True)
    got = await ids(source, target(tag=f"{first} {second}", tag_relation=TagRelation.OR))
    assert sorted(got) == sorted(either)
    created = {work.id: work.created for work in sandbox.world.newest("illust")}
    moments = [created[ident] for ident in got]
    assert moments == sorted(moments, reverse=True)


async def test_a_range_of_days_is_asked_for(opened: Any, connect: Any) -> None:
    sandbox = await opened(anchor=date(2026, 3, 1), page_size=5)
    tag = common_tag(sandbox.world)
    days = Filters(start_date=date(2026, 2, 22), end_date=date(2026, 2, 26))
    expected = found(sandbox.world, "illust", tag, start=days.start_date, end=days.end_date, all_ages_only=True)
    assert await ids(connect(sandbox), target(tag=tag, filters=days)) == expected
    assert expected


async def test_novels_are_searched_apart(opened: Any, connect: Any) -> None:
    sandbox = await opened(novels=40, page_size=6)
    tag = sandbox.world.newest("novel")[0].record["tags"][0]["name"]
    assert await ids(connect(sandbox), target(type=NOVEL, tag=tag)) == found(sandbox.world, "novel", tag)


async def test_a_listing_can_be_taken_up_again(opened: Any, connect: Any) -> None:
    sandbox = await opened(page_size=7)
    tag = common_tag(sandbox.world)
    source = connect(sandbox)
    everything = await ids(source, target(tag=tag))
    pages = source.pages(target(tag=tag))
    first = await anext(pages)
    await pages.aclose()
    rest = await ids(source, target(tag=tag), cursor=first.cursor)
    assert [int(work.id) for work in first.works] + rest == everything


@pytest.mark.parametrize("mode", ["day", "week", "day_r18", "day_manga"])
async def test_rankings(opened: Any, connect: Any, mode: str) -> None:
    sandbox = await opened(page_size=20, anchor=date(2026, 3, 1), now=lambda: MORNING)
    day = date(2026, 2, 20)
    expected = [work.id for work in rank(sandbox.world.newest("illust"), mode, ILLUST_MODES[mode], day)]
    got = await ids(connect(sandbox), target(mode=Mode.RANKING, ranking_mode=mode, ranking_date=day))
    assert got == expected
    assert got


async def test_novel_ranking_without_a_date_is_the_newest(opened: Any, connect: Any) -> None:
    sandbox = await opened(novels=20)
    got = await ids(connect(sandbox), target(mode=Mode.RANKING, type=NOVEL, ranking_mode="week"))
    assert got
    assert set(got) <= set(sandbox.world.novels)


async def test_yesterdays_ranking_before_noon_is_not_out_yet(opened: Any, connect: Any, clock: Any) -> None:
    clock.time = MORNING.timestamp()
    sandbox = await opened(anchor=date(2026, 3, 10), now=lambda: MORNING)
    source = connect(sandbox)
    with pytest.raises(NotPublishedYet, match="2026-03-09") as late:
        await ids(source, target(mode=Mode.RANKING, ranking_date=date(2026, 3, 9)))
    assert late.value.retryable
    assert await ids(source, target(mode=Mode.RANKING, ranking_date=date(2026, 3, 8)))


async def test_a_ranking_of_a_running_day_is_not_even_asked_for(opened: Any, connect: Any, clock: Any) -> None:
    clock.time = MORNING.timestamp()
    sandbox = await opened(now=lambda: MORNING)
    for day in (date(2026, 3, 10), date(2026, 3, 20)):
        with pytest.raises(NotPublishedYet):
            await ids(connect(sandbox), target(mode=Mode.RANKING, ranking_date=day))
    assert sandbox.stats()["total"] == 0


@pytest.mark.parametrize("status", [403, 404])
async def test_a_refused_search_or_ranking_is_an_outage_and_no_verdict(opened: Any, connect: Any, status: int) -> None:
    sandbox = await opened()
    sandbox.set_faults(
        [
            {"match": "search.illust", "action": {"type": "status", "status": status, "body": {"error": {}}}},
            {"match": "illust.ranking", "action": {"type": "status", "status": status, "body": {"error": {}}}},
        ]
    )
    for what in (target(), target(mode=Mode.RANKING), target(mode=Mode.RANKING, ranking_date=date(2020, 1, 1))):
        with pytest.raises(Unavailable) as refused:
            await ids(connect(sandbox), what)
        assert not isinstance(refused.value, WorkUnavailable)


async def test_an_authors_works_of_all_kinds_newest_first(opened: Any, connect: Any) -> None:
    sandbox = await opened(works=80, users=1, page_size=7)
    author = sandbox.world.newest("illust")[0].user_id
    got = await ids(connect(sandbox), target(mode=Mode.USER, user_id=str(author), filters=Filters(r18=True)))
    works = [work for work in sandbox.world.newest("illust") if work.user_id == author]
    assert got == [work.id for work in works]
    assert {work.type for work in works} == {"illust", "manga", "ugoira"}
    novels = await ids(connect(sandbox), target(mode=Mode.USER, type=NOVEL, user_id=str(author)))
    assert novels == [work.id for work in sandbox.world.newest("novel") if work.user_id == author]


async def test_an_author_without_works_is_not_an_author_who_is_gone(opened: Any, connect: Any) -> None:
    world = World.from_records(authors=[records.user(5, "Quiet")])
    sandbox = await opened(world=world)
    source = connect(sandbox)
    assert await ids(source, target(mode=Mode.USER, user_id="5")) == []
    assert "user.detail" not in sandbox.stats()["routes"]
    # The site sends an empty owner for both of these; one extra call tells them apart.
    sandbox.set_faults(
        [{"match": "user.illusts", "action": {"type": "set_in_answer", "values": {"user": {"id": None}}}}]
    )
    assert await ids(source, target(mode=Mode.USER, user_id="5")) == []
    assert sandbox.stats()["routes"]["user.detail"] == 1
    with pytest.raises(NotFound):
        await ids(source, target(mode=Mode.USER, user_id="6"))
    assert sandbox.stats()["routes"]["user.detail"] == 2


async def test_single_works(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    several = sandbox.world.first_multi_page()
    work = await source.work(WorkRef(ILLUST, str(several.id)))
    assert len(work.pages) == work.page_count == several.record["page_count"]
    assert await ids(source, target(mode=Mode.WORK, work_id=str(several.id))) == [several.id]
    novel = sandbox.world.first_novel()
    assert (await source.work(WorkRef(NOVEL, str(novel.id)))).title == novel.record["title"]
    for ref in (WorkRef(ILLUST, "1"), WorkRef(NOVEL, "1")):
        with pytest.raises(NotFound):
            await source.work(ref)
    assert sandbox.stats()["routes"]["illust.detail"] == 3


async def test_the_first_novel_route_is_tried_when_the_second_is_gone(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    body = {"error": {"message": "The endpoint not found"}}
    sandbox.set_faults([{"match": "/v2/novel/detail", "action": {"type": "status", "status": 404, "body": body}}])
    novel = sandbox.world.first_novel()
    assert (await connect(sandbox).work(WorkRef(NOVEL, str(novel.id)))).id == str(novel.id)


@pytest.mark.parametrize(("reason", "kind"), [("sanity_level", Restriction.SANITY), ("tomorrow", Restriction.UNKNOWN)])
async def test_restricted_works_are_listed_as_such_and_not_given_out(
    opened: Any, connect: Any, caplog: pytest.LogCaptureFixture, reason: str, kind: Restriction
) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "*", "action": {"type": "placeholder", "reason": reason}}])
    source = connect(sandbox)
    works = [work async for page in source.pages(target(tag=common_tag(sandbox.world))) for work in page.works]
    assert {work.restriction for work in works} == {kind}
    assert all(work.pages == () for work in works)
    with pytest.raises(Restricted) as refusal:
        await source.work(works[0].ref)
    assert refusal.value.restriction is kind
    warnings = [record for record in caplog.records if "placeholder" in record.getMessage()]
    assert len(warnings) == (kind is Restriction.UNKNOWN)


async def test_broken_records_cost_only_themselves(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    tag = common_tag(sandbox.world)
    expected = found(sandbox.world, "illust", tag, all_ages_only=True)
    sandbox.set_faults(
        [
            {
                "match": "search.illust",
                "nth": 1,
                "action": {"type": "drop_keys", "keys": ["is_bookmarked"], "numbers": [7]},
            },
            {"match": "search.illust", "nth": 1, "action": {"type": "drop_keys", "keys": ["type"], "numbers": [9]}},
        ]
    )
    pages = [page async for page in connect(sandbox).pages(target(tag=tag))]
    aside = [int(one.id or 0) for page in pages for one in page.quarantined]
    assert aside == [expected[8]]
    assert [int(work.id) for page in pages for work in page.works] == expected[:8] + expected[9:]


@pytest.mark.parametrize("action", ["empty_page", "next_url_foreign"])
async def test_odd_pages_lose_nothing_more(opened: Any, connect: Any, action: str) -> None:
    sandbox = await opened(page_size=10)
    tag = common_tag(sandbox.world)
    expected = found(sandbox.world, "illust", tag, all_ages_only=True)
    sandbox.set_faults([{"match": "search.illust", "nth": 2, "action": action}])
    got = await ids(connect(sandbox), target(tag=tag))
    assert got == (expected[:10] + expected[20:] if action == "empty_page" else expected)


async def test_a_page_that_leads_to_itself_is_told(opened: Any, connect: Any) -> None:
    sandbox = await opened(page_size=10)
    sandbox.set_faults([{"match": "search.illust", "action": "next_url_repeat"}])
    with pytest.raises(ShapeChanged, match="leads back"):
        await ids(connect(sandbox), target(tag=common_tag(sandbox.world)))


async def test_behind_the_offset_wall_the_search_goes_on_by_days(opened: Any, connect: Any) -> None:
    newest = datetime(2026, 3, 1, tzinfo=UTC)
    author = records.user(5, "Busy")
    world = World.from_records(
        records.illust(1000 + n, newest - timedelta(minutes=20 * n), author, tags=["many"]) for n in range(5400)
    )
    sandbox = await opened(world=world)
    got = await ids(connect(sandbox), target(tag="many"))
    assert got == list(range(1000, 6400))
    assert sandbox.stats()["statuses"] == {"200": sandbox.stats()["total"]}


async def test_animations(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    work = next(work for work in sandbox.world.newest("illust") if work.type == "ugoira")
    source = connect(sandbox)
    record = await source.work(WorkRef(ILLUST, str(work.id)))
    assert (record.kind, record.pages) == (IllustKind.UGOIRA, ())
    info = await source.ugoira(record.ref)
    assert [(frame.file, frame.delay_ms) for frame in info.frames] == [(f.file, f.delay_ms) for f in work.frames]
    for url in info.archive_urls:
        async with source.media(url) as stream:
            assert b"".join([chunk async for chunk in stream.chunks()]) == await sandbox.media_bytes(url)


async def test_novel_texts_and_their_pictures(opened: Any, connect: Any) -> None:
    sandbox = await opened(novels=10)
    source = connect(sandbox)
    for work in sandbox.world.newest("novel"):
        read = await source.novel(WorkRef(NOVEL, str(work.id)))
        assert read.text == work.novel.text
        for image in read.images.values():
            assert image.urls or image.problem
    pictures: list[Any] = []
    for work in sandbox.world.newest("novel"):
        pictures += (await source.novel(WorkRef(NOVEL, str(work.id)))).images.values()
    assert {image.ref.split(":")[0] for image in pictures} == {"uploadedimage", "pixivimage"}
    for image in pictures:
        if image.urls:
            async with source.media(image.urls[0]) as stream:
                assert b"".join([chunk async for chunk in stream.chunks()]) == await sandbox.media_bytes(image.urls[0])


async def test_a_new_layout_sends_to_the_web_site(opened: Any, connect: Any) -> None:
    sandbox = await opened(novels=10)
    sandbox.set_faults([{"match": "/webview/*", "action": "webview_layout"}])
    source = connect(sandbox)
    work = sandbox.world.newest("novel")[3]
    assert (await source.novel(WorkRef(NOVEL, str(work.id)))).text == work.novel.text
    web = [entry for entry in sandbox.stats()["recent"] if entry["site"] == "web"]
    assert web
    assert all("authorization" not in [name.lower() for name in entry["headers"]] for entry in web)


async def test_both_ways_closed_is_a_changed_shape_and_no_verdict(opened: Any, connect: Any) -> None:
    sandbox = await opened(novels=10)
    sandbox.set_faults(
        [{"match": "/webview/*", "action": "webview_layout"}, {"match": "/ajax/*", "action": "forbidden"}]
    )
    with pytest.raises(ShapeChanged):
        await connect(sandbox).novel(WorkRef(NOVEL, str(sandbox.world.first_novel().id)))


@pytest.mark.parametrize("text", [None, "", "  "])
async def test_an_empty_novel_is_unavailable(opened: Any, connect: Any, text: Any) -> None:
    sandbox = await opened(novels=10)
    sandbox.set_faults([{"match": "/webview/*", "action": {"type": "novel_text", "text": text}}])
    with pytest.raises(WorkUnavailable):
        await connect(sandbox).novel(WorkRef(NOVEL, str(sandbox.world.first_novel().id)))


@pytest.mark.parametrize("match", ["novel.detail", "illust.detail"])
async def test_private_works_are_forbidden_one_by_one(opened: Any, connect: Any, match: str) -> None:
    sandbox = await opened()
    hidden, shown = sandbox.world.newest("novel" if "novel" in match else "illust")[:2]
    kind = NOVEL if "novel" in match else ILLUST
    sandbox.set_faults([{"match": match, "work": hidden.id, "action": "forbidden"}])
    source: Any = connect(sandbox)
    with pytest.raises(WorkUnavailable):
        await source.work(WorkRef(kind, str(hidden.id)))
    assert (await source.work(WorkRef(kind, str(shown.id)))).id == str(shown.id)
