"""The event stream of a job: internal kinds, their wire types, and the ids that are also cursors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class EventKind(StrEnum):
    """What is recorded. Kinds without a wire type stay inside."""

    REQUESTED = "job.requested"
    STARTED = "job.execution_started"
    SUCCEEDED = "job.outcome_succeeded"
    FAILED = "job.outcome_failed"
    EXPIRED = "job.outcome_expired"
    CANCELLED = "job.outcome_cancelled"
    ATTEMPT_LOST = "attempt.lost"
    RESULT_DROPPED = "attempt.result_dropped"
    OUTBOX_DELIVERED = "outbox.delivered"
    OUTBOX_DUPLICATE = "outbox.duplicate"
    OUTBOX_RETRY = "outbox.retry_scheduled"
    OUTBOX_DEAD = "outbox.dead"
    OUTBOX_CANCELLED = "outbox.cancelled"
    OUTBOX_REPLAY = "outbox.replay_requested"


WIRE_TYPE: Mapping[EventKind, str] = MappingProxyType(
    {
        EventKind.REQUESTED: "job.accepted",
        EventKind.STARTED: "job.started",
        EventKind.SUCCEEDED: "job.succeeded",
        EventKind.FAILED: "job.failed",
        EventKind.EXPIRED: "job.expired",
        EventKind.CANCELLED: "job.cancelled",
    }
)

TERMINAL_KINDS: frozenset[EventKind] = frozenset(
    {EventKind.SUCCEEDED, EventKind.FAILED, EventKind.EXPIRED, EventKind.CANCELLED}
)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One row of the stream. `seq` follows commit order over the whole ledger; `at` is epoch milliseconds."""

    seq: int
    job_id: str
    kind: EventKind
    at: int
    detail: Mapping[str, Any] = field(default_factory=dict)


_ID = re.compile(r"evt-(\d{1,19})-(\d{1,18})\Z")


def event_id(at: int, seq: int) -> str:
    """The opaque id of an event; it is also the cursor."""
    return f"evt-{at}-{seq}"


def parse_event_id(text: str) -> int | None:
    """The sequence number inside an id, None for anything that is not one of our ids."""
    found = _ID.match(text) if text.isascii() else None
    return int(found.group(2)) if found else None
