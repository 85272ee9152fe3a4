"""Running a sandbox: inside a test as `async with Sandbox(...)`, or for a command line through `serve`."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from pixivflow.sandbox.fault_schema import load_rules, read_rules
from pixivflow.sandbox.media_paths import path_of
from pixivflow.sandbox.options import Addresses, SandboxOptions
from pixivflow.sandbox.proxy import ConnectProxy
from pixivflow.sandbox.receiver import Receiver
from pixivflow.sandbox.site import Site
from pixivflow.sandbox.tls import server_context
from pixivflow.sandbox.world import World, original_urls, zip_url

_SHUTDOWN_S = 2.0


class Sandbox:
    """A Pixiv-compatible server and a receiver of deliveries on one loopback port.

    `world` replaces the generated one. `tls_dir` turns TLS on and gets `ca.pem`; `proxy` adds a CONNECT proxy. A
    port of 0 takes a free one. Life: `start` returns when it listens, `stop` is safe to call twice.
    """

    def __init__(
        self,
        options: SandboxOptions | None = None,
        *,
        world: World | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls_dir: Path | None = None,
        tls_port: int = 0,
        proxy: bool = False,
        proxy_port: int = 0,
    ) -> None:
        self.options = options or SandboxOptions()
        self._given_world = world
        self._host = host
        self._port = port
        self._tls_dir = tls_dir
        self._tls_port = tls_port
        self._proxy_port = proxy_port if proxy or proxy_port else None
        self._site: Site | None = None
        self._web: web.Server | None = None
        self._listeners: list[asyncio.Server] = []
        self.proxy: ConnectProxy | None = None
        self._addresses: Addresses | None = None

    # -- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> Addresses:
        """Build the world and listen. Raises OSError for a port in use, TlsUnavailableError without `trustme`."""
        self._site = Site(self.options, self._given_world, clock=time.monotonic)
        self._web = web.Server(self._site, handler_cancellation=True, access_log=None)
        try:
            self._addresses = await self._listen()
        except BaseException:
            await self.stop()
            raise
        return self._addresses

    async def _listen(self) -> Addresses:
        port = await self._open(self._port, None)
        ca_file, tls_port, proxy_port = None, None, None
        if self._tls_dir is not None:
            context, path = server_context(self._tls_dir)
            ca_file, tls_port = str(path), await self._open(self._tls_port, context)
        if self._proxy_port is not None:
            tls = (self._host, tls_port) if tls_port is not None else None
            self.proxy = ConnectProxy(plain=(self._host, port), tls=tls, auth=self.options.proxy_auth)
            proxy_port = await self.proxy.start(self._host, self._proxy_port)
        return Addresses(self._host, port, tls_port, proxy_port, ca_file)

    async def _open(self, port: int, context: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(self._server, self._host, port, ssl=context, backlog=512)
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    @property
    def _server(self) -> web.Server:
        if self._web is None:
            raise RuntimeError("the sandbox is not running")
        return self._web

    async def stop(self) -> None:
        """Close every connection and listener; what stalls is let go."""
        if self.proxy is not None:
            await self.proxy.stop()
            self.proxy = None
        for listener in self._listeners:
            listener.close()
        if self._site is not None:
            self._site.release()
        if self._web is not None:
            self._web.pre_shutdown()
            await self._web.shutdown(_SHUTDOWN_S)
        for listener in self._listeners:
            await listener.wait_closed()
        self._listeners.clear()
        self._web = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # -- where -----------------------------------------------------------------------------------------------------

    @property
    def addresses(self) -> Addresses:
        """Where it listens. Raises RuntimeError before `start`."""
        if self._addresses is None:
            raise RuntimeError("the sandbox is not running")
        return self._addresses

    @property
    def base_url(self) -> str:
        """Plain HTTP root without a slash at the end."""
        return self.addresses.base_url

    def endpoints(self) -> dict[str, str]:
        """Values for `pixiv.endpoints`: api, oauth, web, media."""
        return self.addresses.endpoints()

    def receiver_url(self, name: str, channel: str = "submit") -> str:
        """Address of a receiver's channel: submit, callback, ready, outcome or notify."""
        return f"{self.base_url}/__sandbox__/receiver/{name}/{channel}"

    # -- what it holds and saw -------------------------------------------------------------------------------------

    @property
    def site(self) -> Site:
        """The simulated site behind the sockets. Raises RuntimeError before `start`."""
        if self._site is None:
            raise RuntimeError("the sandbox is not running")
        return self._site

    @property
    def world(self) -> World:
        """The data; changes count from the next request on."""
        return self.site.world

    def stats(self) -> dict[str, Any]:
        """The same document as `GET /__sandbox__/stats`."""
        return self.site.stats.document()

    def reset_stats(self) -> None:
        """Start counting anew."""
        self.site.stats.reset()

    def set_faults(self, rules: Iterable[dict[str, Any]]) -> None:
        """Put fault rules (the file's form) in force, counts at zero. Raises FaultFileError."""
        self.site.faults.replace(read_rules(list(rules)))

    def faults(self) -> list[dict[str, Any]]:
        """Rules in force with their counts."""
        return self.site.faults.document()

    def clear_faults(self) -> None:
        """Remove all fault rules."""
        self.site.faults.replace([])

    def release(self) -> None:
        """Let everything that stalls go on."""
        self.site.release()

    def expire_tokens(self) -> None:
        """End the life of every access token."""
        self.site.tokens.expire_all()

    def receiver(self, name: str) -> Receiver:
        """The receiver of that name."""
        return self.site.receivers.get(name)

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until the statistics satisfy a condition; looked at when a request starts and when it ends."""
        await self.site.pulse.until(lambda: condition(self.stats()))

    async def warm(self) -> int:
        """Make every original, archive, cover and uploaded picture now; returns their number."""
        return await self.site.media.warm()

    async def media_bytes(self, url: str) -> bytes:
        """Bytes served for a media URL. Raises LookupError if there is no such file."""
        path = path_of(url)
        made = await self.site.media.get(path) if path else None
        if made is None:
            raise LookupError(f"no such media file: {url}")
        return made.body

    async def original(self, work_id: int, page: int = 0) -> bytes:
        """Bytes of one original page of an illustration."""
        return await self.media_bytes(original_urls(self.world.illusts[work_id].record)[page])

    async def archive(self, work_id: int) -> bytes:
        """Bytes of an animation's archive, in the size its metadata names."""
        return await self.media_bytes(zip_url(self.world.illusts[work_id]))

    async def sha256(self, work_id: int, page: int = 0) -> str:
        """SHA-256 of one original page."""
        return hashlib.sha256(await self.original(work_id, page)).hexdigest()


async def serve(
    options: SandboxOptions,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    faults_file: Path | None = None,
    tls_dir: Path | None = None,
    tls_port: int = 0,
    proxy_port: int | None = None,
    ready: Callable[[Addresses], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Run a sandbox until `stop` is set (or the task is cancelled). Prints nothing; `ready` is told where it listens.

    Raises FaultFileError for a bad fault file (before anything listens), OSError for a port in use,
    TlsUnavailableError if TLS is asked for without the package that makes certificates. `proxy_port` None means no
    proxy, 0 a free port.
    """
    rules = load_rules(faults_file) if faults_file is not None else []
    sandbox = Sandbox(
        options,
        host=host,
        port=port,
        tls_dir=tls_dir,
        tls_port=tls_port,
        proxy=proxy_port is not None,
        proxy_port=proxy_port or 0,
    )
    async with sandbox:
        sandbox.site.faults.replace(rules)
        if ready is not None:
            ready(sandbox.addresses)
        await (stop or asyncio.Event()).wait()
