"""The generated world is a pure function and holds what tests of other rooms count on."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.sandbox import pictures, records, vocabulary
from pixivflow.sandbox.jst import day_of, start_of
from pixivflow.sandbox.world import VIEWER_ID, NovelText, World, original_urls
from pixivflow.sandbox.worldgen import ARCHETYPES, WORKS_PER_DAY, created_at, dense_records, generate, illust_id

ANCHOR = date(2026, 3, 10)


def test_equal_seed_gives_an_equal_world() -> None:
    one, two = generate(seed=7, works=40, anchor=ANCHOR), generate(seed=7, works=40, anchor=ANCHOR)
    assert [work.record for work in one.newest("illust")] == [work.record for work in two.newest("illust")]
    assert [work.novel for work in one.newest("novel")] == [work.novel for work in two.newest("novel")]


def test_another_seed_gives_other_ids_and_titles() -> None:
    one, two = generate(seed=1, works=30, anchor=ANCHOR), generate(seed=2, works=30, anchor=ANCHOR)
    assert not set(one.illusts) & set(two.illusts)
    assert [w.record["title"] for w in one.newest("illust")] != [w.record["title"] for w in two.newest("illust")]


def test_a_larger_world_keeps_the_newest_works_as_they_are() -> None:
    small, large = generate(seed=3, works=20, anchor=ANCHOR), generate(seed=3, works=60, anchor=ANCHOR)
    assert {key: large.illusts[key].record for key in small.illusts} == {
        key: work.record for key, work in small.illusts.items()
    }


def test_the_anchor_moves_dates_only() -> None:
    here, there = generate(works=20, anchor=ANCHOR), generate(works=20, anchor=ANCHOR + timedelta(days=30))
    for one, two in zip(here.newest("illust"), there.newest("illust"), strict=True):
        assert (one.id, one.record["title"], one.bookmarks) == (two.id, two.record["title"], two.bookmarks)
        assert two.created - one.created == timedelta(days=30)


@given(index=st.integers(0, 5000), seed=st.integers(0, 5000))
def test_newer_works_have_later_times_and_higher_ids(index: int, seed: int) -> None:
    assert created_at(index, ANCHOR) >= created_at(index + 1, ANCHOR)
    assert created_at(index, ANCHOR) <= start_of(ANCHOR)
    assert illust_id(index, seed) > illust_id(index + 1, seed)


def test_days_have_clusters_at_midnight_and_works_of_the_same_second() -> None:
    stamps = [created_at(index, ANCHOR) for index in range(WORKS_PER_DAY * 3)]
    midnights = [start_of(ANCHOR - timedelta(days=n)) for n in range(3)]
    for midnight in midnights:
        assert sum(abs(moment - midnight) <= timedelta(minutes=3) for moment in stamps) >= 4
    assert len(set(stamps)) < len(stamps)
    assert len({day_of(moment) for moment in stamps}) == 4


def test_ten_works_hold_every_type() -> None:
    world = generate(works=10, anchor=ANCHOR)
    assert {work.type for work in world.newest("illust")} == {"illust", "manga", "ugoira"}
    assert {kind.ai for kind in ARCHETYPES[:10]} == {0, 1, 2}
    assert any(url.endswith(".gif") for work in world.newest("illust") for url in original_urls(work.record))
    assert world.first_multi_page().record["page_count"] == 3
    assert world.first_single_page().record["meta_pages"] == []
    assert len(world.first("ugoira").frames) == 6


def test_the_world_covers_ratings_ai_types_and_awkward_titles() -> None:
    world = generate(works=200, anchor=ANCHOR)
    works = world.newest("illust")
    assert {work.x_restrict for work in works} == {0, 1, 2}
    assert {work.ai_type for work in works} == {0, 1, 2}
    assert {work.record["sanity_level"] for work in works} == {2, 4, 6}
    assert set(vocabulary.AWKWARD_TITLES) <= {work.record["title"] for work in works}
    names = {tag["name"]: tag["translated_name"] for work in works for tag in work.record["tags"]}
    assert set(vocabulary.AWKWARD_TAGS) <= set(names)
    assert None in names.values()
    assert "scenery" in names.values()
    assert max(work.record["page_count"] for work in works) == 12


def test_series_have_parts_in_reading_order() -> None:
    world = generate(works=60, novels=20, anchor=ANCHOR)
    parts = world.in_series("illust", 7001)
    assert len(parts) >= 2
    assert [part.created for part in parts] == sorted(part.created for part in parts)
    assert len(world.in_series("novel", 8001)) == 5


def test_the_first_novel_has_every_marker_and_a_picture_twice() -> None:
    novel = generate(works=20, anchor=ANCHOR).first_novel()
    assert novel.novel is not None
    text = novel.novel.text or ""
    for mark in ("[newpage]", "[chapter:", "[pixivimage:", "[uploadedimage:", "[jump:1]", "[[jumpuri:", "[[rb:"):
        assert mark in text
    assert text.count("[uploadedimage:3000000]") == 2
    assert sorted(novel.novel.images) == ["3000000", "3000777"]
    assert all(f"[pixivimage:{marker}]" in text for marker in novel.novel.illusts)
    assert len(novel.novel.illusts) == 2
    assert novel.record["title"] == "花 & 穹 <1>"


def test_a_world_from_records_takes_broken_ones() -> None:
    author = records.user(1, "one")
    good = records.illust(5, start_of(ANCHOR), author)
    broken = {key: value for key, value in records.illust(6, start_of(ANCHOR), author).items() if key != "type"}
    world = World.from_records([good, broken, {"title": "no id"}, {"id": 9, "tags": None, "user": {}, "series": {}}])
    assert set(world.illusts) == {5, 6, 7, 9}
    assert "type" not in world.illusts[6].record
    assert world.illusts[9].user_id == 0
    assert set(world.authors) == {1}


def test_changing_the_world_shows_at_once() -> None:
    world = generate(works=10, anchor=ANCHOR)
    work = world.first_multi_page()
    version = world.version
    world.rename_author(work.user_id, "new name")
    assert world.illusts[work.id].record["user"]["name"] == "new name"
    revised = world.revise(work.id, title="again")
    assert (revised.record["title"], revised.revision) == ("again", 1)
    url = original_urls(work.record)[0]
    world.remove("illust", work.id)
    assert work not in world.newest("illust")
    assert world.media.find(url.removeprefix("https://i.pximg.net")) is None
    assert world.version > version


def test_some_bookmarks_are_private() -> None:
    world = generate(works=40, anchor=ANCHOR)
    private = [world.of(kind)[work_id] for kind, work_id in world.private_bookmarks]
    assert private
    assert all(work.bookmarked for work in private)
    assert any(work.bookmarked for work in world.newest("illust") if work not in private)


def test_dense_records_stand_at_the_asked_rate() -> None:
    made = dense_records(10, 3, start_of(ANCHOR))
    times = sorted(record["create_date"] for record in made)
    assert len(set(times)) == 10
    assert times[-1] == "2026-03-10T00:00:00+09:00"
    assert times[-2] == "2026-03-09T23:40:00+09:00"
    assert len({record["id"] for record in made}) == 10


def test_a_novel_can_have_no_text_at_all() -> None:
    world = World()
    world.add_novel(records.novel(3, start_of(ANCHOR), records.user(1, "one")), NovelText(None))
    assert world.novels[3].novel == NovelText(None)


def test_no_work_raises_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="no ugoira"):
        World().first("ugoira")
    with pytest.raises(LookupError):
        World().first_multi_page()


def test_the_account_is_no_author() -> None:
    assert VIEWER_ID not in generate(works=5, anchor=ANCHOR).authors


@pytest.mark.parametrize("fmt", ["jpg", "png", "gif", "webp"])
def test_pictures_are_repeatable_and_differ(fmt: str) -> None:
    one = pictures.picture_bytes("a", fmt, (60, 80))
    assert one == pictures.picture_bytes("a", fmt, (60, 80))
    assert one != pictures.picture_bytes("b", fmt, (60, 80))


def test_a_reduced_copy_never_equals_the_original_even_in_equal_size() -> None:
    original = pictures.picture_bytes("a", "jpg", (60, 80))
    assert original != pictures.picture_bytes("a", "jpg", (60, 80), box=(600, 1200))
