"""Jobs, events and answers to show: fixed records put through the code that makes every real body.

They are examples of the OpenAPI document and most of `protocol/v1/fixtures/`. No answer here is written by hand: where
the projection changes, these change with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from pixivflow.api.errors import Problem, error_body, internal_error, surface_disabled, unknown_job
from pixivflow.api.jobs import project_capabilities
from pixivflow.api.ports import Capabilities, JobType
from pixivflow.domain.cell import CellState
from pixivflow.domain.event import EventKind, EventRecord
from pixivflow.domain.filters import Reject
from pixivflow.domain.job import CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.projection import project_event, project_job
from pixivflow.domain.reason import Reason
from pixivflow.domain.task import CANDIDATE_SEARCH, TaskError, parse_task
from pixivflow.domain.work import WorkRef, WorkType

T0: Final = 1_800_000_000_000
"""The moment everything here starts from, epoch milliseconds."""
KEY: Final = "3d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b11"
JOB_ID: Final = f"daily@manual-{KEY}"
TARGET: Final = "daily-cats"
_CORRELATION: Final = "channel-4"
_LABELS: Final = {"channel": "daily"}
_REF: Final = WorkRef(WorkType.ILLUSTRATION, "100200300")

MINIMAL_TASK: Final[dict[str, Any]] = {
    "protocol_version": "1",
    "job_type": CANDIDATE_SEARCH,
    "idempotency_key": KEY,
    "params": {"target_id": TARGET},
}
FULL_TASK: Final[dict[str, Any]] = {
    **MINIMAL_TASK,
    "correlation_id": _CORRELATION,
    "callback_url": "http://orchestrator.example:8080/jobs/events",
    "deadline_ms": 1_800_000,
    "labels": _LABELS,
    "params": {
        "source": {"platform": "pixiv", "account": "default"},
        "query": {"tags": ["猫", "夜"], "expand": True},
        "constraints": {
            "exclude": [{"kind": "work", "id": "149713091"}, {"kind": "tag", "id": "AI生成"}],
            "limit": 1,
            "scan_limit": 20,
            "work_types": ["illustration"],
        },
        "target_id": TARGET,
    },
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One body.

    Attributes:
        schema: its name under `$defs`.
        request: the request it answers; of a body that is sent, the request it is sent with.
        status: the HTTP status it comes with, None for what is sent.
    """

    schema: str
    request: str
    status: int | None
    body: Any


def samples() -> dict[str, Sample]:
    """Every sample by its name, in an order that reads as a story."""
    return {**_requests(), **_jobs(), **_events(), **_answers(), **_errors()}


def queued() -> JobRecord:
    """The job of the full task as it was accepted."""
    return JobRecord(
        id=JOB_ID,
        seq=1,
        type=CANDIDATE_SEARCH,
        state=JobState.QUEUED,
        plan_id="daily",
        account="default",
        trigger="manual",
        created_at=T0,
        updated_at=T0,
        key=KEY,
        correlation_id=_CORRELATION,
        labels=_LABELS,
        deadline_at=T0 + 1_800_000,
        cells=(_cell(CellState.PENDING),),
    )


def running() -> JobRecord:
    """Taken by an attempt that is looking through the source."""
    return replace(
        queued(),
        state=JobState.RUNNING,
        started_at=T0 + 500,
        updated_at=T0 + 30_500,
        heartbeat_at=T0 + 30_500,
        lease_until=T0 + 210_500,
        attempt=1,
        stage="searching",
        cells=(_cell(CellState.SELECTED),),
    )


def ended(state: JobState, reason: Reason | None = None, message: str | None = None) -> JobRecord:
    """The running job at its end."""
    reached = state is JobState.SUCCEEDED
    pick = PickRecord(_REF, 0, CellState.SUBMITTED, title="A cat at night")
    cell = _cell(CellState.SUBMITTED if reached else CellState.FAILED, scanned=12 if reached else 3)
    cell = replace(cell, picks=(pick,) if reached else ())
    return replace(
        running(),
        state=state,
        updated_at=T0 + 42_000,
        finished_at=T0 + 42_000,
        lease_until=None,
        reason=reason,
        message=message,
        cells=(cell,),
    )


def _cell(state: CellState, *, scanned: int | None = None) -> CellRecord:
    taken = [("100200299", Reject.ALREADY_DELIVERED.value), ("100200298", Reject.EXCLUDED.value)]
    report: dict[str, Any] = {}
    if scanned is not None:
        report = {
            "fetched": scanned,
            "named": [{"work_id": work, "reason": code} for work, code in taken],
            "reasons": [{"code": code, "count": 1} for _, code in taken],
        }
    return CellRecord(TARGET, 0, WorkType.ILLUSTRATION.value, state, report=report)


def _requests() -> dict[str, Sample]:
    return {
        "task-minimal": Sample("Task", "POST /jobs", None, MINIMAL_TASK),
        "task-full": Sample("Task", "POST /jobs", None, FULL_TASK),
    }


def _jobs() -> dict[str, Sample]:
    empty = "nothing was found that is new and fits"
    records = {
        "job-queued": queued(),
        "job-running": running(),
        "job-delivering": replace(running(), cells=(_cell(CellState.DELIVERY_PENDING),)),
        "job-succeeded": ended(JobState.SUCCEEDED),
        "job-failed-no-candidate": ended(JobState.FAILED, Reason.NO_CANDIDATE, empty),
        "job-failed-source-error": ended(JobState.FAILED, Reason.REMOTE_HTTP_ERROR, "the site answers with errors"),
        "job-failed-delivery": ended(JobState.FAILED, Reason.DELIVERY_FAILED, "a receiver did not take the work"),
        "job-cancelled": ended(JobState.CANCELLED, Reason.CANCELLED, "cancelled by the one who ordered it"),
        "job-expired": ended(JobState.EXPIRED, Reason.EXECUTION_TIMEOUT, "the deadline passed"),
        "job-expired-queued": replace(
            ended(JobState.EXPIRED, Reason.QUEUED_TOO_LONG, "nobody took the job in time"),
            started_at=None,
            heartbeat_at=None,
            attempt=0,
        ),
    }
    read = "GET /jobs/{job_id}"
    return {
        name: Sample("Job", "POST /jobs/{job_id}/cancel" if name == "job-cancelled" else read, 200, _job(record))
        for name, record in records.items()
    }


def _events() -> dict[str, Sample]:
    done = ended(JobState.SUCCEEDED)
    story = [_event(41, EventKind.REQUESTED, done, 0), _event(42, EventKind.STARTED, done, 500)]
    ends = {
        "succeeded": (EventKind.SUCCEEDED, done),
        "failed": (EventKind.FAILED, ended(JobState.FAILED, Reason.NO_CANDIDATE)),
        "cancelled": (EventKind.CANCELLED, ended(JobState.CANCELLED, Reason.CANCELLED)),
        "expired": (EventKind.EXPIRED, ended(JobState.EXPIRED, Reason.STALLED)),
    }
    last = {name: _event(47, kind, record, 42_000) for name, (kind, record) in ends.items()}
    page = {"job_id": JOB_ID, "events": [*story, last["succeeded"]], "unacked": 3, "server_time": T0 + 60_000}
    called = "POST {callback_url}"
    return {
        "event-accepted": Sample("Event", called, None, story[0]),
        "event-started": Sample("Event", called, None, story[1]),
        **{f"event-{name}": Sample("Event", called, None, event) for name, event in last.items()},
        "event-page": Sample("EventPage", "GET /jobs/{job_id}/events", 200, page),
        "ack-request": Sample(
            "AckRequest", "POST /jobs/{job_id}/events/ack", None, {"ack_through": last["succeeded"]["event_id"]}
        ),
    }


def _answers() -> dict[str, Sample]:
    envelope = {"job": _job(queued())}
    page = {"jobs": [_job(ended(JobState.SUCCEEDED))], "server_time": T0 + 60_000}
    acked = {"job_id": JOB_ID, "acked": 3, "unacked": 0, "server_time": T0 + 61_000}
    kinds = (JobType(CANDIDATE_SEARCH, ("events", "cancel", "idempotency"), 1_800_000, 900_000, 30_000, 1_800_000),)
    able = {**project_capabilities(Capabilities(kinds)), "server_time": T0}
    return {
        "job-accepted": Sample("JobEnvelope", "POST /jobs", 202, envelope),
        "job-page": Sample("JobPage", "GET /jobs", 200, page),
        "ack-result": Sample("AckResult", "POST /jobs/{job_id}/events/ack", 200, acked),
        "capabilities": Sample("Capabilities", "GET /capabilities", 200, able),
    }


def _errors() -> dict[str, Sample]:
    wrong: dict[str, Any] = {
        "error-not-an-object": [],
        "error-missing-key": {name: value for name, value in MINIMAL_TASK.items() if name != "idempotency_key"},
        "error-unsupported-version": {**MINIMAL_TASK, "protocol_version": "2"},
        "error-unsupported-job-type": {**MINIMAL_TASK, "job_type": "summon"},
        "error-invalid-params": {**MINIMAL_TASK, "params": {"query": {"tags": []}}},
    }
    found = {name: Sample("ErrorBody", "POST /jobs", 400, _refusal(body)) for name, body in wrong.items()}
    found["error-unknown-job"] = _problem("GET /jobs/{job_id}", unknown_job())
    found["error-disabled"] = _problem("GET /capabilities", surface_disabled())
    found["error-internal"] = Sample("ErrorBody", "GET /jobs/{job_id}", 500, json.loads(internal_error().body))
    return found


def _problem(request: str, problem: Problem) -> Sample:
    return Sample("ErrorBody", request, problem.status, json.loads(problem.reply().body))


def _refusal(body: object) -> dict[str, Any]:
    error = parse_task(body)
    if not isinstance(error, TaskError):
        raise TypeError("a wrong task was accepted")
    return error_body(error.code, error.message, error.detail)


def _job(record: JobRecord) -> dict[str, Any]:
    return project_job(record, record.updated_at + 1_000)


def _event(seq: int, kind: EventKind, job: JobRecord, after_ms: int) -> dict[str, Any]:
    at = T0 + after_ms
    event = project_event(EventRecord(seq, job.id, kind, at), job, at)
    if event is None:
        raise ValueError(f"{kind} is not part of the public stream")
    return event
