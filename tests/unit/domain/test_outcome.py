"""What a consumer of the older routes is told when its request came to nothing (section 14.3)."""

from __future__ import annotations

from typing import Any

import pytest

from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.outcome import outcome_body, outcome_key
from pixivflow.domain.work import WorkRef, WorkType

KEY = "3D1F0C3E-6A0E-4A58-9C0E-9A1C6C1F2B11"
REPORT = {
    "fetched": 9,
    "reasons": [
        {"code": "already_delivered", "count": 4},
        {"code": "repeated", "count": 1},
        {"code": "unavailable", "count": 2},
        {"code": "few_bookmarks", "count": 1},
        {"code": "of a later version", "count": 1},
    ],
}


def cell(state: CellState, **changes: Any) -> CellRecord:
    return CellRecord("t", 0, "illustration", state, **changes)


def job(state: JobState, **changes: Any) -> JobRecord:
    given = {"key": KEY, **changes}
    return JobRecord("p@1", 1, "candidate_search", state, "p", "default", "manual", 1, 2, **given)


def test_nothing_found_is_no_alternative_with_its_counts() -> None:
    found = outcome_body(job(JobState.FAILED), cell(CellState.NO_CANDIDATE, reason="filter_exhausted", report=REPORT))
    assert found == {
        "request_id": KEY.lower(),
        "disposition": "no_alternative",
        "reason_code": "filter_exhausted",
        "reason": "no work that fits was found",
        "scanned": 9,
        "skipped": {"total": 9, "duplicate": 5, "invalid": 2, "unavailable": 2},
    }


def test_a_duplicate_names_its_work() -> None:
    pick = PickRecord(WorkRef(WorkType.ILLUSTRATION, "42"), 0, CellState.DUPLICATE)
    found = outcome_body(job(JobState.FAILED), cell(CellState.DUPLICATE, reason="duplicate_exhausted", picks=(pick,)))
    assert found is not None
    assert (found["disposition"], found["work_id"]) == ("no_alternative", "42")
    assert "scanned" not in found


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.EXPIRED])
def test_a_failure_says_why_in_short(state: JobState) -> None:
    found = outcome_body(job(state, key="order-7"), cell(CellState.FAILED, reason="auth_failed", message="x" * 900))
    assert found == {
        "request_id": "order-7",
        "disposition": "failed",
        "reason_code": "auth_failed",
        "reason": "x" * 200,
    }


def test_what_the_cell_does_not_say_the_job_does() -> None:
    ended = job(JobState.EXPIRED, reason="execution_timeout", message="the deadline passed")
    found = outcome_body(ended, cell(CellState.FAILED))
    assert found is not None
    assert (found["reason_code"], found["reason"]) == ("execution_timeout", "the deadline passed")


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        (JobState.CANCELLED, CellState.FAILED),
        (JobState.SUCCEEDED, CellState.SUBMITTED),
        (JobState.RUNNING, CellState.FAILED),
        (JobState.FAILED, CellState.SUBMITTED),
        (JobState.EXPIRED, CellState.DELIVERY_PENDING),
    ],
)
def test_there_is_nothing_to_say(state: JobState, ended: CellState) -> None:
    """Case 131. Not for a cancel, not for a success, and not before the end."""
    assert outcome_body(job(state), cell(ended)) is None


@pytest.mark.parametrize("reasons", [None, "x", [None, 7, {}, {"code": 5, "count": "many"}, {"count": True}]])
def test_a_report_that_cannot_be_read_counts_nothing(reasons: Any) -> None:
    found = outcome_body(job(JobState.FAILED), cell(CellState.NO_CANDIDATE, report={"reasons": reasons, "fetched": -1}))
    assert found is not None
    assert (found["scanned"], found["skipped"]["total"]) == (0, 0)


def test_the_key_is_the_jobs_and_the_targets() -> None:
    """Case 179."""
    assert outcome_key("p@manual-1", "t") == "refetch-outcome:p@manual-1:t"
