"""What the Job API needs behind it: one service, spoken to in records and values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pixivflow.domain.event import EventRecord
from pixivflow.domain.job import JobRecord, JobState
from pixivflow.domain.reason import Code
from pixivflow.domain.recovery import RetryMode
from pixivflow.domain.task import Task

DEFAULT_PAGE = 100
MAX_PAGE = 500
EVENT_PAGE = 200


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job of a key. `created` says whether this call made it; a replay gets the job as it stands."""

    job: JobRecord
    created: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a task was not admitted.

    Attributes:
        status: HTTP status (400, 404, 409, 500, 503).
        detail: for people and tests; its keys must not carry words of a consumer's business (`slot_id`: no).
        retryable: None takes the code's own default.
        retry_after_s: seconds after which trying again makes sense; sent as `Retry-After`.
    """

    status: int
    code: Code
    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    retryable: bool | None = None
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs to list, newest admission first. None means "any".

    Attributes:
        after_seq: the `seq` of the last job of the page before; older ones follow.
    """

    correlation_id: str | None = None
    status: JobState | None = None
    job_type: str | None = None
    limit: int = DEFAULT_PAGE
    after_seq: int | None = None


@dataclass(frozen=True, slots=True)
class JobSlice:
    """One page of jobs. `next_seq` is the `after_seq` of the next page, None on the last one."""

    jobs: tuple[JobRecord, ...]
    next_seq: int | None = None


@dataclass(frozen=True, slots=True)
class EventSlice:
    """One page of the public stream of a job.

    Attributes:
        events: public kinds only, in order.
        more: whether events remain after the last one here.
        unacked: public events after the acknowledged one; does not depend on where the page starts.
    """

    events: tuple[EventRecord, ...]
    more: bool
    unacked: int


@dataclass(frozen=True, slots=True)
class StreamSlice:
    """Public events of all jobs, or of one, in the order of their commits.

    Attributes:
        jobs: the jobs of these events, as they were when the events were read.
        through: every public event up to this sequence number is here or was before this slice.
    """

    events: tuple[EventRecord, ...]
    jobs: Mapping[str, JobRecord]
    through: int


@dataclass(frozen=True, slots=True)
class StreamStart:
    """Where a reader of the stream begins.

    Attributes:
        seq: what it has had; the events after it follow.
        newest: how far the stream reaches now.
        at: the time of the event `seq` names, where it was chosen by the server.
        ended: the job asked for has ended, and nothing follows after `seq`.
    """

    seq: int
    newest: int
    at: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class AckState:
    """How many public events stand at or before the acknowledged one, and how many after it."""

    acked: int
    unacked: int


@dataclass(frozen=True, slots=True)
class JobType:
    """A kind of job this server really runs. All times in milliseconds, as they are in force now."""

    name: str
    features: tuple[str, ...]
    queued_timeout_ms: int
    stall_timeout_ms: int
    heartbeat_interval_ms: int
    default_deadline_ms: int


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is declared works, what is not declared does not exist."""

    job_types: tuple[JobType, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of being ready."""

    name: str
    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the process. `commit` is the source revision, empty when it is not known."""

    version: str
    commit: str = ""
    draining: bool = False
    checks: tuple[Check, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether new work should be sent here."""
        return not self.draining and all(check.ok for check in self.checks)


class JobService(Protocol):
    """Jobs as the API sees them. Every method may raise; the caller then learns only that something went wrong."""

    async def submit(self, task: Task) -> Submitted | Refused:
        """Admit a task, or answer the job of its key. Returns after the job is durable."""
        ...

    async def get(self, job_id: str) -> JobRecord | None:
        """The job with its cells and picks."""
        ...

    async def find(self, key: str) -> JobRecord | None:
        """The job of an idempotency key (trimmed, exact)."""
        ...

    async def list(self, query: JobQuery) -> JobSlice:
        """A page of jobs."""
        ...

    async def cancel(self, job_id: str) -> JobRecord | None:
        """Cancel an open job; answer an ended one unchanged. None when there is no such job."""
        ...

    async def events(self, job_id: str, *, after_seq: int | None, from_ack: bool, limit: int) -> EventSlice | None:
        """Events after a sequence number of this job, or after the acknowledged one. None when there is no such job.

        A number that names no public event of this job is the same as None: the whole stream.
        """
        ...

    async def ack(self, job_id: str, event_id: str) -> AckState | None:
        """Acknowledge up to an event. It only moves forward; an id that is not of this job's stream moves nothing."""
        ...

    async def stream_start(self, *, after_seq: int | None, job_id: str | None, live: bool) -> StreamStart | None:
        """Where a reader begins that has had everything up to an event. None when there is no such job.

        A number that names no public event of what is read is the same as None: from the beginning, or with `live`
        after the newest event.
        """
        ...

    async def stream(self, *, after_seq: int, job_id: str | None, limit: int) -> StreamSlice:
        """Events of all jobs, or of one, after any sequence number."""
        ...

    def listen(self) -> asyncio.Event:
        """An event that is set soon after the public stream has grown. It may also be set without a reason."""
        ...

    def unlisten(self, event: asyncio.Event) -> None:
        """Give an event of `listen` back."""
        ...

    def capabilities(self) -> Capabilities:
        """What is served now (budgets are the live ones)."""
        ...

    def health(self) -> Health:
        """The state of the process, known without waiting."""
        ...


class Disposition(StrEnum):
    """What became of a request on the older routes."""

    ACCEPTED = "accepted"
    QUEUED = "queued"  # durable, and waiting for its account
    ALREADY_COMPLETED = "already_completed"


class Knock(StrEnum):
    """What became of a clock's knock."""

    ACCEPTED = "accepted"
    ALREADY_RUNNING = "already_running"
    ALREADY_COMPLETED = "already_completed"
    REJECTED = "rejected"  # nothing was stored; trying again makes sense


class NotOrdered(StrEnum):
    """Why a request on the older routes was not admitted."""

    UNKNOWN_TARGET = "unknown_target"
    AMBIGUOUS_TARGET = "ambiguous_target"  # several plans have it, or the key is used for other work
    FAILED = "failed"  # the target is not wired for it, or something broke
    UNAVAILABLE = "unavailable"  # not now


@dataclass(frozen=True, slots=True)
class Ordered:
    """The job that answers a request. `mode` is how a recovery looks; a repeated request gets the first one's."""

    job: JobRecord
    disposition: Disposition
    mode: RetryMode = RetryMode.NORMAL


class Orders(Protocol):
    """Requests by target and UUID, from the time before the Job API. The jobs are the same."""

    async def refetch(self, target_id: str, request_id: str, correlation_id: str | None) -> Ordered | NotOrdered:
        """Admit a request for a target as configured, or answer the job of its id. Durable when it returns."""
        ...

    async def find_refetch(self, target_id: str, request_id: str) -> JobRecord | None:
        """The job of a request, however it was submitted, if it is about the target."""
        ...

    async def recover(
        self, target_id: str, request_id: str, mode: RetryMode, correlation_id: str | None
    ) -> Ordered | NotOrdered:
        """Make up for a missed run of a target, or answer the recovery of that id. Durable when it returns."""
        ...

    async def find_recovery(self, target_id: str, request_id: str) -> JobRecord | None:
        """The recovery of a request, if it is about the target."""
        ...


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A plan with a clock. `occurrence` is the id of the job a knock would mean now, None when it would mean none."""

    id: str
    mode: str
    occurrence: str | None


@dataclass(frozen=True, slots=True)
class Triggered:
    """What a knock came to. `job` is None only when it was rejected."""

    occurrence: str
    knock: Knock
    job: JobRecord | None


@dataclass(frozen=True, slots=True)
class NotTriggered:
    """Why a knock means no occurrence.

    Attributes:
        status: 404 no such plan, 400 its cron line names no moment, 425 too early, 410 too late.
        retry_after_s: when it will no longer be too early.
    """

    status: int
    message: str
    retry_after_s: int | None = None


class Clocks(Protocol):
    """Plans that are due, for clocks that knock from outside."""

    def schedules(self) -> Sequence[ScheduleState]:
        """Enabled plans with a clock, in the order of the configuration."""
        ...

    async def run(self, plan_id: str, label: str | None) -> Triggered | NotTriggered:
        """Admit the occurrence that a knock means now, once. `label` says who knocked and decides nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain of the outbox came to, in rows."""

    processed: int
    done: int
    retried: int
    dead: int


Drain = Callable[[], Awaitable[Drained]]
"""Send every row that is due; returns when none is."""
