"""Following a job over the wire until it has ended, also over a restart of its server."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.http import JobClient, Unreachable
from pixivflow.cli.job.show import ENDED, progress_line
from pixivflow.cli.output import clean, say

POLL_S: Final = 0.3
PATIENCE_S: Final = 60.0
"""How long a server may be away: a restart takes a few seconds, and the job is still there afterwards."""


async def until_ended(
    client: JobClient, job_id: str, *, timeout_s: float | None, live: bool, color: bool
) -> dict[str, Any]:
    """The job once it has ended; its progress is told on stderr.

    Raises:
        Stop: TRY_AGAIN when `timeout_s` is over; what the client raises.
    """
    teller = _Teller(live=live and sys.stderr.isatty() and color)
    limit = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        while True:
            job = await patiently(client.job, job_id)
            teller.tell(progress_line(job))
            if job.get("status") in ENDED:
                return job
            if limit is not None and time.monotonic() >= limit:
                text = f"the job has not ended within {timeout_s:g} s; it goes on"
                raise Stop(Exit.TRY_AGAIN, text, detail={"job": job})
            await asyncio.sleep(POLL_S)
    finally:
        teller.done()


async def patiently(ask: Callable[..., Awaitable[dict[str, Any]]], *what: Any, **how: Any) -> dict[str, Any]:
    """The answer to a call, waiting for a server that is away for a moment."""
    limit = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await ask(*what, **how)
        except Unreachable:
            if time.monotonic() >= limit:
                raise
            await asyncio.sleep(1)


async def pages(client: JobClient, job_id: str, *, after: str | None, follow: bool) -> AsyncIterator[dict[str, Any]]:
    """Pages of events in order; with `follow` until the one that ends the job."""
    async with client.watch(job_id, poll_s=POLL_S) if follow else contextlib.nullcontext() as watch:
        over = False
        while True:
            page = await (
                patiently(client.events, job_id, after=after) if follow else client.events(job_id, after=after)
            )
            events = [event for event in page.get("events") or [] if isinstance(event, dict)]
            if events:
                after = str(events[-1].get("event_id"))
            if events or not follow:
                yield page
            if any(_ends(event) for event in events):
                return
            if page.get("next_after"):
                continue
            if watch is None or over:
                return
            # Its last event may have come since: one more page, then it is over.
            over = (await patiently(client.job, job_id)).get("status") in ENDED
            if not over:
                await watch.news()


def _ends(event: dict[str, Any]) -> bool:
    return str(event.get("type", "")).removeprefix("job.") in ENDED


class _Teller:
    """One line that is written over on a terminal, a line for each change elsewhere."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._last = ""

    def tell(self, text: str) -> None:
        if text == self._last:
            return
        self._last = text
        if self._live:
            sys.stderr.write(f"\r\x1b[2K{clean(text)}")
            sys.stderr.flush()
        else:
            say(text)

    def done(self) -> None:
        if self._live and self._last:
            sys.stderr.write("\n")
