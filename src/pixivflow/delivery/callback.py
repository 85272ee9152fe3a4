"""The sender of rows of the kind `event_callback`: one event of a job to the address the job was submitted with.

The body is the event as the stream serves it, frozen when it happened. What an answer means (Workflow Protocol 9.3):
2xx and 409 are an arrival, 429 and 5xx are "later", any other 4xx is a no, no answer is "later". A redirect to the same
scheme, host and port is followed once with the same request; any other one ends the row, because the event would go to
somebody the job did not name. No callback ever changes a job or moves the stream's cursor.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from pixivflow.delivery.answer import BODY_LIMIT, one_line, retry_after_ms
from pixivflow.delivery.credentials import Credentials
from pixivflow.delivery.egress import BlockedAddress, EgressPolicy, guarded_session, same_origin, url_fault
from pixivflow.delivery.multipart import DELIVERY_HEADER, KEY_HEADER
from pixivflow.delivery.ports import OutboxRow
from pixivflow.delivery.signature import signature_headers
from pixivflow.domain.delivery import Answer, AnswerClass

CALLBACK_TIMEOUT_MS = 30_000
_DRAIN_S = 2.0

# A redirect that says "there instead". 303 says where the answer is and 304 that there is none: neither sends again.
_REDIRECTS = frozenset({301, 302, 307, 308})
# What aiohttp would add by itself; a callback carries the protocol's headers and no others.
_NOT_SENT = ("Accept", "Accept-Encoding", "User-Agent")


@dataclass(frozen=True, slots=True)
class CallbackSettings:
    """How callbacks are sent.

    Attributes:
        policy: where they may go.
        credentials: (address prefix, bearer token).
        signing_keys: raw keys; with any, each callback is signed with all of them.
        timeout_ms: for a whole try, a followed redirect included.
    """

    policy: EgressPolicy = field(default_factory=EgressPolicy)
    credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    signing_keys: tuple[bytes, ...] = field(default=(), repr=False)
    timeout_ms: int = CALLBACK_TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: Mapping[str, str]


class CallbackSender:
    """A `delivery.ports.Sender`. Holds no state between sends except its session."""

    def __init__(
        self,
        settings: CallbackSettings,
        *,
        now_ms: Callable[[], int],
        open_session: Callable[[EgressPolicy], aiohttp.ClientSession] = guarded_session,
    ) -> None:
        self._settings = settings
        self._credentials = Credentials(settings.credentials)
        self._now_ms = now_ms
        self._open_session = open_session
        self._session: aiohttp.ClientSession | None = None

    async def ready(self, row: OutboxRow) -> str | None:
        """Nobody is asked first: a consumer has no readiness address."""
        del row
        return None

    async def send(self, row: OutboxRow) -> Answer:
        """Send once and say what came back."""
        event = row.payload.get("event")
        ident = event.get("event_id") if isinstance(event, dict) else None
        if not isinstance(ident, str) or not ident or "." in ident:
            return _no("invalid_payload", "the stored callback holds no event")
        body = msgspec.json.encode(event)
        fault = url_fault(row.route, self._settings.policy)
        if fault is not None:
            return _no("configuration_error", f"the callback address is not allowed: {fault}")
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                return await self._exchange(URL(row.route), row.key, ident, body)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return _unsent(error)

    async def aclose(self) -> None:
        """Close the session. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(self, url: URL, key: str, ident: str, body: bytes) -> Answer:
        reply = await self._post(url, key, ident, body)
        target = _redirected(url, reply)
        if target is None:
            return read_callback_answer(reply.status, reply.headers, now_ms=self._now_ms())
        fault = _redirect_fault(url, target, self._settings.policy)
        if fault is not None:
            return _no("configuration_error", fault, reply.status)
        reply = await self._post(target, key, ident, body)
        if _redirected(target, reply) is not None:
            return _no("configuration_error", "the receiver redirects more than once", reply.status)
        return read_callback_answer(reply.status, reply.headers, now_ms=self._now_ms())

    async def _post(self, url: URL, key: str, ident: str, body: bytes) -> _Reply:
        headers = {"Content-Type": "application/json", DELIVERY_HEADER: "job-event", KEY_HEADER: _header_text(key)}
        token = self._credentials.token_for(url)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self._settings.signing_keys:
            headers |= signature_headers(self._settings.signing_keys, ident, self._now_ms() // 1000, body)
        if self._session is None:
            self._session = self._open_session(self._settings.policy)
        async with self._session.post(
            url, data=body, headers=headers, allow_redirects=False, skip_auto_headers=_NOT_SENT
        ) as response:
            # The status has said everything. Reading a little more is a courtesy to receivers that are still writing;
            # how it ends changes nothing.
            with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with asyncio.timeout(_DRAIN_S):
                    await _drain(response)
            return _Reply(response.status, response.headers)


def read_callback_answer(status: int, headers: Mapping[str, str], *, now_ms: int) -> Answer:
    """What a status means. `headers` is a case-insensitive mapping; `now_ms` is for a Retry-After that names a date."""
    if 200 <= status < 300:
        return Answer(AnswerClass.ACCEPTED, status=status)
    if status == 409:
        return Answer(AnswerClass.REPLAYED, status=status)  # the consumer has this event already
    wait = retry_after_ms(headers.get("Retry-After"), now_ms)
    if status == 429:
        return _later("rate_limited", "the receiver asks for a pause (429)", status, wait)
    if status >= 500:
        return _later("remote_5xx", f"the receiver answered {status}", status, wait)
    if status >= 400:
        return _no("remote_4xx", f"the receiver answered {status}", status)
    return _later("internal_error", f"the receiver answered with status {status}", status, None)


def _redirected(url: URL, reply: _Reply) -> URL | None:
    """Where a redirect leads, None when the answer is none.

    Raises:
        ValueError: the address in it cannot be read.
    """
    location = reply.headers.get("Location")
    return url.join(URL(location)) if reply.status in _REDIRECTS and location else None


def _redirect_fault(url: URL, target: URL, policy: EgressPolicy) -> str | None:
    if not same_origin(url, target):
        return one_line(f"the receiver redirects to {target.scheme}://{target.raw_host}; that is not followed")
    fault = url_fault(str(target), policy)
    return f"the receiver redirects to an address that is not allowed: {fault}" if fault is not None else None


async def _drain(response: aiohttp.ClientResponse) -> None:
    left = BODY_LIMIT
    while left > 0:
        chunk = await response.content.read(left)
        if not chunk:
            return
        left -= len(chunk)


def _unsent(error: Exception) -> Answer:
    """No answer arrived. Addresses and error texts stay out: they may hold credentials."""
    cause: Any = getattr(error, "os_error", error)
    if isinstance(cause, BlockedAddress):
        return _no("configuration_error", f"the callback address is not allowed: {cause}")
    if isinstance(error, TimeoutError):
        return _later("network_timeout", "the receiver did not answer in time", None, None)
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)) or not isinstance(
        error, (aiohttp.ClientError, OSError)
    ):
        return _no("configuration_error", "the callback address, or where it redirects to, cannot be used")
    return _later("network_timeout", f"no answer from the receiver ({type(error).__name__})", None, None)


def _header_text(key: str) -> str:
    """The key as it stands; encoded where a header cannot carry it."""
    return key if key.isascii() and key.isprintable() else quote(key, safe=":/@!$&'()*+,;=~-._ ")


def _later(error_class: str, detail: str, status: int | None, wait: int | None) -> Answer:
    return Answer(AnswerClass.RETRYABLE, error_class=error_class, detail=detail, retry_after_ms=wait, status=status)


def _no(error_class: str, detail: str, status: int | None = None) -> Answer:
    return Answer(AnswerClass.PERMANENT, error_class=error_class, detail=one_line(detail), status=status)
