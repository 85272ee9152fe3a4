"""The older words for jobs and cells: total, and never at odds with the job."""

from __future__ import annotations

from typing import Any

import pytest

from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState
from pixivflow.domain.slot import (
    BusinessState,
    SlotStatus,
    business_message,
    business_state,
    cell_of,
    cell_word,
    slot_status,
    terminal_reason,
)


def job(state: JobState, *cells: CellState, **changes: Any) -> JobRecord:
    records = tuple(CellRecord(f"t{at}", at, "illustration", cell) for at, cell in enumerate(cells))
    return JobRecord("p@1", 1, "candidate_search", state, "p", "default", "manual", 1, 2, cells=records, **changes)


S, C = SlotStatus, CellState


@pytest.mark.parametrize(
    ("record", "word"),
    [
        (job(JobState.QUEUED, C.PENDING), S.PENDING),
        (job(JobState.RUNNING, C.PENDING), S.RUNNING),
        (job(JobState.RUNNING, C.DELIVERY_PENDING), S.RUNNING),
        (job(JobState.SUCCEEDED, C.SUBMITTED), S.SUCCESS),
        (job(JobState.SUCCEEDED, C.STORED, C.SUBMITTED), S.SUCCESS),
        (job(JobState.SUCCEEDED, C.SUBMITTED, C.FAILED), S.PARTIAL),
        (job(JobState.SUCCEEDED, C.NO_CANDIDATE, C.STORED), S.PARTIAL),
        (job(JobState.FAILED, C.NO_CANDIDATE), S.FAILED),
        (job(JobState.FAILED, C.DUPLICATE), S.FAILED),
        (job(JobState.CANCELLED, C.FAILED), S.FAILED),
        (job(JobState.CANCELLED, C.FAILED, C.SUBMITTED), S.PARTIAL),
        (job(JobState.EXPIRED, C.FAILED), S.EXPIRED),
        (job(JobState.EXPIRED, C.SUBMITTED, C.FAILED), S.PARTIAL),
    ],
)
def test_the_word_for_a_job(record: JobRecord, word: SlotStatus) -> None:
    assert slot_status(record) is word


@pytest.mark.parametrize("state", list(CellState))
def test_every_cell_has_a_word_the_older_routes_always_had(state: CellState) -> None:
    known = {
        "pending",
        "selected",
        "artifact_ready",
        "delivery_pending",
        "submitted",
        "no_candidate",
        "duplicate",
        "failed",
    }
    assert cell_word(state) in known


@pytest.mark.parametrize("state", list(CellState))
@pytest.mark.parametrize("whole", list(JobState))
def test_every_recovery_has_a_word_and_a_sentence(state: CellState, whole: JobState) -> None:
    record = job(whole, state)
    word = business_state(record, record.cells[0])
    assert business_message(word, None)
    assert business_message(word, "because").endswith(": because")


@pytest.mark.parametrize(
    ("whole", "state", "word"),
    [
        (JobState.QUEUED, C.PENDING, BusinessState.PENDING),
        (JobState.RUNNING, C.PENDING, BusinessState.RUNNING),
        (JobState.RUNNING, C.DELIVERY_PENDING, BusinessState.RUNNING),
        (JobState.SUCCEEDED, C.SUBMITTED, BusinessState.SUCCESS),
        (JobState.SUCCEEDED, C.STORED, BusinessState.SUCCESS),
        (JobState.FAILED, C.NO_CANDIDATE, BusinessState.NO_CANDIDATE),
        (JobState.FAILED, C.DUPLICATE, BusinessState.DUPLICATE_ONLY),
        (JobState.EXPIRED, C.FAILED, BusinessState.FAILED),
    ],
)
def test_how_a_recovery_stands(whole: JobState, state: CellState, word: BusinessState) -> None:
    record = job(whole, state)
    assert business_state(record, record.cells[0]) is word


def test_reasons_are_told_once_a_cell_has_ended_without_success() -> None:
    """Case 175. Our own reason, not the protocol's code."""
    ended = CellRecord("t", 0, "novel", C.FAILED, reason="telepost_rejected", message="the receiver said no")
    assert terminal_reason(job(JobState.FAILED), ended) == ("telepost_rejected", "the receiver said no")
    bare = CellRecord("t", 0, "novel", C.FAILED)
    said = job(JobState.EXPIRED, reason="queued_too_long", message="not started")
    assert terminal_reason(said, bare) == ("queued_too_long", "not started")
    for state in (C.PENDING, C.DELIVERY_PENDING, C.SUBMITTED, C.STORED):
        assert terminal_reason(said, CellRecord("t", 0, "novel", state)) == (None, None)


def test_the_cell_of_a_target() -> None:
    """Case 176."""
    record = job(JobState.QUEUED, C.PENDING, C.PENDING)
    assert cell_of(record, "t1") == record.cells[1]
    assert cell_of(record, "other") is None
