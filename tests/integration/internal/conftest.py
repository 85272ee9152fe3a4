"""The routes under `/internal` on a real socket: over parts that answer as told, and over a whole stack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import scene
from memory_jobs import MemoryJobs
from older_desk import MANUAL, NOW, TRIGGER, Client, Parts, ShiftedClock, Whole

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.internal import InternalPorts
from pixivflow.api.server import HttpServer
from pixivflow.bootstrap import Stack
from pixivflow.config import check_config
from pixivflow.sandbox import Sandbox


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
async def serve(parts: Parts) -> AsyncIterator[Callable[..., Any]]:
    """Start a server over `parts`; `ports` and `tokens` replace what stands behind and before it."""
    servers: list[HttpServer] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:

        async def start(*, ports: InternalPorts | None = None, tokens: Tokens | None = None, **options: Any) -> Client:
            internal = ports or InternalPorts(parts, parts, parts.drain)
            app = create_app(
                MemoryJobs(), tokens or Tokens(MANUAL, TRIGGER), now_ms=lambda: NOW, internal=internal, **options
            )
            server = HttpServer("127.0.0.1", 0, app)
            await server.start()
            servers.append(server)
            return Client(session, server.url)

        yield start
    for server in servers:
        await server.stop(1.0)


@pytest.fixture
async def api(serve: Callable[..., Any]) -> Client:
    client: Client = await serve()
    return client


@pytest.fixture
def open_whole(tmp_path: Path) -> Callable[..., Any]:
    """Open a `Whole`: `plans` replace the schedules, `found` lets the target `pictures` find the one work there is."""

    @asynccontextmanager
    async def opened(
        *,
        started: bool = True,
        found: bool = False,
        plans: list[dict[str, Any]] | None = None,
        at: str = "2026-05-10T10:02:00",
        targets: Mapping[str, Mapping[str, Any]] | None = None,
        **given: Any,
    ) -> AsyncIterator[Whole]:
        world, subjects = scene.build_world(["single"])
        async with Sandbox(scene.options(), world=world) as sandbox:
            document = scene.config_document(sandbox, **given)
            if plans is not None:
                document["schedules"] = plans
            for target in document["targets"]:
                target.update((targets or {}).get(target["id"], {}))
                if found and target["id"] == "pictures":
                    target["tag"] = subjects[0].tag
            checked = check_config(document, {}, base=tmp_path)
            assert checked.config is not None, checked.problems
            clock = ShiftedClock(at)
            stack = await Stack.open(checked.config, purpose="a test", clock=clock)
            server = HttpServer("127.0.0.1", 0, stack.app(Tokens(MANUAL, TRIGGER)))
            await server.start()
            try:
                if started:
                    await stack.start()
                async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
                    yield Whole(stack, sandbox, Client(session, server.url), subjects[0], clock)
            finally:
                await stack.stop(5.0)
                await server.stop(1.0)

    return opened
