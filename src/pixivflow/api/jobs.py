"""Jobs: submit, look up, list, read, cancel; and what this server can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pixivflow.api.errors import Problem, error_reply, unknown_job
from pixivflow.api.exchange import Call, Reply, reply
from pixivflow.api.ports import Capabilities, JobQuery, JobService, Refused, Submitted
from pixivflow.api.query import idempotency_key, job_query, parse_query, write_cursor
from pixivflow.domain.job import JobRecord
from pixivflow.domain.projection import job_path, project_job
from pixivflow.domain.task import PROTOCOL_VERSION, TaskError, parse_task

_decode = msgspec.json.Decoder().decode


def decode_json(raw: bytes) -> Any:
    """The JSON of a request body.

    Raises:
        Problem: 400; what came in is not repeated.
    """
    try:
        return _decode(raw)
    except (ValueError, RecursionError):
        raise Problem(400, "body must be valid JSON", detail={"field": "body"}) from None


class JobRoutes:
    """The job routes over a service. Times on the wire are epoch milliseconds."""

    def __init__(self, service: JobService, now_ms: Callable[[], int]) -> None:
        self._service = service
        self._now_ms = now_ms

    async def submit(self, call: Call) -> Reply:
        """POST /jobs: 202 when this call made the job, 200 when the key already had one."""
        task = parse_task(decode_json(await call.body()))
        if isinstance(task, TaskError):
            return error_reply(400, task.code, task.message, task.detail)
        outcome = await self._service.submit(task)
        return _refused(outcome) if isinstance(outcome, Refused) else self._submitted(outcome)

    async def search(self, call: Call) -> Reply:
        """GET /jobs: the one job of a key, or a page of jobs."""
        query = parse_query(call.query)
        wanted = job_query(query)
        key = idempotency_key(query)
        page: dict[str, Any] = {}
        if key is not None:
            job = await self._service.find(key)
            jobs: tuple[JobRecord, ...] = (job,) if job is not None and _matches(job, wanted) else ()
        else:
            found = await self._service.list(wanted)
            jobs = found.jobs
            if found.next_seq is not None:
                page["next_cursor"] = write_cursor(found.next_seq)
        now = self._now_ms()
        return reply(200, {"jobs": [project_job(job, now) for job in jobs], **page, "server_time": now})

    async def read(self, call: Call) -> Reply:
        """GET /jobs/{job_id}: the bare job."""
        job = await self._service.get(call.job_id)
        if job is None:
            raise unknown_job()
        return reply(200, project_job(job, self._now_ms()))

    async def cancel(self, call: Call) -> Reply:
        """POST /jobs/{job_id}/cancel: the bare job, cancelled now or ended before. The request body is not read."""
        job = await self._service.cancel(call.job_id)
        if job is None:
            raise unknown_job({"reason": "unknown_job", "job_id": call.job_id})
        return reply(200, project_job(job, self._now_ms()))

    async def capabilities(self, call: Call) -> Reply:
        """GET /capabilities."""
        del call
        return reply(200, {**project_capabilities(self._service.capabilities()), "server_time": self._now_ms()})

    def _submitted(self, outcome: Submitted) -> Reply:
        body = {"job": project_job(outcome.job, self._now_ms())}
        if outcome.created:
            return reply(202, body, (b"location", job_path(outcome.job.id).encode()))
        return reply(200, body, (b"idempotency-replayed", b"true"))


def project_capabilities(capabilities: Capabilities) -> dict[str, Any]:
    """The Capabilities object without its time."""
    return {
        "protocol_versions": [PROTOCOL_VERSION],
        "job_types": [
            {
                "name": kind.name,
                "params_schema": "#/$defs/CandidateSearchParams",
                "result_schema": "#/$defs/Result_CandidateSearch",
                "features": list(kind.features),
                "queued_timeout_ms": kind.queued_timeout_ms,
                "stall_timeout_ms": kind.stall_timeout_ms,
                "heartbeat_interval_ms": kind.heartbeat_interval_ms,
                "default_deadline_ms": kind.default_deadline_ms,
            }
            for kind in capabilities.job_types
        ],
    }


def _matches(job: JobRecord, wanted: JobQuery) -> bool:
    """Whether the job of a key also passes the other filters of the request."""
    return (
        wanted.correlation_id in (None, job.correlation_id)
        and wanted.status in (None, job.state)
        and wanted.job_type in (None, job.type)
    )


def _refused(outcome: Refused) -> Reply:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if outcome.retry_after_s is not None:
        headers = ((b"retry-after", str(outcome.retry_after_s).encode()),)
    return error_reply(
        outcome.status, outcome.code, outcome.message, outcome.detail, retryable=outcome.retryable, headers=headers
    )
