from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec

from pixivflow.api import ports, wire
from pixivflow.domain.event import EventKind
from pixivflow.domain.job import Signal
from pixivflow.domain.reason import Reason

JOB = "daily@manual-k"
EVENTS = "/jobs/daily%40manual-k/events"


def exact(body: Any, kind: type) -> None:
    assert msgspec.to_builtins(msgspec.convert(body, kind)) == body


async def test_a_fresh_job_has_been_accepted(api) -> None:
    await api.submit("k", correlation_id="corr", labels={"a": "b"})
    page = (await api("GET", EVENTS)).json
    exact(page, wire.EventPage)
    assert list(page) == ["job_id", "events", "unacked", "server_time"]
    assert page["unacked"] == 1
    [event] = page["events"]
    assert event["type"] == "job.accepted"
    assert event["correlation_id"] == "corr"
    assert event["payload"] == {"detail": {"internal_kind": "job.requested"}}
    assert "labels" not in event


async def test_after_is_exclusive_and_does_not_change_the_count(api, jobs, event_ids) -> None:
    await api.submit("k")
    jobs.signal(JOB, Signal.START)
    first, second = event_ids(JOB)
    page = (await api("GET", f"{EVENTS}?after={first}")).json
    assert [event["event_id"] for event in page["events"]] == [second]
    assert page["unacked"] == 2


async def test_acknowledging_moves_forward_only(api, jobs, event_ids) -> None:
    await api.submit("k")
    jobs.signal(JOB, Signal.START)
    before = (await api("GET", f"/jobs/{JOB}")).json
    first, second = event_ids(JOB)

    async def ack(through: str) -> tuple[int, int]:
        answer = await api("POST", f"{EVENTS}/ack", {"ack_through": through})
        assert answer.status == 200
        exact(answer.json, wire.AckResult)
        return answer.json["acked"], answer.json["unacked"]

    assert await ack("evt-1-999") == (0, 2)
    assert await ack(second) == (2, 0)
    assert await ack(second) == (2, 0)
    assert await ack(first) == (2, 0)
    assert await ack("nonsense") == (2, 0)
    assert (await api("GET", f"{EVENTS}?unacked=1")).json["events"] == []
    assert (await api("GET", f"{EVENTS}?unacked=true&after={first}")).json["events"] == []
    assert len((await api("GET", f"{EVENTS}?unacked=0")).json["events"]) == 2
    assert len((await api("GET", f"{EVENTS}?unacked=")).json["events"]) == 2
    assert (await api("GET", f"/jobs/{JOB}")).json == before


NO_ACK = [{}, "", 1, [], None, {"ack_through": ""}, {"ack_through": 5}, {"ack_through": None}]


async def test_an_acknowledgement_without_an_event_is_an_error(api, jobs) -> None:
    await api.submit("k")
    for job, body in itertools.product((JOB, "nobody"), NO_ACK):
        answer = await api("POST", f"/jobs/{job}/events/ack", raw=json.dumps(body).encode())
        assert answer.status == 400, body
        assert answer.json["error"]["detail"] == {"field": "ack_through"}
    assert jobs.acked == {}


async def test_a_cursor_that_cannot_be_meant_is_an_error(api) -> None:
    await api.submit("k")
    for query, field in (
        ("after=", "after"),
        ("after=a&after=b", "after"),
        ("unacked=maybe", "unacked"),
        ("unacked=TRUE", "unacked"),
        ("unacked=1&unacked=1", "unacked"),
    ):
        answer = await api("GET", f"{EVENTS}?{query}")
        assert answer.status == 400, query
        assert answer.json["error"]["detail"] == {"field": field}


async def test_an_unknown_cursor_replays_everything(api) -> None:
    await api.submit("k")
    for after in ("garbage", "evt-1-2-3", "evt-1-99", "evt-%D9%A3-1", "x" * 3000):
        assert len((await api("GET", f"{EVENTS}?after={after}")).json["events"]) == 1, after


async def test_success_ends_with_the_job_and_its_result(api, jobs) -> None:
    await api.submit("k")
    jobs.succeed(JOB)
    page = (await api("GET", EVENTS)).json
    exact(page, wire.EventPage)
    assert [event["type"] for event in page["events"]] == ["job.accepted", "job.started", "job.succeeded"]
    payload = page["events"][-1]["payload"]
    assert payload["job"] == (await api("GET", f"/jobs/{JOB}")).json
    assert payload["result"] == payload["job"]["result"]
    assert "error" not in payload


async def test_failure_carries_its_error_and_reads_the_same_for_ever(api, jobs) -> None:
    await api.submit("k")
    jobs.fail(JOB, Reason.NO_CANDIDATE)
    page = (await api("GET", EVENTS)).json
    payload = page["events"][-1]["payload"]
    assert payload["job"]["status"] == "failed"
    assert payload["error"]["code"] == "no_candidate"
    assert (await api("GET", EVENTS)).json["events"] == page["events"]


async def test_what_is_internal_stays_inside(api, jobs) -> None:
    await api.submit("k")
    jobs.record(JOB, EventKind.OUTBOX_RETRY)
    jobs.signal(JOB, Signal.EXPIRE, reason=Reason.QUEUED_TOO_LONG)
    page = (await api("GET", EVENTS)).json
    assert [event["type"] for event in page["events"]] == ["job.accepted", "job.expired"]
    assert page["unacked"] == 2


async def test_a_service_that_leaks_an_internal_event_is_corrected(api, jobs, monkeypatch) -> None:
    await api.submit("k")
    leaked = jobs.record(JOB, EventKind.ATTEMPT_LOST)

    async def events(*_: object, **__: object) -> ports.EventSlice:
        return ports.EventSlice((leaked,), more=True, unacked=0)

    monkeypatch.setattr(jobs, "events", events)
    page = (await api("GET", EVENTS)).json
    assert page["events"] == []
    assert page["next_after"] == f"evt-{leaked.at}-{leaked.seq}"


async def test_a_long_story_is_read_page_by_page(api, jobs, event_ids) -> None:
    await api.submit("k")
    for _ in range(ports.EVENT_PAGE + 5):
        jobs.record(JOB, EventKind.STARTED)
    first = (await api("GET", f"{EVENTS}?unacked=1")).json
    assert len(first["events"]) == ports.EVENT_PAGE
    assert first["next_after"] == first["events"][-1]["event_id"]
    rest = (await api("GET", f"{EVENTS}?after={first['next_after']}")).json
    assert "next_after" not in rest
    assert [event["event_id"] for event in first["events"] + rest["events"]] == event_ids(JOB)
