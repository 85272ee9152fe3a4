"""Readers that do not keep up: at the level of the application, where a test decides how fast the peer is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from memory_jobs import MemoryJobs

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.stream import StreamSettings
from pixivflow.client.sse import Message, Parser
from pixivflow.domain.event import EventKind, event_id
from pixivflow.domain.task import Task, parse_task


class Peer:
    """One connection without a socket. `open` says whether the peer takes what it is sent."""

    def __init__(self, app: Any, last_id: str = "") -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.blocked = asyncio.Event()
        self.messages: list[Message] = []
        self.raw = b""
        self.sizes: list[int] = []
        self.complete = False
        self._parser = Parser()
        self._gone = asyncio.Event()
        self._grew = asyncio.Event()
        headers = [(b"authorization", b"Bearer t")] + ([(b"last-event-id", last_id.encode())] if last_id else [])
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/events/stream",
            "raw_path": b"/events/stream",
            "query_string": b"",
            "headers": headers,
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def got(self, count: int) -> None:
        while len(self.messages) < count:
            self._grew.clear()
            await self._grew.wait()

    async def hang_up(self) -> None:
        self._gone.set()
        self.open.set()
        await self.task

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if not self.open.is_set():
            self.blocked.set()
            await self.open.wait()
        body = message.get("body", b"")
        self.raw += body
        self.sizes.append(len(body))
        self.messages += self._parser.feed(body)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        self._grew.set()


async def ready(settings: StreamSettings) -> tuple[MemoryJobs, Any, str]:
    jobs = MemoryJobs()
    task = parse_task(
        {"protocol_version": "1", "job_type": "candidate_search", "idempotency_key": "k", "params": {"target_id": "c"}}
    )
    assert isinstance(task, Task)
    await jobs.submit(task)
    app = create_app(jobs, Tokens("t", None), now_ms=jobs.now_ms, stream=settings)
    return jobs, app, next(iter(jobs.jobs))


def ids(jobs: MemoryJobs) -> list[str]:
    return [event_id(event.at, event.seq) for event in jobs.public()]


async def test_a_slow_reader_is_sent_away_with_a_comment_and_resumes_without_loss() -> None:
    jobs, app, job_id = await ready(StreamSettings(keep_events=10, pace_s=0))
    slow, quick = Peer(app), Peer(app)
    await slow.got(1)
    await quick.got(1)
    slow.open.clear()
    for number in range(40):
        jobs.record(job_id, EventKind.STARTED)
        await quick.got(number + 2)
    await slow.blocked.wait()
    slow.open.set()
    await slow.task
    assert slow.complete
    assert slow.raw.endswith(b": too slow, come back with Last-Event-ID\n\n")
    had = [message.id for message in slow.messages]
    assert had == ids(jobs)[: len(had)]
    assert len(had) < 41
    again = Peer(app, had[-1])
    await again.got(41 - len(had))
    assert had + [message.id for message in again.messages] == ids(jobs)
    await again.hang_up()
    await quick.hang_up()
    assert [message.id for message in quick.messages] == ids(jobs)


async def test_one_who_comes_from_far_back_is_not_slow_however_long_it_takes() -> None:
    jobs, app, job_id = await ready(StreamSettings(keep_events=10, pace_s=0))
    for _ in range(500):
        jobs.record(job_id, EventKind.STARTED)
    quick = Peer(app, ids(jobs)[-1])
    patient = Peer(app)
    patient.open.clear()
    await patient.blocked.wait()
    for number in range(40):
        jobs.record(job_id, EventKind.STARTED)
        await quick.got(number + 1)
    patient.open.set()
    await patient.got(541)
    assert [message.id for message in patient.messages] == ids(jobs)
    await patient.hang_up()
    await quick.hang_up()


async def test_a_reader_that_hangs_up_while_it_is_sent_to_leaves_nothing_behind() -> None:
    jobs, app, job_id = await ready(StreamSettings(pace_s=0))
    peer = Peer(app)
    await peer.got(1)
    peer.open.clear()
    jobs.record(job_id, EventKind.STARTED)
    await peer.blocked.wait()
    await peer.hang_up()
    assert not peer.complete
    # The task that reads for all readers gives its listener back when the last of them has gone.
    await asyncio.gather(
        *(task for task in asyncio.all_tasks() if task.get_name() == "event-feed"), return_exceptions=True
    )
    assert jobs._listeners == set()


async def test_a_large_event_is_sent_in_pieces_so_that_one_connection_holds_little() -> None:
    jobs, app, job_id = await ready(StreamSettings(pace_s=0))
    jobs.succeed(job_id)
    jobs.jobs[job_id] = replace(jobs.jobs[job_id], labels={"label": "x" * 300_000})
    peer = Peer(app)
    await peer.got(3)
    assert len(peer.messages[2].data) > 300_000
    assert max(peer.sizes) <= 64 * 1024
    await peer.hang_up()
