"""Days, zones and cron lines as a configuration writes them. Pure: today comes in as an argument."""

import re
from datetime import date, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LAST = re.compile(r"LAST_(?:(?P<short>[0-9]{1,5})_DAYS|N_DAYS:(?P<long>[0-9]{1,5}))\Z", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)
MAX_DAYS_BACK = 36_500

PLACEHOLDERS = ("TODAY", "YESTERDAY", "LAST_7_DAYS", "LAST_30_DAYS", "LAST_N_DAYS:n")


def days_back(text: str) -> int | None:
    """How many days before today a placeholder means, or None when `text` is not a placeholder.

    `LAST_7_DAYS` is the day seven days ago, so that a range from it up to today holds the last seven full days.
    """
    if text == "TODAY":
        return 0
    if text == "YESTERDAY":
        return 1
    if match := _LAST.match(text):
        count = int(match["short"] or match["long"])
        return count if 1 <= count <= MAX_DAYS_BACK else None
    return None


def fixed_day(text: str) -> date | None:
    """The day written as `YYYY-MM-DD`, or None when it is not one."""
    if not _DAY.match(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def is_day(text: str) -> bool:
    """Whether `text` is a day or a placeholder for one."""
    return days_back(text) is not None or fixed_day(text) is not None


def resolve_day(text: str, today: date) -> date:
    """The day `text` means when it is `today` (a JST day for Pixiv).

    Raises:
        ValueError: `text` is neither a day nor a placeholder; a validated configuration holds no such text.
    """
    back = days_back(text)
    if back is not None:
        return today - timedelta(days=back)
    if (day := fixed_day(text)) is not None:
        return day
    raise ValueError("neither a day nor a placeholder")


def surely_after(start: str, end: str) -> bool:
    """Whether `start` lies after `end` on every day one may ask.

    A placeholder and a fixed day can be in either order, depending on today, so they are never called wrong.
    """
    start_back, end_back = days_back(start), days_back(end)
    if start_back is not None and end_back is not None:
        return start_back < end_back
    start_day, end_day = fixed_day(start), fixed_day(end)
    return start_day is not None and end_day is not None and start_day > end_day


@lru_cache(maxsize=64)
def is_timezone(name: str) -> bool:
    """Whether `name` is a known IANA zone. Names that would leave the zone folder are refused by zoneinfo itself."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
