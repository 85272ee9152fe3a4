"""The schema says more than the types: rules between keys, and nothing undescribed from us."""

from __future__ import annotations

import json
from typing import Any

import bodies
import jsonschema
import msgspec
import pytest
from bodies import WrongBody, check, schema_of

from pixivflow.api import wire
from pixivflow.domain.reason import Code, Reason
from pixivflow.protocol import schema, vocabulary
from pixivflow.protocol.samples import samples

SAMPLES = samples()


_GONE = object()


def with_(name: str, **changes: Any) -> dict[str, Any]:
    body = json.loads(json.dumps(SAMPLES[name].body))
    return {key: value for key, value in {**body, **changes}.items() if value is not _GONE}


WRONG_JOBS = {
    "succeeded without a result": with_("job-succeeded", result=_GONE),
    "succeeded with an error": with_("job-succeeded", error={"code": "internal_error", "retryable": False}),
    "failed without an error": with_("job-failed-no-candidate", error=_GONE),
    "failed with a result": with_("job-failed-no-candidate", result={"candidates": [], "scanned": 0}),
    "queued with an error": with_("job-queued", error={"code": "internal_error", "retryable": False}),
    "ended and leased": with_("job-succeeded", lease_active=True),
    "an unknown state": with_("job-queued", status="paused"),
    "a key nobody described": with_("job-queued", extra=1),
    "a time that is none": with_("job-queued", created_at=-1),
    "a code of its own": with_("job-cancelled", error={"code": "cancelled", "retryable": False}),
}


@pytest.mark.parametrize("name", WRONG_JOBS)
def test_a_wrong_job_is_found(name: str) -> None:
    with pytest.raises(WrongBody):
        check(WRONG_JOBS[name], "Job")


@pytest.mark.parametrize("name", ["event-succeeded", "event-failed", "event-cancelled", "event-expired"])
def test_a_terminal_event_must_carry_its_job_and_outcome(name: str) -> None:
    event = SAMPLES[name].body
    check(event, "Event")
    for without in ("job", "result" if name == "event-succeeded" else "error"):
        payload = {key: value for key, value in event["payload"].items() if key != without}
        with pytest.raises(WrongBody):
            check({**event, "payload": payload}, "Event")
    with pytest.raises(WrongBody):
        check({**event, "type": "job.started"}, "Event")


def test_a_reader_may_meet_new_keys_and_a_writer_may_not() -> None:
    job = {**SAMPLES["job-queued"].body, "new_key": 1}
    definitions = schema.document()["$defs"]
    reader = jsonschema.Draft202012Validator({"$ref": "#/$defs/Job", "$defs": definitions})
    reader.validate(job)
    with pytest.raises(WrongBody):
        check(job, "Job")


def test_forbidden_words_are_found_where_the_schema_is_open() -> None:
    body = {"error": {"code": "invalid_params", "retryable": False, "detail": {"slot_id": "x"}}}
    with pytest.raises(WrongBody, match="/error/detail/slot_id: slot"):
        check(body, "ErrorBody")


def test_every_type_of_the_wire_is_described_or_named_as_none_of_the_protocol() -> None:
    kinds = {
        kind.__name__
        for kind in vars(wire).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
    }
    expected = {schema.PROTOCOL_NAMES.get(kind, kind) for kind in kinds - {"Alive", "Check", "Health", "Readiness"}}
    assert set(schema.document()["$defs"]) == expected


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "name"),
    [
        ("GET", "/capabilities", 200, {}, "Capabilities"),
        ("POST", "/jobs", 202, {}, "JobEnvelope"),
        ("POST", "/jobs", 409, {"error": {}}, "ErrorBody"),
        ("GET", "/jobs?limit=5", 200, {}, "JobPage"),
        ("GET", "/jobs/a%2Fb", 200, {}, "Job"),
        ("POST", "/jobs/a/cancel", 200, {}, "Job"),
        ("GET", "/jobs/a/events?after=x", 200, {}, "EventPage"),
        ("POST", "/jobs/a/events/ack", 200, {}, "AckResult"),
        ("GET", "/jobs", 401, {"status": "error"}, "Refusal"),
        ("GET", "/jobs", 503, {"error": {}}, "ErrorBody"),
        ("GET", "/health", 200, {}, None),
        ("POST", "/internal/targets/a/order", 202, {}, None),
    ],
)
def test_which_schema_an_answer_follows(method: str, path: str, status: int, body: Any, name: str | None) -> None:
    assert schema_of(method, path, status, body) == name


def test_the_vocabulary_is_total() -> None:
    errors = vocabulary.errors()
    assert [entry["code"] for entry in errors["codes"]] == [code.value for code in Code]
    assert {entry["reason"] for entry in errors["reasons"]} == {reason.value for reason in Reason}
    assert {entry["code"] for entry in errors["reasons"]} <= {entry["code"] for entry in errors["codes"]}
    assert errors["absent_or_unknown"] == "internal_error"


def test_the_clients_of_the_tests_look_at_what_they_get() -> None:
    with pytest.raises(WrongBody):
        bodies.seen("GET", "/jobs/x", 200, {"job_id": "x"})
