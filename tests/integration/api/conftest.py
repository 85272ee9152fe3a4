from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import bodies
import pytest
from memory_jobs import MemoryJobs
from yarl import URL

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.server import HttpServer
from pixivflow.domain.event import event_id

TOKEN = "the-manual-token"
TRIGGER = "the-trigger-token"


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
            got = Answer(answer.status, answer.headers, await answer.read())
        if got.raw and got.headers.get("content-type", "").startswith("application/json"):
            bodies.seen(method, path, got.status, got.json)
        return got

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
    """Start a server over `jobs`; keyword arguments go to `create_app`, `tokens` replaces both tokens.

    What was started is in `serve.servers`. Connections have `send_buffer` bytes in the system, where it is given.
    """
    servers: list[HttpServer] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:

        async def start(*, tokens: Tokens | None = None, send_buffer: int = 0, **options: Any) -> Client:
            app = create_app(jobs, tokens or Tokens(TOKEN, TRIGGER), now_ms=jobs.now_ms, **options)
            server = HttpServer("127.0.0.1", 0, app)
            await server.bind()
            if send_buffer:
                server._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
            await server.start()
            servers.append(server)
            return Client(session, server.url)

        start.servers = servers
        yield start
    await asyncio.gather(*(server.stop(1.0) for server in servers))


@pytest.fixture
async def api(serve: Serve) -> Client:
    return await serve()


@pytest.fixture
def event_ids(jobs: MemoryJobs) -> Callable[[str], list[str]]:
    return lambda job_id: [event_id(event.at, event.seq) for event in jobs.public(job_id)]
