"""What is asked for: a target, and the view of it that one job uses.

A target is configured once; a job may narrow it (tags, limits, exclusions) for its own run only. `apply_view` is the
only place where that happens, and it can never change where the result is delivered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any

from pixivflow.domain.work import WorkRef, WorkType

MAX_SCAN = 100
MAX_LIMIT = 100
DEFAULT_LIMIT = 10
DEFAULT_SCAN = 5


class Mode(StrEnum):
    """How works are found."""

    SEARCH = "search"
    RANKING = "ranking"
    USER = "user"
    WORK = "work"


class TagRelation(StrEnum):
    """Whether several tags must all be present, or any of them."""

    AND = "and"
    OR = "or"


class StorageMode(StrEnum):
    """Whether files stay, or go once every route has confirmed them."""

    PERSISTENT = "persistent"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions a candidate must meet. None means "no condition".

    Attributes:
        start_date, end_date: JST days, inclusive; placeholders are already resolved.
        exclude_tags: a work carrying one of them is rejected (compared NFKC, case-folded).
        r18: True also asks the site for restricted works; it does not select only them.
    """

    min_bookmarks: int | None = None
    start_date: date | None = None
    end_date: date | None = None
    exclude_ai: bool = False
    max_page_count: int | None = None
    r18: bool = False
    exclude_tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to collect, resolved for one run.

    Attributes:
        id: the stable name used by plans, deliveries and the Job API.
        limit: how many works are wanted.
        scan_limit: how many candidates may be opened to fill `limit`; never below `limit`.
        routes: names of delivery routes, the primary one first; empty means the files are the result.
        fields: extra template fields for the routes.
        exclude_works: works never to be picked, on top of what the ledger knows.
        start_date, end_date inside `filters` may also come from placeholders; see `config`.
        tag: the words as configured (separated by spaces); `tags` gives them one by one.
    """

    id: str
    type: WorkType
    mode: Mode
    tag: str = ""
    tag_relation: TagRelation = TagRelation.AND
    search_target: str = "partial_match_for_tags"
    sort: str = "date_desc"
    ranking_mode: str = "day"
    ranking_date: date | None = None
    user_id: str | None = None
    work_id: str | None = None
    limit: int = DEFAULT_LIMIT
    scan_limit: int = DEFAULT_SCAN
    filters: Filters = field(default_factory=Filters)
    storage: StorageMode = StorageMode.PERSISTENT
    routes: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    exclude_works: frozenset[str] = frozenset()

    @property
    def tags(self) -> tuple[str, ...]:
        """The searched words, in order, without blanks."""
        return tuple(self.tag.split())

    @property
    def work_ref(self) -> WorkRef | None:
        """The work meant by a single-work target."""
        return WorkRef(self.type, self.work_id) if self.work_id is not None else None


@dataclass(frozen=True, slots=True)
class RetrievalView:
    """How one job narrows its target (the normalised `params` of a `candidate_search`).

    Attributes:
        tags: replace the target's words; empty means "as configured".
        expand: search any of the tags instead of all (only with more than one).
        limit, scan_limit: as sent; clamped when applied.
        exclude: pairs of (kind, id) with kind `work`, `candidate` or `tag`.
    """

    tags: tuple[str, ...] = ()
    expand: bool = False
    limit: int | None = None
    scan_limit: int | None = None
    exclude: tuple[tuple[str, str], ...] = ()
    work_types: tuple[str, ...] = ()


def apply_view(target: Target, view: RetrievalView | None) -> Target:
    """Narrow a target for one job.

    Constraints count without a query as well. `scan_limit` is never below `limit`; both stay within 1..100.
    Exclusions of kind `work` and `candidate` name work ids (a candidate's id is its work's), `tag` names tags; they are
    added to what the target already excludes. Routes, fields and identity are never touched.
    """
    if view is None:
        return target
    changed = target
    if view.tags:
        changed = replace(changed, tag=" ".join(view.tags))
        if view.expand and len(view.tags) > 1:
            changed = replace(changed, tag_relation=TagRelation.OR)
    if view.limit is not None:
        limit = _clamp(view.limit, 1, MAX_LIMIT)
        changed = replace(changed, limit=limit, scan_limit=max(changed.scan_limit, limit))
    if view.scan_limit is not None:
        changed = replace(changed, scan_limit=_clamp(view.scan_limit, _clamp(changed.limit, 1, MAX_SCAN), MAX_SCAN))
    works = {ident for kind, ident in view.exclude if kind in ("work", "candidate")}
    tags = {ident for kind, ident in view.exclude if kind == "tag"}
    if works:
        changed = replace(changed, exclude_works=changed.exclude_works | works)
    if tags:
        filters = replace(changed.filters, exclude_tags=changed.filters.exclude_tags | tags)
        changed = replace(changed, filters=filters)
    return changed


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
