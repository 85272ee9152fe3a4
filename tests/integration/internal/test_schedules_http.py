"""The knock of a clock on a socket: its receipt, its answers, its bodies. Cases 185 to 190, section 16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from older_desk import MANUAL, TRIGGER, Client, Parts, job_record
from structlog.testing import capture_logs

from pixivflow.api.auth import Tokens
from pixivflow.api.internal import InternalPorts
from pixivflow.api.ports import Drained, Knock, NotTriggered, ScheduleState, Triggered
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobState, PickRecord
from pixivflow.domain.work import WorkRef, WorkType

RUN = "/internal/schedules/daily/run"
ID = "daily@2026-05-10T1000"


async def test_an_accepted_knock(api: Client, parts: Parts) -> None:
    got = await api("POST", RUN, {"label": "github-actions"})
    assert got.status == 202
    assert got.json == {
        "status": "accepted",
        "schedule": {"scheduleId": "daily", "slotId": ID, "disposition": "accepted", "status": "pending"},
        "note": "queued",
    }
    assert parts.asked == [("run", "daily", "github-actions")]


async def test_a_running_occurrence_is_a_202(api: Client, parts: Parts) -> None:
    """Case 188. So that a clock keeps asking."""
    parts.triggered = Triggered(ID, Knock.ALREADY_RUNNING, job_record(JobState.RUNNING))
    got = await api("POST", RUN)
    assert (got.status, got.json["status"], got.json["note"]) == (202, "running", "already_running")
    assert got.json["schedule"]["status"] == "running"


async def test_a_completed_occurrence_is_a_200_with_its_cells(api: Client, parts: Parts) -> None:
    """Case 191. What came of it can be read from the answer."""
    pick = PickRecord(WorkRef(WorkType.ILLUSTRATION, "42"), 0, CellState.SUBMITTED)
    cells = (
        CellRecord("cats", 0, "illustration", CellState.SUBMITTED, picks=(pick,)),
        CellRecord("books", 1, "novel", CellState.NO_CANDIDATE, reason="no_candidate"),
    )
    parts.triggered = Triggered(ID, Knock.ALREADY_COMPLETED, job_record(JobState.SUCCEEDED, cells=cells))
    got = await api("POST", RUN)
    assert got.status == 200
    assert got.json == {
        "status": "completed",
        "schedule": {
            "scheduleId": "daily",
            "slotId": ID,
            "disposition": "already_completed",
            "status": "partial",
            "alreadyCompleted": True,
            "cells": [
                {"targetId": "cats", "workType": "illustration", "status": "submitted", "workId": "42", "reason": None},
                {
                    "targetId": "books",
                    "workType": "novel",
                    "status": "no_candidate",
                    "workId": None,
                    "reason": "no_candidate",
                },
            ],
        },
        "note": "already_completed",
    }


async def test_a_rejected_knock_is_a_503_that_may_be_repeated(api: Client, parts: Parts) -> None:
    """Case 190."""
    parts.triggered = Triggered(ID, Knock.REJECTED, None)
    got = await api("POST", RUN)
    assert got.status == 503
    assert got.json == {
        "status": "rejected",
        "schedule": {"scheduleId": "daily", "slotId": ID, "disposition": "rejected", "status": None},
        "note": "rejected",
    }
    assert got.headers["retry-after"] == "5"


@pytest.mark.parametrize("status", [400, 404, 410, 425])
async def test_a_knock_that_means_nothing(api: Client, parts: Parts, status: int) -> None:
    """Case 187."""
    parts.triggered = NotTriggered(status, "why", 90 if status == 425 else None)
    got = await api("POST", RUN)
    assert (got.status, got.error) == (status, "why")
    assert got.headers.get("retry-after") == ("90" if status == 425 else None)


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        (b"", None),
        (b"  \n", None),
        (b"{}", None),
        (b'{"label":null}', None),
        (b'{"label":7,"date":"2020-01-01","slotId":"other@2020"}', None),
        (b'{"label":""}', None),
        ('{"label":"%s"}'.replace("%s", "時" * 100).encode(), "時" * 80),
    ],
)
async def test_no_body_chooses_an_occurrence(api: Client, parts: Parts, raw: bytes, label: str | None) -> None:
    """Case 187. A label is kept up to 80 characters and decides nothing."""
    assert (await api("POST", RUN, raw=raw)).status == 202
    assert parts.asked == [("run", "daily", label)]


@pytest.mark.parametrize("raw", [b"{", b"[]", b'"x"', b"\xff"])
async def test_a_body_that_cannot_be_read_is_a_400(api: Client, parts: Parts, raw: bytes) -> None:
    got = await api("POST", RUN, raw=raw)
    assert got.status == 400
    assert got.error.startswith("body must be")
    assert parts.asked == []


async def test_a_mistake_of_ours_has_a_text_that_asks_to_try_again(api: Client, parts: Parts) -> None:
    parts.triggered = RuntimeError("secret detail")
    with capture_logs() as logs:
        got = await api("POST", RUN)
    assert (got.status, got.error) == (500, "schedule trigger failed; nothing is lost, trigger it again")
    assert "schedule.trigger_error" in [entry["event"] for entry in logs]


@pytest.mark.parametrize("token", [MANUAL, None, TRIGGER + "x"])
async def test_a_refused_knock_leaves_its_receipt_and_no_token(api: Client, parts: Parts, token: str | None) -> None:
    """Case 5. "Nobody knocked" can be told apart from "somebody was turned away"."""
    with capture_logs() as logs:
        got = await api(
            "POST", RUN, token=token, headers={"X-Schedule-Attempt-Id": "run-7", "X-Schedule-Provider": "gh"}
        )
    assert got.status == 401
    assert [(entry["event"], entry["schedule"]) for entry in logs] == [
        ("schedule.trigger_received", "daily"),
        ("schedule.trigger_unauthorized", "daily"),
    ]
    assert (logs[0]["attempt"], logs[0]["provider"]) == ("run-7", "gh")
    assert TRIGGER not in str(logs)
    assert MANUAL not in str(logs)
    assert parts.asked == []


async def test_a_closed_route_leaves_its_receipt_too(serve: Callable[..., Any]) -> None:
    api = await serve(tokens=Tokens(MANUAL, None))
    with capture_logs() as logs:
        assert (await api("POST", RUN)).status == 503
    assert [entry["event"] for entry in logs] == ["schedule.trigger_received", "schedule.trigger_unauthorized"]


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, {}),
        ({"X-Attempt-Id": "a:1"}, {"attempt": "a:1"}),
        ({"X-Schedule-Attempt-Id": "né w/1", "X-Attempt-Id": "other"}, {"attempt": "nw1"}),
        ({"X-Schedule-Attempt-Id": "///", "X-Attempt-Id": "b"}, {"attempt": "b"}),
        ({"X-Schedule-Attempt-Id": "x" * 100}, {"attempt": "x" * 64}),
        ({"X-Schedule-Provider": "a b:c" * 20}, {"provider": ("abc" * 20)[:32]}),
        ({"X-Schedule-Attempt-Id": "   ", "X-Schedule-Provider": "@"}, {}),
    ],
)
async def test_what_a_clock_says_of_itself_is_reduced_or_left_out(
    api: Client, headers: dict[str, str], said: dict[str, str]
) -> None:
    """Case 12. Never made up."""
    with capture_logs() as logs:
        await api("POST", RUN, headers=headers)
    received = next(entry for entry in logs if entry["event"] == "schedule.trigger_received")
    assert {name: received[name] for name in ("attempt", "provider") if name in received} == said


@pytest.mark.parametrize(
    ("outcome", "event"),
    [
        (Triggered(ID, Knock.ACCEPTED, job_record()), "schedule.trigger_accepted"),
        (Triggered(ID, Knock.ALREADY_RUNNING, job_record()), "schedule.trigger_already_running"),
        (Triggered(ID, Knock.ALREADY_COMPLETED, job_record(JobState.FAILED)), "schedule.trigger_already_completed"),
        (Triggered(ID, Knock.REJECTED, None), "schedule.trigger_rejected"),
        (NotTriggered(404, "unknown"), "schedule.trigger_not_found"),
        (NotTriggered(410, "late"), "schedule.trigger_refused"),
    ],
)
async def test_every_end_of_a_knock_has_its_name_in_the_log(
    api: Client, parts: Parts, outcome: Any, event: str
) -> None:
    parts.triggered = outcome
    with capture_logs() as logs:
        await api("POST", RUN)
    assert [entry["event"] for entry in logs] == ["schedule.trigger_received", event]


async def test_a_read_is_no_knock(api: Client) -> None:
    with capture_logs() as logs:
        await api("GET", RUN)
        await api("GET", "/internal/schedules")
    assert logs == []


async def test_the_list_of_schedules(api: Client, parts: Parts) -> None:
    parts.states = [ScheduleState("daily", "external", ID), ScheduleState("late", "external", None)]
    got = await api("GET", "/internal/schedules")
    assert got.status == 200
    assert got.json == {
        "schedules": [
            {"scheduleId": "daily", "mode": "external", "occurrence": ID},
            {"scheduleId": "late", "mode": "external", "occurrence": None},
        ]
    }


async def test_a_drain_says_what_it_did(api: Client, parts: Parts) -> None:
    parts.drained = Drained(processed=6, done=3, retried=2, dead=1)
    got = await api("POST", "/internal/outbox/drain")
    assert got.status == 200
    assert got.json == {"status": "ok", "result": {"processed": 6, "done": 3, "retried": 2, "dead": 1}}


async def test_a_drain_that_fails_loses_nothing(api: Client, parts: Parts) -> None:
    parts.drained = RuntimeError("secret detail")
    got = await api("POST", "/internal/outbox/drain")
    assert (got.status, got.error) == (500, "outbox drain failed; rows remain durable and retry")


async def test_a_process_without_clocks_or_worker_says_so(serve: Callable[..., Any]) -> None:
    api = await serve(ports=InternalPorts())
    got = await api("POST", "/internal/outbox/drain")
    assert (got.status, got.error) == (503, "outbox worker not available in this runtime")
    for method, path in (("POST", RUN), ("GET", "/internal/schedules")):
        got = await api(method, path)
        assert (got.status, got.error) == (503, "the scheduler is not available in this runtime")
