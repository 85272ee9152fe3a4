"""Popularity is the upstream's figure with a total order, and a funnel survives being stored."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.ranking import MAX_NAMED_REJECTS, Funnel, by_popularity, popularity
from pixivflow.domain.work import Work, WorkRef, WorkType


def work(number: str, bookmarks: int | None = 0, views: int | None = 0, day: int | None = 1) -> Work:
    created = None if day is None else datetime(2026, 3, day, tzinfo=UTC)
    return Work(WorkRef(WorkType.ILLUSTRATION, number), created_at=created, bookmarks=bookmarks, views=views)


def order(*works: Work) -> list[str]:
    return [w.id for w in by_popularity(works)]


def test_a_thousand_views_weigh_one_bookmark() -> None:
    assert popularity(work("1", 10, 2500)) == 12.5
    assert order(work("1", 10, 999), work("2", 11, 0), work("3", 10, 1001)) == ["3", "2", "1"]


def test_equals_are_told_apart_by_date_then_number() -> None:
    assert order(work("9", day=1), work("10", day=1), work("2", day=2), work("99", day=None)) == ["2", "10", "9", "99"]


def test_unknown_figures_count_as_nothing() -> None:
    assert popularity(work("1", None, None)) == 0
    assert order(work("1", None, None), work("2", 1, None)) == ["2", "1"]


def test_a_time_without_a_zone_does_not_break_the_order() -> None:
    bare = replace(work("1"), created_at=datetime(2026, 3, 2))  # noqa: DTZ001 - what is tested
    assert order(work("2", day=1), bare) == ["1", "2"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3000), st.integers(1, 28)), max_size=12), st.randoms())
def test_the_order_does_not_depend_on_the_order_of_arrival(
    figures: list[tuple[int, int, int]], shuffle: random.Random
) -> None:
    works = [work(str(number), *figure) for number, figure in enumerate(figures)]
    shuffled = works[:]
    shuffle.shuffle(shuffled)
    assert by_popularity(shuffled) == by_popularity(works)


def test_a_funnel_survives_being_stored() -> None:
    funnel = Funnel(fetched=9, selected=2, quarantined=1, requests_saved=4)
    funnel.reject("7", "ai")
    funnel.reject("8", "ai")
    funnel.reject("9", "too_old")
    assert Funnel.from_json(funnel.as_json()) == funnel
    assert funnel.as_json()["rejected"] == 3
    assert Funnel.from_json({}) == Funnel()


def test_a_funnel_counts_all_and_names_a_bounded_number() -> None:
    funnel = Funnel()
    for number in range(MAX_NAMED_REJECTS + 50):
        funnel.reject(str(number), "few_bookmarks")
    assert funnel.rejected["few_bookmarks"] == MAX_NAMED_REJECTS + 50
    assert len(funnel.named) == MAX_NAMED_REJECTS
