from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import pytest
from yarl import URL

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
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
    Submitted,
)
from pixivflow.api.server import HttpServer
from pixivflow.domain.cell import CellState
from pixivflow.domain.event import WIRE_TYPE, EventKind, EventRecord, event_id, parse_event_id
from pixivflow.domain.job import CellRecord, JobRecord, JobState, Move, PickRecord, Signal, decide
from pixivflow.domain.reason import Code, Reason
from pixivflow.domain.task import Task
from pixivflow.domain.work import WorkRef, WorkType

TOKEN = "the-manual-token"
TRIGGER = "the-trigger-token"


@dataclass
class MemoryJobs:
    """A JobService that keeps everything in memory and follows the same table of states as the ledger."""

    now: int = 1_800_000_000_000
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    stream: list[EventRecord] = field(default_factory=list)
    acked: dict[str, int] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    refusal: Refused | None = None
    draining: bool = False
    ledger_ok: bool = True
    fault: Exception | None = None

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

    def capabilities(self) -> Capabilities:
        features = ("events", "progress", "cancel", "idempotency", "exclude", "tag_expansion", "target_selector")
        return Capabilities((JobType("candidate_search", features, 1_800_000, 900_000, 30_000, 1_800_000),))

    def health(self) -> Health:
        self._enter()
        return Health("9.9.9", "abc1234", self.draining, (Check("ledger", self.ledger_ok),))

    def public(self, job_id: str) -> list[EventRecord]:
        return [event for event in self.stream if event.job_id == job_id and event.kind in WIRE_TYPE]

    def record(self, job_id: str, kind: EventKind) -> EventRecord:
        event = EventRecord(len(self.stream) + 1, job_id, kind, self.now_ms())
        self.stream.append(event)
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


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"].startswith("application/json"), self.raw[:200]
        return json.loads(self.raw)


class Client:
    """Sends requests as they are written: paths are not encoded again."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: Any = None,
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        data = raw if body is None else json.dumps(body).encode()
        url = URL(self.base + path, encoded=True)
        async with self._session.request(method, url, data=data, headers=sent) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def submit(self, key: str, **changes: Any) -> Answer:
        return await self("POST", "/jobs", task(key, **changes))


def task(key: str, **changes: Any) -> dict[str, Any]:
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": {"target_id": "cats"},
        **changes,
    }


Serve = Callable[..., Awaitable[Client]]


@pytest.fixture
def jobs() -> MemoryJobs:
    return MemoryJobs()


@pytest.fixture
async def serve(jobs: MemoryJobs) -> AsyncIterator[Serve]:
    """Start a server over `jobs`; keyword arguments go to `create_app`, `tokens` replaces both tokens."""
    servers: list[HttpServer] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:

        async def start(*, tokens: Tokens | None = None, **options: Any) -> Client:
            app = create_app(jobs, tokens or Tokens(TOKEN, TRIGGER), now_ms=jobs.now_ms, **options)
            server = HttpServer("127.0.0.1", 0, app)
            await server.start()
            servers.append(server)
            return Client(session, server.url)

        yield start
    await asyncio.gather(*(server.stop(1.0) for server in servers))


@pytest.fixture
async def api(serve: Serve) -> Client:
    return await serve()


@pytest.fixture
def event_ids(jobs: MemoryJobs) -> Callable[[str], list[str]]:
    return lambda job_id: [event_id(event.at, event.seq) for event in jobs.public(job_id)]
