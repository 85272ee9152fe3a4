"""Which lists answer a target, and how one page leads to the next. Pure.

A target becomes one or more parts, each a list of the app API with its own paging. A cursor keeps, for each part, the
query of the page to go on with and how many of its works are already out; the path never comes from an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from pixivflow.domain.target import Mode, TagRelation, Target
from pixivflow.domain.work import Work, WorkType
from pixivflow.sources.errors import BadQuestion
from pixivflow.sources.pixiv.fields import JST

OFFSET_WALL = 5000
"""The search refuses offsets from here on; what lies behind is reached by moving the date."""
RANKING_HOUR_JST = 12
_RANKING_GRACE = timedelta(hours=12)
_LONGEST_CURSOR = 16 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """One list of the API: its path and the query of its first page."""

    path: str
    query: Mapping[str, str]
    work_type: WorkType

    @property
    def first(self) -> str:
        """The first page's query, encoded."""
        return urlencode(self.query)


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go on in a part. `query` is None at its end; `skip` works of that page are already out."""

    query: str | None
    skip: int = 0


def parts_of(target: Target) -> tuple[Part, ...]:
    """The lists that answer the target. Raises BadQuestion when it does not say enough."""
    if target.mode is Mode.SEARCH:
        return _search(target)
    if target.mode is Mode.RANKING:
        return (_ranking(target),)
    if target.mode is Mode.USER:
        return (_user(target),)
    raise BadQuestion(f"target {target.id}: a {target.mode.value} is not a list")


def merge_key(target: Target) -> Callable[[Work], float]:
    """What orders works of several parts; the smallest comes first. A work without the value is not held back."""
    if target.mode is Mode.SEARCH and target.sort.startswith("popular"):
        return lambda work: float("-inf") if work.bookmarks is None else -work.bookmarks
    sign = 1 if target.mode is Mode.SEARCH and target.sort == "date_asc" else -1
    return lambda work: float("-inf") if work.created_at is None else sign * (work.created_at - _EPOCH).total_seconds()


def next_query(next_url: str) -> str | None:
    """The query of a next page's address in one spelling, None when there is none in it. Host and path are dropped."""
    if len(next_url) > _LONGEST_CURSOR:
        return None
    try:
        pairs = parse_qsl(urlsplit(next_url).query, keep_blank_values=True, max_num_fields=500, errors="strict")
        return urlencode(pairs) or None
    except ValueError:  # UnicodeError is one
        return None


def offset_of(query: str) -> int:
    """The `offset` in a query, 0 without one."""
    value = dict(parse_qsl(query)).get("offset", "0")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0


def next_window(part: Part, query: str, last_day: date | None) -> tuple[str, bool] | None:
    """How to reach what lies behind the offset wall: the first page of the next window of days.

    The window overlaps the last one by a day, since nothing says whether the site's date borders are inclusive;
    duplicates are the caller's to drop. When a single day holds more than the wall lets through, the rest of that day
    cannot be reached and the window moves on past it: then the second value is True.

    Returns None when the list is not in date order, or no work told its day, or the wanted range is used up.
    """
    sort = part.query.get("sort")
    if last_day is None or sort not in ("date_desc", "date_asc"):
        return None
    newest_first = sort == "date_desc"
    key, other = ("end_date", "start_date") if newest_first else ("start_date", "end_date")
    step = timedelta(days=-1 if newest_first else 1)
    now = dict(parse_qsl(query))
    border = _day(now.get(key))
    limit = _day(part.query.get(other))
    pick = min if newest_first else max
    moved = last_day - step if border is None else pick(last_day - step, border + step)
    lost = moved < last_day if newest_first else moved > last_day
    if limit is not None and (moved < limit if newest_first else moved > limit):
        return None
    return urlencode({**part.query, key: moved.isoformat()}), lost


def wholly_too_old(part: Part, works: tuple[Work, ...]) -> bool:
    """Whether a newest-first search has gone past its first wanted day with every work of a page."""
    start = _day(part.query.get("start_date"))
    if start is None or part.query.get("sort") != "date_desc" or not works:
        return False
    return all(work.created_at is not None and jst_day(work.created_at) < start for work in works)


def jst_day(moment: datetime) -> date:
    """The site's day of a moment."""
    return moment.astimezone(JST).date()


def ranking_day_runs(day: date, now: float) -> bool:
    """Whether the day of a ranking is still running or yet to come, so that asking is of no use."""
    return datetime.fromtimestamp(now, JST).date() <= day


def ranking_may_be_late(day: date, now: float) -> bool:
    """Whether an empty ranking of that day means "not out yet": it comes about noon of the next day, or later."""
    due = datetime(day.year, day.month, day.day, RANKING_HOUR_JST, tzinfo=JST) + timedelta(days=1)
    return datetime.fromtimestamp(now, JST) < due + _RANKING_GRACE


def write_cursor(places: tuple[Place, ...]) -> str | None:
    """The cursor for the places, None when every part is at its end."""
    if all(place.query is None for place in places):
        return None
    return msgspec.json.encode([(place.query, place.skip) for place in places]).decode()


def read_cursor(cursor: str, parts: tuple[Part, ...]) -> tuple[Place, ...]:
    """The places of a cursor. Raises BadQuestion when it is not one of this target's."""
    try:
        if len(cursor) > _LONGEST_CURSOR * len(parts):
            raise BadQuestion("the cursor is too long")
        pairs = msgspec.json.decode(cursor, type=list[tuple[str | None, int]])
    except msgspec.DecodeError:
        raise BadQuestion("the cursor cannot be read") from None
    if len(pairs) != len(parts) or any(skip < 0 for _, skip in pairs):
        raise BadQuestion("the cursor belongs to another target")
    return tuple(Place(None if query is None else next_query(f"?{query}"), skip) for query, skip in pairs)


def _search(target: Target) -> tuple[Part, ...]:
    words = target.tags
    if not words:
        raise BadQuestion(f"target {target.id}: a search needs a tag")
    any_of = target.tag_relation is TagRelation.OR
    asked = tuple(dict.fromkeys(words)) if any_of else (" ".join(words),)
    query = {"search_target": target.search_target, "sort": target.sort, "include_translated_tag_results": "true"}
    if target.type is WorkType.NOVEL:
        query["merge_plain_keyword_results"] = "true"
    if target.filters.start_date is not None:
        query["start_date"] = target.filters.start_date.isoformat()
    if target.filters.end_date is not None:
        query["end_date"] = target.filters.end_date.isoformat()
    query |= _filter(target)
    path = "/v1/search/illust" if target.type is WorkType.ILLUSTRATION else "/v1/search/novel"
    return tuple(Part(path, {"word": word, **query}, target.type) for word in asked)


def _ranking(target: Target) -> Part:
    query = {"mode": target.ranking_mode}
    if target.ranking_date is not None:
        query["date"] = target.ranking_date.isoformat()
    if target.type is WorkType.NOVEL:
        return Part("/v1/novel/ranking", query, target.type)
    # A ranking of restricted works with the filter on would be empty.
    unfiltered = "r18" in target.ranking_mode
    return Part("/v1/illust/ranking", query if unfiltered else {**query, **_filter(target)}, target.type)


def _user(target: Target) -> Part:
    user = target.user_id or ""
    if not (user.isascii() and user.isdigit()):
        raise BadQuestion(f"target {target.id}: a user target needs a user's number")
    # Without `type` the list holds illustrations, manga and animations in one order, newest first.
    path = "/v1/user/illusts" if target.type is WorkType.ILLUSTRATION else "/v1/user/novels"
    return Part(path, {"user_id": user, **_filter(target)}, target.type)


def _filter(target: Target) -> dict[str, str]:
    # The filter hides restricted works; leaving it out is the only way to ask for them.
    return {} if target.filters.r18 else {"filter": "for_ios"}


def _day(value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        return None
