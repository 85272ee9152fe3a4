"""The synchronous client, used as its users would: from threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from pixivflow.client import Client, Conflict, NotFound, WaitTimeout

T = TypeVar("T")
JOB = "daily@manual-k"


async def apart(work: Callable[[], T]) -> T:
    """Run in a thread, while the server of this test goes on."""
    return await asyncio.to_thread(work)


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


async def test_the_same_calls_without_a_loop(site, jobs) -> None:
    def work() -> None:
        with Client(site.url, "an-invented-token") as client:
            assert client.capabilities().job_type("candidate_search") is not None
            order = client.submit(target_id="cats", key="k")
            assert order.created
            with pytest.raises(Conflict):
                client.submit(target_id="cats", key="k", tags=["dog"])
            assert client.submit_task(jobs_body("k")).created is False
            assert client.job(order) == client.find("k")
            assert [job.job_id for job in client.jobs(page=1)] == [JOB]
            with pytest.raises(WaitTimeout):
                client.wait(order, timeout=0.01)
            assert client.cancel(order).status == "cancelled"
            assert client.wait(order).status == "cancelled"
            page = client.page(order, unacked=True)
            assert page.unacked == 2
            assert [event.type for event in client.events(order)] == ["job.accepted", "job.cancelled"]
            assert client.ack(order, page.events[0].event_id).acked == 1
            for event in client.consume(order):
                assert event.type == "job.cancelled"
                assert event.ack().unacked == 0
            assert [event.type for event in client.stream(job=order)] == ["job.accepted", "job.cancelled"]
            with pytest.raises(NotFound):
                client.job("none")

    await apart(work)
    assert "pixivflow-client" not in names()


def jobs_body(key: str) -> dict[str, object]:
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": {"target_id": "cats"},
    }


async def test_many_threads_share_one_client(site, jobs) -> None:
    def work() -> list[str]:
        with Client(site.url, "an-invented-token") as client, ThreadPoolExecutor(8) as threads:
            return list(
                threads.map(lambda number: client.submit(target_id="cats", key=f"k{number % 5}").job_id, range(40))
            )

    found = await apart(work)
    assert len(found) == 40
    assert len(set(found)) == len(jobs.jobs) == 5


async def test_an_iterator_that_is_left_ends_its_connection(site, jobs) -> None:
    def work() -> None:
        with Client(site.url, "an-invented-token") as client:
            client.submit(target_id="cats", key="k")
            for event in client.stream():
                assert event.type == "job.accepted"
                break
            client.capabilities()

    await apart(work)
    await jobs.until_read(by_someone=False)


async def test_closing_wakes_those_who_wait(site) -> None:
    client = Client(site.url, "an-invented-token")
    order = await apart(lambda: client.submit(target_id="cats", key="k"))
    waiting = asyncio.create_task(apart(lambda: client.wait(order)))
    await site.streamed()
    await apart(client.close)
    with pytest.raises(RuntimeError, match="closed meanwhile"):
        await waiting
    await apart(client.close)
    with pytest.raises(RuntimeError, match="the client is closed"):
        await apart(client.capabilities)
    assert "pixivflow-client" not in names()


def test_a_client_that_was_never_used_has_nothing_to_close() -> None:
    before = names()
    with Client("http://127.0.0.1:1", "t"):
        assert names() == before
