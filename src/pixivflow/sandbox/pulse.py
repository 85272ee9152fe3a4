"""Waiting for a state instead of sleeping: whoever changes something beats, whoever waits looks again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Pulse:
    """A wake-up call for everyone who waits for a condition."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def beat(self) -> None:
        """Say that something changed."""
        for event in self._waiting:
            event.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return as soon as the condition holds; it is looked at once now and once after every beat."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            while not condition():
                event.clear()
                await event.wait()
        finally:
            self._waiting.discard(event)
