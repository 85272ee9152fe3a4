"""Time that moves only when a test says so."""

from __future__ import annotations

import asyncio

START_MS = 1_800_000_000_000


class ManualClock:
    """`engine.clock.Clock`: wall and monotonic time run together; sleepers wake when their time has come."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._ms = start_ms
        self._sleepers: dict[asyncio.Event, tuple[int, float]] = {}
        self._changed = asyncio.Event()

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return self._ms

    def now(self) -> float:
        """Epoch seconds."""
        return self._ms / 1000

    def monotonic(self) -> float:
        """Seconds of a counter."""
        return self._ms / 1000

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the time that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        self._sleepers[woken] = (self._ms + round(seconds * 1000), seconds)
        self._changed.set()
        try:
            await woken.wait()
        finally:
            self._sleepers.pop(woken, None)

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self._ms += round(seconds * 1000)
        for woken, (due, _) in list(self._sleepers.items()):
            if due <= self._ms:
                woken.set()

    async def until_asleep(self, seconds: float) -> None:
        """Wait until somebody sleeps for exactly that long (to the microsecond) and has not been woken yet."""
        while not any(
            abs(length - seconds) < 1e-6 and not woken.is_set() for woken, (_, length) in self._sleepers.items()
        ):
            self._changed.clear()
            await self._changed.wait()
