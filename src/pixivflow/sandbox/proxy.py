"""A CONNECT proxy for stock clients: every `host:443` is tunnelled to the sandbox's TLS port, whatever the name.

Plain `http://` requests sent to it go to the plain port. With a user and password it answers 407 to everyone else,
so that clients' handling of proxy credentials can be tested.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
from typing import Final

_HEAD_MAX: Final = 16384
_HEAD_TIMEOUT_S: Final = 30


class ConnectProxy:
    """The proxy's listener. Names ending in `.invalid` get 502, as a proxy answers a failed look-up."""

    def __init__(
        self, *, plain: tuple[str, int], tls: tuple[str, int] | None, auth: tuple[str, str] | None = None
    ) -> None:
        self._plain = plain
        self._tls = tls
        self._auth = None if auth is None else base64.b64encode(f"{auth[0]}:{auth[1]}".encode()).decode()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.tunnels = 0
        self.refused = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._accepted, host, port, limit=_HEAD_MAX)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the listener and every tunnel."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._tunnel(head, reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a client that went away or spoke nonsense: nobody is left to tell
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _tunnel(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target = _request_line(head)
        if self._auth is not None and not _authorised(head, self._auth):
            self.refused += 1
            await _refuse(writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="sandbox"\r\n')
            return
        where = self._destination(method, target)
        if where is None:
            await _refuse(writer, "502 Bad Gateway")
            return
        self.tunnels += 1
        far_reader, far_writer = await asyncio.open_connection(*where)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                far_writer.write(head)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pipe(reader, far_writer))
                both.create_task(_pipe(far_reader, writer))
        except* (OSError, ValueError):
            pass  # one side closed under the other
        finally:
            far_writer.close()
            with contextlib.suppress(OSError):
                await far_writer.wait_closed()

    def _destination(self, method: str, target: str) -> tuple[str, int] | None:
        if method != "CONNECT":
            return self._plain if target.startswith("http://") else None
        host, _, port = target.rpartition(":")
        if host.endswith(".invalid"):
            return None
        return self._plain if port == "80" else self._tls


def _request_line(head: bytes) -> tuple[str, str]:
    parts = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    return (parts[0], parts[1]) if len(parts) == 3 else ("", "")


def _authorised(head: bytes, expected: str) -> bool:
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "proxy-authorization":
            scheme, _, given = value.strip().partition(" ")
            return scheme.lower() == "basic" and hmac.compare_digest(given.strip(), expected)
    return False


async def _refuse(writer: asyncio.StreamWriter, status: str, extra: str = "") -> None:
    writer.write(f"HTTP/1.1 {status}\r\n{extra}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    else:
        writer.close()
