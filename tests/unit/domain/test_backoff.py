"""Waiting before another try."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.backoff import RETRY_AFTER_MAX_MS, backoff_ms


@pytest.mark.parametrize(
    ("attempt", "unit_random", "expected"),
    [(1, 1.0, 30_000), (2, 1.0, 60_000), (4, 1.0, 240_000), (1, 0.0, 15_000), (2, 0.5, 45_000), (30, 1.0, 21_600_000)],
)
def test_the_pause_doubles_up_to_its_bound(attempt: int, unit_random: float, expected: int) -> None:
    assert backoff_ms(attempt, base_ms=30_000, max_ms=21_600_000, unit_random=unit_random) == expected


def test_what_the_receiver_asks_for_is_a_floor() -> None:
    assert backoff_ms(1, base_ms=1000, max_ms=2000, unit_random=0.0, retry_after_ms=90_000) == 90_000
    assert backoff_ms(3, base_ms=60_000, max_ms=600_000, unit_random=1.0, retry_after_ms=5) == 240_000


def test_an_absurd_wish_is_cut() -> None:
    assert backoff_ms(1, base_ms=1, max_ms=1, unit_random=1.0, retry_after_ms=10**15) == RETRY_AFTER_MAX_MS


@pytest.mark.parametrize(("attempt", "base", "most"), [(0, 1, 1), (1, -1, 1), (1, 1, -1)])
def test_nonsense_is_refused(attempt: int, base: int, most: int) -> None:
    with pytest.raises(ValueError, match="attempt"):
        backoff_ms(attempt, base_ms=base, max_ms=most, unit_random=0.5)


@given(
    attempt=st.integers(1, 10**9),
    base=st.integers(0, 10**7),
    most=st.integers(0, 10**9),
    unit=st.floats(0, 1),
    wish=st.none() | st.integers(-(10**20), 10**20),
)
def test_the_pause_stays_within_its_bounds(attempt: int, base: int, most: int, unit: float, wish: int | None) -> None:
    pause = backoff_ms(attempt, base_ms=base, max_ms=most, unit_random=unit, retry_after_ms=wish)
    assert 0 <= pause <= max(most, RETRY_AFTER_MAX_MS if wish else 0)
    whole = min(most, base * 2 ** min(attempt - 1, 60))
    assert pause >= whole // 2 - 1
