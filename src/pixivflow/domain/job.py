"""The life of a job: its states, the one table of transitions, and the pure function that reads it.

`docs/states.md` is generated from `TRANSITIONS`, and the ledger's CHECK repeats the states. Nothing else in the program
decides whether a job may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from pixivflow.domain.cell import CellState
from pixivflow.domain.event import EventKind
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef


class JobState(StrEnum):
    """Where a job is in its life. The last four have no exits."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


TERMINAL: frozenset[JobState] = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class Signal(StrEnum):
    """What may happen to a job."""

    START = "start"  # an attempt begins to run
    SUCCEED = "succeed"
    FAIL = "fail"
    CANCEL = "cancel"
    EXPIRE = "expire"  # a budget or the deadline ran out


TRANSITIONS: Mapping[tuple[JobState, Signal], JobState] = MappingProxyType(
    {
        (JobState.QUEUED, Signal.START): JobState.RUNNING,
        (JobState.QUEUED, Signal.CANCEL): JobState.CANCELLED,
        (JobState.QUEUED, Signal.EXPIRE): JobState.EXPIRED,
        # A lost attempt is replaced by a new one; the job was and stays running, and says so only once.
        (JobState.RUNNING, Signal.START): JobState.RUNNING,
        (JobState.RUNNING, Signal.SUCCEED): JobState.SUCCEEDED,
        (JobState.RUNNING, Signal.FAIL): JobState.FAILED,
        (JobState.RUNNING, Signal.CANCEL): JobState.CANCELLED,
        (JobState.RUNNING, Signal.EXPIRE): JobState.EXPIRED,
    }
)

_EMITS: Mapping[JobState, EventKind] = MappingProxyType(
    {
        JobState.RUNNING: EventKind.STARTED,
        JobState.SUCCEEDED: EventKind.SUCCEEDED,
        JobState.FAILED: EventKind.FAILED,
        JobState.CANCELLED: EventKind.CANCELLED,
        JobState.EXPIRED: EventKind.EXPIRED,
    }
)


@dataclass(frozen=True, slots=True)
class Move:
    """The job changes (or stays, for a new attempt of a running job) and records `emits` in the same transaction."""

    to: JobState
    emits: EventKind | None


@dataclass(frozen=True, slots=True)
class Stay:
    """The signal comes too late or too early; nothing is written."""

    why: str


def decide(state: JobState, signal: Signal) -> Move | Stay:
    """What a signal does to a job in a state."""
    to = TRANSITIONS.get((state, signal))
    if to is None:
        return Stay(f"a {state.value} job cannot {signal.value}")
    return Move(to, _EMITS[to] if to is not state else None)


@dataclass(frozen=True, slots=True)
class PickRecord:
    """A work chosen for a cell. The row is the work lock: a later attempt keeps it.

    Attributes:
        described: what the consumer is told of the work (see domain.candidate) as JSON text, frozen when it became
            ready; it is read only where a job is shown, and most who read a job do not show it.
    """

    ref: WorkRef
    ordinal: int
    state: CellState
    reason: Reason | None = None
    message: str | None = None
    title: str = ""
    described: str | None = None


@dataclass(frozen=True, slots=True)
class CellRecord:
    """One target inside one job. `report` is the funnel as stored."""

    target_id: str
    ordinal: int
    work_type: str
    state: CellState
    reason: str | None = None
    message: str | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    picks: tuple[PickRecord, ...] = ()
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as the ledger holds it. All times are epoch milliseconds.

    Attributes:
        seq: the order of admission.
        key: the idempotency key as sent, trimmed.
        params: canonical JSON of the normalised retrieval view, None when the job has none.
        attempt: how many attempts have been granted.
        lease_until: end of the live attempt's lease; None when no attempt is live.
        phase: what is still to be done: `collect`, `deliver`, or `done` for a job that has ended.
        stage: what the work is doing now, for people; never branch on it.
        reason: internal reason of a job that ended without success (see domain.reason).
    """

    id: str
    seq: int
    type: str
    state: JobState
    plan_id: str
    account: str
    trigger: str
    created_at: int
    updated_at: int
    key: str | None = None
    correlation_id: str | None = None
    callback_url: str | None = None
    labels: Mapping[str, str] | None = None
    params: str | None = None
    started_at: int | None = None
    finished_at: int | None = None
    deadline_at: int | None = None
    heartbeat_at: int | None = None
    lease_until: int | None = None
    attempt: int = 0
    phase: str = "collect"
    stage: str = "queued"
    stage_message: str | None = None
    reason: str | None = None
    message: str | None = None
    cells: tuple[CellRecord, ...] = ()

    @property
    def terminal(self) -> bool:
        """Whether the job has ended."""
        return self.state in TERMINAL
