"""The client for programs without an event loop: the asynchronous one on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from concurrent.futures import CancelledError as Cut
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from pixivflow.client.aio import CANDIDATE_SEARCH, AsyncClient
from pixivflow.client.model import Acked, Capabilities, Event, EventPage, Job, Order, Submitted
from pixivflow.client.reading import JobRef
from pixivflow.client.retry import Retry
from pixivflow.client.transport import Token, World
from pixivflow.client.watch import POLL_S

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConsumedSync(Event):
    """An event that waits to be acknowledged. Store what you make of it first, then call `ack`."""

    client: Client | None = field(default=None, repr=False, compare=False)

    def ack(self) -> Acked:
        """Acknowledge this event and everything before it in its job."""
        if self.client is None:
            raise RuntimeError("this event does not come from `consume`")
        return self.client.ack(self.job_id, self.event_id)


class Client:
    """`AsyncClient` without `await`: the same methods, arguments and errors. May be used from any number of threads.

    Close it, or use it as a context manager; its thread ends then. Arguments: see `AsyncClient`; a token function may
    be called from the client's own thread.
    """

    def __init__(
        self,
        url: str,
        token: Token = None,
        *,
        retry: Retry | None = None,
        timeout_s: float = 30.0,
        poll_s: float = POLL_S,
        trust_env: bool = False,
        new_key: Callable[[], str] | None = None,
        world: World | None = None,
    ) -> None:
        keys = {"new_key": new_key} if new_key is not None else {}
        self._client = AsyncClient(
            url, token, retry=retry, timeout_s=timeout_s, poll_s=poll_s, trust_env=trust_env, world=world, **keys
        )
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    @property
    def url(self) -> str:
        """The base address."""
        return self._client.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cut what still runs, close the connections and end the thread. May be called again."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._wind_down(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def capabilities(self) -> Capabilities:
        """What the server can do."""
        return self._run(self._client.capabilities())

    def submit(self, job_type: str = CANDIDATE_SEARCH, **order: Unpack[Order]) -> Submitted:
        """Order a job; see `AsyncClient.submit`."""
        return self._run(self._client.submit(job_type, **order))

    def submit_task(self, body: Mapping[str, Any]) -> Submitted:
        """Order a job with the body of the protocol."""
        return self._run(self._client.submit_task(body))

    def job(self, job: JobRef) -> Job:
        """The job as it stands now."""
        return self._run(self._client.job(job))

    def find(self, key: str) -> Job | None:
        """The job of a key, None when the key has none."""
        return self._run(self._client.find(key))

    def jobs(
        self,
        *,
        status: str | None = None,
        job_type: str | None = None,
        correlation_id: str | None = None,
        page: int = 100,
    ) -> Generator[Job, None, None]:
        """Jobs, newest first."""
        found = self._client.jobs(status=status, job_type=job_type, correlation_id=correlation_id, page=page)
        return self._each(found)

    def cancel(self, job: JobRef) -> Job:
        """Cancel an open job. One that has ended comes back as it is."""
        return self._run(self._client.cancel(job))

    def wait(self, job: JobRef, timeout: float | None = None) -> Job:
        """The job once it has ended; see `AsyncClient.wait`."""
        return self._run(self._client.wait(job, timeout))

    def page(self, job: JobRef, *, after: str | None = None, unacked: bool = False) -> EventPage:
        """One page of a job's events."""
        return self._run(self._client.page(job, after=after, unacked=unacked))

    def events(self, job: JobRef, *, after: str | None = None, follow: bool = False) -> Generator[Event, None, None]:
        """The events of a job in order; see `AsyncClient.events`."""
        return self._each(self._client.events(job, after=after, follow=follow))

    def consume(self, job: JobRef, *, follow: bool = True) -> Generator[ConsumedSync, None, None]:
        """The events of a job that are not acknowledged yet; see `AsyncClient.consume`."""
        for event in self._each(self._client.consume(job, follow=follow)):
            yield ConsumedSync(
                event_id=event.event_id,
                job_id=event.job_id,
                type=event.type,
                at=event.at,
                payload=event.payload,
                correlation_id=event.correlation_id,
                raw=event.raw,
                client=self,
            )

    def ack(self, job: JobRef, event_id: str) -> Acked:
        """Acknowledge everything of a job up to an event."""
        return self._run(self._client.ack(job, event_id))

    def stream(
        self,
        *,
        after: str | None = None,
        job: JobRef | None = None,
        live: bool = False,
        patience_s: float | None = None,
    ) -> Generator[Event, None, None]:
        """The events of all jobs as they happen; see `AsyncClient.stream`."""
        return self._each(self._client.stream(after=after, job=job, live=live, patience_s=patience_s))

    def _each(self, found: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        try:
            while True:
                try:
                    item = self._run(anext(found))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            # Where it was cut off it ends by itself.
            if not self._closed:
                with contextlib.suppress(RuntimeError):
                    self._run(found.aclose())

    def _run(self, work: Awaitable[T]) -> T:
        """The result of `work` on the client's loop. A caller who is interrupted takes it along."""
        try:
            loop = self._started()
        except RuntimeError:
            if isinstance(work, Coroutine):
                work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(_awaited(work), loop)
        try:
            return future.result()
        except Cut:
            raise RuntimeError("the client was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="pixivflow-client", daemon=True)
                self._thread.start()
            return self._loop

    async def _wind_down(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_asyncgens()
        await self._client.aclose()


async def _awaited(work: Awaitable[T]) -> T:
    return await work
