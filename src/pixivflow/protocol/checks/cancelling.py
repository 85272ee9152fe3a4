"""A second job that is cancelled at once. With the strict points it also has an awkward key, labels and a deadline."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urljoin

from pixivflow.protocol.checks.story import _ENDS
from pixivflow.protocol.point import Need, Part
from pixivflow.protocol.session import TERMINAL, Session, Skipped, expect, job_path, shown
from pixivflow.protocol.shapes import job_faults, outcome_faults

PART = Part(Need.CANCEL)
_DEADLINE_MS = 7_200_000
_LABELS = {"purpose": "protocol verify", "ä/ö": "?&="}


@PART.point("cancel-unknown", "cancelling an unknown job is a 404", section="3")
async def cancel_unknown(session: Session) -> None:
    await session.want(404, "POST", f"{job_path(session.new_key())}/cancel")


@PART.point("cancel", "cancelling an open job ends it at once, and says cancelled_by_consumer", section="13")
async def cancel(session: Session) -> None:
    key = session.new_key()
    task = session.plan.task(f"a/b?c#d%20 é猫@{key}" if session.plan.strict else key)
    if session.plan.strict:
        task |= {"labels": _LABELS, "deadline_ms": _DEADLINE_MS, "correlation_id": " kept as sent "}
    job = (await session.want(202, "POST", "/jobs", task)).get("job") or {}
    session.second_task = task
    ended = await session.want(200, "POST", f"{job_path(str(job.get('job_id')))}/cancel")
    session.cancelled = ended
    faults = [*job_faults(ended), *outcome_faults(ended)]
    expect(not faults, "; ".join(faults))
    expect(ended["status"] in TERMINAL, f"the job is {shown(ended['status'])}")
    if ended["status"] != "cancelled":
        raise Skipped(f"the job had ended {ended['status']} before")
    error = ended["error"]
    expect(error.get("code") == "cancelled_by_consumer", f"its code is {shown(error.get('code'))}")
    expect(error.get("retryable") is False, "it says that the same may be tried again")


@PART.point("cancel-again", "cancelling again answers the same job", section="13")
async def cancel_again(session: Session) -> None:
    ended = _cancelled(session)
    again = await session.want(200, "POST", f"{job_path(str(ended['job_id']))}/cancel")
    same = all(again.get(key) == ended.get(key) for key in ("job_id", "status", "error", "result"))
    expect(same, "the second answer is another")


@PART.point("cancel-event", "a cancelled job has one terminal event", section="13")
async def cancel_event(session: Session) -> None:
    ended = _cancelled(session)
    found = await session.read_events(str(ended["job_id"]))
    ends = [event.get("type") for event in found if event.get("type") in _ENDS]
    expect(ends == [f"job.{ended['status']}"], f"there are {shown(ends)}")


@PART.point(
    "awkward-key", "any character of a key survives in ids, addresses and look-ups", section="18.12", strict=True
)
async def awkward_key(session: Session) -> None:
    ended, key = _cancelled(session), str((session.second_task or {})["idempotency_key"])
    expect(ended.get("idempotency_key") == key, f"the key comes back as {shown(ended.get('idempotency_key'))}")
    page = await session.want(200, "GET", f"/jobs?idempotency_key={quote(key, safe='')}")
    expect([job.get("job_id") for job in page.get("jobs") or []] == [ended["job_id"]], "the key does not find the job")
    address = urljoin("/", str(ended["events_url"]))
    expect(address == f"{job_path(str(ended['job_id']))}/events", f"events_url is {shown(ended['events_url'])}")
    await session.want(200, "GET", address)


@PART.point("echo", "labels and correlation_id come back as sent", section="5.1", strict=True)
async def echo(session: Session) -> None:
    ended, sent = _cancelled(session), session.second_task or {}
    for name in ("labels", "correlation_id"):
        expect(ended.get(name) == sent[name], f"{name} comes back as {shown(ended.get(name))}")


@PART.point("deadline", "deadline_at is the caller's deadline, counted from admission", section="12.5", strict=True)
async def deadline(session: Session) -> None:
    ended = _cancelled(session)
    given = (ended.get("deadline_at") or 0) - ended["created_at"]
    expect(abs(given - _DEADLINE_MS) <= 1_000, f"deadline_at is {given} ms after created_at, not {_DEADLINE_MS}")


def _cancelled(session: Session) -> dict[str, Any]:
    if session.cancelled is None:
        raise Skipped("no job was cancelled")
    return session.cancelled
