"""Which occurrence a clock means, over windows and over changes of the clocks. Cases 186, 187 and bug B88."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.occurrence import Occurrence, TooEarly, TooLate, due, latest, occurrence_id
from pixivflow.engine.cron import BadCron, cron_fires

GRACE = timedelta(minutes=90)
TOKYO = ZoneInfo("Asia/Tokyo")

# Zone, the local day on which clocks go forward, and the one on which they go back.
CHANGES = [
    ("America/New_York", date(2026, 3, 8), date(2026, 11, 1)),
    ("Europe/Berlin", date(2026, 3, 29), date(2026, 10, 25)),
    ("Australia/Lord_Howe", date(2026, 10, 4), date(2026, 4, 5)),  # half an hour
    ("America/Santiago", date(2026, 9, 6), date(2026, 4, 4)),  # at midnight
    ("Africa/Cairo", date(2026, 4, 24), date(2026, 10, 29)),  # the first hour of a day is left out
    ("Asia/Shanghai", date(2026, 3, 8), date(2026, 11, 1)),  # none
]
change = st.sampled_from([(zone, day) for zone, *days in CHANGES for day in days])
minute, hour = st.integers(0, 59), st.integers(0, 23)


def at(text: str, zone: ZoneInfo = TOKYO) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def meant(cron: str, now: str, zone: str = "Asia/Tokyo", grace: timedelta = GRACE) -> Occurrence | TooEarly | TooLate:
    tz = ZoneInfo(zone)
    return due("p", cron_fires(cron, zone), at(now, tz).astimezone(UTC), grace)


@pytest.mark.parametrize(
    ("now", "day"),
    [
        ("2026-05-10T09:45", "2026-05-10T1000"),  # the first moment of the window
        ("2026-05-10T09:59:59", "2026-05-10T1000"),
        ("2026-05-10T10:00", "2026-05-10T1000"),
        ("2026-05-10T10:02", "2026-05-10T1000"),
        ("2026-05-10T11:30", "2026-05-10T1000"),  # the last one
    ],
)
def test_a_clock_means_the_occurrence_around_it(now: str, day: str) -> None:
    """Case 186. A little early is the coming one, exactly on time is that one, late is the last one."""
    found = meant("0 10 * * *", now)
    assert isinstance(found, Occurrence)
    assert found.id == f"p@{day}"
    assert found.at_ms == int(at("2026-05-10T10:00").timestamp()) * 1000


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        ("2026-05-10T09:44:59", TooEarly),
        ("2026-05-10T11:30:01", TooLate),
        ("2026-05-10T14:00", TooLate),
        ("2026-05-11T08:00", TooEarly),
    ],
)
def test_outside_the_windows_it_is_too_early_or_too_late(now: str, kind: type) -> None:
    """Case 187. The nearer window says which."""
    assert isinstance(meant("0 10 * * *", now), kind)


def test_too_early_says_when_the_window_opens() -> None:
    found = meant("0 10 * * *", "2026-05-10T08:00")
    assert isinstance(found, TooEarly)
    assert found.opens == at("2026-05-10T09:45")
    assert found.occurrence.id == "p@2026-05-10T1000"


@pytest.mark.parametrize(
    ("now", "stamp"),
    [
        ("10:00", "1000"),
        ("10:02", "1000"),
        ("10:04:59", "1000"),
        ("10:05", "1010"),
        ("10:08", "1010"),
        ("10:10", "1010"),
    ],
)
def test_two_clocks_two_minutes_apart_mean_the_same_occurrence_of_a_frequent_plan(now: str, stamp: str) -> None:
    """Case 185. Of two that could be meant it is the nearer one."""
    found = meant("*/10 * * * *", f"2026-05-10T{now}")
    assert isinstance(found, Occurrence)
    assert found.id == f"p@2026-05-10T{stamp}"


def test_without_grace_only_the_coming_one_can_be_meant_once_the_last_has_passed() -> None:
    found = meant("*/10 * * * *", "2026-05-10T10:01", grace=timedelta())
    assert isinstance(found, Occurrence)
    assert found.id == "p@2026-05-10T1010"


def test_a_plan_that_never_was_and_one_that_never_will_be() -> None:
    once = at("2026-05-10T10:00")
    assert due("p", lambda after: iter([once] if after < once else []), at("2020-01-01T00:00"), GRACE) == TooEarly(
        Occurrence("p", once), once - timedelta(minutes=15)
    )
    late = at("2026-05-11T00:00")
    assert due("p", lambda after: iter([once] if after < once else []), late, GRACE) == TooLate(Occurrence("p", once))
    assert due("p", lambda after: iter([]), late, GRACE) == TooLate(None)


@given(change, minute, hour)
def test_a_plan_of_a_fixed_time_runs_exactly_once_each_local_day(
    change: tuple[str, date], minute: int, hour: int
) -> None:
    """B88. Also on the days when clocks change, in every zone, in both directions."""
    zone, day = change
    tz = ZoneInfo(zone)
    start = datetime(day.year, day.month, day.day, tzinfo=tz).astimezone(UTC) - timedelta(days=3)
    end = start + timedelta(days=7)
    runs = list(
        takewhile(lambda moment: moment.astimezone(UTC) <= end, cron_fires(f"{minute} {hour} * * *", zone)(start))
    )
    inner = [run.date() for run in runs if abs(run.date() - day) <= timedelta(days=1)]
    assert inner == [day - timedelta(days=1), day, day + timedelta(days=1)]
    ids = [occurrence_id("p", run) for run in runs]
    assert len(set(ids)) == len(ids)
    assert all(len(ident) == len("p@2026-01-01T0000") for ident in ids), "no fixed time needs its offset in its id"


LINES = st.sampled_from(
    ["30 1 * * *", "30 2 * * *", "15 0 * * *", "0 * * * *", "*/20 1-2 * * *", "0,30 2 * * 0", "59 23 * * *"]
)


@given(change, LINES, st.integers(-3 * 1440, 3 * 1440), st.integers(0, 59))
def test_where_one_begins_to_look_changes_nothing(
    change: tuple[str, date], line: str, offset: int, second: int
) -> None:
    """The moments after any moment are those of a longer list, in order: no clock sees another plan than the others."""
    zone, day = change
    fires = cron_fires(line, zone)
    middle = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    now = middle + timedelta(minutes=offset, seconds=second)
    whole = list(
        takewhile(
            lambda moment: moment.astimezone(UTC) < middle + timedelta(days=14), fires(middle - timedelta(days=14))
        )
    )
    moments = [moment.astimezone(UTC) for moment in whole]
    assert moments == sorted(set(moments))
    ahead = [moment for moment in moments if moment > now]
    assert [found.astimezone(UTC) for found in islice(fires(now), min(5, len(ahead)))] == ahead[:5]
    behind = [moment for moment in moments if moment <= now]
    found = latest(fires, now)
    assert found is not None
    # A weekly plan may have been due before the list begins.
    assert found.astimezone(UTC) == behind[-1] if behind else found.astimezone(UTC) < moments[0]
    ids = [occurrence_id("p", moment) for moment in whole]
    assert len(set(ids)) == len(ids), "two moments, two ids"


@given(change, LINES, st.integers(-2 * 1440, 2 * 1440))
def test_a_clock_that_knocks_within_two_minutes_means_the_same(
    change: tuple[str, date], line: str, offset: int
) -> None:
    """Case 185, over changes of the clocks."""
    zone, day = change
    fires = cron_fires(line, zone)
    now = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone)).astimezone(UTC) + timedelta(minutes=offset)
    fire = next(fires(now)).astimezone(UTC)
    told = {due("p", fires, fire + timedelta(seconds=shift), GRACE) for shift in (-60, 0, 60, 120)}
    assert len(told) == 1
    (found,) = told
    assert isinstance(found, Occurrence)
    assert found.at.astimezone(UTC) == fire


def test_the_second_pass_of_an_hour_names_its_offset() -> None:
    fires = cron_fires("0 * * * *", "America/New_York")
    start = datetime(2026, 11, 1, 4, 30, tzinfo=UTC)
    assert [occurrence_id("h", moment) for moment in islice(fires(start), 3)] == [
        "h@2026-11-01T0100",
        "h@2026-11-01T0100-0500",
        "h@2026-11-01T0200",
    ]


def test_a_rare_plan_finds_its_last_time() -> None:
    fires = cron_fires("0 0 29 2 *", "UTC")
    assert latest(fires, datetime(2027, 6, 1, tzinfo=UTC)) == datetime(2024, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("line", ["", "* * * *", "60 * * * *", "0 0 31 2 *", "x", "* * * * * *", "a b c d e"])
def test_a_line_that_names_no_moment_is_refused(line: str) -> None:
    with pytest.raises(BadCron, match="cron line"):
        cron_fires(line, "UTC")


@pytest.mark.parametrize("zone", ["Nowhere/Else", "../../etc/passwd", "", "Asia"])
def test_a_zone_that_is_not_known_is_refused(zone: str) -> None:
    with pytest.raises(BadCron, match="time zone"):
        cron_fires("0 0 * * *", zone)
