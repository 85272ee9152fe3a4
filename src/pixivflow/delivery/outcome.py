"""The sender of rows of the kind `outcome`: an order that came to nothing, told to the consumer of its route.

The row names the route; its address (`refetchOutcomeUrl`) and its headers are asked for when the message is sent, so
that a changed configuration counts for messages that still wait. An answer means what it means for a callback, except
that a redirect is a wrong address. Nothing that happens here changes the job.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import aiohttp
import msgspec

from pixivflow.delivery.answer import BODY_LIMIT
from pixivflow.delivery.callback import read_callback_answer
from pixivflow.delivery.multipart import DELIVERY_HEADER, KEY_HEADER, direct_session
from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.delivery import Answer, AnswerClass

OUTCOME_TIMEOUT_MS: Final = 30_000
_DRAIN_S: Final = 2.0
# What describes the body, the connection or the message is ours.
_OURS: Final = frozenset(
    {"content-type", "content-length", "transfer-encoding", "connection", "expect", "accept-encoding", "host"}
    | {KEY_HEADER.lower(), DELIVERY_HEADER.lower()}
)


@dataclass(frozen=True, slots=True)
class OutcomePlace:
    """Where outcomes of a route go. `headers` may hold secrets and are never shown."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class OutcomeSender:
    """A `delivery.ports.Sender`. Holds no state between sends except its session."""

    def __init__(
        self,
        place: Callable[[str], OutcomePlace | None],
        *,
        now_ms: Callable[[], int],
        timeout_ms: int = OUTCOME_TIMEOUT_MS,
        open_session: Callable[[], aiohttp.ClientSession] = direct_session,
    ) -> None:
        """Take the parts. `place` says where a route's outcomes go now, None when nowhere."""
        self._place = place
        self._now_ms = now_ms
        self._timeout_s = timeout_ms / 1000
        self._open_session = open_session
        self._session: aiohttp.ClientSession | None = None

    async def ready(self, row: OutboxRow) -> str | None:
        """Nobody is asked first: the readiness address is about submissions."""
        del row
        return None

    async def send(self, row: OutboxRow) -> Answer:
        """Send once and say what came back."""
        body = row.payload.get("outcome")
        if not isinstance(body, dict) or not body.get("request_id"):
            return _no("invalid_payload", "the stored message holds no outcome")
        place = self._place(row.route)
        if place is None:
            return _no("configuration_error", f"route {row.route[:80]!r} has no address for outcomes any more")
        try:
            async with asyncio.timeout(self._timeout_s):
                status, headers = await self._post(place, row.key, msgspec.json.encode(body))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return _unsent(error)
        if 300 <= status < 400:
            return _no("configuration_error", f"the receiver redirects ({status}); redirects are not followed", status)
        return read_callback_answer(status, headers, now_ms=self._now_ms())

    async def aclose(self) -> None:
        """Close the session. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, place: OutcomePlace, key: str, body: bytes) -> tuple[int, Mapping[str, str]]:
        if self._session is None:
            self._session = self._open_session()
        headers = {
            **{name: value for name, value in place.headers.items() if name.lower() not in _OURS},
            "Content-Type": "application/json",
            DELIVERY_HEADER: "outcome",
            KEY_HEADER: quote(key, safe=":/@!$&'()*+,;=~-._ "),
        }
        async with self._session.post(place.url, data=body, headers=headers, allow_redirects=False) as response:
            # The status has said everything; how the rest ends changes nothing.
            with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with asyncio.timeout(_DRAIN_S):
                    await response.content.read(BODY_LIMIT)
            return response.status, response.headers


def _unsent(error: Exception) -> Answer:
    """No answer arrived. Addresses and error texts stay out: they may hold credentials."""
    if isinstance(error, TimeoutError):
        return _later("the receiver did not answer in time")
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
        return _no("configuration_error", "the address for outcomes cannot be used")
    if isinstance(error, (aiohttp.ClientError, OSError)):
        return _later(f"no answer from the receiver ({type(error).__name__})")
    return _no("configuration_error", "a header of the route cannot be sent")


def _no(error_class: str, detail: str, status: int | None = None) -> Answer:
    return Answer(AnswerClass.PERMANENT, error_class=error_class, detail=detail, status=status)


def _later(detail: str) -> Answer:
    return Answer(AnswerClass.RETRYABLE, error_class="network_timeout", detail=detail)
