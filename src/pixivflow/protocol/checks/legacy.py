"""The older route to the same jobs (section 14): one identity space, two vocabularies."""

from __future__ import annotations

import uuid
from urllib.parse import quote

from pixivflow.protocol.point import Need, Part
from pixivflow.protocol.session import Session, Skipped, expect, shown

PART = Part(Need.LEGACY)
_DISPOSITIONS = frozenset({"accepted", "queued", "already_completed"})


@PART.point("legacy-order", "an order by the older route is accepted", section="14.1")
async def legacy_order(session: Session) -> None:
    request = str(uuid.uuid5(uuid.NAMESPACE_URL, session.new_key()))
    body = await session.want(202, "POST", f"{_path(session)}/refetch", {"requestId": request})
    expect(body.get("status") == "accepted", f"status is {shown(body.get('status'))}")
    expect(body.get("disposition") in _DISPOSITIONS, f"disposition is {shown(body.get('disposition'))}")
    expect(isinstance(body.get("slotId"), str) and body["slotId"], "there is no slotId")
    session.legacy = (request, body["slotId"])


@PART.point("legacy-lookup", "the older route finds it by its request", section="14.2")
async def legacy_lookup(session: Session) -> None:
    request, ident = _ordered(session)
    body = await session.want(200, "GET", f"{_path(session)}/refetch/{request}")
    expect(body.get("slotId") == ident and body.get("requestId") == request, f"it finds {shown(body)}")


@PART.point("legacy-job", "it is a job like any other, under the same id and key", section="14.1")
async def legacy_job(session: Session) -> None:
    request, ident = _ordered(session)
    page = await session.want(200, "GET", f"/jobs?idempotency_key={request}")
    found = [job.get("job_id") for job in page.get("jobs") or [] if isinstance(job, dict)]
    expect(found == [ident], f"GET /jobs finds {shown(found)}")


def _path(session: Session) -> str:
    if session.plan.target is None:
        raise Skipped("name a target for it")
    return f"/internal/targets/{quote(session.plan.target, safe='')}"


def _ordered(session: Session) -> tuple[str, str]:
    if session.legacy is None:
        raise Skipped("no order was accepted")
    return session.legacy
