"""The route `httpMultipart`: a work as one multipart form, streamed from disk to a receiver.

Every try carries the same key, in the form and in a header, so a receiver that stored a try whose answer was lost shows
the work once. Connections are not kept: deliveries are rare, and a kept connection that died meanwhile costs a try.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp

from pixivflow.delivery.answer import BODY_LIMIT, AckPaths, one_line, read_answer
from pixivflow.delivery.form import KEY_FIELD, ArrayFormat, build_form, field_fault, text_fields
from pixivflow.delivery.limits import Limits, limit_fault
from pixivflow.delivery.ports import DeliveryItem
from pixivflow.delivery.upload import FileChanged, Upload, check_files
from pixivflow.domain.delivery import Answer, AnswerClass

KEY_HEADER = "X-Idempotency-Key"
DELIVERY_HEADER = "X-PixivFlow-Delivery"

_OURS = frozenset(
    {"content-type", "content-length", "transfer-encoding", "connection", "expect", "accept-encoding"}
    | {KEY_HEADER.lower(), DELIVERY_HEADER.lower()}
)
_SECRET_LENGTH_MIN = 6


@dataclass(frozen=True, slots=True)
class MultipartSettings:
    """How a receiver is spoken to. Names follow the configuration of `httpMultipart`.

    Attributes:
        headers: sent with every request; they may hold secrets and are never shown.
        fields: form fields; texts are templates.
        timeout_ms: for a whole send, answer included.
        ready_timeout_ms: for the question whether the receiver is ready.
    """

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    file_field: str = "files"
    preview_file_field: str = "previews"
    fields: Mapping[str, Any] = field(default_factory=dict)
    array_format: ArrayFormat = "comma"
    readiness_url: str | None = None
    auto_idempotency_key: bool = True
    ack: AckPaths = field(default_factory=AckPaths)
    limits: Limits = field(default_factory=Limits)
    timeout_ms: int = 300_000
    ready_timeout_ms: int = 3_000


def direct_session() -> aiohttp.ClientSession:
    """A session without kept connections, cookies or a proxy."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    )


class HttpMultipartRoute:
    """Sends works to one receiver. Holds no state between sends except its session."""

    def __init__(
        self,
        name: str,
        settings: MultipartSettings,
        *,
        now_ms: Callable[[], int],
        open_session: Callable[[], aiohttp.ClientSession] = direct_session,
        boundary: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        """Take the settings; connect later.

        Raises:
            ValueError: a header's name or value cannot be sent (the value is not in the text).
        """
        self.name = name
        self.min_interval_ms = settings.limits.min_send_interval_ms
        self._settings = settings
        self._now_ms = now_ms
        self._open_session = open_session
        self._boundary = boundary
        self._session: aiohttp.ClientSession | None = None
        # Headers that describe the body are ours: a configured Content-Type would lose the boundary.
        self._headers = {key: value for key, value in settings.headers.items() if key.lower() not in _OURS}
        for key, value in self._headers.items():
            if not key.isascii() or not key.isprintable() or " " in key or ":" in key or not _plain(value):
                raise ValueError(f"header {key[:60]!r} of route {name!r} cannot be sent")

    async def ready(self) -> str | None:
        """Ask the readiness address, if there is one."""
        url = self._settings.readiness_url
        if url is None:
            return None
        try:
            async with (
                asyncio.timeout(self._settings.ready_timeout_ms / 1000),
                self._opened().get(url, headers=self._headers, allow_redirects=False) as response,
            ):
                status = response.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return f"the receiver is not reachable ({_name(error)})"
        return None if 200 <= status < 300 else f"the receiver says it is not ready ({status})"

    async def send(self, item: DeliveryItem) -> Answer:
        """Send once. What is wrong with the item itself ends the delivery before any byte leaves."""
        settings = self._settings
        fault = field_fault(item, settings.fields)
        if fault is not None:
            return _refused("configuration_error", fault)
        fault = limit_fault(item, settings.limits) or await asyncio.to_thread(check_files, item.files)
        if fault is not None:
            return _refused("invalid_payload", fault)
        fields = text_fields(item, settings.fields, settings.array_format, auto_key=settings.auto_idempotency_key)
        form = build_form(
            fields,
            item.files,
            boundary=self._boundary(),
            file_field=settings.file_field,
            preview_field=settings.preview_file_field,
        )
        keys = {item.key, *(text for name, text in fields if name == KEY_FIELD)}
        upload = Upload(form)
        try:
            async with asyncio.timeout(settings.timeout_ms / 1000):
                status, headers, body = await self._exchange(item, upload)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            answer = _unsent(error)
        else:
            answer = read_answer(
                status,
                headers,
                body[:BODY_LIMIT],
                ack=settings.ack,
                keys=keys,
                now_ms=self._now_ms(),
                cut=len(body) > BODY_LIMIT,
            )
        finally:
            upload.close()
        if upload.fault is not None:  # whatever came back, what was sent was not the work
            return _refused("invalid_payload", str(upload.fault))
        return self._scrubbed(answer)

    async def aclose(self) -> None:
        """Close the session. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(self, item: DeliveryItem, upload: Upload) -> tuple[int, Mapping[str, str], bytes]:
        headers = {
            **self._headers,
            "Content-Type": upload.form.content_type,
            # Explicit, so that the body is never sent chunked: many receivers and proxies buffer or refuse that.
            "Content-Length": str(upload.form.length),
            "Accept-Encoding": "identity",
            KEY_HEADER: quote(item.key, safe=":/@!$&'()*+,;=~-._ "),
            DELIVERY_HEADER: "submission",
        }
        async with self._opened().request(
            self._settings.method,
            self._settings.url,
            data=upload.chunks(),
            headers=headers,
            allow_redirects=False,
        ) as response:
            body = bytearray()
            while len(body) <= BODY_LIMIT:
                chunk = await response.content.read(BODY_LIMIT + 1 - len(body))
                if not chunk:
                    break
                body += chunk
            return response.status, response.headers, bytes(body)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = self._open_session()
        return self._session

    def _scrubbed(self, answer: Answer) -> Answer:
        """A receiver may quote what it was sent; what stood in our headers must not end in a log through its answer."""
        detail = answer.detail
        if detail is None:
            return answer
        for value in self._headers.values():
            for secret in sorted({value, *value.split()}, key=len, reverse=True):
                if len(secret) >= _SECRET_LENGTH_MIN:
                    detail = detail.replace(secret, "[secret]")
        return Answer(
            answer.answer,
            remote_id=answer.remote_id,
            error_class=answer.error_class,
            detail=one_line(detail),
            retry_after_ms=answer.retry_after_ms,
            status=answer.status,
        )


def _refused(error_class: str, detail: str) -> Answer:
    return Answer(AnswerClass.PERMANENT, error_class=error_class, detail=one_line(detail))


def _unsent(error: Exception) -> Answer:
    """No whole answer arrived. Addresses and error texts stay out: they may hold credentials."""
    if isinstance(error, FileChanged):
        return _refused("invalid_payload", str(error))
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
        return _refused("configuration_error", "the receiver's address cannot be used")
    if isinstance(error, TimeoutError):
        return Answer(
            AnswerClass.RETRYABLE, error_class="network_timeout", detail="the receiver did not answer in time"
        )
    detail = f"no whole answer from the receiver ({_name(error)})"
    return Answer(AnswerClass.RETRYABLE, error_class="network_timeout", detail=detail)


def _name(error: Exception) -> str:
    return type(error).__name__


def _plain(value: str) -> bool:
    return not any((ord(char) < 0x20 and char != "\t") or ord(char) == 0x7F for char in value)
