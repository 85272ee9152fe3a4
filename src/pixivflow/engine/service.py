"""Jobs as the API and the command line see them: the one service behind both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from pixivflow.api.ports import (
    AckState,
    Capabilities,
    Check,
    EventSlice,
    Health,
    JobQuery,
    JobSlice,
    JobType,
    Refused,
    StreamSlice,
    StreamStart,
    Submitted,
)
from pixivflow.domain.event import event_id
from pixivflow.domain.job import JobRecord, Signal
from pixivflow.domain.reason import Code, Reason
from pixivflow.domain.task import CANDIDATE_SEARCH, Task
from pixivflow.engine.admission import DEFAULT_ACCOUNT, admit, choose
from pixivflow.engine.catalog import Catalog
from pixivflow.engine.heartbeat import BEAT_EVERY_S
from pixivflow.ledger import attempts, events, jobs
from pixivflow.ledger.ports import Ledger, Tx

FEATURES = ("events", "progress", "cancel", "idempotency", "exclude", "target_selector")
CANCEL_MESSAGE = "cancelled on request"


class News(Protocol):
    """Tells when the public stream has grown."""

    def listen(self) -> asyncio.Event:
        """An event that is set whenever it has."""
        ...

    def unlisten(self, event: asyncio.Event) -> None:
        """Give it back."""
        ...


class Service:
    """`api.ports.JobService` on the ledger.

    Attributes:
        draining: set when the process is about to stop; nothing new is admitted then.
        broken: why the ledger cannot be trusted any more, if so.
    """

    def __init__(
        self,
        ledger: Ledger,
        catalog: Callable[[], Catalog],
        *,
        version: str,
        commit: str = "",
        news: News | None = None,
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._version = version
        self._commit = commit
        self._news = news
        self.draining = False
        self.broken: str | None = None

    async def submit(self, task: Task) -> Submitted | Refused:
        """Admit a task, or answer the job of its key."""
        if self.draining:
            return Refused(503, Code.RESOURCE_BUSY, "the server is stopping", {"reason": "draining"}, retry_after_s=5)
        catalog = self._catalog()
        chosen = choose(catalog, task)
        if isinstance(chosen, Refused):
            return chosen
        account = catalog.account.strip() or DEFAULT_ACCOUNT
        places = catalog.places
        fault = catalog.callback_fault(task.callback_url) if task.callback_url is not None else None
        return await self._ledger.write(
            lambda tx: admit(tx, task, chosen, account=account, places=places, callback_fault=fault)
        )

    async def get(self, job_id: str) -> JobRecord | None:
        """The job with its cells and picks."""
        return await self._ledger.read(lambda tx: jobs.get(tx, job_id))

    async def find(self, key: str) -> JobRecord | None:
        """The job of an idempotency key."""
        return await self._ledger.read(lambda tx: jobs.find(tx, key))

    async def list(self, query: JobQuery) -> JobSlice:
        """A page of jobs, newest first."""
        found, following = await self._ledger.read(
            lambda tx: jobs.listing(
                tx,
                state=query.status.value if query.status else None,
                job_type=query.job_type,
                correlation_id=query.correlation_id,
                before=query.after_seq,
                limit=query.limit,
            )
        )
        return JobSlice(found, following)

    async def cancel(self, job_id: str) -> JobRecord | None:
        """Cancel an open job; the search that runs for it is told to stop in the same commit."""
        places = 0 if self.draining else self._catalog().places

        def stop(tx: Tx) -> JobRecord | None:
            if jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED, message=CANCEL_MESSAGE):
                found = jobs.get(tx, job_id)
                if found is not None:
                    attempts.grant(tx, found.account, places=places)
                return found
            return jobs.get(tx, job_id)

        return await self._ledger.write(stop)

    async def events(self, job_id: str, *, after_seq: int | None, from_ack: bool, limit: int) -> EventSlice | None:
        """A page of the job's events."""
        after = event_id(0, after_seq) if after_seq is not None else None

        def page(tx: Tx) -> EventSlice | None:
            if jobs.get(tx, job_id) is None:
                return None
            found = events.page(tx, job_id, after=after, from_ack=from_ack, limit=limit)
            return EventSlice(found.events, found.more, found.unacked)

        return await self._ledger.read(page)

    async def ack(self, job_id: str, event_id: str) -> AckState | None:
        """Acknowledge up to an event."""

        def move(tx: Tx) -> AckState | None:
            if jobs.get(tx, job_id) is None:
                return None
            state = events.ack(tx, job_id, event_id)
            return AckState(state.acked, state.unacked)

        return await self._ledger.write(move)

    async def stream_start(self, *, after_seq: int | None, job_id: str | None, live: bool) -> StreamStart | None:
        """Where a reader of the stream begins."""

        def start(tx: Tx) -> StreamStart | None:
            if job_id is not None and jobs.get(tx, job_id) is None:
                return None
            found = events.stream_start(tx, after=after_seq, job_id=job_id, live=live)
            return StreamStart(found.seq, found.newest, found.at, found.ended)

        return await self._ledger.read(start)

    async def stream(self, *, after_seq: int, job_id: str | None, limit: int) -> StreamSlice:
        """Events of all jobs, or of one, with the jobs they are about."""

        def read(tx: Tx) -> StreamSlice:
            found = events.stream(tx, after=after_seq, job_id=job_id, limit=limit)
            asked = {event.job_id: jobs.get(tx, event.job_id) for event in found.events}
            return StreamSlice(found.events, {ident: job for ident, job in asked.items() if job}, found.through)

        return await self._ledger.read(read)

    def listen(self) -> asyncio.Event:
        """Set whenever the stream has grown; never when nobody tells."""
        return self._news.listen() if self._news is not None else asyncio.Event()

    def unlisten(self, event: asyncio.Event) -> None:
        """Give it back."""
        if self._news is not None:
            self._news.unlisten(event)

    def capabilities(self) -> Capabilities:
        """What is served now, with the live budgets."""
        budgets = self._catalog().budgets
        search = JobType(
            name=CANDIDATE_SEARCH,
            features=FEATURES,
            queued_timeout_ms=budgets.queued_ms,
            stall_timeout_ms=budgets.stall_ms,
            heartbeat_interval_ms=int(BEAT_EVERY_S * 1000),
            default_deadline_ms=budgets.default_deadline_ms,
        )
        return Capabilities((search,))

    def health(self) -> Health:
        """The state of the process."""
        ledger = Check("ledger", self.broken is None, self.broken or "")
        return Health(self._version, self._commit, draining=self.draining, checks=(ledger,))
