"""A JobService in memory, for tests of what stands in front of one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from pixivflow.api.ports import (
    AckState,
    Capabilities,
    Check,
    EventSlice,
    Health,
    JobQuery,
    JobSlice,
    JobType,
    Refused,
    StreamSlice,
    StreamStart,
    Submitted,
)
from pixivflow.domain.cell import CellState
from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind, EventRecord, parse_event_id
from pixivflow.domain.job import CellRecord, JobRecord, JobState, Move, PickRecord, Signal, decide
from pixivflow.domain.reason import Code, Reason
from pixivflow.domain.task import Task
from pixivflow.domain.work import WorkRef, WorkType


@dataclass
class MemoryJobs:
    """A JobService that keeps everything in memory and follows the same table of states as the ledger."""

    now: int = 1_800_000_000_000
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    log: list[EventRecord] = field(default_factory=list)
    acked: dict[str, int] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    refusal: Refused | None = None
    draining: bool = False
    ledger_ok: bool = True
    fault: Exception | None = None
    reads: int = 0
    _listeners: set[asyncio.Event] = field(default_factory=set)
    _listening: asyncio.Event = field(default_factory=asyncio.Event)

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def _enter(self) -> None:
        if self.fault is not None:
            raise self.fault

    async def submit(self, task: Task) -> Submitted | Refused:
        self._enter()
        self.tasks.append(task)
        if self.refusal is not None:
            return self.refusal
        known = await self.find(task.idempotency_key)
        if known is not None:
            if known.params != task.canonical_params:
                return Refused(
                    409,
                    Code.IDEMPOTENCY_CONFLICT,
                    "the key belongs to another task",
                    {"reason": "idempotency_conflict", "job_id": known.id},
                )
            return Submitted(known, created=False)
        now = self.now_ms()
        job = JobRecord(
            id=f"daily@manual-{task.idempotency_key.lower()}",
            seq=len(self.jobs) + 1,
            type=task.job_type,
            state=JobState.QUEUED,
            plan_id="daily",
            account="default",
            trigger="manual",
            created_at=now,
            updated_at=now,
            key=task.idempotency_key,
            correlation_id=task.correlation_id,
            callback_url=task.callback_url,
            labels=task.labels,
            params=task.canonical_params,
            deadline_at=now + (task.deadline_ms or 1_800_000),
            cells=(CellRecord("cats", 0, "illustration", CellState.PENDING),),
        )
        self.jobs[job.id] = job
        self.record(job.id, EventKind.REQUESTED)
        return Submitted(job, created=True)

    async def get(self, job_id: str) -> JobRecord | None:
        self._enter()
        return self.jobs.get(job_id)

    async def find(self, key: str) -> JobRecord | None:
        self._enter()
        return next((job for job in self.jobs.values() if job.key == key), None)

    async def list(self, query: JobQuery) -> JobSlice:
        self._enter()
        found = [
            job
            for job in reversed(self.jobs.values())
            if (query.after_seq is None or job.seq < query.after_seq)
            and query.correlation_id in (None, job.correlation_id)
            and query.status in (None, job.state)
            and query.job_type in (None, job.type)
        ]
        page = tuple(found[: query.limit])
        return JobSlice(page, page[-1].seq if len(found) > query.limit else None)

    async def cancel(self, job_id: str) -> JobRecord | None:
        self._enter()
        if job_id not in self.jobs:
            return None
        self.signal(job_id, Signal.CANCEL, reason=Reason.CANCELLED)
        return self.jobs[job_id]

    async def events(self, job_id: str, *, after_seq: int | None, from_ack: bool, limit: int) -> EventSlice | None:
        self._enter()
        if job_id not in self.jobs:
            return None
        public = self.public(job_id)
        start = self.acked.get(job_id, 0) if from_ack else after_seq
        if start is not None and not from_ack and start not in {event.seq for event in public}:
            start = None
        rest = [event for event in public if event.seq > (start or 0)]
        unacked = sum(event.seq > self.acked.get(job_id, 0) for event in public)
        return EventSlice(tuple(rest[:limit]), len(rest) > limit, unacked)

    async def ack(self, job_id: str, event_id: str) -> AckState | None:
        self._enter()
        if job_id not in self.jobs:
            return None
        public = [event.seq for event in self.public(job_id)]
        seq = parse_event_id(event_id)
        if seq in public:
            self.acked[job_id] = max(seq, self.acked.get(job_id, 0))
        acked = sum(one <= self.acked.get(job_id, 0) for one in public)
        return AckState(acked, len(public) - acked)

    async def stream_start(self, *, after_seq: int | None, job_id: str | None, live: bool) -> StreamStart | None:
        self._enter()
        if job_id is not None and job_id not in self.jobs:
            return None
        public = self.public(job_id)
        seq, at = 0, None
        if after_seq in {event.seq for event in public}:
            seq = after_seq or 0
        elif live and (every := self.public()):
            seq, at = every[-1].seq, every[-1].at
        ended = job_id is not None and any(event.kind in TERMINAL_KINDS and event.seq <= seq for event in public)
        return StreamStart(seq, len(self.log), at, ended)

    async def stream(self, *, after_seq: int, job_id: str | None, limit: int) -> StreamSlice:
        self._enter()
        self.reads += 1
        rest = [event for event in self.public(job_id) if event.seq > after_seq][:limit]
        through = rest[-1].seq if len(rest) == limit else max(after_seq, len(self.log))
        return StreamSlice(tuple(rest), {event.job_id: self.jobs[event.job_id] for event in rest}, through)

    def listen(self) -> asyncio.Event:
        event = asyncio.Event()
        self._listeners.add(event)
        self._listening.set()
        return event

    def unlisten(self, event: asyncio.Event) -> None:
        self._listeners.discard(event)
        self._listening.set()

    async def until_read(self, *, by_someone: bool = True) -> None:
        """Until the stream is read, or no longer is."""
        while bool(self._listeners) is not by_someone:
            self._listening.clear()
            await self._listening.wait()

    def capabilities(self) -> Capabilities:
        features = ("events", "progress", "cancel", "idempotency", "exclude", "tag_expansion", "target_selector")
        return Capabilities((JobType("candidate_search", features, 1_800_000, 900_000, 30_000, 1_800_000),))

    def health(self) -> Health:
        self._enter()
        return Health("9.9.9", "abc1234", self.draining, (Check("ledger", self.ledger_ok),))

    def public(self, job_id: str | None = None) -> list[EventRecord]:
        return [event for event in self.log if job_id in (None, event.job_id) and event.kind in WIRE_TYPE]

    def record(self, job_id: str, kind: EventKind) -> EventRecord:
        event = EventRecord(len(self.log) + 1, job_id, kind, self.now_ms())
        self.log.append(event)
        for listener in self._listeners:
            listener.set()
        return event

    def signal(self, job_id: str, signal: Signal, **changes: Any) -> None:
        job = self.jobs[job_id]
        step = decide(job.state, signal)
        if not isinstance(step, Move):
            return
        now = self.now_ms()
        job = replace(job, state=step.to, updated_at=now, **changes)
        if step.to is JobState.RUNNING:
            job = replace(job, started_at=now, heartbeat_at=now, lease_until=now + 180_000, attempt=job.attempt + 1)
        if job.terminal:
            job = replace(job, finished_at=now, lease_until=None)
        self.jobs[job_id] = job
        if step.emits is not None:
            self.record(job_id, step.emits)

    def succeed(self, job_id: str) -> None:
        picked = PickRecord(WorkRef(WorkType.ILLUSTRATION, "77"), 0, CellState.SUBMITTED, title="A cat")
        report = {"fetched": 5, "named": [{"work_id": "5", "reason": "already_delivered"}]}
        cell = CellRecord("cats", 0, "illustration", CellState.SUBMITTED, report=report, picks=(picked,))
        self.signal(job_id, Signal.START)
        self.signal(job_id, Signal.SUCCEED, cells=(cell,))

    def fail(self, job_id: str, reason: Reason) -> None:
        self.signal(job_id, Signal.START)
        self.signal(job_id, Signal.FAIL, reason=reason, message="for people")
