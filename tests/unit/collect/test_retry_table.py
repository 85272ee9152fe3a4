"""The table of faults: total, bounded, and never a smaller file in the place of a damaged one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.collect.retry import (
    ACTIONS,
    REASONS,
    VERDICTS,
    Action,
    Fault,
    Miss,
    RetryPolicy,
    Step,
    miss_of,
    next_step,
)
from pixivflow.domain.reason import OUTAGES, Reason
from pixivflow.domain.work import Restriction
from pixivflow.sources.errors import (
    AuthFailed,
    BadQuestion,
    Forbidden,
    NetworkFailed,
    NotFound,
    NotPublishedYet,
    RateLimited,
    Restricted,
    ShapeChanged,
    SourceError,
    TimedOut,
    Unavailable,
)

POLICY = RetryPolicy()


def test_every_fault_has_an_action_and_a_reason() -> None:
    assert set(ACTIONS) == set(REASONS) == set(Fault)
    for fault in Fault:
        assert (REASONS[fault] is Reason.WORK_UNAVAILABLE) == (fault in VERDICTS)
        assert fault in VERDICTS or REASONS[fault] in OUTAGES


def test_only_a_missing_file_leads_to_another_address() -> None:
    assert [fault for fault in Fault if ACTIONS[fault] is Action.NEXT] == [Fault.GONE]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (NotFound("x"), Fault.GONE),
        (Forbidden("x"), Fault.FORBIDDEN),
        (Restricted("x", restriction=Restriction.SANITY), Fault.FORBIDDEN),
        (RateLimited("x", retry_after_s=3), Fault.RATE_LIMITED),
        (TimedOut("x"), Fault.TIMEOUT),
        (NetworkFailed("x"), Fault.NETWORK),
        (Unavailable("x"), Fault.SERVER),
        (ShapeChanged("x"), Fault.REFUSED),
        (BadQuestion("x"), Fault.REFUSED),
        (NotPublishedYet("x"), Fault.SERVER),
    ],
)
def test_errors_of_a_source_become_faults(error: SourceError, fault: Fault) -> None:
    assert miss_of(error).fault is fault


def test_a_dead_account_is_never_the_outcome_of_a_file() -> None:
    with pytest.raises(AuthFailed):
        miss_of(AuthFailed("x"))


def test_pauses_double_up_to_a_cap() -> None:
    policy = RetryPolicy(max_retries=6, base_s=0.5, cap_s=5)
    waits = [next_step(Miss(Fault.SERVER, ""), tried, policy).wait_s for tried in range(6)]
    assert waits == [0.5, 1, 2, 4, 5, 5]
    assert next_step(Miss(Fault.SERVER, ""), 6, policy) == Step(Action.STOP)


def test_what_the_site_asks_for_is_a_floor_and_has_a_bound() -> None:
    assert next_step(Miss(Fault.RATE_LIMITED, "", 30), 0, POLICY) == Step(Action.RETRY, 30)
    assert next_step(Miss(Fault.RATE_LIMITED, "", 0.1), 0, POLICY) == Step(Action.RETRY, 0.5)
    assert next_step(Miss(Fault.RATE_LIMITED, "", 121), 0, POLICY) == Step(Action.STOP)


@given(st.sampled_from(Fault), st.integers(0, 50), st.floats(0, 1e6) | st.none(), st.integers(0, 10))
def test_every_series_of_tries_ends_and_no_pause_is_unbearable(
    fault: Fault, tried: int, asked: float | None, allowed: int
) -> None:
    policy = RetryPolicy(max_retries=allowed)
    step = next_step(Miss(fault, "", asked), tried, policy)
    assert 0 <= step.wait_s <= policy.longest_wait_s
    if tried >= allowed:
        assert step.action is not Action.RETRY
