"""The acceptance list finds each fault of a producer, and names the point that is broken."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from producer import Bug, Producer, Told

from pixivflow.protocol.acceptance import POINTS
from pixivflow.protocol.point import Need
from pixivflow.protocol.session import Plan, Token
from pixivflow.protocol.verify import Verdict, verify

EVERYTHING = frozenset({Need.READ, Need.SUBMIT, Need.CANCEL})


async def failed(producer: Producer, *, strict: bool = True, **plan: Any) -> dict[str, str]:
    keys = count(1)
    outcomes = await verify(
        producer,
        Plan(EVERYTHING, strict=strict, **plan),
        new_key=lambda: f"key-{next(keys)}",
        sleep=producer.sleep,
        clock=producer.clock,
        told=lambda outcome: None,
    )
    assert [outcome.point for outcome in outcomes] == list(POINTS)
    return {outcome.point.id: outcome.why for outcome in outcomes if outcome.verdict is Verdict.FAIL}


def on(route: str, change: Any, *, status: int | None = None, when: int | None = None) -> Bug:
    """Replace the answer of a route: `change` is merged into an object, or is the new body."""

    def bug(told: Told) -> tuple[int, Any] | None:
        if told.route != route or (when is not None and told.status != when):
            return None
        body = change(told.body) if callable(change) else {**told.body, **change}
        return status or told.status, body

    return bug


def each_event(change: Any) -> Bug:
    return on("GET /jobs/*/events", lambda page: {**page, "events": change(page["events"])}, when=200)


def in_job(change: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> Any:
    def changed(job: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in {**job, **change}.items() if name not in without}

    return changed


def in_envelope(change: Mapping[str, Any]) -> Any:
    return lambda body: {"job": {**body["job"], **change}}


def ended(change: Any) -> Bug:
    """Change a job only once it has ended."""

    def bug(told: Told) -> tuple[int, Any] | None:
        if told.route == "GET /jobs/*" and told.status == 200 and told.body["status"] == "succeeded":
            return 200, change(told.body)
        return None

    return bug


def error(change: Mapping[str, Any], *, without: str = "", when: int | None = None) -> Bug:
    def bug(told: Told) -> tuple[int, Any] | None:
        if told.status < 400 or told.status == 401 or (when and told.status != when):
            return None
        inside = {name: value for name, value in {**told.body["error"], **change}.items() if name != without}
        return told.status, {"error": inside}

    return bug


def moving() -> Bug:
    times = count(1)
    return ended(lambda job: {**job, "updated_at": job["updated_at"] + next(times)})


def all_of_the_story(told: Told) -> tuple[int, Any] | None:
    if told.route == "GET /jobs/*/events" and "after=evt" in told.path and told.body["events"]:
        first = {**told.body["events"][0], "event_id": told.path.partition("after=")[2], "type": "job.accepted"}
        return 200, {**told.body, "events": [first, *told.body["events"]]}
    return None


def later_ones_count(told: Told) -> tuple[int, Any] | None:
    if told.route == "GET /jobs/*/events" and told.status == 200:
        return 200, {**told.body, "unacked": len(told.body["events"])}
    return None


def gone_once_acknowledged() -> Bug:
    acked: list[str] = []

    def bug(told: Told) -> tuple[int, Any] | None:
        if told.route.endswith("/ack") and told.status == 200 and told.body["unacked"] == 0:
            acked.append(told.path)
        if told.route == "GET /jobs/*/events" and acked:
            return 200, {**told.body, "events": []}
        return None

    return bug


def second_cancel() -> Bug:
    times = count(1)

    def bug(told: Told) -> tuple[int, Any] | None:
        if told.route == "POST /jobs/*/cancel" and told.status == 200 and next(times) > 1:
            return 409, {"error": {"code": "invalid_params", "retryable": False}}
        return None

    return bug


_BARE = {"candidate_id": "1", "platform": "pixiv", "work_id": "1", "work_type": "illustration"}

BUGS: dict[str, tuple[str, Bug]] = {
    "no protocol version": ("capabilities", on("GET /capabilities", {"protocol_versions": ["2.0"]})),
    "no candidate_search": ("capabilities", on("GET /capabilities", {"job_types": [{"name": "other"}]})),
    "a budget is missing": (
        "capabilities-whole",
        on("GET /capabilities", lambda body: {**body, "job_types": [{"name": "candidate_search"}]}),
    ),
    "the replay is a 202": ("replay", on("POST /jobs", lambda body: body, status=202, when=200)),
    "the replay is another job": ("replay", on("POST /jobs", in_envelope({"job_id": "another"}), when=200)),
    "a conflict is answered with the job": ("changed-params", on("POST /jobs", {"job": {}}, status=200, when=409)),
    "a conflict has another code": ("changed-params", error({"code": "invalid_params"}, when=409)),
    "the first answer is a 200": ("submit", on("POST /jobs", lambda body: body, status=200, when=202)),
    "the envelope has more in it": ("submit", on("POST /jobs", {"status": "accepted"}, when=202)),
    "retryable is missing": ("envelope", error({}, without="retryable")),
    "retryable is a text": ("envelope", error({"retryable": "no"})),
    "a code of its own": ("unknown-job", error({"code": "not_found"}, when=404)),
    "an unknown job is an empty 200": ("unknown-job", on("GET /jobs/*", {}, status=200, when=404)),
    "another version is tolerated": ("unsupported-version", error({"code": "invalid_params"}, when=400)),
    "an HTML page for a malformed body": (
        "malformed",
        lambda told: (400, b"<html>") if told.route == "POST /jobs" and told.sent is None else None,
    ),
    "the job has no times": ("job-shape", on("POST /jobs", in_envelope({"created_at": "2026"}), when=202)),
    "the job has a key that others read": ("job-shape", on("POST /jobs", in_envelope({"state": "queued"}), when=202)),
    "the bare job is wrapped": ("read", on("GET /jobs/*", lambda body: {"job": body}, when=200)),
    "the look-up ignores the key": ("unknown-key", on("GET /jobs", {"jobs": [{"job_id": "x"}]})),
    "the look-up finds nothing": ("lookup", on("GET /jobs", {"jobs": []})),
    "no accepted event": ("accepted-event", each_event(lambda events: events[1:])),
    "two ends": ("one-end", each_event(lambda events: [*events, {**events[-1], "event_id": "evt-9999999999999-9"}])),
    "an event after the end": (
        "one-end",
        each_event(lambda events: [*events, {**events[0], "event_id": "evt-1-1", "at": 9_999_999_999_999}]),
    ),
    "times go back": ("events", each_event(lambda events: list(reversed(events)))),
    "an id comes twice": ("events", each_event(lambda events: [{**event, "event_id": "evt-1-1"} for event in events])),
    "ids of another form": ("events", each_event(lambda events: [{**event, "event_id": "7"} for event in events])),
    "an unheard-of type": ("events", each_event(lambda events: [{**event, "type": "job.new"} for event in events])),
    "the end says something else": (
        "end-tells",
        each_event(lambda events: [*events[:-1], {**events[-1], "type": "job.failed"}]),
    ),
    "the end carries no job": ("end-tells", each_event(lambda events: [{**event, "payload": {}} for event in events])),
    "after is inclusive": ("after", all_of_the_story),
    "an empty after is the beginning": (
        "after-form",
        on("GET /jobs/*/events", {"events": []}, status=200, when=400),
    ),
    "unacked counts the page": ("unacked", later_ones_count),
    "an empty ack is taken": ("ack-form", on("POST /jobs/*/events/ack", {}, status=200, when=400)),
    "an ack moves nothing": ("ack", on("POST /jobs/*/events/ack", {"acked": 0, "unacked": 3})),
    "an unknown ack is refused": ("ack-unknown", on("POST /jobs/*/events/ack", {}, status=404, when=200)),
    "result and error": ("outcome", ended(in_job({"error": {"code": "internal_error", "retryable": False}}))),
    "neither result nor error": ("outcome", ended(in_job({}, without=("result",)))),
    "a result without a count": ("result", ended(in_job({"result": {"candidates": []}}))),
    "a candidate without an id": ("result", ended(in_job({"result": {"candidates": [{}], "scanned": 1}}))),
    "an ended job moves": ("frozen", moving()),
    "the request's name is in the job": ("neutral", ended(in_job({"refetch_request_id": "x"}))),
    "a forbidden key in a detail": ("words", error({"detail": {"slot_id": "x"}})),
    "a forbidden stage": ("words", ended(in_job({"progress": {"stage": "in_review", "at": 1}}))),
    "everything fails": ("no-crash", lambda told: (500, {"error": {"code": "internal_error", "retryable": False}})),
    "a cancel that waits": (
        "cancel",
        on("POST /jobs/*/cancel", in_job({"status": "running"}, without=("error",)), when=200),
    ),
    "a cancel that may be tried again": (
        "cancel",
        on(
            "POST /jobs/*/cancel",
            in_job({"error": {"code": "cancelled_by_consumer", "retryable": True}}),
            when=200,
        ),
    ),
    "an unknown job can be cancelled": ("cancel-unknown", on("POST /jobs/*/cancel", {}, status=200, when=404)),
    "labels are dropped": ("echo", on("POST /jobs/*/cancel", in_job({}, without=("labels",)), when=200)),
    "another deadline": ("deadline", on("POST /jobs/*/cancel", in_job({"deadline_at": 1}), when=200)),
    "events_url is not encoded": (
        "awkward-key",
        on("POST /jobs/*/cancel", lambda job: {**job, "events_url": f"/jobs/{job['job_id']}/events"}, when=200),
    ),
    "a limit of none is taken": ("list", on("GET /jobs", {"jobs": []}, status=200, when=400)),
    "a wrong route is a bare text": ("routes", on("GET /jobs/*/b/c", lambda body: "not found", when=404)),
    "an unheard-of job type is not found": (
        "unknown-job-type",
        lambda told: (404, told.body) if told.sent and told.sent.get("job_type") == "no_such_type" else None,
    ),
    "the number 1 is a version": (
        "number-version",
        lambda told: (202, {"job": {}}) if told.sent and told.sent.get("protocol_version") == 1 else None,
    ),
    "a wrong label is dropped": (
        "wrong-fields",
        lambda told: (202, {"job": {}}) if told.sent and told.sent.get("labels") == {"a": 1} else None,
    ),
    "a replay opens the job again": (
        "replay-ended",
        lambda told: (
            (200, in_envelope({"status": "queued"})(told.body))
            if told.route == "POST /jobs" and told.status == 200 and told.body["job"]["status"] == "succeeded"
            else None
        ),
    ),
    "an ack moves back": (
        "ack-forward",
        lambda told: (
            (200, {**told.body, "unacked": 2})
            if told.route.endswith("/ack") and told.status == 200 and told.sent["ack_through"].endswith("-1")
            else None
        ),
    ),
    "acknowledged events are gone": ("ack-harmless", gone_once_acknowledged()),
    "a second cancel is a conflict": ("cancel-again", second_cancel()),
    "a cancelled job ends twice": (
        "cancel-event",
        each_event(lambda events: [*events, events[-1]] if events[-1:] and "cancel" in events[-1]["type"] else events),
    ),
    "a failure is no JSON": (
        "json",
        lambda told: (404, b"not found") if told.route == "GET /jobs/*/b/c" else None,
    ),
    "a candidate without an address": (
        "described",
        ended(in_job({"result": {"scanned": 1, "candidates": [_BARE]}})),
    ),
    "an event without its kind": (
        "events-described",
        each_event(lambda events: [*events[:-1], {**events[-1], "payload": {"job": events[-1]["payload"].get("job")}}]),
    ),
    "no schema is served": ("published", on("GET /protocol/v1/schema.json", {}, status=404)),
}


async def test_an_honest_producer_fails_nothing() -> None:
    assert await failed(Producer()) == {}


@pytest.mark.parametrize("name", BUGS)
async def test_a_broken_producer_fails_at_the_right_point(name: str) -> None:
    point, bug = BUGS[name]
    found = await failed(Producer(bug))
    assert point in found, found
    assert found[point]


async def test_a_producer_that_asks_for_no_token_fails() -> None:
    class Open(Producer):
        async def __call__(self, method: str, path: str, body: bytes | None, token: Token) -> Any:
            return await super().__call__(method, path, body, Token.RIGHT)

    assert "answers 200 with none token" in (await failed(Open()))["token"]


async def test_a_job_that_never_ends_is_waited_for_no_longer_than_allowed() -> None:
    producer = Producer(ends=False)
    found = await failed(producer, timeout_s=40, poll_s=2)
    assert found["terminal"] == "after 40 s the job is still queued"
    assert producer.passed_s == 40


async def test_a_stricter_point_is_run_only_when_asked_for() -> None:
    producer = Producer(BUGS["labels are dropped"][1])
    assert await failed(producer, strict=False) == {}


def test_every_point_has_its_own_name_and_a_bug_that_it_finds() -> None:
    idents = [point.id for point in POINTS]
    assert len(idents) == len(set(idents))
    found = {point for point, _ in BUGS.values()} | {"token", "terminal"}
    # Run only where the older route is served.
    assert set(idents) == found | {"legacy-order", "legacy-lookup", "legacy-job"}
