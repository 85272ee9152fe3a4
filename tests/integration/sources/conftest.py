"""A Pixiv source that speaks to a sandbox, with a clock that never really waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions
from pixivflow.sources.pixiv.config import PixivSourceConfig
from pixivflow.sources.pixiv.endpoints import Endpoints
from pixivflow.sources.pixiv.source import PixivSource
from pixivflow.sources.ports import MemoryAccountStore


class HurriedClock:
    """Starts at the real time; a sleep is over at once and the time has passed."""

    def __init__(self) -> None:
        self.time = time.time()
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)
        self.time += seconds


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def store() -> MemoryAccountStore:
    return MemoryAccountStore()


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Awaitable[Sandbox]]]:
    """Start sandboxes that stop with the test."""
    running: list[Sandbox] = []

    async def start(world: Any = None, **options: Any) -> Sandbox:
        sandbox = Sandbox(SandboxOptions(**{"seed": 7, "works": 80, **options}), world=world)
        await sandbox.start()
        running.append(sandbox)
        return sandbox

    yield start
    for sandbox in running:
        await sandbox.stop()


@pytest.fixture
async def connect(clock: HurriedClock, store: MemoryAccountStore) -> AsyncIterator[Callable[..., PixivSource]]:
    """Make sources that are closed with the test."""
    made: list[PixivSource] = []

    def source(sandbox: Sandbox, **settings: Any) -> PixivSource:
        config = PixivSourceConfig(
            **{
                "refresh_token": "sandbox-token",
                "endpoints": Endpoints(**sandbox.endpoints()),
                "pacing_s": 0.0,
                **settings,
            }
        )
        made.append(PixivSource(config, store, clock, lambda: 0.0))
        return made[-1]

    yield source
    for one in made:
        await one.aclose()
