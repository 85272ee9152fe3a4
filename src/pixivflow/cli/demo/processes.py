"""Starting our own programs as separate processes, and stopping exactly those."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean

_READY_S: Final = 30.0
_STOP_S: Final = 10.0
_SHOWN: Final = 300
_FOREIGN: Final = ("PIXIV_", "PIXIVFLOW_", "SCHEDULER_", "CACHE_")
_FOREIGN_NAMES: Final = frozenset({"PORT", "HOST"})


def environment(base: Mapping[str, str], **added: str) -> dict[str, str]:
    """The environment of a child: without the settings and secrets of whoever runs the demo."""
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith(_FOREIGN) and name not in _FOREIGN_NAMES and not name.lower().endswith("_proxy")
    }
    return {**kept, **added}


class Child:
    """One `pixivflow` process that says in a JSON line when it is ready."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._draining: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, name: str, *arguments: str, log: Path, env: Mapping[str, str]) -> tuple[Child, dict[str, Any]]:
        """Start it and wait until it is ready. Returns it with what it said.

        Raises:
            Stop: FAILURE with its last words.
        """
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "pixivflow",
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=env,
                # A Ctrl-C at the terminal is for the demo, which then stops its processes in order.
                start_new_session=True,
            )
        child = cls(name, process, log)
        try:
            said = await asyncio.wait_for(child._line(), _READY_S)
        except TimeoutError:
            said = None
        except BaseException:
            await child.stop()
            raise
        if said is None or said.get("event") != "ready":
            await child.stop()
            raise child.broken("did not start")
        child._draining = asyncio.create_task(child._drain())
        return child, said

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    async def stop(self) -> int:
        """Ask it to end, make it after a while. Returns how it ended."""
        if self.running:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_S)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        if self._draining is not None:
            await self._draining
        return int(self._process.returncode or 0)

    def broken(self, what: str) -> Stop:
        """What to say when it did not do its part."""
        words = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = clean(words[-1])[-_SHOWN:] if words else "it said nothing"
        return Stop(Exit.FAILURE, f"{self.name} {what}: {last}", hint=f"its log is {clean(self.log)}")

    async def _line(self) -> dict[str, Any] | None:
        if self._process.stdout is None:
            return None
        raw = await self._process.stdout.readline()
        with contextlib.suppress(ValueError):
            said = json.loads(raw)
            return said if isinstance(said, dict) else None
        return None

    async def _drain(self) -> None:
        """Read what it still says: a full pipe would stop it."""
        if self._process.stdout is not None:
            while await self._process.stdout.read(65536):
                pass
