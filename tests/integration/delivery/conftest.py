"""A receiver on a real socket, a library with files in it, and rows to send."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pixivflow.delivery.intent import JobContext, build_payload
from pixivflow.delivery.memory import MemoryOutbox, MemoryRow
from pixivflow.delivery.multipart import HttpMultipartRoute, MultipartSettings
from pixivflow.delivery.worker import DeliveryWorker, WorkerSettings
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Asset, AssetRole, Author, Tag, Work, WorkRef, WorkType

Script = Callable[[web.Request, "Seen"], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request as the receiver read it."""

    headers: dict[str, str]
    fields: dict[str, list[str]]
    files: list[tuple[str, str | None, str, bytes]]

    @property
    def key(self) -> str:
        return self.fields["idempotency_key"][0]


@dataclass
class Receiver:
    """Shows each key once, like a receiver that knows idempotency keys; `script` may answer a request first."""

    base: str = ""
    seen: list[Seen] = field(default_factory=list)
    visible: dict[str, int] = field(default_factory=dict)
    script: list[Script] = field(default_factory=list)
    ready_status: list[int] = field(default_factory=list)
    asked_ready: int = 0

    @property
    def url(self) -> str:
        return f"{self.base}/submit"

    def store(self, seen: Seen) -> web.Response:
        known = seen.key in self.visible
        ident = self.visible.setdefault(seen.key, len(self.visible) + 1)
        data = {"review_id": f"rv-{ident}", "status": "pending", "reused": known}
        if known:
            data |= {"matched_idempotency_key": seen.key, "reuse_reason": "idempotency_key"}
        return web.json_response({"ok": True, "data": data}, status=200 if known else 201)

    async def submit(self, request: web.Request) -> web.StreamResponse:
        fields: dict[str, list[str]] = {}
        files = []
        async for part in await request.multipart():
            body = bytes(await part.read())
            if part.filename is None:
                fields.setdefault(part.name, []).append(body.decode())
            else:
                files.append((part.name, part.filename, part.headers["Content-Type"], body))
        seen = Seen({key.lower(): value for key, value in request.headers.items()}, fields, files)
        self.seen.append(seen)
        if self.script:
            return await self.script.pop(0)(request, seen)
        return self.store(seen)

    async def ready(self, request: web.Request) -> web.Response:
        self.asked_ready += 1
        return web.Response(status=self.ready_status.pop(0) if self.ready_status else 204)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/submit", found.submit)
    app.router.add_get("/ready", found.ready)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


class SteppedClock:
    """Wall time that moves only when a test says so; sleeping waits for the real event loop as the worker expects."""

    def __init__(self) -> None:
        self.at_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.at_ms

    def now(self) -> float:
        return self.at_ms / 1000

    def monotonic(self) -> float:
        return self.at_ms / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Bench:
    """A worker with its outbox, routes and files."""

    root: Path
    clock: SteppedClock
    outbox: MemoryOutbox
    routes: dict[str, HttpMultipartRoute]
    worker: DeliveryWorker
    wake: asyncio.Event

    def route(self, name: str, settings: MultipartSettings) -> HttpMultipartRoute:
        self.routes[name] = HttpMultipartRoute(name, settings, now_ms=self.clock.now_ms)
        return self.routes[name]

    def asset(self, path: str, content: bytes, role: AssetRole = AssetRole.PAGE, number: int = 0) -> Asset:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        mime = "image/jpeg" if role is AssetRole.PAGE else "text/plain"
        return Asset(role, number, path, len(content), hashlib.sha256(content).hexdigest(), mime)

    def payload(
        self,
        assets: list[Asset] | None = None,
        *,
        route: str = "main",
        job: str = "morning@1",
        key: str | None = None,
        work_id: str = "77",
        title: str = "夜の海",
        fields: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        work = Work(
            WorkRef(WorkType.ILLUSTRATION, work_id),
            title=title,
            author=Author("5", "Aoi"),
            tags=(Tag("海"), Tag("夜")),
            bookmarks=12_345,
        )
        context = JobContext(job, "manual" if key else "cron", "morning", self.clock.now_ms(), key, requested=bool(key))
        target = Target("sea", WorkType.ILLUSTRATION, Mode.SEARCH, tag="海", routes=(route,), fields=fields or {})
        assets = assets if assets is not None else [self.asset(f"sea/{work_id}_p0.jpg", b"\xff\xd8jpeg")]
        return build_payload(work=work, assets=assets, job=context, target=target, route=route)

    def queue(self, payload: dict[str, Any], *, max_attempts: int = 8) -> MemoryRow:
        return self.outbox.add(
            payload["route"], payload, key=payload["key"], job=payload["job_id"], max_attempts=max_attempts
        )

    def later(self, ms: int) -> None:
        self.clock.at_ms += ms


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    root = tmp_path / "library"
    root.mkdir()
    clock = SteppedClock()
    outbox = MemoryOutbox(clock.now_ms, base_ms=1_000, max_ms=60_000)
    routes: dict[str, HttpMultipartRoute] = {}
    wake = asyncio.Event()
    settings = WorkerSettings(stop_grace_s=0.2)
    worker = DeliveryWorker(outbox, routes, root, clock=clock, random=lambda: 1.0, wake=wake, settings=settings)
    yield Bench(root, clock, outbox, routes, worker, wake)
    await worker.stop()
    for route in routes.values():
        await route.aclose()
