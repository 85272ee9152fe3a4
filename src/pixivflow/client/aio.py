"""The asynchronous client."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, Unpack

from pixivflow.client.errors import BadAnswer, WaitTimeout
from pixivflow.client.model import Acked, Capabilities, Event, EventPage, Job, Order, Submitted, task
from pixivflow.client.reading import JobRef, event_of, job_id_of, job_path, present, read_as
from pixivflow.client.retry import Retry
from pixivflow.client.transport import Place, Token, Transport, World
from pixivflow.client.watch import POLL_S, JobWatch, resumed

CANDIDATE_SEARCH: Final = "candidate_search"


def _new_key() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Consumed(Event):
    """An event that waits to be acknowledged. Store what you make of it first, then call `ack`."""

    client: AsyncClient | None = field(default=None, repr=False, compare=False)

    async def ack(self) -> Acked:
        """Acknowledge this event and everything before it in its job.

        Raises:
            ClientError: it is not known to be acknowledged; the event comes again.
        """
        if self.client is None:
            raise RuntimeError("this event does not come from `consume`")
        return await self.client.ack(self.job_id, self.event_id)


class AsyncClient:
    """A client of one server's Job API, for use on one event loop.

    Every call is repeated where that makes sense (`retry`); an order is safe to repeat because of its key. Every method
    may raise `ClientError`.

    Args:
        url: base address of the server, `http://127.0.0.1:8090`.
        token: the manual-work token, or a function (also an async one) that is asked for it before each request.
        retry: how persistent to be.
        timeout_s: how long one request may take.
        poll_s: how often to look at a job of a server that has no event stream.
        trust_env: use the proxy the environment names. Off: the server is usually a neighbour.
        new_key: makes the key of an order that was given none.
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
        new_key: Callable[[], str] = _new_key,
        world: World | None = None,
    ) -> None:
        self._transport = Transport(
            url, token, retry or Retry(), timeout_s=timeout_s, trust_env=trust_env, world=world or World()
        )
        self._poll_s = poll_s
        self._new_key = new_key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    @property
    def url(self) -> str:
        """The base address."""
        return self._transport.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        await self._transport.aclose()

    async def capabilities(self) -> Capabilities:
        """What the server can do."""
        body = (await self._transport.call("GET", "/capabilities")).body
        return read_as(Capabilities, body)

    async def submit(self, job_type: str = CANDIDATE_SEARCH, **order: Unpack[Order]) -> Submitted:
        """Order a job. The same order with the same key again answers the same job; see `Order` for what it may say.

        Raises:
            Conflict: the key belongs to another order, or the target is ambiguous.
            InvalidParams, NotFound: the order cannot be accepted as it is.
        """
        key = order.get("key")
        return await self.submit_task(task(job_type, self._new_key() if key is None else key, order))

    async def submit_task(self, body: Mapping[str, Any]) -> Submitted:
        """Order a job with the body of the protocol, which must hold its `idempotency_key`."""
        reply = await self._transport.call("POST", "/jobs", body=dict(body))
        job = read_as(Job, reply.body.get("job"))
        return Submitted(job, reply.status == 202, str(body.get("idempotency_key", "")))

    async def job(self, job: JobRef) -> Job:
        """The job as it stands now.

        Raises:
            NotFound: there is none.
        """
        return read_as(Job, (await self._transport.call("GET", job_path(job))).body)

    async def find(self, key: str) -> Job | None:
        """The job of a key, None when the key has none."""
        body = (await self._transport.call("GET", "/jobs", query={"idempotency_key": key})).body
        found = body.get("jobs")
        if not isinstance(found, list):
            raise BadAnswer("the answer has no jobs")
        return read_as(Job, found[0]) if found else None

    async def jobs(
        self,
        *,
        status: str | None = None,
        job_type: str | None = None,
        correlation_id: str | None = None,
        page: int = 100,
    ) -> AsyncGenerator[Job, None]:
        """Jobs, newest first, `page` of them with each request."""
        query = {"limit": str(page)}
        asked = {"status": status, "job_type": job_type, "correlation_id": correlation_id}
        query.update({name: value for name, value in asked.items() if value is not None})
        while True:
            body = (await self._transport.call("GET", "/jobs", query=query)).body
            found = body.get("jobs")
            if not isinstance(found, list):
                raise BadAnswer("the answer has no jobs")
            for item in found:
                yield read_as(Job, item)
            cursor = body.get("next_cursor")
            if not cursor:
                return
            query["cursor"] = str(cursor)

    async def cancel(self, job: JobRef) -> Job:
        """Cancel an open job. One that has ended comes back as it is."""
        return read_as(Job, (await self._transport.call("POST", f"{job_path(job)}/cancel")).body)

    async def wait(self, job: JobRef, timeout: float | None = None) -> Job:
        """The job once it has ended, however it has. A restart of the server meanwhile is waited for as well.

        Args:
            job: which one.
            timeout: seconds; None waits for ever.

        Raises:
            WaitTimeout: it has not ended in time; it goes on.
            Unreachable: the server was away for longer than `retry` is patient.
        """
        seen: Job | None = None
        try:
            async with (
                asyncio.timeout(timeout),
                JobWatch(self._transport, job_id_of(job), poll_s=self._poll_s) as watch,
            ):
                while True:
                    seen = await self.job(job)
                    if seen.ended:
                        return seen
                    await watch.news()
        except TimeoutError:
            raise WaitTimeout(job_id_of(job), timeout or 0.0, seen) from None

    async def page(self, job: JobRef, *, after: str | None = None, unacked: bool = False) -> EventPage:
        """One page of a job's events: after an event, or with `unacked` after the acknowledged one."""
        query = {"unacked": "1"} if unacked else {"after": after} if after else {}
        body = (await self._transport.call("GET", f"{job_path(job)}/events", query=query)).body
        events = body.get("events")
        if not isinstance(events, list):
            raise BadAnswer("the answer has no events")
        return read_as(EventPage, {**body, "events": [{**present(event), "raw": event} for event in events]})

    async def events(
        self, job: JobRef, *, after: str | None = None, follow: bool = False
    ) -> AsyncGenerator[Event, None]:
        """The events of a job in order.

        Args:
            job: which one.
            after: only what came after this event.
            follow: go on with what happens next, until the job has ended; also over a restart of the server.
        """
        async with aclosing(self._story(job, after=after, unacked=False, follow=follow)) as story:
            async for event in story:
                yield event

    async def consume(self, job: JobRef, *, follow: bool = True) -> AsyncGenerator[Consumed, None]:
        """The events of a job that are not acknowledged yet, each to be acknowledged by you.

        For each event: make of it what you must, commit that, then `await event.ack()`. If you are cut off in between,
        the next `consume` begins with the same event, so that each comes at least once; an `event_id` you have stored
        already is one that came again.

        Args:
            job: which one.
            follow: go on until the job has ended, else end with what there is now.
        """
        async with aclosing(self._story(job, after=None, unacked=True, follow=follow)) as story:
            async for event in story:
                yield Consumed(
                    event_id=event.event_id,
                    job_id=event.job_id,
                    type=event.type,
                    at=event.at,
                    payload=event.payload,
                    correlation_id=event.correlation_id,
                    raw=event.raw,
                    client=self,
                )

    async def ack(self, job: JobRef, event_id: str) -> Acked:
        """Acknowledge everything of a job up to an event. It never moves back."""
        path = f"{job_path(job)}/events/ack"
        return read_as(Acked, (await self._transport.call("POST", path, body={"ack_through": event_id})).body)

    async def stream(
        self,
        *,
        after: str | None = None,
        job: JobRef | None = None,
        live: bool = False,
        patience_s: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of all jobs as they happen, in the order of their commits.

        A connection that breaks is opened again where it ended: nothing is lost and nothing comes twice. Keep the
        `event_id` of the last event you have dealt with to go on from it in another process.

        Args:
            after: begin after this event; from the oldest one when not given.
            job: only this job's; ends with its last event.
            live: begin with what comes next instead of with the oldest event.
            patience_s: how long to go on trying a server that does not answer; None tries for ever.

        Raises:
            NotFound: there is no such job, or the server has no stream.
            Unreachable, ServerError: patience is over.
        """
        query = {"job_id": job_id_of(job)} if job is not None else {}
        if live:
            query["live"] = "1"
        async with aclosing(resumed(self._transport, query, Place(after or ""), patience_s)) as messages:
            async for message in messages:
                event = event_of(message.data)
                yield event
                if job is not None and event.terminal:
                    return

    async def _story(
        self, job: JobRef, *, after: str | None, unacked: bool, follow: bool
    ) -> AsyncGenerator[Event, None]:
        if not follow:
            async with aclosing(self._pages(job, after, unacked=unacked)) as found:
                async for event in found:
                    yield event
            return
        async with JobWatch(self._transport, job_id_of(job), after=after or "", poll_s=self._poll_s) as watch:
            over = False
            while True:
                async with aclosing(self._pages(job, after, unacked=unacked and after is None)) as found:
                    async for event in found:
                        yield event
                        after = event.event_id
                        if event.terminal:
                            return
                if over:
                    return
                # Its last event may have come between the page and this answer: one more page, then it is over.
                over = (await self.job(job)).ended
                if not over:
                    await watch.news()

    async def _pages(self, job: JobRef, after: str | None, *, unacked: bool) -> AsyncGenerator[Event, None]:
        while True:
            page = await self.page(job, after=after, unacked=unacked)
            for event in page.events:
                yield event
            if not page.next_after:
                return
            after, unacked = page.next_after, False
