"""A server that can be stopped, started again, made to refuse and cut off; and a world in which no time is lost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from memory_jobs import MemoryJobs

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.server import HttpServer
from pixivflow.api.stream import StreamSettings
from pixivflow.client import AsyncClient
from pixivflow.client.transport import World

TOKEN = "an-invented-token"


class Cable:
    """A TCP connection between client and server that can be cut.

    Attributes:
        lose_answers: so many of the next requests reach the server, and the connection ends before the answer.
        open: while it is not set nothing of an answer is carried on.
    """

    def __init__(self) -> None:
        self.port = 0
        self.lose_answers = 0
        self.connections = 0
        self.open = asyncio.Event()
        self.open.set()
        self._target = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def lay(self, target: int) -> None:
        self._target = target
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def remove(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        narrow = socket.socket()
        try:
            narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            narrow.setblocking(False)
            await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", self._target))
            there, back = await asyncio.open_connection(sock=narrow, limit=4096)
        except OSError:
            narrow.close()
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer, answers=True))
        finally:
            for end in (writer, back):
                self._writers.discard(end)
                end.transport.abort()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool = False
    ) -> None:
        try:
            while piece := await reader.read(65536):
                if answers:
                    await self.open.wait()
                if answers and self.lose_answers:
                    self.lose_answers -= 1
                    break
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()


class Site:
    """A server over jobs in memory, on one address over all its restarts.

    Attributes:
        answers: (status, headers, body) to give instead of the next answers; `Content-Type` is JSON.
        hidden: paths this server does not have.
        seen: every request as (method, path, headers, body).
    """

    def __init__(self, jobs: MemoryJobs, settings: StreamSettings) -> None:
        self.jobs = jobs
        self.cable = Cable()
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.hidden: set[str] = set()
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.settings = settings
        self._asked = asyncio.Event()
        self._server: HttpServer | None = None
        self._app: Any = None

    @property
    def url(self) -> str:
        """Through the cable."""
        return f"http://127.0.0.1:{self.cable.port}"

    @property
    def direct(self) -> str:
        """Beside the cable."""
        assert self._server is not None
        return self._server.url

    async def start(self) -> None:
        self._app = create_app(self.jobs, Tokens(TOKEN, None), now_ms=self.jobs.now_ms, stream=self.settings)
        port = self._server.port if self._server is not None else 0
        self._server = HttpServer("127.0.0.1", port, self)
        await self._server.bind()
        assert self._server._sock is not None
        # Connections inherit it: what the system keeps for a slow peer is little and the same everywhere.
        self._server._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 1024)
        await self._server.start()
        if not self.cable.port:
            await self.cable.lay(self._server.port)

    async def stop(self) -> None:
        assert self._server is not None
        await self._server.stop(5.0)
        self.cable.cut()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def streamed(self, count: int = 1) -> None:
        """Until so many streams have been asked for."""
        while sum(path == "/events/stream" for _, path, _, _ in self.seen) < count:
            self._asked.clear()
            await self._asked.wait()

    def end_streams(self) -> None:
        self._app.end_streams()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        message = await receive()
        body = message.get("body", b"")
        self.seen.append((scope["method"], scope["path"], headers, body))
        self._asked.set()
        if self.answers or scope["path"] in self.hidden:
            status, told, raw = self.answers.pop(0) if self.answers else (404, {}, b'{"error":{"code":"x"}}')
            sent = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
            sent += [(name.encode(), value.encode()) for name, value in told.items()]
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": raw})
            return
        given = [message]
        await self._app(scope, lambda: _first(given, receive), send)


async def _first(given: list[Any], receive: Any) -> Any:
    return given.pop() if given else await receive()


class Quick:
    """A world whose sleeps take no time, and that remembers them."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.clock = 0.0

    def world(self) -> World:
        return World(
            monotonic=lambda: self.clock,
            now=lambda: datetime(2026, 3, 1, tzinfo=UTC),
            sleep=self._sleep,
            random=lambda: 0.5,
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock += seconds
        await asyncio.sleep(0)


@pytest.fixture
def jobs() -> MemoryJobs:
    return MemoryJobs()


@pytest.fixture
async def site(jobs: MemoryJobs) -> AsyncIterator[Site]:
    made = Site(jobs, StreamSettings(pace_s=0))
    await made.start()
    yield made
    await made.stop()
    await made.cable.remove()


@pytest.fixture
def quick() -> Quick:
    return Quick()


@pytest.fixture
async def client(site: Site, quick: Quick) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(site.url, TOKEN, world=quick.world()) as made:
        yield made
