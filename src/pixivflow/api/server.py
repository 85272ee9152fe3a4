"""The listening side: one socket, uvicorn on our own event loop, a stop that lets answers finish."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any, Final

import uvicorn

_BACKLOG: Final = 2048
_FORCE_AFTER_S: Final = 1.0
_STUCK_AFTER_S: Final = 60
"""A peer that takes nothing of what was sent to it for so long is cut off by the system, where the system can."""


class PortInUse(Exception):
    """Something else listens there."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{_address(host, port)} is already in use")
        self.host = host
        self.port = port


class CannotListen(Exception):
    """The address cannot be listened on: not this machine's, not allowed, or not an address."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"cannot listen on {_address(host, port)}: {why}")
        self.host = host
        self.port = port


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Uvicorn(uvicorn.Server):
    """uvicorn without its own signal handlers, and with a word when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The process owns its signals: a drain is more than closing a socket.
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


class HttpServer:
    """Serves one ASGI application on one address.

    Args:
        port: 0 takes a free one; `port` tells which after `start`.
    """

    def __init__(self, host: str, port: int, app: Any) -> None:
        self.host = host
        self.port = port
        self.app = app
        self._sock: socket.socket | None = None
        self._server: _Uvicorn | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The base URL, usable once started. An address that means "everywhere" is given as this machine's."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://{_address(host, self.port)}"

    async def bind(self) -> None:
        """Take the address without answering yet, so that a taken one is known before anything else is touched.

        Raises:
            PortInUse, CannotListen: see `start`.
        """
        if self._sock is None:
            self._sock = await _bind(self.host, self.port)
            self.port = self._sock.getsockname()[1]

    def release(self) -> None:
        """Give a bound address back that was never served."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    async def start(self) -> None:
        """Bind if that has not happened, then serve. Returns when connections are accepted.

        Raises:
            PortInUse: before anything else has happened.
            CannotListen: any other reason of the system.
        """
        if self._task is not None:
            raise RuntimeError("the server has been started")
        await self.bind()
        sock, self._sock = self._sock, None
        if sock is None:  # narrows the type; `bind` has just set it
            raise RuntimeError("the address is not bound")
        config = uvicorn.Config(
            self.app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            backlog=_BACKLOG,
        )
        self._server = server = _Uvicorn(config)
        self._task = task = asyncio.create_task(server.serve(sockets=[sock]), name="http-server")
        listening = asyncio.create_task(server.listening.wait())
        try:
            await asyncio.wait({task, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            listening.cancel()
            if not server.listening.is_set():
                sock.close()
        if task.done():
            # Only a fault of its own ends it this early; say which.
            await task
            raise RuntimeError("the HTTP server ended while starting")

    async def stop(self, grace_s: float = 10.0) -> None:
        """Accept no more, let running requests finish for `grace_s` seconds, then cut them. May be called again."""
        self.release()
        server, task = self._server, self._task
        if server is None or task is None:
            return
        # An event stream would take the whole grace and be cut all the same.
        end_streams = getattr(self.app, "end_streams", None)
        if end_streams is not None:
            end_streams()
        # uvicorn annotates whole seconds but hands the number to asyncio.wait_for, which takes fractions.
        server.config.timeout_graceful_shutdown = grace_s  # type: ignore[assignment]
        server.should_exit = True
        _, pending = await asyncio.wait({task}, timeout=grace_s + _FORCE_AFTER_S)
        if pending:
            server.force_exit = True
            await asyncio.wait({task}, timeout=_FORCE_AFTER_S)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        self._server = self._task = None
        if not task.cancelled() and (fault := task.exception()) is not None:
            raise fault

    async def wait(self) -> None:
        """Until the server has ended, by `stop` or by a fault (which is raised)."""
        if self._task is not None:
            await asyncio.shield(self._task)


async def _bind(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(host, port, error.strerror or "not an address") from error
    # `localhost` may be both 127.0.0.1 and ::1; the plain old one is what every client tries.
    family, kind, proto, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Connections inherit it. Nothing above them can end one whose peer does not read.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_AFTER_S * 1000)
        sock.bind(address)
        # Listening now, not later: two sockets may share a bound address until one of them listens.
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from error
        raise CannotListen(host, port, error.strerror or "refused by the system") from error
    sock.setblocking(False)
    return sock
