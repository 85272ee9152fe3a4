"""Which candidates of a target are wanted, and why the others are not.

Each condition is a predicate of its own that answers with a reject code or None; the first code wins, in the order of
`PREDICATES`. Codes are stored in funnels and shown to people, so their values never change.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from enum import StrEnum
from types import MappingProxyType

from pixivflow.domain.target import Filters, Mode, Target
from pixivflow.domain.work import AgeRating, AiType, IllustKind, Restriction, Work

JST = timezone(timedelta(hours=9), "JST")
"""The site's days are Japanese days; Japan keeps one offset all year."""

WITHDRAWN_AUTHOR = "0"


class Reject(StrEnum):
    """Why a candidate was not taken."""

    REPEATED = "repeated"  # the same work stood in the listing before
    EXCLUDED = "excluded"  # named in the target's or the job's exclusions
    RESTRICTED_SANITY = "restricted_sanity"
    RESTRICTED_MYPIXIV = "restricted_mypixiv"
    RESTRICTED_UNVIEWABLE = "restricted_unviewable"
    RESTRICTED_UNKNOWN = "restricted_unknown"
    INVISIBLE = "invisible"
    WITHDRAWN = "withdrawn_author"
    MUTED = "muted"
    FEW_BOOKMARKS = "few_bookmarks"
    BOOKMARKS_UNKNOWN = "bookmarks_unknown"
    TOO_OLD = "too_old"
    TOO_NEW = "too_new"
    DATE_UNKNOWN = "date_unknown"
    AI = "ai"
    AI_TAG = "ai_tag"
    TOO_MANY_PAGES = "too_many_pages"
    AGE_RATING = "age_rating"
    EXCLUDED_TAG = "excluded_tag"
    ALREADY_DOWNLOADED = "already_downloaded"
    ALREADY_DELIVERED = "already_delivered"
    TAKEN = "taken"  # another pick of the same job has it
    UNAVAILABLE = "unavailable"  # found in the listing, gone or closed when it was opened


class ProtocolReason(StrEnum):
    """The closed set of `filtered[].reason` in Workflow Protocol v1."""

    DUPLICATE = "duplicate"
    EXCLUDED = "excluded"
    INVALID = "invalid"
    UNAVAILABLE = "unavailable"
    OTHER = "other"


_OF_RESTRICTION: Mapping[Restriction, Reject] = MappingProxyType(
    {
        Restriction.SANITY: Reject.RESTRICTED_SANITY,
        Restriction.FRIENDS_ONLY: Reject.RESTRICTED_MYPIXIV,
        Restriction.UNVIEWABLE: Reject.RESTRICTED_UNVIEWABLE,
        Restriction.UNKNOWN: Reject.RESTRICTED_UNKNOWN,
    }
)

DUPLICATES: frozenset[Reject] = frozenset(
    {Reject.REPEATED, Reject.ALREADY_DOWNLOADED, Reject.ALREADY_DELIVERED, Reject.TAKEN}
)
UNAVAILABLE: frozenset[Reject] = frozenset(
    {*_OF_RESTRICTION.values(), Reject.INVISIBLE, Reject.WITHDRAWN, Reject.UNAVAILABLE}
)

_PROTOCOL: Mapping[Reject, ProtocolReason] = MappingProxyType(
    {
        **dict.fromkeys(Reject, ProtocolReason.EXCLUDED),
        **dict.fromkeys(DUPLICATES, ProtocolReason.DUPLICATE),
        **dict.fromkeys(UNAVAILABLE, ProtocolReason.UNAVAILABLE),
    }
)


def protocol_reason(code: str) -> ProtocolReason:
    """The wire's word for a stored code. A code this version does not know is `other`, never a guess."""
    try:
        return _PROTOCOL[Reject(code)]
    except ValueError:
        return ProtocolReason.OTHER


def restricted(restriction: Restriction) -> Reject:
    """The code of a work that shows a placeholder."""
    return _OF_RESTRICTION[restriction]


def tag_key(text: str) -> str:
    """The form in which tags are compared: NFKC, case-folded, no outer blanks, no leading number sign."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip().lstrip("#").strip()


def _marker_key(text: str) -> str:
    return "".join(ch for ch in tag_key(text) if ch not in " -_・.")


AI_TAGS: frozenset[str] = frozenset(
    _marker_key(tag)
    for tag in (
        "AIイラスト",
        "AI生成",
        "AI生成イラスト",
        "AI作品",
        "AI作画",
        "AI绘画",
        "AI繪圖",
        "AI生成作品",
        "AI art",
        "AI-generated",
        "AI generated art",
        "AI illustration",
        "NovelAI",
        "NovelAI Diffusion",
        "Stable Diffusion",
    )
)
"""Tags by which people say "made by a generator", whole tags only: "AI不使用" (no AI used) is none of them."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a target asks of a candidate, made ready for comparing.

    Attributes:
        any_age: restricted works are wanted, because the target says so or because it names them itself.
        ai_tags: markers (as `_marker_key` forms) that count as AI when AI is excluded; empty trusts the field alone.
    """

    filters: Filters = field(default_factory=Filters)
    exclude_works: frozenset[str] = frozenset()
    exclude_tags: frozenset[str] = frozenset()
    any_age: bool = False
    ai_tags: frozenset[str] = AI_TAGS


def criteria_of(target: Target) -> Criteria:
    """The criteria of a target.

    A restricted ranking and a single named work ask for what they name, so `r18: false` does not reject it.
    """
    named = target.mode is Mode.WORK or (target.mode is Mode.RANKING and "r18" in target.ranking_mode)
    return Criteria(
        filters=target.filters,
        exclude_works=target.exclude_works,
        exclude_tags=frozenset(filter(None, map(tag_key, target.filters.exclude_tags))),
        any_age=target.filters.r18 or named,
    )


def jst_day(moment: datetime) -> date:
    """The Japanese day of a moment. A moment without an offset is taken as Japanese time, as the site writes it."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=JST)).astimezone(JST).date()


def why_not(work: Work, criteria: Criteria) -> Reject | None:
    """Why `work` is not wanted, or None.

    A record that still needs its detail call is not judged on facts it does not carry yet; ask again with the full one.
    """
    for predicate in PREDICATES:
        code = predicate(work, criteria)
        if code is not None:
            return code
    return None


def _excluded(work: Work, criteria: Criteria) -> Reject | None:
    return Reject.EXCLUDED if work.id in criteria.exclude_works else None


def _available(work: Work, criteria: Criteria) -> Reject | None:
    del criteria
    if work.restriction is not None:
        return restricted(work.restriction)
    if not work.visible:
        return Reject.INVISIBLE
    if _shell(work):
        return Reject.WITHDRAWN
    return Reject.MUTED if work.muted else None


def _shell(work: Work) -> bool:
    """Whether a withdrawn author left a record without files.

    A record that only lacks its author is not one: ids, kind and addresses are all that collecting needs. Animations
    and novels carry no addresses in their records; opening them tells.
    """
    has_pages = work.kind in (IllustKind.ILLUST, IllustKind.MANGA)
    return work.author.id == WITHDRAWN_AUTHOR and has_pages and not work.pages and work.complete_record


def _bookmarks(work: Work, criteria: Criteria) -> Reject | None:
    least = criteria.filters.min_bookmarks
    if least is None or least <= 0:
        return None
    if work.bookmarks is None:
        return Reject.BOOKMARKS_UNKNOWN if work.complete_record else None
    return Reject.FEW_BOOKMARKS if work.bookmarks < least else None


def _dates(work: Work, criteria: Criteria) -> Reject | None:
    first, last = criteria.filters.start_date, criteria.filters.end_date
    if first is None and last is None:
        return None
    if work.created_at is None:
        return Reject.DATE_UNKNOWN if work.complete_record else None
    day = jst_day(work.created_at)
    if first is not None and day < first:
        return Reject.TOO_OLD
    return Reject.TOO_NEW if last is not None and day > last else None


def _ai(work: Work, criteria: Criteria) -> Reject | None:
    if not criteria.filters.exclude_ai:
        return None
    if work.ai is AiType.YES:
        return Reject.AI
    marked = any(
        _marker_key(name) in criteria.ai_tags for tag in work.tags for name in (tag.name, tag.translated_name) if name
    )
    return Reject.AI_TAG if marked else None


def _pages(work: Work, criteria: Criteria) -> Reject | None:
    most = criteria.filters.max_page_count
    return Reject.TOO_MANY_PAGES if most is not None and work.page_count > most else None


def _age(work: Work, criteria: Criteria) -> Reject | None:
    return None if criteria.any_age or work.rating is AgeRating.ALL else Reject.AGE_RATING


def _tags(work: Work, criteria: Criteria) -> Reject | None:
    if not criteria.exclude_tags:
        return None
    for tag in work.tags:
        for name in (tag.name, tag.translated_name):
            if name and tag_key(name) in criteria.exclude_tags:
                return Reject.EXCLUDED_TAG
    return None


PREDICATES: tuple[Callable[[Work, Criteria], Reject | None], ...] = (
    _excluded,
    _available,
    _bookmarks,
    _dates,
    _ai,
    _pages,
    _age,
    _tags,
)
