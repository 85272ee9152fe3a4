"""The exit status of a download: 0 only when everything that should be there is."""

from __future__ import annotations

import pytest

from pixivflow.cli.download.account import THERE, Account, document, of_job, total
from pixivflow.cli.download.report import text
from pixivflow.cli.exits import Exit
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, WorkRef, WorkType

REF = WorkRef(WorkType.ILLUSTRATION, "1")
OTHER = WorkRef(WorkType.ILLUSTRATION, "2")
FILE = Asset(AssetRole.PAGE, 0, "illustrations/1.jpg", 1500, "ab" * 32, "image/jpeg", quality=AssetQuality.ORIGINAL)
FUNNEL = {"fetched": 5, "selected": 1, "rejected": 2, "reasons": [{"code": "ai", "count": 2}]}


def pick(ref, state, reason=None, message=None):
    return PickRecord(ref, 0, state, reason, message, "a title")


def job(state, *picks: PickRecord, cell=CellState.STORED, reason=None, message=None):
    cells = (CellRecord("t", 0, "illustration", cell, reason, message, FUNNEL, picks),)
    failed = state is JobState.FAILED
    return JobRecord(
        "cli@1", 1, "candidate_search", state, "cli", "default", "cli", 0, 0,
        reason=reason if failed else None, message=message if failed else None, cells=cells,
    )  # fmt: skip


def account(record, files=None):
    return of_job("asked", record, {REF: (FILE,)} if files is None else files)


def test_all_there():
    told = account(job(JobState.SUCCEEDED, pick(REF, CellState.STORED)))
    assert told.exit is Exit.OK
    assert (told.ready, told.next) == (1, [])


def test_one_of_two_failed():
    told = account(
        job(
            JobState.SUCCEEDED,
            pick(REF, CellState.STORED),
            pick(OTHER, CellState.FAILED, Reason.DOWNLOAD_FAILED, "page 2 is cut"),
            message="1 works are ready. 1 failed",
        )
    )
    assert told.exit is Exit.INCOMPLETE
    assert "page 2 is cut" in text([told], "lib")
    assert told.next


def test_a_search_that_broke_off_is_not_whole():
    told = account(job(JobState.SUCCEEDED, pick(REF, CellState.STORED), message="The search could not be finished"))
    assert told.exit is Exit.INCOMPLETE
    assert told.gap


def test_a_pick_that_never_ended_is_missing():
    told = account(job(JobState.CANCELLED, pick(REF, CellState.SELECTED), cell=CellState.SELECTED))
    assert told.exit is Exit.INCOMPLETE


@pytest.mark.parametrize("reason", [Reason.DUPLICATE_EXHAUSTED, Reason.FILTER_EXHAUSTED, Reason.NO_CANDIDATE])
def test_nothing_new_is_no_failure(reason):
    assert account(job(JobState.FAILED, cell=CellState.NO_CANDIDATE, reason=reason), {}).exit is Exit.OK


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.AUTH_FAILED, Exit.AUTH),
        (Reason.NETWORK_ERROR, Exit.UNAVAILABLE),
        (Reason.RATE_LIMITED, Exit.UNAVAILABLE),
        (Reason.NOT_PUBLISHED_YET, Exit.UNAVAILABLE),
        (Reason.WORK_UNAVAILABLE, Exit.INCOMPLETE),
        (Reason.STORAGE_FAILED, Exit.INCOMPLETE),
        (Reason.METADATA_FAILED, Exit.INCOMPLETE),
        (Reason.INTERNAL_ERROR, Exit.INCOMPLETE),
    ],
)
def test_a_cause_without_any_work(reason, status):
    told = account(job(JobState.FAILED, cell=CellState.FAILED, reason=reason, message="why"), {})
    assert told.exit is status
    assert told.next


def test_every_reason_has_a_status_and_only_endings_without_loss_are_ok():
    ok = {
        reason
        for reason in Reason
        if account(job(JobState.FAILED, cell=CellState.FAILED, reason=reason), {}).exit is Exit.OK
    }
    assert ok == {Reason.DUPLICATE_EXHAUSTED, Reason.FILTER_EXHAUSTED, Reason.NO_CANDIDATE}


def test_a_work_that_was_there_before_is_shown_with_its_files():
    told = account(job(JobState.FAILED, cell=CellState.NO_CANDIDATE, reason=Reason.DUPLICATE_EXHAUSTED))
    assert told.exit is Exit.OK
    assert [(work.ref, work.state) for work in told.works] == [(REF, THERE)]
    assert "illustrations/1.jpg" in text([told], "lib")


def plain(status):
    reasons = {Exit.OK: Reason.NO_CANDIDATE, Exit.AUTH: Reason.AUTH_FAILED, Exit.UNAVAILABLE: Reason.NETWORK_ERROR}
    return Account("x", None, (), reason=reasons[status])


def test_the_whole_is_as_bad_as_its_parts():
    done = account(job(JobState.SUCCEEDED, pick(REF, CellState.STORED)))
    assert total([]) is Exit.OK
    assert total([done, plain(Exit.OK)]) is Exit.OK
    assert total([plain(Exit.AUTH), plain(Exit.OK)]) is Exit.AUTH
    assert total([plain(Exit.AUTH), plain(Exit.UNAVAILABLE)]) is Exit.INCOMPLETE
    assert total([done, plain(Exit.AUTH)]) is Exit.INCOMPLETE


def test_the_document_and_the_report_say_the_same():
    told = account(job(JobState.SUCCEEDED, pick(REF, CellState.STORED)))
    found = document(told)
    assert found["complete"] is True
    assert found["works"][0]["files"][0]["bytes"] == 1500
    shown = text([told], "lib")
    assert "1.5 kB" in shown
    assert "looked at 5, took 1, left 2 (2 ai)" in shown
