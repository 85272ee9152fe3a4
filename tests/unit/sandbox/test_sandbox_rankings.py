"""Rankings by JST day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from pixivflow.sandbox.jst import newest_ranking_day, start_of
from pixivflow.sandbox.ranking import ILLUST_MODES, rank, read_day, read_mode
from pixivflow.sandbox.search import BadParameterError
from pixivflow.sandbox.worldgen import generate

ANCHOR = date(2026, 3, 10)


def test_a_days_list_appears_at_noon_of_the_next_day() -> None:
    before = datetime(2026, 3, 10, 2, 59, 59, tzinfo=UTC)
    assert newest_ranking_day(before) == date(2026, 3, 8)
    assert newest_ranking_day(before + timedelta(seconds=1)) == date(2026, 3, 9)


def test_asked_days() -> None:
    newest, today = date(2026, 3, 8), date(2026, 3, 10)
    assert read_day(None, newest=newest, today=today) == newest
    assert read_day("2026-03-07", newest=newest, today=today) == date(2026, 3, 7)
    assert read_day("2026-03-09", newest=newest, today=today) is None
    assert read_day("2026-03-10", newest=newest, today=today) is None
    for bad in ("2026-03-11", "soon"):
        with pytest.raises(BadParameterError):
            read_day(bad, newest=newest, today=today)


def test_unknown_modes_are_refused_and_novels_have_no_month() -> None:
    assert read_mode("illust", "month").days == 30
    for kind, name in (("illust", "year"), ("novel", "month")):
        with pytest.raises(BadParameterError):
            read_mode(kind, name)  # type: ignore[arg-type]


def test_works_of_the_day_come_first_by_bookmarks_and_none_from_later() -> None:
    world = generate(works=100, anchor=ANCHOR)
    day = date(2026, 3, 7)
    listed = rank(world.newest("illust"), "day", ILLUST_MODES["day"], day)
    begin, end = start_of(day), start_of(day + timedelta(days=1))
    fresh = [work for work in listed if work.created >= begin]
    assert fresh
    assert listed[: len(fresh)] == sorted(fresh, key=lambda work: work.bookmarks, reverse=True)
    assert all(work.created < end and work.x_restrict == 0 for work in listed)


def test_modes_admit_their_own_kind_only() -> None:
    works = generate(works=100, anchor=ANCHOR).newest("illust")
    day = date(2026, 3, 9)
    assert {work.x_restrict for work in rank(works, "day_r18", ILLUST_MODES["day_r18"], day)} == {1}
    assert {work.x_restrict for work in rank(works, "week_r18g", ILLUST_MODES["week_r18g"], day)} == {2}
    assert {work.type for work in rank(works, "day_manga", ILLUST_MODES["day_manga"], day)} == {"manga"}
    assert {work.ai_type for work in rank(works, "day_ai", ILLUST_MODES["day_ai"], day)} == {2}


def test_the_rest_of_the_list_changes_from_day_to_day_but_not_from_call_to_call() -> None:
    works = generate(works=100, anchor=ANCHOR).newest("illust")
    mode = ILLUST_MODES["day"]
    one, again = (rank(works, "day", mode, date(2026, 4, 1)) for _ in range(2))
    other = rank(works, "day", mode, date(2026, 4, 2))
    assert one == again
    assert one != other
    assert {work.id for work in one} == {work.id for work in other}
