"""Every reason has exactly one wire code, and faults are never reported as "nothing found"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.reason import CODE_OF, OUTAGES, RETRYABLE, Code, Reason, code_of


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_mapped(reason: Reason) -> None:
    assert isinstance(CODE_OF[reason], Code)
    assert code_of(reason.value) is CODE_OF[reason]


def test_every_code_says_whether_to_try_again() -> None:
    assert set(RETRYABLE) == set(Code)


def test_a_fault_is_never_no_candidate() -> None:
    assert all(CODE_OF[reason] is not Code.NO_CANDIDATE for reason in OUTAGES)


def test_only_verdicts_on_works_are_no_candidate() -> None:
    verdicts = {reason for reason, code in CODE_OF.items() if code is Code.NO_CANDIDATE}
    assert verdicts == {
        Reason.NO_CANDIDATE, Reason.DUPLICATE_EXHAUSTED, Reason.FILTER_EXHAUSTED, Reason.WORK_UNAVAILABLE,
    }  # fmt: skip


@given(st.text(max_size=40).filter(lambda text: text not in set(Reason)))
def test_unknown_text_is_an_internal_error(text: str) -> None:
    assert code_of(text) is Code.INTERNAL_ERROR


def test_an_absent_reason_is_an_internal_error() -> None:
    assert code_of(None) is Code.INTERNAL_ERROR
