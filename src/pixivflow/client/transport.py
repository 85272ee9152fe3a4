"""One server over HTTP: a call, its repetitions, and an event stream. Knows nothing of jobs."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from pixivflow.client.errors import ApiError, BadAnswer, ClientError, Unreachable, api_error
from pixivflow.client.retry import Retry, retry_after
from pixivflow.client.sse import Message, Parser, TooLong

Token = str | Callable[[], "str | Awaitable[str]"] | None

_ANSWER_MAX: Final = 64 * 1024 * 1024
_SILENCE_S: Final = 45.0
"""A stream that sends not even a comment for so long is dead; the server sends one every 15 s."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class World:
    """Time and chance, so that tests can have their own."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = _now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer. `body` is its JSON object."""

    status: int
    body: dict[str, Any]


@dataclass(slots=True)
class Place:
    """Where a reader of a stream stands.

    Attributes:
        last_id: the last event it has had, empty before the first.
        retry_s: how long to wait before coming back.
        open: whether it is connected now.
        reached: set whenever a connection has been made; whoever looks may take it back.
    """

    last_id: str = ""
    retry_s: float = 3.0
    open: bool = False
    reached: bool = False


@dataclass(slots=True, repr=False)
class Transport:
    """A server and how to speak to it. The session is opened at the first call, on the loop of that call.

    Attributes:
        url: the base address, without user and password.
        timeout_s: how long one call may take.
    """

    url: str
    token: Token = None
    retry: Retry = field(default_factory=Retry)
    timeout_s: float = 30.0
    trust_env: bool = False
    world: World = field(default_factory=World)
    _session: aiohttp.ClientSession | None = None
    _closed: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address of a server begins with http:// or https:// and names a host")
        if parts.username is not None or parts.password is not None:
            raise ValueError("the address of a server holds no user or password; the token is an argument of its own")
        if parts.query or parts.fragment:
            raise ValueError("the address of a server ends with its path")
        self.url = str(URL(self.url)).rstrip("/")

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: object = None
    ) -> Reply:
        """Make a call, again where that makes sense.

        Args:
            method: in capitals.
            path: begins with a slash; encoded already.
            query: not encoded yet.
            body: sent as JSON.

        Raises:
            ClientError: what the last try met.
        """
        began = self.world.monotonic()
        failures = 0
        while True:
            try:
                return await self._once(method, path, query, body)
            except ClientError as error:
                failures += 1
                pause = self.retry.pause(failures, self.world.monotonic() - began, error, self.world.random)
                if pause is None:
                    raise
            await self.world.sleep(pause)

    async def stream(self, path: str, query: Mapping[str, str], place: Place) -> AsyncGenerator[Message, None]:
        """The messages of one connection, until the server ends it. Moves `place` along with them.

        Raises:
            NothingFollows: the server says that nothing follows.
            ClientError: it cannot be read, or broke.
        """
        headers = {**await self._headers(), "Accept": "text/event-stream"}
        if place.last_id:
            headers["Last-Event-ID"] = place.last_id
        timeout = aiohttp.ClientTimeout(total=None, connect=self.timeout_s, sock_read=_SILENCE_S)
        async with self._request("GET", path, headers=headers, query=query, timeout=timeout) as answer:
            if answer.status == 204:
                raise NothingFollows
            if answer.status != 200:
                raise await self._error(answer)
            if answer.content_type != "text/event-stream":
                raise BadAnswer(f"{self.url} has no event stream at {path}")
            place.open = place.reached = True
            try:
                async for message in _messages(answer, place):
                    yield message
            finally:
                place.open = False

    async def _once(self, method: str, path: str, query: Mapping[str, str] | None, body: object) -> Reply:
        headers = await self._headers()
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = msgspec.json.encode(body)
        timeout = aiohttp.ClientTimeout(total=self.timeout_s, connect=min(10.0, self.timeout_s))
        async with self._request(method, path, headers=headers, query=query, data=data, timeout=timeout) as answer:
            if not 200 <= answer.status < 300:
                raise await self._error(answer)
            document = _json(await _read(answer))
            if document is None:
                raise BadAnswer(f"{self.url} answers {method} {path} with something that is no JSON object")
            return Reply(answer.status, document)

    @contextlib.asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        query: Mapping[str, str] | None,
        timeout: aiohttp.ClientTimeout,
        data: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._closed:
            raise RuntimeError("the client is closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=self.trust_env, cookie_jar=aiohttp.DummyCookieJar())
        # Built here and taken as it is: an id keeps every character its path was encoded with.
        url = URL(self.url + path + ("?" + urlencode(query) if query else ""), encoded=True)
        try:
            # A redirect is not followed: the token is for this server.
            async with self._session.request(
                method,
                url,
                headers=headers,
                data=data,
                timeout=timeout,
                allow_redirects=False,
            ) as answer:
                yield answer
        except TimeoutError as error:
            raise Unreachable(f"{self.url} does not answer in time") from error
        except aiohttp.InvalidURL:
            raise ValueError(f"not the address of a server: {self.url}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"no server answers at {self.url}: {_why(error)}") from error

    async def _headers(self) -> dict[str, str]:
        token = self.token() if callable(self.token) else self.token
        if inspect.isawaitable(token):
            token = await token
        if not token:
            return {}
        if not (token.isascii() and token.isprintable()):
            raise ValueError("the token has characters that no header may hold")
        return {"Authorization": f"Bearer {token}"}

    async def _error(self, answer: aiohttp.ClientResponse) -> ApiError:
        return api_error(
            answer.status,
            _json(await _read(answer)),
            retry_after_s=retry_after(answer.headers.get("Retry-After"), self.world.now()),
            request_id=answer.headers.get("X-Request-Id", "")[:200],
        )


class NothingFollows(Exception):
    """Nothing follows in this stream."""


async def _messages(answer: aiohttp.ClientResponse, place: Place) -> AsyncGenerator[Message, None]:
    parser = Parser(place.last_id)
    async for piece in answer.content.iter_any():
        try:
            messages = parser.feed(piece)
        except TooLong as error:
            raise BadAnswer(str(error)) from None
        if parser.retry_ms is not None:
            place.retry_s = parser.retry_ms / 1000
        for message in messages:
            place.last_id = message.id
            yield message
        # An id without data is a place as well.
        place.last_id = parser.last_id


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_any():
        size += len(part)
        if size > _ANSWER_MAX:
            raise BadAnswer("the answer is too large")
        parts.append(part)
    return b"".join(parts)


def _json(raw: bytes) -> dict[str, Any] | None:
    try:
        document = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _why(error: Exception) -> str:
    inner = getattr(error, "os_error", error)
    return str(getattr(inner, "strerror", None) or type(error).__name__)
