"""Deliveries: keys, what an answer means, and when to try again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pixivflow.domain.cell import CellState
from pixivflow.domain.event import EventKind
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef

DELIVERY_ATTEMPTS = 8


class AnswerClass(StrEnum):
    """What a try of a delivery came to."""

    ACCEPTED = "accepted"
    REPLAYED = "replayed"  # the receiver knows the key: our own earlier try arrived
    DUPLICATE = "duplicate"  # the receiver had the work before, from elsewhere
    FAILED_INSIDE = "failed_inside"  # 2xx, but the record says failed/rejected/invalid/expired
    PERMANENT = "permanent"  # repeating cannot help
    RETRYABLE = "retryable"


@dataclass(frozen=True, slots=True)
class Answer:
    """One try's outcome.

    Attributes:
        error_class: network_timeout, rate_limited, remote_5xx, remote_4xx, remote_rejected, invalid_payload,
            configuration_error, dependency_not_ready, duplicate, internal_error; None on success.
        detail: for people, at most 200 characters, never a secret.
        retry_after_ms: what the receiver asked for; a floor for the next try.
        status: HTTP status where there was one.
    """

    answer: AnswerClass
    remote_id: str | None = None
    error_class: str | None = None
    detail: str | None = None
    retry_after_ms: int | None = None
    status: int | None = None


class DeliveryState(StrEnum):
    """Where a work stands with one route."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DUPLICATE = "duplicate"
    FAILED = "failed"  # permanent, or the receiver says the record failed
    DEAD = "dead"  # tries used up
    CANCELLED = "cancelled"


class OutboxState(StrEnum):
    """Where an intent to send stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    RETRY_WAIT = "retry_wait"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


def delivery_key(route: str, ref: WorkRef, job_id: str, target_id: str) -> str:
    """The business key of one work on one route for one cell; the same on every try."""
    return f"pixivflow:{route}:{ref.type.value}:{ref.id}:{job_id}:{target_id}"


ERROR_CLASSES: frozenset[str] = frozenset(
    {
        "network_timeout",
        "rate_limited",
        "remote_5xx",
        "remote_4xx",
        "remote_rejected",
        "invalid_payload",
        "configuration_error",
        "dependency_not_ready",
        "duplicate",
        "internal_error",
    }
)

DETAIL_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an answer does to the outbox row, to the delivery, and to the picked work once this route has spoken.

    Attributes:
        event: what is recorded beside it.
        pick: where the work goes when this route's word is final; None while the row waits. `submitted` holds only when
            every other route of the work has confirmed too.
        reason: why the work failed; None unless `pick` is `failed`.
    """

    outbox: OutboxState
    delivery: DeliveryState
    event: EventKind
    pick: CellState | None
    reason: Reason | None = None


def settlement(answer: Answer, *, attempt: int, max_attempts: int = DELIVERY_ATTEMPTS) -> Settlement:
    """The consequence of the answer to try number `attempt` (from 1)."""
    match answer.answer:
        case AnswerClass.ACCEPTED | AnswerClass.REPLAYED:
            return Settlement(
                OutboxState.DONE, DeliveryState.DELIVERED, EventKind.OUTBOX_DELIVERED, CellState.SUBMITTED
            )
        case AnswerClass.DUPLICATE:
            return Settlement(
                OutboxState.DONE, DeliveryState.DUPLICATE, EventKind.OUTBOX_DUPLICATE, CellState.DUPLICATE
            )
        case AnswerClass.RETRYABLE if attempt < max_attempts:
            return Settlement(OutboxState.RETRY_WAIT, DeliveryState.PENDING, EventKind.OUTBOX_RETRY, None)
        case AnswerClass.RETRYABLE:
            state = DeliveryState.DEAD
        case _:  # FAILED_INSIDE and PERMANENT; a class added without a line here ends, it never loops
            state = DeliveryState.FAILED
    reason = failure_reason(state, answer.error_class)
    return Settlement(OutboxState.DEAD, state, EventKind.OUTBOX_DEAD, CellState.FAILED, reason)


def failure_reason(state: DeliveryState, error_class: str | None) -> Reason:
    """Why a work failed, from what is stored of the delivery that failed it."""
    if state is DeliveryState.DEAD:
        return Reason.DELIVERY_FAILED
    if state is DeliveryState.CANCELLED:
        return Reason.DELIVERY_ABANDONED
    return _PERMANENT_REASON.get(error_class or "", Reason.DELIVERY_REJECTED)


_PERMANENT_REASON = {
    "configuration_error": Reason.CONFIGURATION_ERROR,
    "invalid_payload": Reason.DELIVERY_FAILED,  # our file or our row, not the receiver's no
}
