"""A job may narrow its target for its own run, and can never change where the result goes."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.target import (
    MAX_LIMIT,
    MAX_SCAN,
    Filters,
    Mode,
    RetrievalView,
    StorageMode,
    TagRelation,
    Target,
    apply_view,
)  # fmt: skip
from pixivflow.domain.work import WorkRef, WorkType

words = st.text("abcdeé猫", min_size=1, max_size=6)
idents = st.text("0123456789", min_size=1, max_size=9)
bounds = st.none() | st.integers(-(10**6), 10**6)
targets = st.builds(
    Target,
    id=words,
    type=st.sampled_from(WorkType),
    mode=st.sampled_from(Mode),
    tag=st.lists(words, max_size=3).map(" ".join),
    tag_relation=st.sampled_from(TagRelation),
    limit=st.integers(1, MAX_LIMIT),
    scan_limit=st.integers(1, MAX_SCAN),
    filters=st.builds(Filters, min_bookmarks=st.none() | st.integers(0, 9999), exclude_tags=st.frozensets(words)),
    storage=st.sampled_from(StorageMode),
    routes=st.lists(words, max_size=3).map(tuple),
    fields=st.dictionaries(words, words, max_size=2),
    exclude_works=st.frozensets(idents, max_size=3),
)
views = st.builds(
    RetrievalView,
    tags=st.lists(words, max_size=3).map(tuple),
    expand=st.booleans(),
    limit=bounds,
    scan_limit=bounds,
    exclude=st.lists(
        st.tuples(st.sampled_from(["work", "candidate", "tag", "author"]), idents | words), max_size=5
    ).map(tuple),
)


@given(targets)
def test_no_view_and_an_empty_view_change_nothing(target: Target) -> None:
    assert apply_view(target, None) is target
    assert apply_view(target, RetrievalView()) == target


@given(targets, views)
def test_only_the_question_changes(target: Target, view: RetrievalView) -> None:
    changed = apply_view(target, view)
    may_change = {"tag", "tag_relation", "limit", "scan_limit", "filters", "exclude_works"}
    for name in {field.name for field in fields(Target)} - may_change:
        assert getattr(changed, name) == getattr(target, name)
    assert replace(changed.filters, exclude_tags=frozenset()) == replace(target.filters, exclude_tags=frozenset())


@given(targets, views)
def test_limits_stay_in_their_bounds_and_in_order(target: Target, view: RetrievalView) -> None:
    changed = apply_view(target, view)
    if view.limit is not None:
        assert 1 <= changed.limit <= MAX_LIMIT
    if view.limit is not None or view.scan_limit is not None:
        assert changed.limit <= changed.scan_limit <= MAX_SCAN
    if view.limit is not None and 1 <= view.limit <= MAX_LIMIT:
        assert changed.limit == view.limit


@given(targets, views)
def test_exclusions_are_added_and_never_lifted(target: Target, view: RetrievalView) -> None:
    changed = apply_view(target, view)
    works = {ident for kind, ident in view.exclude if kind in {"work", "candidate"}}
    tags = {ident for kind, ident in view.exclude if kind == "tag"}
    assert changed.exclude_works == target.exclude_works | works
    assert changed.filters.exclude_tags == target.filters.exclude_tags | tags


@given(targets, views)
def test_applying_a_view_twice_is_applying_it_once(target: Target, view: RetrievalView) -> None:
    once = apply_view(target, view)
    assert apply_view(once, view) == once


@given(targets, views)
def test_tags_replace_the_words_and_any_of_them_only_counts_for_several(target: Target, view: RetrievalView) -> None:
    changed = apply_view(target, view)
    assert changed.tags == (view.tags or target.tags)
    widened = view.expand and len(view.tags) > 1
    assert changed.tag_relation is (TagRelation.OR if widened else target.tag_relation)


def test_a_single_work_is_named_with_its_kind() -> None:
    target = Target(id="t", type=WorkType.NOVEL, mode=Mode.WORK, work_id="12")
    assert target.work_ref == WorkRef(WorkType.NOVEL, "12")
    assert replace(target, work_id=None).work_ref is None


def test_blanks_between_words_do_not_count() -> None:
    assert Target(id="t", type=WorkType.ILLUSTRATION, mode=Mode.SEARCH, tag="  cat   sea ").tags == ("cat", "sea")
