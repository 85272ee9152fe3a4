"""One HTTP exchange at the ASGI level: what came in, what goes out.

The hot routes are served without a framework between them and the server; this is all they need of one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]
Answer = Callable[[Send, bytes], Awaitable[None]]
"""An answer that sends itself, given the request id."""

MAX_BODY: Final = 1024 * 1024
"""Bytes of a request body that are read at most."""
_JSON: Final = (b"content-type", b"application/json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_NOT_IN_A_REQUEST_ID: Final = re.compile(rb"[^A-Za-z0-9._:-]+")
_MAX_REQUEST_ID: Final = 64

encode: Final = msgspec.json.Encoder().encode


class BodyTooLarge(Exception):
    """The caller sends more than the limit."""


class CallerGone(Exception):
    """The connection ended before the request did."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `body` is encoded JSON."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def reply(status: int, content: object, *headers: tuple[bytes, bytes]) -> Reply:
    """An answer with `content` as its JSON."""
    return Reply(status, encode(content), headers)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a job route. `job_id` is decoded, empty on routes without one."""

    scope: Scope
    receive: Receive
    job_id: str
    max_body: int

    @property
    def query(self) -> bytes:
        """The raw query string."""
        found: bytes = self.scope.get("query_string", b"")
        return found

    async def body(self) -> bytes:
        """The whole request body.

        Raises:
            BodyTooLarge: as soon as the limit is passed, or announced to be.
            CallerGone: the caller hung up.
        """
        length = header(self.scope["headers"], b"content-length")
        if length is not None and length.isdigit() and int(length[:20]) > self.max_body:
            raise BodyTooLarge
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise CallerGone
            part = message.get("body", b"")
            size += len(part)
            if size > self.max_body:
                raise BodyTooLarge
            parts.append(part)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)


def header(headers: Headers, name: bytes) -> bytes | None:
    """The first header of a name (lower case), None when there is none."""
    for key, value in headers:
        if key == name:
            return value
    return None


def path_segments(scope: Scope) -> list[str]:
    """The decoded segments of the path as it was sent, so that an encoded slash stays inside its segment.

    One trailing slash is forgiven. Bytes that are no UTF-8 become the replacement character and match nothing.
    """
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    root = str(scope.get("root_path", "")).encode()
    if root and raw.startswith(root):
        raw = raw[len(root) :]
    parts = raw.decode("ascii", errors="replace").split("/")[1:]
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [unquote(part) if "%" in part else part for part in parts]


def request_id(headers: Headers, new_id: Callable[[], str]) -> bytes:
    """The caller's X-Request-Id, reduced to harmless characters, or a fresh one when nothing usable was sent."""
    sent = header(headers, b"x-request-id")
    if sent is not None:
        kept = _NOT_IN_A_REQUEST_ID.sub(b"", sent)[:_MAX_REQUEST_ID]
        if kept:
            return kept
    return new_id().encode()


async def send_reply(send: Send, answer: Reply, ident: bytes) -> None:
    """Send an answer; nothing on the job surface may be stored by a cache."""
    headers = [
        _JSON,
        (b"content-length", str(len(answer.body)).encode()),
        _NO_STORE,
        (b"x-request-id", ident),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
