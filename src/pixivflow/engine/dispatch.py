"""Carrying attempts to work inside this process: the embedded end of the dispatch port.

The ledger grants; this only carries. An attempt that is delivered twice, or too late, is turned away by the ledger when
it tries to start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pixivflow.ledger.ports import Tx

log = logging.getLogger(__name__)


class InlineDispatch:
    """Runs each granted attempt as a task of this process, and stops the ones the ledger tells it to forget."""

    def __init__(self) -> None:
        self._work: Callable[[str], Awaitable[None]] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._waiting: list[str] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self.outbox_wake = asyncio.Event()
        self.sweep_wake = asyncio.Event()
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._listeners: set[asyncio.Event] = set()

    # --- called inside transactions ---------------------------------------------------------------------------

    def dispatch(self, tx: Tx, attempt_id: str) -> None:
        """Carry an attempt to a worker once its grant is durable."""
        tx.after_commit(lambda: self._begin(attempt_id))

    def forget(self, tx: Tx, attempt_id: str) -> None:
        """Stop an attempt's work once its end is durable."""
        tx.after_commit(lambda: self.stop(attempt_id))

    def outbox(self, tx: Tx) -> None:
        """Wake the delivery worker."""
        tx.after_commit(self.outbox_wake.set)

    def moved(self, tx: Tx, job_id: str) -> None:
        """Wake those who wait for a job, and the sweep, which may have a new deadline to keep."""
        tx.after_commit(lambda: self._moved(job_id))

    def told(self, tx: Tx) -> None:
        """Wake those who read the public stream."""
        tx.after_commit(self._told)

    # --- called on the event loop -----------------------------------------------------------------------------

    def work(self, fn: Callable[[str], Awaitable[None]]) -> None:
        """Say what running an attempt means, and begin with what was granted meanwhile."""
        self._work = fn
        for attempt_id in self._waiting:
            self._begin(attempt_id)
        self._waiting.clear()

    def stop(self, attempt_id: str) -> None:
        """Cancel an attempt's task, if it runs here."""
        task = self._running.get(attempt_id)
        if task is not None:
            task.cancel()

    async def shut_down(self, grace_s: float) -> int:
        """Start nothing more, wait for what runs, then cancel it. Returns how many attempts were cut short."""
        self._work = None
        self._waiting.clear()
        tasks = list(self._running.values())
        if not tasks:
            return 0
        _, late = await asyncio.wait(tasks, timeout=max(0.0, grace_s))
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return len(late)

    @property
    def running(self) -> int:
        """How many attempts run here."""
        return len(self._running)

    def watch(self, job_id: str) -> asyncio.Event:
        """An event that is set whenever the job moves; give it back with `unwatch`."""
        event = asyncio.Event()
        self._watchers.setdefault(job_id, set()).add(event)
        return event

    def unwatch(self, job_id: str, event: asyncio.Event) -> None:
        """Stop watching."""
        watchers = self._watchers.get(job_id, set())
        watchers.discard(event)
        if not watchers:
            self._watchers.pop(job_id, None)

    def listen(self) -> asyncio.Event:
        """An event that is set whenever the public stream has grown; give it back with `unlisten`."""
        event = asyncio.Event()
        self._listeners.add(event)
        return event

    def unlisten(self, event: asyncio.Event) -> None:
        """Stop listening."""
        self._listeners.discard(event)

    def _told(self) -> None:
        for event in self._listeners:
            event.set()

    def _moved(self, job_id: str) -> None:
        self.sweep_wake.set()
        for event in self._watchers.get(job_id, ()):
            event.set()

    def _begin(self, attempt_id: str) -> None:
        if self._work is None:
            self._waiting.append(attempt_id)
            return
        task = asyncio.ensure_future(self._work(attempt_id))
        self._running[attempt_id] = task
        self._idle.clear()
        task.add_done_callback(lambda done: self._ended(attempt_id, done))

    def _ended(self, attempt_id: str, task: asyncio.Task[None]) -> None:
        self._running.pop(attempt_id, None)
        if not self._running:
            self._idle.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("attempt %s ended with an unexpected error", attempt_id, exc_info=task.exception())
