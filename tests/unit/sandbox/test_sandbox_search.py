"""Search semantics: words, targets, days, order."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.sandbox import records
from pixivflow.sandbox.jst import start_of
from pixivflow.sandbox.search import BadParameterError, Query, holds, parse_words, read_query, run_search
from pixivflow.sandbox.world import World

DAY = date(2026, 3, 10)
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def _matches(words: str, carried: set[str]) -> bool:
    return holds(parse_words(words), carried.__contains__)


@pytest.mark.parametrize(
    ("words", "carried", "expected"),
    [
        ("a b", {"a", "b"}, True),
        ("a b", {"a"}, False),
        ("a\u3000b", {"a", "b"}, True),
        ("a OR b", {"b"}, True),
        ("a OR b", {"c"}, False),
        ("a OR b c", {"b", "c"}, True),
        ("a OR b c", {"a"}, False),
        ("a -b", {"a"}, True),
        ("a -b", {"a", "b"}, False),
        ("(a b) OR c", {"c"}, True),
        ("(a b) OR c", {"a"}, False),
        ("(a OR b) -c", {"b"}, True),
        ("A", {"a"}, True),
        ("\uff21", {"a"}, True),
        ("-", {"-"}, True),
        ("OR a", {"a"}, True),
        ("((a", {"a"}, True),
        ("a))", {"a"}, True),
    ],
)
def test_words(words: str, carried: set[str], expected: bool) -> None:
    assert _matches(words, carried) is expected


@given(st.text(alphabet="ab() OR-", max_size=60))
def test_any_text_parses(text: str) -> None:
    assert _matches(text, {"a"}) in {True, False}


@given(words=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5), carried=st.sets(st.sampled_from("abcdef")))
def test_words_mean_all_of_them_and_or_means_any(words: list[str], carried: set[str]) -> None:
    assert _matches(" ".join(words), carried) is (set(words) <= carried)
    assert _matches(" OR ".join(words), carried) is bool(set(words) & carried)


def _world() -> World:
    author = records.user(1, "one")
    at = start_of(DAY)

    def make(work_id: int, seconds: int, **more: Any) -> records.Record:
        return records.illust(work_id, at + timedelta(seconds=seconds), author, **more)

    return World.from_records(
        [
            make(1, 1, tags=[("青空", "blue sky")], title="first", bookmarks=5),
            make(2, 0, tags=["青"], caption="about the sea", bookmarks=50, ai_type=2),
            make(3, -1, tags=["青空"], x_restrict=1, bookmarks=500),
            make(4, -86400, tags=["赤"], title="青い本"),
        ]
    )


def _ids(**params: str) -> list[int]:
    world = _world()
    return [work.id for work in run_search(world.newest("illust"), read_query("illust", params, now=NOW, premium=True))]


def test_targets() -> None:
    assert _ids(word="青") == [1, 2, 3]
    assert _ids(word="青", search_target="exact_match_for_tags") == [2]
    assert _ids(word="青", search_target="title_and_caption") == [4]
    assert _ids(word="青", search_target="keyword") == [1, 2, 3, 4]
    assert _ids(word="blue") == [1]
    assert _ids(word="blue", include_translated_tag_results="false") == []


def test_days_are_japanese_and_include_both_ends() -> None:
    assert _ids(word="青", start_date="2026-03-10") == [1, 2]
    assert _ids(word="青", end_date="2026-03-09") == [3]
    assert _ids(word="青 OR 赤", start_date="2026-03-09", end_date="2026-03-09") == [3, 4]


def test_order_and_filters() -> None:
    assert _ids(word="青", sort="date_asc") == [3, 2, 1]
    assert _ids(word="青", sort="popular_desc") == [3, 2, 1]
    assert _ids(word="青", filter="for_ios") == [1, 2]
    assert _ids(word="青", search_ai_type="1") == [1, 3]
    assert _ids(word="青 OR 赤", duration="within_last_day") == [1, 2, 3]


def test_popularity_is_for_premium_accounts() -> None:
    assert read_query("illust", {"word": "a", "sort": "popular_desc"}, now=NOW, premium=False).sort == "date_desc"


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "word"),
        ({"word": "  "}, "word"),
        ({"word": "a", "search_target": "text"}, "search_target"),
        ({"word": "a", "sort": "best"}, "sort"),
        ({"word": "a", "duration": "ever"}, "duration"),
        ({"word": "a", "start_date": "2026-13-01"}, "start_date"),
        ({"word": "a", "end_date": "yesterday"}, "end_date"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, str], name: str) -> None:
    with pytest.raises(BadParameterError) as caught:
        read_query("illust", params, now=NOW, premium=True)
    assert caught.value.name == name


def test_novels_can_be_searched_by_text() -> None:
    world = World()
    world.add_novel(records.novel(3, start_of(DAY), records.user(1, "one")), "雨の夜に")
    found = run_search(world.newest("novel"), Query(kind="novel", word="雨", target="text"))
    assert [work.id for work in found] == [3]
    assert run_search(world.newest("novel"), Query(kind="novel", word="晴", target="text")) == []
