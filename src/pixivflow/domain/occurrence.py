"""When a plan is due, and which of its times a clock means that knocks a little early or late.

An occurrence is one time of a plan's cron line in the plan's zone. Its id is made of the plan and the local time, so
that two clocks, or two machines, can only ever name the same one. How a cron line becomes moments is a port (`Fires`):
this module decides about moments only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

Fires = Callable[[datetime], Iterator[datetime]]
"""The moments of a plan strictly after one, ascending, in the plan's zone."""

EARLY: Final = timedelta(minutes=15)
"""How long before its time an occurrence may be asked for (Workflow Protocol 16)."""

# Widening steps in which the latest past moment is looked for. The smallest that holds one ends the search, so that a
# plan of every minute is never walked through for a year.
_BACK: Final = (
    timedelta(hours=2),
    timedelta(days=1),
    timedelta(days=8),
    timedelta(days=32),
    timedelta(days=367),
    timedelta(days=8 * 367),  # 29 February, over a year without one
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a plan. `at` is aware, in the plan's zone."""

    plan_id: str
    at: datetime

    @property
    def id(self) -> str:
        """The id of its job."""
        return occurrence_id(self.plan_id, self.at)

    @property
    def at_ms(self) -> int:
        """Epoch milliseconds."""
        return round(self.at.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class TooEarly:
    """The next occurrence may not be asked for yet, only from `opens` on."""

    occurrence: Occurrence
    opens: datetime


@dataclass(frozen=True, slots=True)
class TooLate:
    """The last occurrence can no longer be asked for; None when there never was one."""

    occurrence: Occurrence | None


def occurrence_id(plan_id: str, at: datetime) -> str:
    """`<plan>@YYYY-MM-DDTHHMM` in the local time of `at`.

    When clocks go back an hour comes twice, and a plan of every hour is due in both. The second pass therefore names
    its offset (`hourly@2026-11-01T0100-0500`); a plan of a fixed time is due in the first pass only and never has one.
    """
    stamp = at.strftime("%Y-%m-%dT%H%M")
    if at.fold and at.utcoffset() != at.replace(fold=0).utcoffset():
        stamp += at.strftime("%z")
    return f"{plan_id}@{stamp}"


def due(plan_id: str, fires: Fires, now: datetime, grace: timedelta) -> Occurrence | TooEarly | TooLate:
    """The occurrence that somebody means who asks for the plan at `now` (aware).

    From 15 minutes before its time it is the coming one, from its time until `grace` later the last one, and exactly on
    time it is that one. Where plans are due so often that both could be meant, the nearer one is. Where neither can be,
    the nearer of the two windows decides whether the caller hears "too early" or "too late".
    """
    last, coming = latest(fires, now), next(fires(now), None)
    since = now - _utc(last) if last is not None else None
    lead = _utc(coming) - now if coming is not None else None
    open_last = since is not None and since <= grace
    open_coming = lead is not None and lead <= EARLY
    if coming is not None and open_coming and not (open_last and _nearer(since, lead)):
        return Occurrence(plan_id, coming)
    past = Occurrence(plan_id, last) if last is not None else None
    if past is not None and open_last:
        return past
    if coming is None or lead is None:
        return TooLate(past)
    if since is not None and since - grace < lead - EARLY:
        return TooLate(past)
    return TooEarly(Occurrence(plan_id, coming), _utc(coming) - EARLY)


def _nearer(one: timedelta | None, other: timedelta | None) -> bool:
    return one is not None and other is not None and one < other


def latest(fires: Fires, now: datetime) -> datetime | None:
    """The last moment of a plan at or before `now`; None when there is none within eight years."""
    for back in _BACK:
        found = None
        for moment in fires(now - back):
            if _utc(moment) > now:
                break
            found = moment
        if found is not None:
            return found
    return None


def _utc(moment: datetime) -> datetime:
    # Two moments in the same zone are subtracted by their local clocks; across a change of clocks that is wrong.
    return moment.astimezone(UTC)
