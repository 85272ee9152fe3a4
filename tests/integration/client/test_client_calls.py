"""Calls and their repetition."""

from __future__ import annotations

import json
import logging

import pytest

from pixivflow.client import (
    AsyncClient,
    BadAnswer,
    Conflict,
    InvalidParams,
    NotFound,
    Retry,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from pixivflow.domain.job import Signal

JOB = "daily@manual-k"
BUSY = b'{"error":{"code":"resource_busy","message":"later","retryable":true}}'


async def test_the_way_of_one_job(client, jobs) -> None:
    capabilities = await client.capabilities()
    assert capabilities.protocol_versions == ("1",)
    kind = capabilities.job_type("candidate_search")
    assert kind is not None
    assert "cancel" in kind.features
    assert kind.heartbeat_interval_ms == 30_000
    order = await client.submit(target_id="cats", key="k", labels={"a": "b"}, correlation_id="c", deadline_ms=5000)
    assert (order.created, order.key, order.job_id) == (True, "k", JOB)
    assert (order.job.status, order.job.labels, order.job.correlation_id) == ("queued", {"a": "b"}, "c")
    again = await client.submit(target_id="cats", key="k")
    assert (again.created, again.job_id) == (False, JOB)
    assert (await client.find("k")).job_id == JOB
    assert await client.find("none") is None
    jobs.succeed(JOB)
    job = await client.job(order)
    assert job.succeeded
    assert job.result.candidates[0].work_id == "77"
    assert (job.result.scanned, job.result.filtered[0].reason) == (5, "duplicate")
    assert (await client.cancel(job)) == job
    page = await client.page(job)
    assert [event.type for event in page.events] == ["job.accepted", "job.started", "job.succeeded"]
    assert page.events[-1].raw["payload"]["job"]["status"] == "succeeded"
    acked = await client.ack(job, page.events[0].event_id)
    assert (acked.acked, acked.unacked) == (1, 2)
    assert (await client.page(job, unacked=True)).events == page.events[1:]


async def test_a_key_is_made_where_none_is_given(site, jobs) -> None:
    async with AsyncClient(site.url, "an-invented-token", new_key=iter(["one", "two"]).__next__) as client:
        assert (await client.submit(target_id="cats")).key == "one"
        assert (await client.submit(target_id="cats")).key == "two"
    assert [task.idempotency_key for task in jobs.tasks] == ["one", "two"]


async def test_jobs_are_listed_over_all_pages(client, jobs) -> None:
    for number in range(7):
        await client.submit(target_id="cats", key=f"k{number}", correlation_id="odd" if number % 2 else "even")
    jobs.signal("daily@manual-k3", Signal.CANCEL)
    listed = [job.idempotency_key async for job in client.jobs(page=2)]
    assert listed == [f"k{number}" for number in range(6, -1, -1)]
    assert [job.idempotency_key async for job in client.jobs(correlation_id="odd", page=2)] == ["k5", "k3", "k1"]
    assert [job.idempotency_key async for job in client.jobs(status="cancelled")] == ["k3"]
    assert [job async for job in client.jobs(job_type="other")] == []


async def test_a_refusal_is_an_error_of_its_kind(client, site) -> None:
    await client.submit(target_id="cats", key="k")
    with pytest.raises(Conflict) as conflict:
        await client.submit(target_id="cats", key="k", tags=["dog"])
    assert (conflict.value.code, conflict.value.retryable) == ("idempotency_conflict", False)
    assert conflict.value.detail["job_id"] == JOB
    assert conflict.value.request_id
    with pytest.raises(InvalidParams) as invalid:
        await client.submit(target_id="cats", key="x", deadline_ms=1)
    assert invalid.value.detail["field"] == "deadline_ms"
    for call in (client.job("none"), client.cancel("none"), client.page("none"), client.ack("none", "evt-1-1")):
        with pytest.raises(NotFound):
            await call
    async with AsyncClient(site.url, "another") as other:
        with pytest.raises(Unauthorized):
            await other.capabilities()
    assert len(site.seen) == 8


@pytest.mark.parametrize("tail", ["", "/", "/base"])
async def test_the_address_may_have_a_path(site, tail) -> None:
    site.answers.append((200, {}, b'{"protocol_versions":["1"]}'))
    async with AsyncClient(site.url + tail) as client:
        await client.capabilities()
    assert site.seen[0][1] == tail.rstrip("/") + "/capabilities"


@pytest.mark.parametrize(
    "answers",
    [
        [(503, {"Retry-After": "5"}, BUSY), (503, {"Retry-After": "5"}, BUSY)],
        [(429, {"Retry-After": "5"}, b"")] * 2,
        [(429, {"Retry-After": "Sun, 01 Mar 2026 00:00:05 GMT"}, b"")] * 2,
    ],
)
async def test_an_order_is_repeated_with_its_key_when_the_server_asks_for_patience(
    client, site, jobs, quick, answers
) -> None:
    site.answers += answers
    order = await client.submit(target_id="cats")
    assert order.created
    bodies = [json.loads(body) for _, _, _, body in site.seen]
    assert len(bodies) == 3
    assert {body["idempotency_key"] for body in bodies} == {order.key}
    assert all(pause >= 5 for pause in quick.slept)
    assert len(jobs.jobs) == 1


async def test_a_lost_answer_does_not_make_a_second_job(client, site, jobs) -> None:
    site.cable.lose_answers = 3
    order = await client.submit(target_id="cats", key="k")
    assert not order.created, "an earlier try had made it"
    assert len(jobs.jobs) == 1
    assert len(jobs.tasks) == 4


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_fault_of_the_moment_is_tried_again(client, site, quick, status) -> None:
    site.answers += [(status, {}, b"<html>not json</html>")] * 3
    await client.capabilities()
    assert quick.slept == [0.25, 0.5, 1.0]


async def test_a_restart_is_waited_for(client, site) -> None:
    await site.stop()
    starting: list[object] = []
    original = client._transport.world.sleep

    async def sleep(seconds: float) -> None:
        if not starting:
            starting.append(seconds)
            await site.start()
        await original(seconds)

    object.__setattr__(client._transport.world, "sleep", sleep)
    assert (await client.capabilities()).protocol_versions == ("1",)
    assert starting


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((503, {}, b'{"status":"error","error":"endpoint disabled: token not configured"}'), Unavailable),
        ((500, {}, b'{"error":{"code":"internal_error","retryable":false,"detail":{"reason":"x"}}}'), ServerError),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), InvalidParams),
        ((200, {}, b"[]"), BadAnswer),
        ((200, {}, b"not json"), BadAnswer),
        ((200, {}, b'{"protocol_versions":7}'), BadAnswer),
    ],
)
async def test_what_will_not_change_is_told_at_once(client, site, quick, answer, error) -> None:
    site.answers.append(answer)
    with pytest.raises(error):
        await client.capabilities()
    assert quick.slept == []
    assert len(site.seen) == 1


async def test_patience_has_an_end(site, quick) -> None:
    site.answers += [(429, {}, b"")] * 100
    async with AsyncClient(site.url, "t", world=quick.world(), retry=Retry(attempts=5)) as client:
        with pytest.raises(TooManyRequests):
            await client.capabilities()
    assert len(site.seen) == 5
    async with AsyncClient(site.url, "t", world=quick.world(), retry=Retry(total_s=10)) as client:
        began = quick.clock
        with pytest.raises(TooManyRequests):
            await client.capabilities()
    assert quick.clock - began <= 10


async def test_nobody_there(free_port, quick) -> None:
    async with AsyncClient(f"http://127.0.0.1:{free_port}", "the-secret", world=quick.world()) as client:
        with pytest.raises(Unreachable, match=f"no server answers at http://127.0.0.1:{free_port}") as caught:
            await client.capabilities()
    assert "the-secret" not in repr(caught.value)
    assert quick.clock <= 60
    with pytest.raises(RuntimeError, match="closed"):
        await client.capabilities()


async def test_the_token_may_come_from_a_function_and_is_asked_for_each_time(site) -> None:
    tokens = iter(["old", "an-invented-token"])
    async with AsyncClient(site.url, lambda: next(tokens)) as client:
        with pytest.raises(Unauthorized):
            await client.capabilities()
        await client.capabilities()

    async def fetched() -> str:
        return "an-invented-token"

    async with AsyncClient(site.url, fetched) as client:
        await client.capabilities()
    async with AsyncClient(site.url, "two\nlines") as client:
        with pytest.raises(ValueError, match="no header may hold") as caught:
            await client.capabilities()
    assert "two" not in str(caught.value)


async def test_the_token_is_in_no_log_and_no_error(client, site, caplog) -> None:
    with caplog.at_level(logging.DEBUG):
        site.cable.lose_answers = 1
        await client.capabilities()
        with pytest.raises(NotFound) as caught:
            await client.job("none")
    assert "an-invented-token" not in caplog.text
    assert "an-invented-token" not in repr(caught.value) + str(caught.value.__dict__)


async def test_ids_of_any_characters_arrive_whole(client, site) -> None:
    key = "a/b?c#d%2F e\N{CJK UNIFIED IDEOGRAPH-732B}"
    order = await client.submit(target_id="cats", key=key)
    assert (await client.job(order.job_id)).idempotency_key == key
    assert (await client.find(key)).job_id == order.job_id
    page = await client.page(order)
    assert page.job_id == order.job_id
    assert (await client.page(order, after=page.events[0].event_id)).events == ()
