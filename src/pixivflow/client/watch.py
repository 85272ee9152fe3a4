"""Hearing that something may have happened to a job: from the event stream where there is one, else by the clock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Final, Self

from pixivflow.client.errors import ApiError, ClientError
from pixivflow.client.retry import may_work_later
from pixivflow.client.sse import Message
from pixivflow.client.transport import NothingFollows, Place, Transport

PATH: Final = "/events/stream"
POLL_S: Final = 1.0
"""Between two looks at a job of a server that has no stream."""
LOOK_S: Final = 10.0
"""Between two looks while the stream is open: what it does not tell is seen all the same."""


async def resumed(
    transport: Transport, query: Mapping[str, str], place: Place, patience_s: float | None = None
) -> AsyncGenerator[Message, None]:
    """The messages of the event stream over as many connections as it takes. Ends where the server says it ends.

    Args:
        transport: the server.
        query: what to read.
        place: where to begin; moved along.
        patience_s: how long to go on trying a server that does not answer; None for ever.

    Raises:
        ClientError: final, or patience is over.
    """
    world = transport.world
    away_since: float | None = None
    while True:
        pause = place.retry_s * world.random()
        try:
            async with aclosing(transport.stream(PATH, query, place)) as messages:
                async for message in messages:
                    yield message
            away_since = None
        except NothingFollows:
            return
        except ClientError as error:
            if not may_work_later(error):
                raise
            if place.reached:
                away_since, place.reached = None, False
            now = world.monotonic()
            away_since = now if away_since is None else away_since
            pause = place.retry_s * (0.5 + world.random())
            if isinstance(error, ApiError) and error.retry_after_s is not None:
                pause = max(pause, error.retry_after_s)
            if patience_s is not None and now + pause - away_since > patience_s:
                raise
        await world.sleep(pause)


class JobWatch:
    """Wakes whoever waits for a job. It only ever says "look again"; what is true is read from the server.

    Use as an async context manager.
    """

    def __init__(self, transport: Transport, job_id: str, *, after: str = "", poll_s: float = POLL_S) -> None:
        self._transport = transport
        self._job_id = job_id
        self._place = Place(after)
        self._poll_s = poll_s
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._listen(), name="job-watch")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def news(self) -> None:
        """Until it is worth looking again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S if self._place.open else self._poll_s):
                await self._news.wait()
        self._news.clear()

    async def _listen(self) -> None:
        # What is final here (no such job, no stream at this server, a wrong token) is met by the next look as well,
        # or does not matter: the clock goes on.
        with contextlib.suppress(ClientError):
            async with aclosing(resumed(self._transport, {"job_id": self._job_id}, self._place)) as messages:
                async for _ in messages:
                    self._news.set()
        self._news.set()
