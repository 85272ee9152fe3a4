"""A consumer on a real socket that keeps what it was sent byte for byte, and rows to send to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDict

from pixivflow.delivery.callback import CallbackSender, CallbackSettings
from pixivflow.delivery.egress import EgressPolicy, guarded_session
from pixivflow.delivery.ports import OutboxRow

EVENT = {
    "protocol_version": "1",
    "event_id": "evt-1700000000000-7",
    "job_id": "p@manual-1",
    "type": "job.accepted",
    "at": 1_700_000_000_000,
    "payload": {"detail": {"internal_kind": "job.requested"}, "title": "夜の海"},
}
KEY = "job-event:p@manual-1:evt-1700000000000-7"
NOW = 1_700_000_000_000

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: CIMultiDict[str]
    body: bytes


@dataclass
class Consumer:
    """Answers 200 unless told otherwise."""

    base: str = ""
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    answers: list[Answer | web.Response] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(Seen(request.raw_path, CIMultiDict(request.headers), await request.read()))
        answer = self.answers.pop(0) if self.answers else web.Response()
        return answer if isinstance(answer, web.Response) else await answer(request)


@pytest.fixture
async def consumer() -> AsyncIterator[Consumer]:
    found = Consumer()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", found.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.port = runner.addresses[0][1]
    found.base = f"http://127.0.0.1:{found.port}"
    yield found
    found.released.set()
    await runner.cleanup()


class Names(AbstractResolver):
    """Answers each question about a name with the next of its lists of addresses, and counts the questions."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        self.asked.append(host)
        if not self.answers:
            raise OSError("no such name")
        kinds = [(address, socket.AF_INET6 if ":" in address else socket.AF_INET) for address in self.answers.pop(0)]
        return [
            {"hostname": host, "host": address, "port": port, "family": kind, "proto": 0, "flags": 0}
            for address, kind in kinds
        ]

    async def close(self) -> None:
        pass


MakeSender = Callable[..., CallbackSender]


@pytest.fixture
async def sender() -> AsyncIterator[MakeSender]:
    """Make senders: keywords are those of `CallbackSettings`, and `names` answers for the system's resolver."""
    made: list[CallbackSender] = []

    def make(*, names: Names | None = None, now_ms: Callable[[], int] = lambda: NOW, **settings: Any) -> CallbackSender:
        def open_session(policy: EgressPolicy) -> Any:
            return guarded_session(policy, names)

        found = CallbackSender(CallbackSettings(**settings), now_ms=now_ms, open_session=open_session)
        made.append(found)
        return found

    yield make
    for found in made:
        await found.aclose()


def row(url: str, **changes: Any) -> OutboxRow:
    values = {"id": 1, "kind": "event_callback", "key": KEY, "route": url, "attempt": 1, "max_attempts": 8}
    payload = {"event": EVENT, "job_id": EVENT["job_id"]}
    return OutboxRow(**{**values, "payload": payload, "token": "t", "job_id": "p@manual-1", **changes})


@pytest.fixture(name="row")
def _row() -> Callable[..., OutboxRow]:
    return row


@pytest.fixture
def names() -> type[Names]:
    return Names
