"""Rankings of a JST day: pure functions.

The list of a day names works that existed at its end: those inside the mode's window first, by bookmarks, then
older ones in an order that changes from day to day. So every published day has a list, as on the site, although the
world has few works.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from pixivflow.sandbox.jst import newest_ranking_day, start_of
from pixivflow.sandbox.search import BadParameterError
from pixivflow.sandbox.seeded import number
from pixivflow.sandbox.world import Kind, Work

LENGTH_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Mode:
    """Which works a ranking mode admits."""

    days: int = 1
    ratings: frozenset[int] = frozenset((0,))
    ai: bool | None = None
    """True: only AI works; None: whatever."""
    types: frozenset[str] | None = None


_R18: Final = frozenset((1,))
_R18G: Final = frozenset((2,))
_MANGA: Final = frozenset(("manga",))

ILLUST_MODES: Final[dict[str, Mode]] = {
    "day": Mode(),
    "week": Mode(days=7),
    "month": Mode(days=30),
    "day_male": Mode(),
    "day_female": Mode(),
    "week_original": Mode(days=7),
    "week_rookie": Mode(days=7),
    "day_manga": Mode(types=_MANGA),
    "week_manga": Mode(days=7, types=_MANGA),
    "month_manga": Mode(days=30, types=_MANGA),
    "week_rookie_manga": Mode(days=7, types=_MANGA),
    "day_ai": Mode(ai=True),
    "day_r18": Mode(ratings=_R18),
    "day_r18_ai": Mode(ratings=_R18, ai=True),
    "day_male_r18": Mode(ratings=_R18),
    "day_female_r18": Mode(ratings=_R18),
    "week_r18": Mode(days=7, ratings=_R18),
    "week_r18g": Mode(days=7, ratings=_R18G),
}
NOVEL_MODES: Final[dict[str, Mode]] = {
    "day": Mode(),
    "week": Mode(days=7),
    "day_male": Mode(),
    "day_female": Mode(),
    "week_rookie": Mode(days=7),
    "day_r18": Mode(ratings=_R18),
    "week_r18": Mode(days=7, ratings=_R18),
    "day_male_r18": Mode(ratings=_R18),
    "day_female_r18": Mode(ratings=_R18),
    "week_r18g": Mode(days=7, ratings=_R18G),
}


def read_mode(kind: Kind, name: str) -> Mode:
    """The mode of that name. Raises BadParameterError for an unknown one."""
    mode = (ILLUST_MODES if kind == "illust" else NOVEL_MODES).get(name or "day")
    if mode is None:
        raise BadParameterError("mode", "is not one of the known values")
    return mode


def read_day(text: str | None, *, newest: date, today: date) -> date | None:
    """The asked day, the newest one without a date, None for a day whose list is not published yet.

    Raises BadParameterError for what is no date, and for a date in the future.
    """
    if not text:
        return newest
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise BadParameterError("date", "must be a date of the form YYYY-MM-DD") from None
    if day > today:
        raise BadParameterError("date", "must not be in the future")
    return day if day <= newest else None


def rank(works: Iterable[Work], mode_name: str, mode: Mode, day: date) -> list[Work]:
    """The list of one day. `works` must come newest first."""
    end = start_of(day + timedelta(days=1))
    begin = end - timedelta(days=mode.days)
    fresh: list[Work] = []
    older: list[Work] = []
    for work in works:
        if work.created >= end or work.x_restrict not in mode.ratings:
            continue
        if (mode.ai and work.ai_type != 2) or (mode.types is not None and work.type not in mode.types):
            continue
        (fresh if work.created >= begin else older).append(work)
    fresh.sort(key=lambda work: work.bookmarks, reverse=True)
    older.sort(key=lambda work: _rotating(work, mode_name, day), reverse=True)
    return [*fresh, *older][:LENGTH_MAX]


def _rotating(work: Work, mode_name: str, day: date) -> float:
    luck = number(mode_name, day.isoformat(), work.id) / 2**32
    return (work.bookmarks + 1) * (0.25 + luck)


__all__ = ["ILLUST_MODES", "NOVEL_MODES", "Mode", "newest_ranking_day", "rank", "read_day", "read_mode"]
