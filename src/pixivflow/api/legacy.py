"""`/internal/targets/{targetId}/refetch` and `…/recover`: requests as they were made before the Job API.

Workflow Protocol v1, sections 14 and 15. They lead to the same jobs as `POST /jobs`, told in the older words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pixivflow.api.exchange import Call, Reply, reply
from pixivflow.api.older import OlderProblem, Route, correlation_id, json_object
from pixivflow.api.older_wire import RecoveryAccepted, RecoveryState, RefetchAccepted, RefetchState
from pixivflow.api.ports import NotOrdered, Orders
from pixivflow.domain.job import CellRecord, JobRecord, JobState
from pixivflow.domain.recovery import RetryMode
from pixivflow.domain.slot import (
    business_message,
    business_state,
    cell_of,
    cell_word,
    slot_status,
    terminal_reason,
)

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_REFETCH_FAILED: Final = "refetch admission failed"
_RECOVERY_FAILED: Final = "recovery admission failed"


class LegacyRoutes:
    """The routes over orders; None for a process that takes none."""

    def __init__(self, orders: Orders | None, now_ms: Callable[[], int]) -> None:
        self._orders = orders
        self._now_ms = now_ms

    def routes(self) -> tuple[Route, ...]:
        """Every address here."""
        return (
            Route(("targets", None, "refetch"), {"POST": self.refetch}, _REFETCH_FAILED),
            Route(("targets", None, "refetch", None), {"GET": self.refetch_state}),
            Route(("targets", None, "recover"), {"POST": self.recover}, _RECOVERY_FAILED),
            Route(("targets", None, "recover", None), {"GET": self.recovery_state}),
        )

    async def refetch(self, call: Call, names: tuple[str, ...]) -> Reply:
        """POST …/refetch: always 202, whether this call made the job or another did."""
        orders = self._available("refetch is unavailable")
        body = await json_object(call)
        request_id, correlation = _request_id(body.get("requestId")), correlation_id(body)
        outcome = await orders.refetch(names[0], request_id, correlation)
        if isinstance(outcome, NotOrdered):
            raise _not_ordered(outcome, failed=_REFETCH_FAILED, unavailable="refetch is unavailable")
        return reply(202, RefetchAccepted("accepted", outcome.job.id, outcome.disposition))

    async def refetch_state(self, call: Call, names: tuple[str, ...]) -> Reply:
        """GET …/refetch/{requestId}."""
        del call
        orders = self._available("refetch is unavailable")
        target_id, request_id = names[0], _request_id(names[1])
        job, cell = _about(await orders.find_refetch(target_id, request_id), target_id, "manual refetch not found")
        return reply(200, refetch_state(job, cell, request_id, self._now_ms()))

    async def recover(self, call: Call, names: tuple[str, ...]) -> Reply:
        """POST …/recover. What the search may widen is ours to say; parameters that are sent are not read."""
        orders = self._available("manual recovery is unavailable")
        body = await json_object(call)
        request_id, mode, correlation = _request_id(body.get("requestId")), _mode(body), correlation_id(body)
        outcome = await orders.recover(names[0], request_id, mode, correlation)
        if isinstance(outcome, NotOrdered):
            raise _not_ordered(outcome, failed=_RECOVERY_FAILED, unavailable="manual recovery is unavailable")
        answer = RecoveryAccepted("accepted", outcome.mode, outcome.job.id, outcome.disposition)
        return reply(202, answer)

    async def recovery_state(self, call: Call, names: tuple[str, ...]) -> Reply:
        """GET …/recover/{requestId}."""
        del call
        orders = self._available("manual recovery is unavailable")
        target_id, request_id = names[0], _request_id(names[1])
        job, cell = _about(await orders.find_recovery(target_id, request_id), target_id, "manual recovery not found")
        return reply(200, recovery_state(job, cell, request_id))

    def _available(self, error: str) -> Orders:
        if self._orders is None:
            raise OlderProblem(503, error)
        return self._orders


def refetch_state(job: JobRecord, cell: CellRecord, request_id: str, now_ms: int) -> RefetchState:
    """How a request stands, in the older words. `request_id` is returned as it was asked for."""
    reason, message = terminal_reason(job, cell)
    leased = job.lease_until is not None and job.lease_until > now_ms
    return RefetchState(
        request_id=request_id,
        slot_id=job.id,
        state=cell_word(cell.state),
        slot_status=slot_status(job),
        created_at=job.created_at,
        started_at=job.started_at,
        # What is written to a job after its end (a tidied file, a late answer) is none of its story.
        updated_at=job.updated_at if job.finished_at is None else job.finished_at,
        heartbeat_at=job.heartbeat_at,
        lease_expires_at=job.lease_until,
        lease_active=leased,
        claimed=leased or job.state is not JobState.QUEUED,
        attempt_count=job.attempt,
        terminal_reason_code=reason,
        terminal_reason_message=message,
        manual_request_id=job.key,
        idempotency_key=job.key,
        correlation_id=job.correlation_id,
    )


def recovery_state(job: JobRecord, cell: CellRecord, request_id: str) -> RecoveryState:
    """How a recovery stands, in the older words."""
    state = business_state(job, cell)
    return RecoveryState(
        request_id=request_id,
        slot_id=job.id,
        state=cell_word(cell.state),
        slot_status=slot_status(job),
        business_state=state,
        message=business_message(state, terminal_reason(job, cell)[1]),
    )


def _request_id(value: object) -> str:
    if not isinstance(value, str) or _UUID.match(value) is None:
        raise OlderProblem(400, "requestId must be a UUID")
    return value


def _mode(body: Mapping[str, Any]) -> RetryMode:
    value = body.get("retryMode")
    if value is None or value == "":
        return RetryMode.NORMAL
    try:
        return RetryMode(value)
    except ValueError:
        raise OlderProblem(400, 'retryMode must be "normal" or "relaxed"') from None


def _about(job: JobRecord | None, target_id: str, missing: str) -> tuple[JobRecord, CellRecord]:
    cell = cell_of(job, target_id) if job is not None else None
    if job is None or cell is None:
        raise OlderProblem(404, missing)
    return job, cell


def _not_ordered(why: NotOrdered, *, failed: str, unavailable: str) -> OlderProblem:
    match why:
        case NotOrdered.UNKNOWN_TARGET:
            return OlderProblem(404, "unknown target")
        case NotOrdered.AMBIGUOUS_TARGET:
            return OlderProblem(409, "ambiguous target")
        case NotOrdered.UNAVAILABLE:
            return OlderProblem(503, unavailable, (b"retry-after", b"5"))
        case NotOrdered.FAILED:
            return OlderProblem(500, failed)
