"""Files of the media hosts, streamed. What arrives is counted; what it is, the reader checks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

import aiohttp

from pixivflow.sources.errors import (
    Forbidden,
    NetworkFailed,
    NotFound,
    RateLimited,
    ShapeChanged,
    SourceError,
    Unavailable,
)
from pixivflow.sources.pixiv.config import PixivSourceConfig
from pixivflow.sources.pixiv.endpoints import ForeignAddress
from pixivflow.sources.pixiv.gate import MediaGate
from pixivflow.sources.pixiv.transport import Transport, named_error

MOST_REDIRECTS = 3
DEFAULT_PAUSE_S = 5.0
_CHUNK = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class HttpMediaStream:
    """An open answer of a media host."""

    def __init__(self, response: aiohttp.ClientResponse, url: str) -> None:
        self.status = response.status
        self.content_type = response.headers.get("Content-Type")
        self.content_length = _length(response.headers.get("Content-Length"))
        self.url = url
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body. Raises NetworkFailed or TimedOut when it breaks off, also when its length is not the promised."""
        received = 0
        try:
            async for chunk in self._response.content.iter_chunked(_CHUNK):
                received += len(chunk)
                yield chunk
        except (aiohttp.ClientError, OSError) as error:  # OSError: asyncio's TimeoutError is one
            raise named_error(error, "media") or error from None
        if self.content_length is not None and received != self.content_length:
            raise NetworkFailed(f"media: {received} bytes of {self.content_length} arrived", endpoint="media")


class MediaDoor:
    """Opens media addresses; the account's token is never sent there."""

    def __init__(self, config: PixivSourceConfig, transport: Transport, gate: MediaGate) -> None:
        self._config = config
        self._transport = transport
        self._gate = gate

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator[HttpMediaStream]:
        """Open a file. One try: a broken stream must be started anew by its reader, who therefore owns the repeats.

        Raises ShapeChanged for an address that is not the site's, else what `ports.Source.media` says. A RateLimited
        has already paused the media gate: the next `open` waits as long as the site asked for.
        """
        seconds = self._config.media_timeout_s
        if urlsplit(url).path.endswith(".zip"):
            seconds = self._config.archive_timeout_s
        async with self._gate.place():
            here = url
            for _ in range(MOST_REDIRECTS + 1):
                async with self._transport.stream(self._route(here), timeout_s=seconds) as response:
                    if response.status not in _REDIRECTS:
                        self._check(response)
                        yield HttpMediaStream(response, here)
                        return
                    here = self._target(here, response.headers.get("Location"))
            raise Unavailable(f"media: more than {MOST_REDIRECTS} redirects", endpoint="media")

    def _route(self, url: str) -> str:
        try:
            return self._config.endpoints.route_media(url)
        except ForeignAddress as error:
            raise ShapeChanged(f"media: {error}", endpoint="media") from None

    def _target(self, here: str, location: str | None) -> str:
        if not location:
            raise Unavailable("media: a redirect without a target", endpoint="media")
        try:
            return self._config.endpoints.unroute_media(urljoin(here, location))
        except ValueError:
            raise Unavailable("media: a redirect to an unreadable address", endpoint="media") from None

    def _check(self, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status == 429:
            asked = self._transport.retry_after_s(response.headers)
            seconds = DEFAULT_PAUSE_S if asked is None else asked
            self._gate.pause(seconds)
            raise RateLimited("media: the host limits the rate", retry_after_s=seconds, status=status, endpoint="media")
        if status != 200:
            raise _refusal(status)
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            # Stored as it came, it would not be the file; and nobody asked for it.
            raise Unavailable(f"media: the file came packed ({encoding[:20]})", status=status, endpoint="media")


def _refusal(status: int) -> SourceError:
    text = f"media: HTTP {status}"
    if status in (404, 410):
        return NotFound(text, status=status, endpoint="media")
    if status in (401, 403, 451):
        return Forbidden(text, status=status, endpoint="media")
    return Unavailable(text, status=status, endpoint="media")


def _length(header: str | None) -> int | None:
    return int(header) if header is not None and header.isascii() and header.isdigit() else None
