"""The client against the whole program and the built-in site, as an orchestrator would use it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import scene
from place import open_local

from pixivflow.client import AsyncClient


async def test_orders_are_followed_over_a_restart_and_each_outcome_is_seen_once(tmp_path: Path) -> None:
    async with (
        open_local(tmp_path, ["single", "pages", "novel"]) as place,
        AsyncClient(place.server.url, scene.API_TOKEN) as client,
    ):
        first, second, third = place.subjects
        order = await client.submit(target_id=first.target, tags=[first.tag], key="one", labels={"channel": "daily"})
        job = await client.wait(order, timeout=60)
        assert job.succeeded, job
        assert job.result is not None
        assert [candidate.work_id for candidate in job.result.candidates] == [str(first.id)]
        assert job.labels == {"channel": "daily"}

        stored: list[str] = []
        async for event in client.consume(order):
            stored.append(event.event_id)
            assert (await event.ack()).acked == len(stored)
        assert [event async for event in client.consume(order)] == []

        # The same order in another process finds the same job.
        again = await client.submit(target_id=first.target, tags=[first.tag], key="one")
        assert (again.created, again.job) == (False, job)

        read: list[str] = []
        async with aclosing(client.stream()) as events:
            while len(read) < len(stored):
                read.append((await anext(events)).event_id)
            assert read == stored
            pending = await client.submit(target_id=second.target, tags=[second.tag], key="two")
            waiting = asyncio.create_task(client.wait(pending, timeout=60))
            await place.server.restart()
            await client.submit(target_id=third.target, tags=[third.tag], key="three")
            ended: set[str] = set()
            while len(ended) < 2:
                event = await anext(events)
                read.append(event.event_id)
                if event.terminal:
                    ended.add(event.job_id)
        assert ended == {"orders@manual-two", "orders@manual-three"}
        assert len(read) == len(set(read))
        assert (await waiting).succeeded
        whole = [event.event_id for job in ("one", "two", "three") for event in await told(client, job)]
        assert sorted(read) == sorted(whole)
        place.assert_clean()


async def told(client: AsyncClient, key: str) -> list:
    return [event async for event in client.events(f"orders@manual-{key}")]
