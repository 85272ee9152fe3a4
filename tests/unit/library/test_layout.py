"""Folders: the twelve layouts, Japan's days, and authors who rename themselves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.work import Author, Tag, Work, WorkRef, WorkType
from pixivflow.library.layout import JST, Layout, author_segment, plan_folder, safe_parts

# Late in the evening of 31 January in UTC it is 1 February in Japan.
CREATED = datetime(2025, 1, 31, 20, 0, tzinfo=UTC)
NOW = datetime(2026, 12, 31, 15, 30, tzinfo=UTC)
WORK = Work(
    WorkRef(WorkType.ILLUSTRATION, "1"),
    author=Author("77", "Aoi"),
    tags=(Tag("Fate/GrandOrder"), Tag("x")),
    created_at=CREATED,
)
NOVEL = Work(WorkRef(WorkType.NOVEL, "2"))


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout.FLAT, ""),
        (Layout.BY_AUTHOR, "Aoi_77"),
        (Layout.BY_TAG, "Fate_GrandOrder"),
        (Layout.BY_DATE, "2025-02/illustrations"),
        (Layout.BY_DAY, "2025-02-01/illustrations"),
        (Layout.BY_DOWNLOAD_DATE, "2027-01/illustrations"),
        (Layout.BY_DOWNLOAD_DAY, "2027-01-01/illustrations"),
        (Layout.BY_AUTHOR_AND_TAG, "Aoi_77/Fate_GrandOrder"),
        (Layout.BY_DATE_AND_AUTHOR, "2025-02/illustrations/Aoi_77"),
        (Layout.BY_DAY_AND_AUTHOR, "2025-02-01/illustrations/Aoi_77"),
        (Layout.BY_DOWNLOAD_DATE_AND_AUTHOR, "2027-01/illustrations/Aoi_77"),
        (Layout.BY_DOWNLOAD_DAY_AND_AUTHOR, "2027-01-01/illustrations/Aoi_77"),
    ],
)
def test_every_layout_has_its_folder(layout: Layout, expected: str) -> None:
    assert plan_folder(WORK, layout, downloaded_at=NOW) == expected
    with_base = plan_folder(WORK, layout, downloaded_at=NOW, base="art")
    assert with_base == ("art/" + expected).rstrip("/")


def test_the_twelve_layouts_are_the_configured_words() -> None:
    assert len(Layout) == 12
    assert Layout("byDownloadDayAndAuthor") is Layout.BY_DOWNLOAD_DAY_AND_AUTHOR


def test_what_is_not_known_has_a_word() -> None:
    assert plan_folder(NOVEL, Layout.BY_DAY_AND_AUTHOR, downloaded_at=NOW) == "undated/novels/unknown"
    assert plan_folder(NOVEL, Layout.BY_TAG, downloaded_at=NOW) == "untagged"
    assert plan_folder(NOVEL, Layout.BY_TAG, downloaded_at=NOW, tag="..") == "untagged"


def test_the_tag_a_work_was_found_by_comes_first() -> None:
    assert plan_folder(WORK, Layout.BY_TAG, downloaded_at=NOW, tag="16:9") == "16_9"


def test_a_base_that_names_the_type_is_not_doubled() -> None:
    assert plan_folder(NOVEL, Layout.BY_DATE, downloaded_at=NOW, base="my/Novels") == "my/Novels/undated"
    assert plan_folder(WORK, Layout.BY_DATE, downloaded_at=NOW, base="novels") == "novels/2025-02/illustrations"


def test_a_renamed_author_keeps_the_first_folder() -> None:
    renamed = Author("77", "Aoi@C107 東A-12b")
    known = {"77": "Aoi_77"}
    assert author_segment(renamed) == "Aoi@C107 東A-12b_77"
    assert author_segment(renamed, known.get) == "Aoi_77"
    assert author_segment(Author("78", "Aoi"), known.get) == "Aoi_78"


@pytest.mark.parametrize("bound", ["../up", "", "..", "a/b", "CON", "x."])
def test_a_damaged_binding_does_not_lead_away(bound: str) -> None:
    assert author_segment(Author("77", "Aoi"), lambda _: bound) == "Aoi_77"


def test_an_author_without_a_name_or_a_number() -> None:
    assert author_segment(Author("77", "///")) == "____77"
    assert author_segment(Author("77", " . ")) == "unknown_77"
    assert author_segment(Author("0", "Gone"), lambda _: "x") == "unknown"


def test_a_long_author_name_keeps_the_number() -> None:
    segment = author_segment(Author("123456789", "あ" * 200))
    assert segment.endswith("あ_123456789")
    assert len(segment.encode("utf-8")) <= 120


def test_a_base_stays_below_the_root() -> None:
    assert safe_parts("/../a/./b\\..\\c//d. ") == ["a", "b", "c", "d"]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40), st.sampled_from(list(Layout)))
def test_no_value_adds_or_removes_a_level(name: str, tag: str, base: str, layout: Layout) -> None:
    work = Work(WorkRef(WorkType.ILLUSTRATION, "1"), author=Author("5", name), created_at=CREATED.astimezone(JST))
    plain = Work(WorkRef(WorkType.ILLUSTRATION, "1"), author=Author("5", "n"), created_at=CREATED)
    folder = plan_folder(work, layout, downloaded_at=NOW, tag=tag)
    assert folder.count("/") == plan_folder(plain, layout, downloaded_at=NOW, tag="t").count("/")
    for part in plan_folder(work, layout, downloaded_at=NOW, tag=tag, base=base).split("/"):
        assert part not in {".", ".."}
        assert not set(part) & set('\\?:*"<>|\0')
