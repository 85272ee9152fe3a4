"""Every predicate, its edges, and the totality of the codes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.filters import (
    DUPLICATES,
    UNAVAILABLE,
    Criteria,
    ProtocolReason,
    Reject,
    criteria_of,
    jst_day,
    protocol_reason,
    restricted,
    tag_key,
    why_not,
)
from pixivflow.domain.target import Filters, Mode, Target
from pixivflow.domain.work import (
    AgeRating,
    AiType,
    Author,
    IllustKind,
    Page,
    Restriction,
    Tag,
    Work,
    WorkRef,
    WorkType,
)

PLAIN = Work(
    ref=WorkRef(WorkType.ILLUSTRATION, "15"),
    author=Author("7", "Aoi"),
    kind=IllustKind.ILLUST,
    created_at=datetime(2026, 3, 10, 3, tzinfo=UTC),
    pages=(Page(0, "https://i.pximg.net/img-original/img/2026/03/10/12/00/00/15_p0.png"),),
    bookmarks=100,
)


def verdict(work: Work, **filters: Any) -> Reject | None:
    target = Target(id="t", type=WorkType.ILLUSTRATION, mode=Mode.SEARCH, filters=Filters(**filters))
    return why_not(work, criteria_of(target))


def with_tags(*tags: str | tuple[str, str]) -> Work:
    made = (Tag(*tag) if isinstance(tag, tuple) else Tag(tag) for tag in tags)
    return replace(PLAIN, tags=tuple(made))


def test_a_plain_work_passes_without_conditions() -> None:
    assert verdict(PLAIN) is None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"restriction": Restriction.SANITY}, "restricted_sanity"),
        ({"restriction": Restriction.FRIENDS_ONLY}, "restricted_mypixiv"),
        ({"restriction": Restriction.UNVIEWABLE}, "restricted_unviewable"),
        ({"restriction": Restriction.UNKNOWN}, "restricted_unknown"),
        ({"visible": False}, "invisible"),
        ({"author": Author("0"), "pages": ()}, "withdrawn_author"),
        ({"muted": True}, "muted"),
    ],
)
def test_what_cannot_be_seen_is_rejected_before_any_condition(changes: dict[str, Any], code: str) -> None:
    assert verdict(replace(PLAIN, **changes), min_bookmarks=10_000) == code


def test_a_record_that_only_lacks_its_author_is_collected() -> None:
    assert verdict(replace(PLAIN, author=Author("0"))) is None
    assert verdict(replace(PLAIN, author=Author("0"), kind=IllustKind.UGOIRA, pages=())) is None


@pytest.mark.parametrize(
    ("bookmarks", "least", "code"),
    [
        (100, 100, None),
        (99, 100, Reject.FEW_BOOKMARKS),
        (0, 0, None),
        (None, 0, None),
        (None, 1, Reject.BOOKMARKS_UNKNOWN),
    ],
)
def test_min_bookmarks(bookmarks: int | None, least: int, code: Reject | None) -> None:
    assert verdict(replace(PLAIN, bookmarks=bookmarks), min_bookmarks=least) is code


def test_a_record_that_needs_its_detail_call_is_not_judged_on_what_it_lacks() -> None:
    short = replace(PLAIN, bookmarks=None, created_at=None, pages=(), author=Author("0"), complete_record=False)
    assert verdict(short, min_bookmarks=5, start_date=date(2026, 1, 1)) is None
    assert verdict(replace(short, bookmarks=4), min_bookmarks=5) is Reject.FEW_BOOKMARKS


@pytest.mark.parametrize(
    ("moment", "code"),
    [
        (datetime(2026, 3, 8, 14, 59, 59, tzinfo=UTC), Reject.TOO_OLD),
        (datetime(2026, 3, 8, 15, 0, tzinfo=UTC), None),  # midnight of the 9th in Japan
        (datetime(2026, 3, 10, 14, 59, 59, tzinfo=UTC), None),
        (datetime(2026, 3, 10, 15, 0, tzinfo=UTC), Reject.TOO_NEW),
        (datetime(2026, 3, 9, 0, 0), None),  # noqa: DTZ001 - a time without a zone is the site's
        (None, Reject.DATE_UNKNOWN),
    ],
)
def test_days_are_inclusive_and_japanese(moment: datetime | None, code: Reject | None) -> None:
    work = replace(PLAIN, created_at=moment)
    assert verdict(work, start_date=date(2026, 3, 9), end_date=date(2026, 3, 10)) is code


def test_a_work_without_a_date_passes_when_no_day_is_asked_for() -> None:
    assert verdict(replace(PLAIN, created_at=None)) is None


def test_only_the_sites_own_yes_is_ai() -> None:
    works = [replace(PLAIN, ai=kind) for kind in (AiType.UNKNOWN, AiType.NO, AiType.YES)]
    assert [verdict(work, exclude_ai=True) for work in works] == [None, None, Reject.AI]
    assert [verdict(work) for work in works] == [None, None, None]


@pytest.mark.parametrize(
    "tag", ["AIイラスト", "\uff21\uff29イラスト", "AI-generated", "ai generated", "AI绘画", "Stable Diffusion"]
)
def test_marker_tags_count_as_ai(tag: str) -> None:
    assert verdict(with_tags("sky", tag), exclude_ai=True) is Reject.AI_TAG
    assert verdict(with_tags(tag)) is None
    assert why_not(with_tags(tag), Criteria(Filters(exclude_ai=True), ai_tags=frozenset())) is None


@pytest.mark.parametrize("tag", ["AI不使用", "愛", "aim", "notAI", "AIエージェント"])
def test_words_that_only_look_like_markers_do_not(tag: str) -> None:
    assert verdict(with_tags(tag), exclude_ai=True) is None


def test_max_page_count() -> None:
    assert verdict(replace(PLAIN, page_count=5), max_page_count=5) is None
    assert verdict(replace(PLAIN, page_count=6), max_page_count=5) is Reject.TOO_MANY_PAGES


@pytest.mark.parametrize("rating", [AgeRating.R18, AgeRating.R18G])
def test_restricted_works_are_kept_only_where_they_were_asked_for(rating: AgeRating) -> None:
    work = replace(PLAIN, rating=rating)
    assert verdict(work) is Reject.AGE_RATING
    assert verdict(work, r18=True) is None
    base = Target(id="t", type=WorkType.ILLUSTRATION, mode=Mode.RANKING)
    assert why_not(work, criteria_of(base)) is Reject.AGE_RATING
    assert why_not(work, criteria_of(replace(base, ranking_mode="day_r18"))) is None
    assert why_not(work, criteria_of(replace(base, mode=Mode.WORK, work_id="15"))) is None


def test_r18_does_not_select_only_restricted_works() -> None:
    assert verdict(PLAIN, r18=True) is None


@pytest.mark.parametrize("excluded", ["Cat", "\uff43\uff41\uff54", " CAT ", "#cat", "ねこ", "Kitten"])
def test_excluded_tags_are_compared_without_case_width_or_translation(excluded: str) -> None:
    work = with_tags("\uff53\uff4b\uff59", "cat", ("ねこ", "kitten"))
    assert verdict(work, exclude_tags=frozenset({excluded})) is Reject.EXCLUDED_TAG


def test_an_excluded_tag_is_a_whole_tag_and_an_empty_one_excludes_nothing() -> None:
    assert verdict(with_tags("catalogue"), exclude_tags=frozenset({"cat", "", "#"})) is None


def test_excluded_works() -> None:
    target = Target(id="t", type=WorkType.ILLUSTRATION, mode=Mode.SEARCH, exclude_works=frozenset({"15"}))
    assert why_not(PLAIN, criteria_of(target)) is Reject.EXCLUDED


def test_every_code_has_a_reason_of_the_protocol() -> None:
    for code in Reject:
        reason = protocol_reason(code.value)
        assert reason is not ProtocolReason.OTHER
        assert (reason is ProtocolReason.DUPLICATE) == (code in DUPLICATES)
        assert (reason is ProtocolReason.UNAVAILABLE) == (code in UNAVAILABLE)
    assert {restricted(restriction) for restriction in Restriction} <= UNAVAILABLE


@given(st.text())
def test_an_unknown_code_is_other(code: str) -> None:
    if code not in set(Reject):
        assert protocol_reason(code) is ProtocolReason.OTHER


@given(st.text())
def test_the_key_of_a_tag_is_its_own_key(text: str) -> None:
    assert tag_key(tag_key(text)) == tag_key(text)


@given(st.datetimes(), st.timezones())
def test_a_day_does_not_depend_on_the_zone_a_moment_is_written_in(moment: datetime, zone: Any) -> None:
    try:
        there = moment.replace(tzinfo=UTC).astimezone(zone)
        expected = jst_day(moment.replace(tzinfo=UTC))
    except OverflowError:
        return
    assert jst_day(there) == expected
