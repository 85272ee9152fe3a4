"""The event stream of a job: read it from any point, acknowledge what is safely stored."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pixivflow.api.errors import Problem, unknown_job
from pixivflow.api.exchange import Call, Reply, reply
from pixivflow.api.jobs import decode_json
from pixivflow.api.ports import EVENT_PAGE, JobService
from pixivflow.api.query import flag, nonempty, parse_query
from pixivflow.domain.event import event_id, parse_event_id
from pixivflow.domain.projection import project_event

_log = logging.getLogger(__name__)


class EventRoutes:
    """The event routes over a service."""

    def __init__(self, service: JobService, now_ms: Callable[[], int]) -> None:
        self._service = service
        self._now_ms = now_ms

    async def page(self, call: Call) -> Reply:
        """GET /jobs/{job_id}/events: events after `after`, or with `unacked=1` after the acknowledged one."""
        query = parse_query(call.query)
        after = nonempty(query, "after")
        from_ack = flag(query, "unacked")
        found = await self._service.events(
            call.job_id,
            after_seq=None if after is None or from_ack else parse_event_id(after),
            from_ack=from_ack,
            limit=EVENT_PAGE,
        )
        # The job is read second: when a terminal event is in the page, the job it carries has ended too.
        job = None if found is None else await self._service.get(call.job_id)
        if found is None or job is None:
            raise unknown_job()
        now = self._now_ms()
        events: list[dict[str, Any]] = []
        for event in found.events:
            projected = project_event(event, job, now)
            if projected is None:
                _log.warning("an internal event was kept out of a page", extra={"kind": event.kind.value})
                continue
            events.append(projected)
        page: dict[str, Any] = {"job_id": call.job_id, "events": events}
        if found.more and found.events:
            last = found.events[-1]
            page["next_after"] = event_id(last.at, last.seq)
        page["unacked"] = found.unacked
        page["server_time"] = now
        return reply(200, page)

    async def ack(self, call: Call) -> Reply:
        """POST /jobs/{job_id}/events/ack: the body is judged before the job is looked up."""
        body = decode_json(await call.body())
        through = body.get("ack_through") if isinstance(body, dict) else None
        if not isinstance(through, str) or not through:
            raise Problem(400, "ack_through must be a non-empty string", detail={"field": "ack_through"})
        state = await self._service.ack(call.job_id, through)
        if state is None:
            raise unknown_job()
        return reply(
            200,
            {
                "job_id": call.job_id,
                "acked": state.acked,
                "unacked": state.unacked,
                "server_time": self._now_ms(),
            },
        )
