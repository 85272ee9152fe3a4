"""A clock that stands still until everybody waits for it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


class VirtualClock:
    """Time moves only when every task waits: then it jumps to the earliest wake-up."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self.time = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self.time + max(seconds, 0.0), self._count, wake))
        await wake

    async def settle(self) -> None:
        """Let every task run until it waits."""
        for _ in range(60):
            await asyncio.sleep(0)

    async def until(self, moment: float) -> None:
        """Let time pass up to a moment."""
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= moment:
            self._wake_next()
            await self.settle()
        self.time = max(self.time, moment)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end, letting time pass as needed."""
        task = asyncio.ensure_future(work)
        for _ in range(20_000):
            await self.settle()
            if task.done():
                return task.result()
            assert self._sleepers, "everybody waits and nobody for the clock"
            self._wake_next()
        raise AssertionError("no end in sight")

    def _wake_next(self) -> None:
        moment, _, wake = heapq.heappop(self._sleepers)
        self.time = max(self.time, moment)
        if not wake.done():
            wake.set_result(None)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def new_clock() -> type[VirtualClock]:
    """For property tests, which need a fresh clock for each example."""
    return VirtualClock
