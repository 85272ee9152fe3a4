"""Days, placeholders, zones and cron lines."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.config.cronline import cron_fault
from pixivflow.config.days import is_day, is_timezone, resolve_day, surely_after

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("TODAY", date(2026, 3, 1)),
        ("YESTERDAY", date(2026, 2, 28)),
        ("LAST_7_DAYS", date(2026, 2, 22)),
        ("LAST_30_DAYS", date(2026, 1, 30)),
        ("LAST_N_DAYS:3", date(2026, 2, 26)),
        ("2024-02-29", date(2024, 2, 29)),
    ],
)
def test_days(text: str, day: date) -> None:
    assert resolve_day(text, TODAY) == day


@pytest.mark.parametrize(
    "text",
    ["", "today", "2026-02-30", "2026-2-3", "20260203", "LAST_0_DAYS", "LAST_N_DAYS:", "LAST_99999_DAYS", "٢٠٢٦-01-01"],
)
def test_what_is_no_day(text: str) -> None:
    assert not is_day(text)
    with pytest.raises(ValueError, match="neither"):
        resolve_day(text, TODAY)


@given(st.dates(), st.dates())
def test_fixed_days_compare_as_days(first: date, second: date) -> None:
    assert surely_after(first.isoformat(), second.isoformat()) == (first > second)


def test_a_placeholder_and_a_fixed_day_are_never_called_wrong() -> None:
    assert not surely_after("TODAY", "1999-01-01")
    assert not surely_after("2999-01-01", "YESTERDAY")
    assert surely_after("YESTERDAY", "LAST_7_DAYS")
    assert not surely_after("LAST_7_DAYS", "LAST_N_DAYS:7")


def test_zones() -> None:
    assert is_timezone("Asia/Tokyo")
    for name in ("Asia/Tokio", "", "../etc/passwd", "/etc/localtime", "a\0b", "Asia"):
        assert not is_timezone(name), name


@pytest.mark.parametrize(
    "line", ["* * * * *", "0 3 * * *", "*/15 0-6,22 1 jan-mar MON,fri", "0 0 * * 7", "1-30/2 * * * *"]
)
def test_good_cron_lines(line: str) -> None:
    assert cron_fault(line) is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("* * * *", "5 fields"),
        ("* * * * * *", "5 fields"),
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of month"),
        ("* * * foo *", "month"),
        ("* * * * 8", "day of week"),
        ("5-1 * * * *", "minute"),
        ("*/0 * * * *", "minute"),
        (", * * * *", "minute"),
    ],
)
def test_bad_cron_lines(line: str, word: str) -> None:
    fault = cron_fault(line)
    assert fault is not None
    assert word in fault
