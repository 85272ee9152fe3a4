"""The events of the accepted job: what they tell, how they are read, how they are acknowledged."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pixivflow.api import wire
from pixivflow.protocol.checks.reading import described
from pixivflow.protocol.point import Need, Part
from pixivflow.protocol.session import Session, expect, job_path, shown
from pixivflow.protocol.shapes import error_faults, event_faults

PART = Part(Need.SUBMIT)
_ENDS = frozenset({"job.succeeded", "job.failed", "job.cancelled", "job.expired"})


@PART.point("events", "the events have their form, their times ascend, their ids differ", section="8.1")
async def events(session: Session) -> None:
    _ = session.final
    found = await session.read_events(session.job_id)
    faults = [fault for event in found for fault in event_faults(event, session.job_id)]
    expect(not faults, "; ".join(faults[:3]))
    times = [event["at"] for event in found]
    expect(times == sorted(times), "their times do not ascend")
    expect(len({event["event_id"] for event in found}) == len(found), "two have the same id")
    session.stream = found


@PART.point("one-end", "exactly one terminal event, and nothing follows it", section="8.1")
async def one_end(session: Session) -> None:
    ends = [at for at, event in enumerate(session.events) if event["type"] in _ENDS]
    expect(len(ends) == 1, f"there are {len(ends)} terminal events")
    expect(ends == [len(session.events) - 1], "events follow the terminal one")


@PART.point("end-tells", "the terminal event says what the job says, and carries it", section="8.1")
async def end_tells(session: Session) -> None:
    final, end = session.final, session.events[-1]
    expect(end["type"] == f"job.{final['status']}", f"{end['type']} for a job that is {final['status']}")
    job = end["payload"].get("job")
    expect(isinstance(job, dict), "it carries no job")
    expect(job.get("status") == final["status"], f"its job is {shown(job.get('status'))}")


@PART.point("after", "`after` begins behind the event, an unknown id at the beginning", section="8.2")
async def after(session: Session) -> None:
    ids = _ids(session.events)
    first = quote(ids[0], safe="")
    expect(_ids(await session.read_events(session.job_id, f"?after={first}")) == ids[1:], "`after` is not exclusive")
    for foreign in ("evt-1-999999999", "nonsense"):
        found = _ids(await session.read_events(session.job_id, f"?after={foreign}"))
        expect(found == ids, f"after={foreign} does not begin at the beginning")


@PART.point("after-form", "an empty or repeated `after`, and an unclear `unacked`, are a 400", section="8.2")
async def after_form(session: Session) -> None:
    for query in ("after=", "after=evt-1-1&after=evt-1-2", "unacked=maybe"):
        answer = await session.ask("GET", f"{job_path(session.job_id)}/events?{query}")
        expect(answer.status == 400, f"?{query} answers {answer.status}")


@PART.point(
    "unacked", "`unacked` counts what stands behind the acknowledged event, wherever the page begins", section="8.2"
)
async def unacked(session: Session) -> None:
    ids = _ids(session.events)
    path = f"{job_path(session.job_id)}/events"
    for query in ("", f"?after={quote(ids[-1], safe='')}", "?unacked=1"):
        page = await session.want(200, "GET", path + query)
        expect(page.get("unacked") == len(ids), f"{query or 'no query'}: {shown(page.get('unacked'))} of {len(ids)}")


@PART.point("ack-form", "an acknowledgement without an id is a 400", section="8.3")
async def ack_form(session: Session) -> None:
    for body in ({}, {"ack_through": ""}, {"ack_through": 5}):
        answer = await session.want(400, "POST", f"{job_path(session.job_id)}/events/ack", body)
        faults = error_faults(answer)
        expect(not faults, "; ".join(faults))


@PART.point("ack-unknown", "an unknown id moves nothing and is no error", section="8.3")
async def ack_unknown(session: Session) -> None:
    state = await _ack(session, "evt-1-999999999")
    expect(state.get("unacked") == len(session.events), f"unacked is {shown(state.get('unacked'))}")


@PART.point("ack", "acknowledging the last event brings `unacked` to zero", section="8.3")
async def ack(session: Session) -> None:
    state = await _ack(session, _ids(session.events)[-1])
    got = (state.get("acked"), state.get("unacked"))
    expect(got == (len(session.events), 0), f"acked and unacked are {got}")
    page = await session.want(200, "GET", f"{job_path(session.job_id)}/events?unacked=1")
    expect(page.get("events") == [] and page.get("unacked") == 0, "acknowledged events come again with unacked=1")


@PART.point("ack-forward", "an acknowledgement never moves back", section="8.3")
async def ack_forward(session: Session) -> None:
    state = await _ack(session, _ids(session.events)[0])
    expect(state.get("unacked") == 0, f"unacked is {shown(state.get('unacked'))} again")


@PART.point("ack-harmless", "acknowledged events stay readable, and the job is as it was", section="8.3")
async def ack_harmless(session: Session) -> None:
    expect(_ids(await session.read_events(session.job_id)) == _ids(session.events), "events are gone")
    job = await session.want(200, "GET", job_path(session.job_id))
    expect(job.get("updated_at") == session.final.get("updated_at"), "updated_at moved")


@PART.point("events-described", "pages and events follow the published schema", section="8", strict=True)
async def follows(session: Session) -> None:
    described(await session.want(200, "GET", f"{job_path(session.job_id)}/events"), wire.EventPage)
    same = await session.read_events(session.job_id)
    expect(same == session.events, "a page that is read twice is not the same")


async def _ack(session: Session, event_id: str) -> dict[str, Any]:
    return await session.want(200, "POST", f"{job_path(session.job_id)}/events/ack", {"ack_through": event_id})


def _ids(found: list[dict[str, Any]]) -> list[str]:
    return [str(event.get("event_id")) for event in found]
