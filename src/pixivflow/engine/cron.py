"""Cron lines as moments: the adapter between the cron library and `domain.occurrence`.

The rules are those of Debian's cron. A line with fixed minutes and hours means one run each local day, whatever the
clocks do: a time that comes twice is run the first time, a time that is left out is run when the gap ends. A line whose
minutes or hours start with `*` follows real time: every hour is every hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from pixivflow.domain.occurrence import Fires


class BadCron(ValueError):
    """A line or zone that names no moment. The text is for people."""


def cron_fires(line: str, zone: str) -> Fires:
    """The moments of a cron line in a zone.

    Raises:
        BadCron: the line cannot be read, can never come true, or the zone is not known here.
    """
    if len(line.split()) != 5:
        # The library also takes a sixth field for seconds; plans are of minutes.
        raise BadCron(f"the cron line {line[:80]!r} must have five fields")
    try:
        tz = ZoneInfo(zone)
        CronSim(line, datetime(2024, 1, 1, tzinfo=tz))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadCron(f"the time zone {zone[:80]!r} is not known") from None
    except CronSimError as error:
        raise BadCron(f"the cron line {line[:80]!r} names no moment: {error}") from None

    def fires(after: datetime) -> Iterator[datetime]:
        had = after.astimezone(UTC)
        for moment in CronSim(line, after.astimezone(tz)):
            # A line of a fixed time is followed by the local clock alone, so that in the second pass of an hour it
            # names a moment of the first once more.
            at = moment.astimezone(UTC)
            if at > had:
                had = at
                yield moment

    return fires
