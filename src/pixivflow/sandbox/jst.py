"""Japan Standard Time, in which the site counts days and writes dates.

Japan has had no daylight saving since 1951, so a fixed offset of nine hours is exact for every date a work can carry.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

JST = timezone(timedelta(hours=9), "JST")
RANKING_PUBLISHED_AT = time(12, 0)
"""Hour of the next JST day at which the list of a day appears."""


def day_of(moment: datetime) -> date:
    """JST calendar day in which `moment` (aware) falls."""
    return moment.astimezone(JST).date()


def stamp(moment: datetime) -> str:
    """`2025-02-03T00:03:17+09:00`, the form of `create_date`."""
    return moment.astimezone(JST).isoformat(timespec="seconds")


def path_stamp(moment: datetime) -> str:
    """`2025/02/03/00/03/17`, the form inside media paths."""
    return moment.astimezone(JST).strftime("%Y/%m/%d/%H/%M/%S")


def start_of(day: date) -> datetime:
    """Midnight that begins the JST day."""
    return datetime.combine(day, time(), JST)


def newest_ranking_day(now: datetime) -> date:
    """Latest JST day whose ranking is already published at `now`."""
    local = now.astimezone(JST)
    days_back = 1 if local.time() >= RANKING_PUBLISHED_AT else 2
    return local.date() - timedelta(days=days_back)


def parse_stamp(text: object) -> datetime | None:
    """Read a `create_date`; None for anything that is not an aware ISO time."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=JST)


def utc_now() -> datetime:
    """The wall clock, the default of `SandboxOptions.now`."""
    return datetime.now(UTC)
