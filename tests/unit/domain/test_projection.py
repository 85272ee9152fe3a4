from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.cell import CellState
from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind, EventRecord
from pixivflow.domain.job import TERMINAL, CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.projection import job_path, project_event, project_job, work_url
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import RETRYABLE, Code, Reason
from pixivflow.domain.work import WorkRef, WorkType

NOW = 1_800_000_100_000
FORBIDDEN = {
    "refetch", "slot", "slots", "review", "telegram", "message_id", "disposition", "submission", "moderation",
    "publish",
}  # fmt: skip
KEY_ORDER = [
    "protocol_version", "job_id", "job_type", "status", "created_at", "updated_at", "started_at", "heartbeat_at",
    "deadline_at", "lease_active", "lease_expires_at", "attempt", "progress", "idempotency_key", "correlation_id",
    "labels", "events_url", "result", "error",
]  # fmt: skip


def record(**changes: Any) -> JobRecord:
    whole: dict[str, Any] = {
        "id": "daily@manual-k",
        "seq": 1,
        "type": "candidate_search",
        "state": JobState.QUEUED,
        "plan_id": "daily",
        "account": "default",
        "trigger": "manual",
        "created_at": NOW - 100,
        "updated_at": NOW - 50,
        "key": "k",
        "cells": (CellRecord("cats", 0, "illustration", CellState.PENDING),),
    }
    return JobRecord(**{**whole, **changes})


def pick(number: int, state: CellState, **changes: Any) -> PickRecord:
    return PickRecord(WorkRef(WorkType.ILLUSTRATION, str(number)), number, state, **changes)


def cell(state: CellState, *picks: PickRecord, **changes: Any) -> CellRecord:
    return CellRecord("cats", changes.pop("ordinal", 0), "illustration", state, picks=picks, **changes)


def running(**changes: Any) -> JobRecord:
    live = {"started_at": NOW - 60, "heartbeat_at": NOW - 10, "lease_until": NOW + 180_000, "attempt": 1}
    return record(state=JobState.RUNNING, **{**live, **changes})


def ended(state: JobState, **changes: Any) -> JobRecord:
    return record(state=state, finished_at=NOW - 20, **changes)


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_a_queued_job() -> None:
    assert project_job(record(correlation_id="c", labels={"a": "b"}, deadline_at=NOW + 5), NOW) == {
        "protocol_version": "1",
        "job_id": "daily@manual-k",
        "job_type": "candidate_search",
        "status": "queued",
        "created_at": NOW - 100,
        "updated_at": NOW - 50,
        "started_at": None,
        "heartbeat_at": None,
        "deadline_at": NOW + 5,
        "lease_active": False,
        "lease_expires_at": None,
        "attempt": 0,
        "progress": {"stage": "queued", "at": NOW - 50},
        "idempotency_key": "k",
        "correlation_id": "c",
        "labels": {"a": "b"},
        "events_url": "/jobs/daily%40manual-k/events",
    }


def test_a_running_job_has_a_live_lease() -> None:
    job = project_job(running(), NOW)
    assert (job["status"], job["progress"]["stage"], job["lease_active"]) == ("running", "searching", True)
    assert job["lease_expires_at"] == NOW + 180_000
    assert job["started_at"] == NOW - 60


def test_a_lease_ends_at_its_very_millisecond() -> None:
    assert project_job(running(lease_until=NOW + 1), NOW)["lease_active"] is True
    late = project_job(running(lease_until=NOW), NOW)
    assert (late["lease_active"], late["lease_expires_at"], late["status"]) == (False, NOW, "running")


def test_what_is_going_on_is_said_for_people() -> None:
    progress = project_job(running(stage="downloading", stage_message="2 of 3"), NOW)["progress"]
    assert progress == {"stage": "downloading", "at": NOW - 50, "message": "2 of 3"}
    waiting = (cell(CellState.SUBMITTED), cell(CellState.DELIVERY_PENDING), cell(CellState.NO_CANDIDATE))
    assert project_job(running(cells=waiting, stage="downloading"), NOW)["progress"]["stage"] == "delivering"
    mixed = (cell(CellState.ARTIFACT_READY), cell(CellState.SELECTED))
    assert project_job(running(cells=mixed), NOW)["progress"]["stage"] == "searching"


def test_a_success_names_its_works_and_what_was_left_out() -> None:
    funnel = Funnel(fetched=9)
    funnel.reject("5", "already_delivered")
    funnel.reject("6", "few_bookmarks")
    funnel.reject("7", "a code of another version")
    picks = (
        pick(12, CellState.FAILED, reason=Reason.DOWNLOAD_FAILED),
        pick(11, CellState.STORED, title="Cat"),
        pick(10, CellState.SUBMITTED),
        pick(13, CellState.DUPLICATE),
    )
    novel = PickRecord(WorkRef(WorkType.NOVEL, "3"), 0, CellState.SUBMITTED)
    cells = (
        cell(CellState.SUBMITTED, novel, ordinal=1, report={"fetched": 1}),
        cell(CellState.SUBMITTED, *picks, report=funnel.as_json()),
    )
    job = project_job(ended(JobState.SUCCEEDED, cells=cells), NOW)
    assert job["progress"]["stage"] == "done"
    assert "error" not in job
    work = {"platform": "pixiv", "work_type": "illustration"}
    assert job["result"] == {
        "candidates": [
            {"candidate_id": "10", "work_id": "10", **work, "url": "https://www.pixiv.net/artworks/10"},
            {"candidate_id": "11", "work_id": "11", **work, "url": "https://www.pixiv.net/artworks/11", "title": "Cat"},
            {
                "candidate_id": "3",
                "platform": "pixiv",
                "work_id": "3",
                "work_type": "novel",
                "url": "https://www.pixiv.net/novel/show.php?id=3",
            },
        ],
        "scanned": 10,
        "filtered": [
            {"work_id": "5", "reason": "duplicate"},
            {"work_id": "6", "reason": "excluded"},
            {"work_id": "7", "reason": "other"},
        ],
        "incomplete": [{"work_id": "12", "reason": "source_error"}],
    }


def test_without_a_report_the_works_themselves_were_looked_at() -> None:
    result = project_job(ended(JobState.SUCCEEDED, cells=(cell(CellState.STORED, pick(1, CellState.STORED)),)), NOW)
    assert result["result"]["scanned"] == 1
    assert "filtered" not in result["result"]


def test_finding_nothing_is_explained() -> None:
    funnel = Funnel(fetched=30)
    for number in range(3):
        funnel.reject(str(number), "already_downloaded")
    funnel.reject("9", "ai")
    cells = (cell(CellState.NO_CANDIDATE, report=funnel.as_json()),)
    job = project_job(ended(JobState.FAILED, reason=Reason.FILTER_EXHAUSTED, message="all out", cells=cells), NOW)
    assert job["error"] == {
        "code": "no_candidate",
        "message": "all out",
        "retryable": True,
        "detail": {"internal_code": "filter_exhausted", "scanned": 30, "filtered": {"duplicate": 3, "excluded": 1}},
    }


def test_a_job_without_a_reason_takes_its_cell_s() -> None:
    cells = (cell(CellState.SUBMITTED), cell(CellState.FAILED, reason="auth_failed", message="log in again"))
    error = project_job(ended(JobState.FAILED, cells=cells), NOW)["error"]
    assert (error["code"], error["message"], error["detail"]) == (
        "auth_error",
        "log in again",
        {"internal_code": "auth_failed"},
    )


def test_no_reason_and_an_unknown_one_are_internal_errors() -> None:
    assert project_job(ended(JobState.FAILED), NOW)["error"] == {"code": "internal_error", "retryable": False}
    error = project_job(ended(JobState.FAILED, reason="of_a_later_version"), NOW)["error"]
    assert (error["code"], error["detail"]) == ("internal_error", {"internal_code": "of_a_later_version"})


def test_expired_and_cancelled() -> None:
    expired = project_job(ended(JobState.EXPIRED, reason=Reason.QUEUED_TOO_LONG), NOW)
    assert (expired["status"], expired["progress"]["stage"], expired["error"]["code"]) == (
        "expired",
        "expired",
        "queued_too_long",
    )
    cancelled = project_job(ended(JobState.CANCELLED, reason=Reason.CANCELLED), NOW)
    assert (cancelled["progress"]["stage"], cancelled["error"]["retryable"]) == ("cancelled", False)


def test_a_finished_job_stands_still() -> None:
    job = ended(JobState.FAILED, reason=Reason.STALLED, lease_until=NOW + 5000, stage_message="was busy")
    touched = replace(job, updated_at=NOW + 10_000)
    assert project_job(job, NOW) == project_job(touched, NOW + 99_999)
    assert project_job(job, NOW)["updated_at"] == NOW - 20
    assert project_job(job, NOW)["lease_active"] is False


def test_a_damaged_report_costs_nothing_but_itself() -> None:
    report = {"fetched": "many", "named": [1, {"reason": "x"}, {"work_id": 5}], "reasons": ["x", {"count": "1"}]}
    cells = (cell(CellState.NO_CANDIDATE, report=report),)
    done = project_job(ended(JobState.SUCCEEDED, cells=cells), NOW)["result"]
    assert done == {"candidates": [], "scanned": 0, "filtered": [{"work_id": "5", "reason": "other"}]}
    error = project_job(ended(JobState.FAILED, reason="no_candidate", cells=cells), NOW)["error"]
    assert error["detail"] == {"internal_code": "no_candidate", "scanned": 0, "filtered": {}}


def test_a_work_of_the_job_is_not_among_those_it_turned_away() -> None:
    """An attempt that goes on after a crash meets what the first one took, and counts it as known."""
    report = {"fetched": 2, "named": [{"work_id": "7", "reason": "taken"}, {"work_id": "8", "reason": "taken"}]}
    taken = PickRecord(WorkRef(WorkType.NOVEL, "7"), 0, CellState.SUBMITTED)
    cells = (CellRecord("stories", 0, "novel", CellState.SUBMITTED, report=report, picks=(taken,)),)
    result = project_job(ended(JobState.SUCCEEDED, cells=cells), NOW)["result"]
    assert [found["work_id"] for found in result["candidates"]] == ["7"]
    assert [entry["work_id"] for entry in result["filtered"]] == ["8"]


def test_addresses() -> None:
    assert job_path("a/b?c#d% é") == "/jobs/a%2Fb%3Fc%23d%25%20%C3%A9"
    assert work_url(WorkRef(WorkType.NOVEL, "1&x")) == "https://www.pixiv.net/novel/show.php?id=1%26x"


def test_events() -> None:
    job = ended(JobState.FAILED, reason=Reason.NETWORK_ERROR, correlation_id="c")
    accepted = project_event(EventRecord(3, job.id, EventKind.REQUESTED, 5), job, NOW)
    assert accepted == {
        "protocol_version": "1",
        "event_id": "evt-5-3",
        "job_id": job.id,
        "correlation_id": "c",
        "type": "job.accepted",
        "at": 5,
        "payload": {"detail": {"internal_kind": "job.requested"}},
    }
    failed = project_event(EventRecord(4, job.id, EventKind.FAILED, 6, {"secret": 1}), job, NOW)
    assert failed is not None
    assert failed["payload"] == {
        "job": project_job(job, NOW),
        "error": project_job(job, NOW)["error"],
        "detail": {"internal_kind": "job.outcome_failed"},
    }


def test_only_public_events_come_out() -> None:
    job = ended(JobState.SUCCEEDED)
    for kind in EventKind:
        out = project_event(EventRecord(1, job.id, kind, 1), job, NOW)
        assert (out is not None) == (kind in WIRE_TYPE)
        if out is not None:
            assert ("job" in out["payload"]) == (kind in TERMINAL_KINDS)
            assert "labels" not in out


reasons = st.none() | st.sampled_from([reason.value for reason in Reason]) | st.text(max_size=8)
times = st.integers(0, 2**45)
pick_records = st.builds(
    PickRecord,
    ref=st.builds(WorkRef, st.sampled_from(WorkType), st.text(max_size=8)),
    ordinal=st.integers(0, 5),
    state=st.sampled_from(CellState),
    reason=st.none() | st.sampled_from(Reason),
    title=st.text(max_size=5),
)
reports = st.just({}) | st.builds(
    lambda fetched, named: {"fetched": fetched, "named": [{"work_id": w, "reason": r} for w, r in named]},
    st.integers(0, 100),
    st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4),
)
cell_records = st.builds(
    CellRecord,
    target_id=st.text(max_size=5),
    ordinal=st.integers(0, 3),
    work_type=st.just("novel"),
    state=st.sampled_from(CellState),
    reason=reasons,
    message=st.none() | st.text(max_size=5),
    report=reports,
    picks=st.lists(pick_records, max_size=3).map(tuple),
)
job_records = st.builds(
    JobRecord,
    id=st.text(min_size=1, max_size=12),
    seq=times,
    type=st.just("candidate_search"),
    state=st.sampled_from(JobState),
    plan_id=st.just("p"),
    account=st.just("default"),
    trigger=st.just("manual"),
    created_at=times,
    updated_at=times,
    key=st.none() | st.text(max_size=5),
    correlation_id=st.none() | st.text(max_size=5),
    labels=st.none() | st.dictionaries(st.sampled_from("ab"), st.text(max_size=3)),
    started_at=st.none() | times,
    finished_at=st.none() | times,
    lease_until=st.none() | times,
    attempt=st.integers(0, 5),
    stage=st.sampled_from(["queued", "searching", "downloading", ""]),
    stage_message=st.none() | st.text(max_size=5),
    reason=reasons,
    message=st.none() | st.text(max_size=5),
    cells=st.lists(cell_records, max_size=3).map(tuple),
)


@given(job_records, times)
def test_every_job_is_well_formed(job: JobRecord, now: int) -> None:
    out = project_job(job, now)
    assert out == project_job(job, now)
    assert list(out) == [name for name in KEY_ORDER if name in out]
    assert ("result" in out) + ("error" in out) == (1 if job.state in TERMINAL else 0)
    assert ("result" in out) == (job.state is JobState.SUCCEEDED)
    assert out["status"] == job.state.value
    assert unquote(out["events_url"].split("/")[2]) == job.id
    if out["lease_active"]:
        assert out["lease_expires_at"] > now
    if "error" in out:
        assert out["error"]["retryable"] is RETRYABLE[Code(out["error"]["code"])]
    if job.state in TERMINAL:
        assert out == project_job(job, now + 1_000_000)
    assert not {"state", "requestId", "jobId"} & set(out)


@given(job_records, st.sampled_from(EventKind), times)
def test_no_word_of_a_consumer_s_business_is_a_key(job: JobRecord, kind: EventKind, now: int) -> None:
    for out in (project_job(job, now), project_event(EventRecord(1, job.id, kind, now), job, now)):
        for name in keys(out):
            assert name not in FORBIDDEN
            assert not FORBIDDEN & set(re.split(r"[^A-Za-z0-9]+", name.lower()))


@given(job_records.filter(lambda job: job.terminal), st.sampled_from(sorted(TERMINAL_KINDS)), times)
def test_a_terminal_event_carries_the_job_and_its_end(job: JobRecord, kind: EventKind, now: int) -> None:
    out = project_event(EventRecord(7, job.id, kind, now), job, now)
    assert out is not None
    payload = out["payload"]
    assert payload["job"] == project_job(job, now)
    assert ("result" in payload, "error" in payload) == ("result" in payload["job"], "error" in payload["job"])
