"""What happens when a job is asked for: refusals first, then one job to its end."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

from pixivflow.api import wire
from pixivflow.protocol.checks.reading import described
from pixivflow.protocol.point import Need, Part
from pixivflow.protocol.session import Session, Skipped, expect, job_path, shown
from pixivflow.protocol.shapes import job_faults, outcome_faults, result_faults

PART = Part(Need.SUBMIT)

_MALFORMED: Final = (b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"protocol_version": "1"')
_WRONG: Final[tuple[dict[str, Any], ...]] = (
    {"protocol_version": None},
    {"idempotency_key": None},
    {"idempotency_key": "  "},
    {"idempotency_key": 5},
    {"idempotency_key": "k" * 201},
    {"params": None},
    {"params": []},
    {"params": {"query": []}},
    {"params": {"query": {"tags": []}}},
    {"params": {"query": {"tags": ["a", " "]}}},
    {"params": {"query": {"tags": ["a"], "expand": "yes"}}},
    {"params": {"source": {"platform": "elsewhere"}}},
    {"params": {"source": {"account": ""}}},
    {"params": {"constraints": {"limit": 0}}},
    {"params": {"constraints": {"scan_limit": True}}},
    {"params": {"constraints": {"exclude": [{"kind": "author", "id": "1"}]}}},
    {"params": {"constraints": {"work_types": [""]}}},
    {"params": {"target_id": ""}},
    {"params": {"target_id": 7}},
    {"correlation_id": 7},
    {"callback_url": ["x"]},
    {"deadline_ms": 999},
    {"labels": {"a": 1}},
)


@PART.point("unknown-job-type", "an unknown job type is a 400 with code invalid_params", section="4.1")
async def unknown_job_type(session: Session) -> None:
    await session.refused(400, "invalid_params", {**session.plan.task(session.new_key()), "job_type": "no_such_type"})


@PART.point("unsupported-version", "another protocol version is a 400 with its own code", section="4.1")
async def unsupported_version(session: Session) -> None:
    task = session.plan.task(session.new_key())
    await session.refused(400, "unsupported_protocol_version", {**task, "protocol_version": "2"})


@PART.point("number-version", 'the number 1 is not the version "1"', section="4.1", strict=True)
async def number_version(session: Session) -> None:
    task = session.plan.task(session.new_key())
    await session.refused(400, "unsupported_protocol_version", {**task, "protocol_version": 1})


@PART.point("malformed", "a body that is no JSON object is a 400 in the error envelope", section="18.9", strict=True)
async def malformed(session: Session) -> None:
    for raw in _MALFORMED:
        await session.refused(400, "invalid_params", None, raw=raw)


@PART.point("wrong-fields", "every wrongly typed or empty field is a 400, never a default", section="4.1", strict=True)
async def wrong_fields(session: Session) -> None:
    for change in _WRONG:
        task = session.plan.task(session.new_key())
        inner = change.get("params")
        wrong = {"params": {**task["params"], **inner}} if isinstance(inner, dict) else change
        await session.refused(400, "invalid_params", {**task, **wrong})


@PART.point("submit", "POST /jobs answers 202 with {job}, and nothing beside it", section="4.4")
async def submit(session: Session) -> None:
    task = session.plan.task(session.new_key())
    body = await session.want(202, "POST", "/jobs", task)
    expect(list(body) == ["job"] and isinstance(body["job"], dict), f"the body has {shown(sorted(body))}")
    session.task, session.first = task, body["job"]


@PART.point("job-shape", "the job has every field the protocol names", section="5.1")
async def job_shape(session: Session) -> None:
    _ = session.job_id
    job = session.first or {}
    faults = job_faults(job)
    expect(not faults, "; ".join(faults))
    expect(job.get("job_type") == "candidate_search", f"its type is {shown(job.get('job_type'))}")
    expect(job.get("idempotency_key") == session.sent["idempotency_key"], "it does not carry its key")


@PART.point("accepted-event", "the job.accepted event is there as soon as the job is", section="4.2")
async def accepted_event(session: Session) -> None:
    events = await session.read_events(session.job_id)
    expect(events and events[0].get("type") == "job.accepted", "the stream does not begin with job.accepted")


@PART.point("replay", "the same task again answers 200 with the same job", section="10")
async def replay(session: Session) -> None:
    body = await session.want(200, "POST", "/jobs", session.sent)
    again = body.get("job")
    expect(isinstance(again, dict) and again.get("job_id") == session.job_id, "it answers another job")


@PART.point("changed-params", "the key with other tags is a 409 idempotency_conflict", section="10")
async def changed_params(session: Session) -> None:
    params = {**session.sent["params"], "query": {"tags": ["another-word-entirely"]}}
    await session.refused(409, "idempotency_conflict", {**session.sent, "params": params})


@PART.point("lookup", "GET /jobs of the key is a page with exactly this job", section="3")
async def lookup(session: Session) -> None:
    page = await session.want(200, "GET", f"/jobs?idempotency_key={quote(session.sent['idempotency_key'], safe='')}")
    found = [job.get("job_id") for job in page.get("jobs") or [] if isinstance(job, dict)]
    expect(found == [session.job_id], f"it lists {shown(found)}")


@PART.point("read", "GET /jobs/{job_id} answers the bare job", section="3")
async def read(session: Session) -> None:
    job = await session.want(200, "GET", job_path(session.job_id))
    faults = job_faults(job)
    expect(not faults, "; ".join(faults))
    expect(job.get("job_id") == session.job_id, "it is another job")


@PART.point("terminal", "the job ends within the time it is given", section="6")
async def terminal(session: Session) -> None:
    session.ended = await session.until_ended(session.job_id)


@PART.point("outcome", "the ended job has either a result or an error, by its status", section="5.1")
async def outcome(session: Session) -> None:
    faults = [*job_faults(session.final), *outcome_faults(session.final)]
    expect(not faults, "; ".join(faults))


@PART.point("result", "a result names candidates and how many works were scanned", section="5.2")
async def result(session: Session) -> None:
    if session.final.get("status") != "succeeded":
        raise Skipped(f"the job ended {session.final.get('status')}")
    faults = result_faults(session.final.get("result"))
    expect(not faults, "; ".join(faults))


@PART.point("neutral", "no name in the ended job begins with `refetch`", section="19")
async def neutral(session: Session) -> None:
    expect('"refetch' not in json.dumps(session.final).lower(), "the job speaks of a refetch")


@PART.point("replay-ended", "the same task again answers the ended job, and opens nothing", section="4.4")
async def replay_ended(session: Session) -> None:
    final = session.final
    job = (await session.want(200, "POST", "/jobs", session.sent)).get("job")
    same = isinstance(job, dict) and all(job.get(key) == final.get(key) for key in ("job_id", "status"))
    expect(same, "it answers another job or state")


@PART.point("frozen", "an ended job reads the same for ever", section="5.1", strict=True)
async def frozen(session: Session) -> None:
    job = await session.want(200, "GET", job_path(session.job_id))
    changed = sorted(key for key in {*job, *session.final} if job.get(key) != session.final.get(key))
    expect(not changed, f"{', '.join(changed)} changed")


@PART.point("described", "the job follows the published schema", section="5.1", strict=True)
async def follows(session: Session) -> None:
    for job in (session.first, session.final):
        described(job, wire.Job)
