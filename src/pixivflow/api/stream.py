"""`GET /events/stream`: the public events of all jobs, or of one, as Server-Sent Events.

One task reads the ledger for all readers, woken by the commits themselves; a reader that comes from further back reads
pages of its own until it has caught up. Nothing is queued for anybody: a reader takes from what is kept in memory at
its own speed, and one that has fallen out of it is sent away, to come back with the id of the last event it had.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pixivflow.api.errors import Problem, unknown_job
from pixivflow.api.exchange import Answer, Call, Receive, Send, header
from pixivflow.api.feed import Batch, Ring, batch_of, frames_of
from pixivflow.api.ports import EVENT_PAGE, JobService, StreamStart
from pixivflow.api.query import flag, nonempty, parse_query
from pixivflow.domain.event import event_id, parse_event_id
from pixivflow.domain.reason import Code

_log = logging.getLogger(__name__)
_PIECE: Final = 64 * 1024
_PAGES: Final = 8
_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy that gathers an answer before passing it on would hold events back
)
_GREETING: Final = b"retry: 3000\n\n"
_KEEPALIVE: Final = b":\n\n"
_TOO_SLOW: Final = b": too slow, come back with Last-Event-ID\n\n"
_STOPPING: Final = b": the stream ends here, come back with Last-Event-ID\n\n"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Bounds of the stream.

    Attributes:
        readers: how many at once; one more is answered with 503.
        keepalive_s: after so many seconds without an event a comment is sent, so that proxies keep the connection.
        poll_s: how long at most an event can go unnoticed when nobody tells of it.
        pace_s: pause between two looks into the ledger; what happens meanwhile is sent together.
        keep_events, keep_bytes: how far a reader may fall behind.
    """

    readers: int = 100
    keepalive_s: float = 15.0
    poll_s: float = 1.0
    pace_s: float = 0.02
    keep_events: int = 4000
    keep_bytes: int = 4 * 1024 * 1024


class Reader:
    """One connection: the answer to its request, and where it stands."""

    def __init__(self, feed: EventFeed, receive: Receive, start: StreamStart, job_id: str | None, place: bytes) -> None:
        self.wake = asyncio.Event()
        self.farewell: bytes | None = None
        self.job_id = job_id
        self._feed = feed
        self._receive = receive
        self._start = start
        self._place = place
        self._seq = start.seq
        self._live = False
        self._gone = False

    async def __call__(self, send: Send, ident: bytes) -> None:
        """Send events until the reader has gone, its job has ended, or it is told to end."""
        self._feed.join(self, self._start)
        watching = asyncio.create_task(self._until_gone())
        try:
            await send(_start(200, ident))
            await self._write(send, _GREETING + self._place)
            while await self._step(send):
                pass
            if not self._gone:
                await send({"type": "http.response.body", "body": self.farewell or b"", "more_body": False})
        finally:
            watching.cancel()
            self._feed.leave(self)

    def end(self, farewell: bytes) -> None:
        """Say this and nothing more."""
        if self.farewell is None:
            self.farewell = farewell
        self.wake.set()

    async def _step(self, send: Send) -> bool:
        try:
            return await self._send_next(send)
        except Exception:  # noqa: BLE001 - logged by `failed`; the answer has begun, so that only its end can tell
            self._feed.failed()
            self.end(_STOPPING)
            return False

    async def _send_next(self, send: Send) -> bool:
        self.wake.clear()
        if self._gone or self.farewell is not None:
            return False
        batch = self._feed.ring.after(self._seq, self.job_id)
        if batch is not None:
            self._live = True
        elif self._live:
            _log.info("a reader of the event stream was too slow and is sent away")
            self.end(_TOO_SLOW)
            return False
        else:
            batch = await self._feed.older(self._seq, self.job_id)
        moved = batch.seq > self._seq
        self._seq = batch.seq
        if batch.data:
            await self._write(send, batch.data)
            return not (batch.last and self.job_id is not None)
        if self._live or not moved:
            await self._rest(send)
        return True

    async def _rest(self, send: Send) -> None:
        try:
            async with asyncio.timeout(self._feed.settings.keepalive_s):
                await self.wake.wait()
        except TimeoutError:
            await self._write(send, _KEEPALIVE)

    async def _write(self, send: Send, data: bytes) -> None:
        # In pieces: each waits until the connection has taken enough of what was sent before.
        for start in range(0, len(data), _PIECE):
            await send({"type": "http.response.body", "body": data[start : start + _PIECE], "more_body": True})

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self.wake.set()


class EventFeed:
    """What all readers share. The task that reads the ledger lives while there are readers."""

    def __init__(self, service: JobService, now_ms: Callable[[], int], settings: StreamSettings) -> None:
        self.settings = settings
        self.ring = self._ring(0)
        self._service = service
        self._now_ms = now_ms
        self._readers: set[Reader] = set()
        self._pump: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()
        self._pages: dict[tuple[str | None, int], Batch] = {}
        self._closed = False

    @property
    def readers(self) -> int:
        """How many read now."""
        return len(self._readers)

    def refusal(self) -> Problem | None:
        """Why nobody may join now."""
        if self._closed or self._service.health().draining:
            return _busy("the server is stopping", "draining")
        if len(self._readers) >= self.settings.readers:
            return _busy("too many readers", "too_many_readers")
        return None

    def join(self, reader: Reader, start: StreamStart) -> None:
        """A reader begins."""
        if self._closed:
            reader.end(_STOPPING)
        if self._pump is None:
            self.ring = self._ring(start.newest)
            self._pump = asyncio.create_task(self._read_on(), name="event-feed")
        self._readers.add(reader)

    def leave(self, reader: Reader) -> None:
        """A reader has ended."""
        self._readers.discard(reader)
        if not self._readers and self._pump is not None:
            self._pump.cancel()
            self._pump = None
            self._pages.clear()

    def close(self) -> None:
        """End all readers, and let nobody join any more."""
        self._closed = True
        self._dismiss()

    async def older(self, seq: int, job_id: str | None) -> Batch:
        """A page from the ledger for a reader that comes from further back.

        One at a time, so that readers who catch up leave the ledger to others; a full page never changes, and readers
        that were cut off together ask for the same ones.
        """
        key = (job_id, seq)
        async with self._reading:
            batch = self._pages.get(key)
            if batch is None:
                found = await self._service.stream(after_seq=seq, job_id=job_id, limit=EVENT_PAGE)
                batch = batch_of(frames_of(found, self._now_ms()), found.through)
                if len(found.events) == EVENT_PAGE:
                    self._pages[key] = batch
                    if len(self._pages) > _PAGES:
                        self._pages.pop(next(iter(self._pages)))
            return batch

    def failed(self) -> None:
        """Log the exception at hand. A ledger that closes under its readers is how a stop looks from here."""
        if self._closed or self._service.health().draining:
            _log.info("the event stream ends: the server is stopping")
        else:
            _log.exception("the event stream failed; who reads it is sent away")

    def _ring(self, start: int) -> Ring:
        return Ring(start, max_events=self.settings.keep_events, max_bytes=self.settings.keep_bytes)

    async def _read_on(self) -> None:
        news = self._service.listen()
        try:
            while True:
                news.clear()
                found = await self._service.stream(after_seq=self.ring.tip, job_id=None, limit=EVENT_PAGE)
                if found.through > self.ring.tip:
                    self.ring.add(frames_of(found, self._now_ms()), found.through)
                    for reader in self._readers:
                        reader.wake.set()
                await asyncio.sleep(self.settings.pace_s)
                if len(found.events) < EVENT_PAGE:
                    await _set_within(news, self.settings.poll_s)
        except Exception:  # noqa: BLE001 - logged by `failed`, and told to every reader
            # Readers come back and are answered by what is there then; a silent stream would tell them nothing.
            self.failed()
            self._pump = None
            self._dismiss()
        finally:
            self._service.unlisten(news)

    def _dismiss(self) -> None:
        for reader in self._readers:
            reader.end(_STOPPING)


class StreamRoutes:
    """The stream route over a service."""

    def __init__(self, service: JobService, now_ms: Callable[[], int], settings: StreamSettings) -> None:
        self._service = service
        self.feed = EventFeed(service, now_ms, settings)

    async def open(self, call: Call) -> Answer:
        """GET /events/stream: what to answer with, once the request is known to be good."""
        query = parse_query(call.query)
        job_id = nonempty(query, "job_id")
        after = nonempty(query, "after")
        live = flag(query, "live")
        # A browser repeats the address it began with; the header is where it has got to since.
        last = header(call.scope["headers"], b"last-event-id")
        ident = last.decode("ascii", errors="replace") if last else after
        seq = None if ident is None else parse_event_id(ident)
        live = live and ident is None
        self._admit()
        start = await self._service.stream_start(after_seq=seq, job_id=job_id, live=live)
        if start is None:
            raise unknown_job()
        if call.scope["method"] == "HEAD":
            return _empty(200)
        if start.ended:
            return _empty(204)
        # Asked again: others may have joined while the ledger was read. The reader joins before anything else happens.
        self._admit()
        # Who begins at a place of our choice may be cut off before the first event and must be able to come back to it.
        # Where there is no event yet, an id that names none will bring everything.
        place = b"id: %b\n\n" % event_id(start.at or 0, start.seq).encode() if live else b""
        return Reader(self.feed, call.receive, start, job_id, place)

    def _admit(self) -> None:
        refusal = self.feed.refusal()
        if refusal is not None:
            raise refusal


def _start(status: int, ident: bytes) -> dict[str, object]:
    return {"type": "http.response.start", "status": status, "headers": [*_HEADERS, (b"x-request-id", ident)]}


def _empty(status: int) -> Answer:
    """An answer without events. 204 tells a browser not to come back."""

    async def answer(send: Send, ident: bytes) -> None:
        await send(_start(status, ident))
        await send({"type": "http.response.body", "body": b""})

    return answer


def _busy(message: str, reason: str) -> Problem:
    return Problem(503, message, code=Code.RESOURCE_BUSY, detail={"reason": reason}, headers=((b"retry-after", b"5"),))


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
