"""Delays keep their sum on GIF's coarse clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.media.timing import DELAY_MS_MIN, centiseconds, effective_delay


@given(st.lists(st.integers(0, 60_000), max_size=200))
def test_the_total_is_the_exact_sum_to_the_nearest_ten_milliseconds(delays: list[int]) -> None:
    effective = [effective_delay(delay) for delay in delays]
    written = centiseconds(effective)
    assert sum(written) == (sum(effective) + 5) // 10
    assert all(delay >= 1 for delay in written)
    assert all(abs(10 * cs - ms) < 10 for cs, ms in zip(written, effective, strict=True))


def test_the_measured_example_loses_nothing() -> None:
    assert centiseconds([16] * 5) == [2, 1, 2, 1, 2]
    assert centiseconds([125, 125]) == [13, 12]


def test_a_missing_delay_becomes_the_shortest_one() -> None:
    assert [effective_delay(delay) for delay in (0, 9, 10, 11)] == [DELAY_MS_MIN, DELAY_MS_MIN, 10, 11]
