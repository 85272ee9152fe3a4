"""The event stream over a real socket: shape, order, resuming, ends."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from memory_jobs import MemoryJobs

from pixivflow.api.stream import StreamSettings
from pixivflow.client.sse import Message, Parser
from pixivflow.domain.event import EventKind

TOKEN = {"Authorization": "Bearer the-manual-token"}


class Reading:
    """One open stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.parser = Parser()
        self.raw = b""
        self._ready: list[Message] = []

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert await self._more(), self.raw[-300:]

    async def take(self, count: int) -> list[Message]:
        await self.until(lambda: len(self._ready) >= count)
        taken, self._ready = self._ready[:count], self._ready[count:]
        return taken

    async def rest(self) -> list[Message]:
        """Everything until the server ends the answer."""
        while await self._more():
            pass
        return self._ready

    async def _more(self) -> bool:
        piece = await self.answer.content.readany()
        self.raw += piece
        self._ready += self.parser.feed(piece)
        return bool(piece)


@asynccontextmanager
async def reading(base: str, query: str = "", **headers: str) -> AsyncIterator[Reading]:
    sent = {**TOKEN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session,
        session.get(f"{base}/events/stream{query}", headers=sent) as answer,
    ):
        yield Reading(answer)


async def three_jobs(api: Any, jobs: MemoryJobs) -> list[str]:
    """The ids of the events of three jobs, in order."""
    for key in ("a", "b", "c"):
        await api.submit(key)
    jobs.succeed("daily@manual-b")
    jobs.record("daily@manual-b", EventKind.OUTBOX_DELIVERED)
    jobs.succeed("daily@manual-a")
    return [f"evt-{event.at}-{event.seq}" for event in jobs.public()]


async def test_the_answer_is_an_event_stream_of_the_events_of_the_pages(api, jobs) -> None:
    ids = await three_jobs(api, jobs)
    async with reading(api.base) as stream:
        assert stream.answer.status == 200
        told = stream.answer.headers
        assert told["content-type"] == "text/event-stream; charset=utf-8"
        assert told["cache-control"] == "no-cache"
        assert told["x-accel-buffering"] == "no"
        assert told["x-request-id"]
        found = await stream.take(len(ids))
    assert stream.raw.startswith(b"retry: 3000\n")
    assert [message.id for message in found] == ids
    paged: dict[str, Any] = {}
    for job_id in jobs.jobs:
        for event in (await api("GET", f"/jobs/{job_id}/events")).json["events"]:
            paged[event["event_id"]] = event
    for message in found:
        body = json.loads(message.data)
        assert body == paged[message.id]
        assert message.event == body["type"]
    blocks = [block for block in stream.raw.decode().split("\n\n") if block.startswith("id:")]
    assert all(len(block.splitlines()) == 3 for block in blocks)


async def test_what_happens_next_arrives_without_asking(serve, jobs) -> None:
    api = await serve(stream=StreamSettings(poll_s=3600))
    async with reading(api.base) as stream:
        await api.submit("a")
        (accepted,) = await stream.take(1)
        jobs.succeed("daily@manual-a")
        later = await stream.take(2)
    assert [message.event for message in (accepted, *later)] == ["job.accepted", "job.started", "job.succeeded"]


async def test_an_event_that_nobody_told_of_is_found_all_the_same(serve, jobs) -> None:
    api = await serve(stream=StreamSettings(poll_s=0.01))
    async with reading(api.base) as stream:
        await stream.until(lambda: bool(jobs._listeners))
        jobs._listeners.clear()
        await api.submit("a")
        assert (await stream.take(1))[0].event == "job.accepted"


@pytest.mark.parametrize("how", ["header", "after"])
async def test_resuming_at_any_event_loses_nothing_and_repeats_nothing(api, jobs, how) -> None:
    ids = await three_jobs(api, jobs)
    for place, ident in enumerate(ids[:-1]):
        query, headers = ("", {"Last_Event_ID": ident}) if how == "header" else (f"?after={ident}", {})
        async with reading(api.base, query, **headers) as stream:
            found = await stream.take(len(ids) - place - 1)
        assert [message.id for message in found] == ids[place + 1 :]


async def test_the_header_counts_more_than_the_address(api, jobs) -> None:
    ids = await three_jobs(api, jobs)
    async with reading(api.base, f"?after={ids[0]}", Last_Event_ID=ids[3]) as stream:
        assert (await stream.take(1))[0].id == ids[4]


@pytest.mark.parametrize("ident", ["nonsense", "evt-1-999999", "evt-1-0", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
async def test_an_id_of_no_event_starts_from_the_beginning(api, jobs, ident) -> None:
    ids = await three_jobs(api, jobs)
    async with reading(api.base, "?live=1", Last_Event_ID=ident) as stream:
        assert [message.id for message in await stream.take(len(ids))] == ids


async def test_an_internal_event_is_no_place_to_resume_from(api, jobs) -> None:
    await three_jobs(api, jobs)
    inside = next(event for event in jobs.log if event.kind is EventKind.OUTBOX_DELIVERED)
    async with reading(api.base, Last_Event_ID=f"evt-{inside.at}-{inside.seq}") as stream:
        assert (await stream.take(1))[0].event == "job.accepted"
        assert "outbox" not in stream.raw.decode()


async def test_one_job_ends_with_its_last_event_and_has_nothing_more_to_say(api, jobs) -> None:
    ids = await three_jobs(api, jobs)
    own = [ids[1], ids[3], ids[4]]
    async with reading(api.base, "?job_id=daily%40manual-b") as stream:
        assert [message.id for message in await stream.rest()] == own
    async with reading(api.base, "?job_id=daily%40manual-b", Last_Event_ID=own[-1]) as stream:
        assert stream.answer.status == 204
    # Another job's event is no place in this one.
    async with reading(api.base, "?job_id=daily%40manual-b", Last_Event_ID=ids[0]) as stream:
        assert [message.id for message in await stream.rest()] == own


async def test_one_job_is_followed_to_its_end_among_others(api, jobs) -> None:
    await api.submit("a")
    async with reading(api.base, "?job_id=daily%40manual-a") as stream:
        await stream.take(1)
        await api.submit("b")
        jobs.succeed("daily@manual-b")
        jobs.succeed("daily@manual-a")
        assert [message.event for message in await stream.rest()] == ["job.started", "job.succeeded"]


async def test_a_live_reader_gets_only_what_comes_and_can_come_back(api, jobs) -> None:
    ids = await three_jobs(api, jobs)
    async with reading(api.base, "?live=1") as stream:
        await stream.until(lambda: stream.parser.last_id != "")
        place = stream.parser.last_id
    assert place == ids[-1]
    await api.submit("d")
    async with reading(api.base, "?live=1", Last_Event_ID=place) as stream:
        (message,) = await stream.take(1)
    assert json.loads(message.data)["job_id"] == "daily@manual-d"


async def test_a_live_reader_of_an_empty_ledger_misses_nothing_either(api, jobs) -> None:
    async with reading(api.base, "?live=1") as stream:
        await stream.until(lambda: stream.parser.last_id != "")
    await api.submit("a")
    async with reading(api.base, "?live=1", Last_Event_ID=stream.parser.last_id) as stream:
        assert (await stream.take(1))[0].event == "job.accepted"


async def test_silence_is_broken_by_comments(serve) -> None:
    api = await serve(stream=StreamSettings(keepalive_s=0.01))
    async with reading(api.base) as stream:
        await stream.until(lambda: stream.raw.count(b"\n:\n") >= 3)
        await api.submit("a")
        assert (await stream.take(1))[0].event == "job.accepted"


@pytest.mark.parametrize(
    ("query", "field"),
    [("?after=", "after"), ("?after=a&after=b", "after"), ("?job_id=", "job_id"), ("?live=maybe", "live")],
)
async def test_a_question_that_cannot_be_read_is_refused(api, query, field) -> None:
    answer = await api("GET", f"/events/stream{query}")
    assert answer.status == 400
    assert answer.json["error"]["detail"] == {"field": field}


async def test_only_known_jobs_tokens_and_methods(api) -> None:
    assert (await api("GET", "/events/stream?job_id=none")).status == 404
    assert (await api("GET", "/events/stream", token="wrong")).status == 401
    assert (await api("GET", "/events/stream", token=None)).status == 401
    refused = await api("POST", "/events/stream")
    assert refused.status == 405
    assert refused.headers["allow"] == "GET, HEAD"
    for path in ("/events", "/events/other", "/events/stream/more"):
        assert (await api("GET", path)).json["error"]["detail"] == {"reason": "unknown_route"}


async def test_head_tells_the_headers_and_ends(api) -> None:
    answer = await api("HEAD", "/events/stream")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"


async def test_one_reader_too_many_is_told_to_come_later(serve, jobs) -> None:
    api = await serve(stream=StreamSettings(readers=2))
    async with reading(api.base) as first, reading(api.base) as second:
        await api.submit("a")
        await first.take(1)
        await second.take(1)
        refused = await api("GET", "/events/stream")
        assert refused.status == 503
        assert refused.headers["retry-after"] == "5"
        assert refused.json["error"]["code"] == "resource_busy"
        assert refused.json["error"]["detail"] == {"reason": "too_many_readers"}
    while True:  # the server learns of an ended connection in its own time
        async with reading(api.base) as third:
            if third.answer.status == 200:
                assert (await third.take(1))[0].event == "job.accepted"
                return


async def test_a_crowd_at_the_door_does_not_slip_through(serve) -> None:
    api = await serve(stream=StreamSettings(readers=3))
    async with AsyncExitStack() as opened:
        crowd = [opened.enter_async_context(reading(api.base)) for _ in range(12)]
        statuses = [stream.answer.status for stream in await asyncio.gather(*crowd)]
        assert sorted(statuses) == [200] * 3 + [503] * 9


async def test_many_readers_cost_one_reading(serve, jobs) -> None:
    api = await serve(stream=StreamSettings(poll_s=3600))
    async with asyncio.timeout(20):

        async def follow(ready: asyncio.Barrier) -> list[str]:
            async with reading(api.base, "?live=1") as stream:
                await stream.until(lambda: stream.parser.last_id != "")
                await ready.wait()
                return [message.id for message in await stream.take(40)]

        ready = asyncio.Barrier(11)
        readers = [asyncio.create_task(follow(ready)) for _ in range(10)]
        await ready.wait()
        before = jobs.reads
        for number in range(40):
            await api.submit(f"k{number}")
        found = await asyncio.gather(*readers)
    assert len(set(map(tuple, found))) == 1
    # Ten readers that each read for themselves would have asked at least once for each of the forty events.
    assert jobs.reads - before <= 42


async def test_a_long_past_is_read_in_pages(api, jobs) -> None:
    await api.submit("a")
    for _ in range(950):
        jobs.record("daily@manual-a", EventKind.STARTED)
    async with reading(api.base) as stream:
        found = await stream.take(951)
    assert [message.id for message in found] == [f"evt-{event.at}-{event.seq}" for event in jobs.public()]


async def test_readers_end_cleanly_when_the_server_stops(serve, jobs) -> None:
    api = await serve()
    await api.submit("a")
    async with reading(api.base) as stream:
        await stream.take(1)
        await asyncio.gather(*(server.stop(20.0) for server in serve.servers))
        assert await stream.rest() == []
    assert b": the stream ends here" in stream.raw


async def test_a_server_that_is_stopping_takes_no_new_readers(api, jobs) -> None:
    async with reading(api.base) as stream:
        jobs.draining = True
        refused = await api("GET", "/events/stream")
        assert refused.status == 503
        assert refused.json["error"]["detail"] == {"reason": "draining"}
        # Who reads already sees how the last jobs end.
        await api.submit("a")
        assert (await stream.take(1))[0].event == "job.accepted"


async def test_a_failing_ledger_sends_readers_away_and_the_next_ones_are_served(serve, jobs, caplog) -> None:
    api = await serve(stream=StreamSettings(poll_s=0.01))
    await api.submit("a")
    async with reading(api.base) as stream:
        await stream.take(1)
        broken = jobs.stream

        async def fail(**_: object) -> None:
            raise OSError("the disk is on fire")

        jobs.stream = fail
        assert await stream.rest() == []
        jobs.stream = broken
    assert "the event stream failed" in caplog.text
    assert b"fire" not in stream.raw
    async with reading(api.base) as stream:
        assert (await stream.take(1))[0].event == "job.accepted"


def without_chunks(raw: bytes) -> bytes:
    body = b""
    while True:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body
        body += raw[:length]
        raw = raw[length + 2 :]


async def test_a_connection_that_is_not_read_is_ended_and_taken_up_again(serve, jobs) -> None:
    """As in `test_stream_slow`, with the buffers of a real connection between the two."""
    api = await serve(stream=StreamSettings(keep_bytes=100_000, pace_s=0), send_buffer=32 * 1024)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
    connection.setblocking(False)
    server = serve.servers[0]
    await asyncio.get_running_loop().sock_connect(connection, (server.host, server.port))
    reader, writer = await asyncio.open_connection(sock=connection, limit=32 * 1024)
    writer.write(b"GET /events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer the-manual-token\r\n\r\n")
    head = await reader.readuntil(b"retry: 3000\n\n")
    assert b"200 OK" in head
    total = 0
    async with reading(api.base) as quick:
        for number in range(100):
            await api.submit(f"k{number}", labels={"text": "x" * 16_000})
            jobs.succeed(f"daily@manual-k{number}")
            total += 3
            await quick.take(3)
    raw = b""
    while piece := await reader.read(65536):
        raw += piece
    writer.close()
    await writer.wait_closed()
    raw = without_chunks(raw.removeprefix(b"\r\n"))
    assert raw.endswith(b": too slow, come back with Last-Event-ID\n\n")
    parser = Parser()
    had = [message.id for message in parser.feed(raw)]
    assert 0 < len(had) < total
    async with reading(api.base, Last_Event_ID=had[-1]) as stream:
        rest = await stream.take(total - len(had))
    assert had + [message.id for message in rest] == [f"evt-{event.at}-{event.seq}" for event in jobs.public()]
