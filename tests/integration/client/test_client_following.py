"""Waiting, events and the stream, while the connection or the server goes away."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from pixivflow.api.stream import StreamSettings
from pixivflow.client import AsyncClient, NotFound, Unauthorized, Unreachable, WaitTimeout
from pixivflow.domain.event import EventKind
from pixivflow.domain.job import Signal
from pixivflow.domain.reason import Reason

JOB = "daily@manual-k"


def ids(jobs) -> list[str]:
    return [f"evt-{event.at}-{event.seq}" for event in jobs.public()]


async def test_waiting_ends_with_the_job(client, site, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    waiting = asyncio.create_task(client.wait(order))
    await site.streamed()
    jobs.fail(JOB, Reason.NO_CANDIDATE)
    job = await waiting
    assert (job.status, job.error.code) == ("failed", "no_candidate")
    assert (await client.wait(order)) == job


async def test_waiting_outlasts_a_restart_in_which_the_job_ends(client, site, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    waiting = asyncio.create_task(client.wait(order))
    await site.streamed()
    await site.stop()
    jobs.succeed(JOB)
    await site.start()
    assert (await waiting).succeeded


async def test_waiting_works_without_a_stream(site, jobs, quick) -> None:
    site.hidden.add("/events/stream")
    async with AsyncClient(site.url, "an-invented-token", world=quick.world(), poll_s=0.001) as client:
        order = await client.submit(target_id="cats", key="k")
        waiting = asyncio.create_task(client.wait(order))
        await site.streamed()
        jobs.succeed(JOB)
        assert (await waiting).succeeded


async def test_waiting_has_a_limit(client) -> None:
    order = await client.submit(target_id="cats", key="k")
    with pytest.raises(WaitTimeout, match="it goes on") as caught:
        await client.wait(order, timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.job_id == JOB
    with pytest.raises(NotFound):
        await client.wait("none", timeout=5)


async def test_events_are_followed_to_the_end(client, site, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    assert [event.type async for event in client.events(order)] == ["job.accepted"]
    following = asyncio.create_task(_collect(client.events(order, follow=True)))
    await site.streamed()
    jobs.signal(JOB, Signal.START)
    await site.restart()
    jobs.signal(JOB, Signal.SUCCEED)
    assert [event.event_id for event in await following] == ids(jobs)
    first = ids(jobs)[0]
    assert [event.event_id async for event in client.events(order, after=first)] == ids(jobs)[1:]
    assert [event.event_id async for event in client.events(order, after=ids(jobs)[-1], follow=True)] == []


async def test_long_stories_come_over_all_pages(client, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    for _ in range(450):
        jobs.record(JOB, EventKind.STARTED)
    assert [event.event_id async for event in client.events(order)] == ids(jobs)


async def test_an_event_comes_again_until_it_is_acknowledged(client, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    jobs.succeed(JOB)
    stored: list[str] = []
    async with aclosing(client.consume(order)) as events:
        async for event in events:
            stored.append(event.event_id)
            if event.type == "job.started":
                break  # cut off between the commit and its acknowledgement
            acked = await event.ack()
            assert acked.unacked == 2
    async for event in client.consume(order):
        stored.append(event.event_id)
        await event.ack()
    accepted, started, ended = ids(jobs)
    assert stored == [accepted, started, started, ended]
    assert [event async for event in client.consume(order)] == []
    assert jobs.acked[JOB] == jobs.public(JOB)[-1].seq


async def test_consuming_waits_for_what_comes_and_repeats_nothing_of_its_own(client, site, jobs) -> None:
    order = await client.submit(target_id="cats", key="k")
    async for event in client.consume(order, follow=False):
        await event.ack()
    consuming = asyncio.create_task(_collect(client.consume(order)))
    await site.streamed()
    jobs.signal(JOB, Signal.START)
    site.cable.cut()
    jobs.signal(JOB, Signal.CANCEL, reason=Reason.CANCELLED)
    # Nothing is acknowledged here, and still each comes once to this consumer.
    assert [event.type for event in await consuming] == ["job.started", "job.cancelled"]


async def test_a_stream_that_is_cut_again_and_again_loses_nothing_and_repeats_nothing(client, site, jobs) -> None:
    had: list[str] = []
    async with aclosing(client.stream()) as events:
        for number in range(30):
            await client.submit(target_id="cats", key=f"k{number}")
            jobs.succeed(f"daily@manual-k{number}")
            for _ in range(3):
                had.append((await anext(events)).event_id)
                if len(had) % 4 == 0:
                    site.cable.cut()
    assert had == ids(jobs)
    assert site.cable.connections > 20


async def test_a_stream_goes_on_after_a_restart(client, site, jobs) -> None:
    await client.submit(target_id="cats", key="k")
    had: list[str] = []
    async with aclosing(client.stream()) as events:
        had.append((await anext(events)).event_id)
        await site.stop()
        jobs.succeed(JOB)
        await site.start()
        had += [(await anext(events)).event_id for _ in range(2)]
    assert had == ids(jobs)


async def test_a_slow_reader_is_sent_away_and_comes_back(jobs, site, client, quick) -> None:
    site.settings = StreamSettings(pace_s=0, keep_bytes=100_000)
    await site.restart()
    had: list[str] = []
    async with AsyncClient(site.direct, "an-invented-token") as beside, aclosing(client.stream()) as slow:
        await beside.submit(target_id="cats", key="first")
        had.append((await anext(slow)).event_id)
        site.cable.open.clear()
        async with aclosing(beside.stream(after=had[0])) as prompt:
            for number in range(100):
                await beside.submit(target_id="cats", key=f"k{number}", labels={"text": "x" * 16_000})
                jobs.signal(f"daily@manual-k{number}", Signal.CANCEL, reason=Reason.CANCELLED)
                for _ in range(2):
                    await anext(prompt)
        site.cable.open.set()
        while len(had) < 201:
            had.append((await anext(slow)).event_id)
    assert had == ids(jobs)
    streams = [headers for _, path, headers, _ in site.seen if path == "/events/stream"]
    assert len(streams) == 3
    assert streams[-1]["last-event-id"] in had[1:]


async def test_a_stream_begins_where_it_is_told(client, site, jobs) -> None:
    await client.submit(target_id="cats", key="k")
    jobs.succeed(JOB)
    async with aclosing(client.stream(after=ids(jobs)[1])) as events:
        assert (await anext(events)).event_id == ids(jobs)[2]
    one = [event.event_id async for event in client.stream(job=JOB)]
    assert one == ids(jobs)
    assert [event async for event in client.stream(job=JOB, after=one[-1])] == []
    async with aclosing(client.stream(live=True)) as events:
        coming = asyncio.create_task(anext(events))
        await site.streamed(4)
        await jobs.until_read()
        await client.submit(target_id="cats", key="later")
        assert (await coming).job_id == "daily@manual-later"


async def test_a_live_stream_that_is_cut_before_its_first_event_misses_none(client, site, jobs) -> None:
    await client.submit(target_id="cats", key="k")
    async with aclosing(client.stream(live=True)) as events:
        coming = asyncio.create_task(anext(events))
        await site.streamed()
        await jobs.until_read()
        await site.stop()
        jobs.succeed(JOB)
        await site.start()
        assert (await coming).type == "job.started"


async def test_what_is_final_ends_a_stream(site, client, quick, free_port) -> None:
    with pytest.raises(NotFound):
        await anext(client.stream(job="none"))
    async with AsyncClient(site.url, "wrong", world=quick.world()) as other:
        with pytest.raises(Unauthorized):
            await anext(other.stream())
    began = quick.clock
    async with AsyncClient(f"http://127.0.0.1:{free_port}", world=quick.world()) as nobody:
        with pytest.raises(Unreachable):
            await anext(nobody.stream(patience_s=30))
    assert 25 < quick.clock - began <= 30


async def test_too_many_readers_wait_their_turn(site, client, jobs, quick) -> None:
    site.settings = StreamSettings(pace_s=0, readers=1)
    await site.restart()
    await client.submit(target_id="cats", key="k")
    async with aclosing(client.stream()) as first:
        await anext(first)
        second = client.stream()
        waiting = asyncio.create_task(anext(second))
        await site.streamed(3)
    assert (await waiting).event_id == ids(jobs)[0]
    assert max(quick.slept) >= 5
    await second.aclose()


async def _collect(events) -> list:
    return [event async for event in events]
