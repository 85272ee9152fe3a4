"""Following the demo's jobs through the HTTP API, as an outside program would, and telling what happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.http import JobClient
from pixivflow.cli.job.show import ENDED, progress_line
from pixivflow.cli.output import clean, say

LIMIT_S: Final = 45.0
_POLL_S: Final = 0.1


class Watch:
    """Tells each change of each job once, with the seconds since the first order."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self._begun = time.monotonic()
        self._last_event: dict[str, str] = {}
        self._last_line: dict[str, str] = {}
        self.events: dict[str, list[str]] = {}

    async def until_ended(self, job_ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """All jobs by name, once they have ended.

        Args:
            job_ids: name to job id.

        Raises:
            Stop: INCOMPLETE when one has not ended in time.
        """
        ended: dict[str, dict[str, Any]] = {}
        while len(ended) < len(job_ids):
            for name, job_id in job_ids.items():
                if name not in ended and (job := await self._look(name, job_id)).get("status") in ENDED:
                    ended[name] = job
            if time.monotonic() - self._begun > LIMIT_S:
                late = ", ".join(sorted(set(job_ids) - set(ended)))
                raise Stop(Exit.INCOMPLETE, f"not ended within {LIMIT_S:g} s: {late}")
            await asyncio.sleep(_POLL_S)
        return ended

    async def _look(self, name: str, job_id: str) -> dict[str, Any]:
        job = await self._client.job(job_id)
        page = await self._client.events(job_id, after=self._last_event.get(job_id))
        line = progress_line(job)
        if line != self._last_line.get(name) and job.get("status") not in ENDED:
            self._last_line[name] = line
            self.tell(name, line)
        for event in page.get("events") or []:
            self._last_event[job_id] = str(event["event_id"])
            self.events.setdefault(name, []).append(str(event["type"]))
            self.tell(name, f"event {clean(event['type'])}")
        return job

    def tell(self, name: str, text: str) -> None:
        """A line with the time since the first order."""
        say(f"{time.monotonic() - self._begun:5.1f} s  {name:<13} {text}")
