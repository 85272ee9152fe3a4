"""How far a relaxed recovery looks. Case 184."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.recovery import RetryMode, SoftLimits, recovery_id, recovery_target, relax
from pixivflow.domain.target import MAX_SCAN, Filters, Mode, Target
from pixivflow.domain.work import WorkType

TARGET = Target(
    "cats",
    WorkType.ILLUSTRATION,
    Mode.SEARCH,
    tag="cat",
    limit=1,
    scan_limit=5,
    filters=Filters(min_bookmarks=100, exclude_ai=True),
    exclude_works=frozenset({"7"}),
)
limits = st.builds(
    SoftLimits,
    scan=st.none() | st.integers(1, 100),
    lookback_days=st.none() | st.integers(0, 7),
    language_candidates=st.none() | st.integers(1, 100),
)


@pytest.mark.parametrize(
    ("given_limits", "wider"),
    [
        (SoftLimits(5, 1, 20), SoftLimits(15, 3, 40)),
        (SoftLimits(34, 3, 100), SoftLimits(100, 7, 200)),
        (SoftLimits(100, 7, 1), SoftLimits(100, 7, 2)),
        (SoftLimits(None, None, None), SoftLimits(None, None, None)),
        (SoftLimits(scan=5), SoftLimits(scan=15)),
        (SoftLimits(lookback_days=0), SoftLimits(lookback_days=0)),
    ],
)
def test_soft_limits_widen_to_their_caps(given_limits: SoftLimits, wider: SoftLimits) -> None:
    """Case 184. Threefold up to 100, threefold up to 7, twofold; what is not set stays so."""
    assert relax(given_limits) == wider


@given(limits)
def test_a_relaxed_limit_is_never_narrower(given_limits: SoftLimits) -> None:
    wider = relax(given_limits)
    for name in ("scan", "lookback_days", "language_candidates"):
        before, after = getattr(given_limits, name), getattr(wider, name)
        assert (before is None) == (after is None)
        assert before is None or after >= before
    assert wider.scan is None or wider.scan <= MAX_SCAN
    assert wider.lookback_days is None or wider.lookback_days <= 7


@given(limits)
def test_only_the_number_of_candidates_changes_on_a_target(given_limits: SoftLimits) -> None:
    """Case 184. Every rule about what is wanted, and where it goes, stays."""
    relaxed = recovery_target(TARGET, given_limits, RetryMode.RELAXED)
    assert replace(relaxed, scan_limit=TARGET.scan_limit) == TARGET
    assert relaxed.scan_limit >= TARGET.scan_limit
    assert recovery_target(TARGET, given_limits, RetryMode.NORMAL) == TARGET


def test_a_target_without_a_limit_of_its_own_keeps_the_general_one() -> None:
    """Case 184."""
    assert recovery_target(TARGET, SoftLimits(), RetryMode.RELAXED) == TARGET


def test_one_request_has_one_id_however_its_letters_are_written() -> None:
    assert recovery_id("daily", "3D1F0C3E-6A0E-4A58-9C0E-9A1C6C1F2B11") == (
        "daily@recover-3d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b11"
    )
