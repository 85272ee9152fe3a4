"""Bytes over the wire: aiohttp, bounded and without surprises. It decides nothing about what an answer means."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from pixivflow.sources.errors import NetworkFailed, ShapeChanged, TimedOut, Unavailable
from pixivflow.sources.pixiv.answers import Reply, retry_after_s
from pixivflow.sources.pixiv.config import PixivSourceConfig, app_headers
from pixivflow.sources.pixiv.gate import Clock

LARGEST_BODY = 16 * 1024 * 1024
_CONNECT_S = 15.0
_STALL_S = 30.0


class Transport:
    """The account's connections: one pool for the API, one for media, opened when first needed."""

    def __init__(self, config: PixivSourceConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._api: aiohttp.ClientSession | None = None
        self._media: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, headers: Mapping[str, str], timeout_s: float, endpoint: str) -> Reply:
        """GET a body into memory. Redirects are not followed: an API answers itself."""
        return await self._call("GET", url, headers=headers, form=None, timeout_s=timeout_s, endpoint=endpoint)

    async def post(
        self, url: str, form: Mapping[str, str], *, headers: Mapping[str, str], timeout_s: float, endpoint: str
    ) -> Reply:
        """POST a form."""
        return await self._call("POST", url, headers=headers, form=form, timeout_s=timeout_s, endpoint=endpoint)

    @asynccontextmanager
    async def stream(self, url: str, *, timeout_s: float) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a media file. The body is left unread and as it is on the wire."""
        if self._media is None:
            self._media = self._session(auto_decompress=False)
        headers = {**app_headers(self._config.user_agent), "Accept-Encoding": "identity"}
        with _named("media"):
            response = await self._media.get(
                URL(url, encoded=True),
                headers=headers,
                proxy=self._config.proxy,
                allow_redirects=False,
                timeout=_limits(timeout_s),
            )
        # Only the opening is renamed: what the reader raises (a full disk) is the reader's.
        try:
            yield response
        finally:
            response.close()

    def retry_after_s(self, headers: Mapping[str, str]) -> float | None:
        """The pause that an answer asks for, in seconds."""
        return retry_after_s(headers.get("Retry-After"), self._clock.now())

    async def aclose(self) -> None:
        """Close all connections. A later call opens new ones."""
        sessions, self._api, self._media = (self._api, self._media), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
        timeout_s: float,
        endpoint: str,
    ) -> Reply:
        if self._api is None:
            self._api = self._session(auto_decompress=True)
        with _named(endpoint):
            async with self._api.request(
                method,
                URL(url, encoded=True),
                data=form,
                headers=headers,
                proxy=self._config.proxy,
                allow_redirects=False,
                timeout=_limits(timeout_s),
            ) as response:
                body = await _bounded(response, endpoint)
                return Reply(
                    status=response.status,
                    body=body,
                    content_type=response.headers.get("Content-Type", ""),
                    retry_after_s=self.retry_after_s(response.headers),
                )

    def _session(self, *, auto_decompress: bool) -> aiohttp.ClientSession:
        # Cookies are never kept: the app does not use them, and they would tie runs together. The environment's proxy
        # variables are the configuration's business, which passes the winner in.
        return aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=auto_decompress,
            trust_env=False,
            connector=aiohttp.TCPConnector(limit=16),
            middlewares=(_no_silent_repeats,),
        )


async def _no_silent_repeats(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Name a broken connection here, before the library sends the same request a second time by itself.

    That second request would pass the gate unseen, and one probe after a cooldown would be two.
    """
    try:
        return await send(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise NetworkFailed(f"no answer ({type(error).__name__})") from None


def _limits(timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=timeout_s, connect=min(_CONNECT_S, timeout_s), sock_read=min(_STALL_S, timeout_s)
    )


async def _bounded(response: aiohttp.ClientResponse, endpoint: str) -> bytes:
    """The body, unpacked, up to a limit no honest answer comes near."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > LARGEST_BODY:
            raise ShapeChanged(f"{endpoint}: the answer is larger than {LARGEST_BODY} bytes", status=response.status)
        chunks.append(chunk)
    return b"".join(chunks)


class _named:  # noqa: N801 - reads as a statement: `with _named(endpoint):`
    """Turn what the network library raises into our errors. Their texts may hold addresses, so only kinds are told."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Rename the error, if it is one of the network's."""
        named = named_error(error, self._endpoint)
        if named is not None:
            raise named from None


def named_error(error: BaseException | None, endpoint: str) -> Unavailable | None:
    """Our name for an error of the network library, None for any other."""
    if isinstance(error, NetworkFailed) and error.endpoint is None:
        return NetworkFailed(f"{endpoint}: {error}", endpoint=endpoint)
    if isinstance(error, asyncio.TimeoutError):
        return TimedOut(f"{endpoint}: no answer in time", endpoint=endpoint)
    if isinstance(error, (aiohttp.ClientError, OSError)):
        return NetworkFailed(f"{endpoint}: no whole answer ({type(error).__name__})", endpoint=endpoint)
    return None
