"""The worker against the sandbox's receiver, which keeps what it shows apart from what it was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pixivflow.delivery.multipart import MultipartSettings
from pixivflow.domain.delivery import AnswerClass, OutboxState
from pixivflow.sandbox import Sandbox, SandboxOptions

Bench = Any


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(SandboxOptions(works=1, novels=1, users=1)) as running:
        yield running


def _settings(sandbox: Sandbox, **more: Any) -> MultipartSettings:
    return MultipartSettings(sandbox.receiver_url("main"), **more)


async def test_a_work_is_seen_once_whatever_happens_to_the_answer(bench: Bench, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("main")
    receiver.script(["drop_before", "drop_after", {"answer": "status", "status": 502}, "accepted"])
    bench.route("main", _settings(sandbox, fields={"title": "{{title}}"}))
    row = bench.queue(bench.payload())
    for _ in range(4):
        await bench.worker.drain()
        bench.later(60_000)
    assert [answer.answer for answer in row.answers] == [
        AnswerClass.RETRYABLE,
        AnswerClass.RETRYABLE,
        AnswerClass.RETRYABLE,
        AnswerClass.REPLAYED,
    ]
    (item,) = receiver.items
    assert item["fields"]["title"] == ["夜の海"]
    assert item["idempotency_key"] == row.key
    assert {request["headers"]["X-Idempotency-Key"] for request in receiver.requests} == {row.key}
    assert (row.answers[3].remote_id, row.state) == (item["review_id"], OutboxState.DONE)


@pytest.mark.parametrize(
    ("script", "expected", "state"),
    [
        ("accepted", AnswerClass.ACCEPTED, OutboxState.DONE),
        ("replay", AnswerClass.REPLAYED, OutboxState.DONE),
        ("duplicate", AnswerClass.DUPLICATE, OutboxState.DONE),
        ("failed", AnswerClass.FAILED_INSIDE, OutboxState.DEAD),
        ({"answer": "failed", "word": "expired"}, AnswerClass.FAILED_INSIDE, OutboxState.DEAD),
        ({"answer": "status", "status": 400}, AnswerClass.PERMANENT, OutboxState.DEAD),
        ({"answer": "status", "status": 429, "retry_after_s": 30}, AnswerClass.RETRYABLE, OutboxState.RETRY_WAIT),
        ("stall", AnswerClass.RETRYABLE, OutboxState.RETRY_WAIT),
    ],
)
async def test_each_scripted_answer_is_understood(
    bench: Bench, sandbox: Sandbox, script: Any, expected: AnswerClass, state: OutboxState
) -> None:
    sandbox.receiver("main").script([script])
    bench.route("main", _settings(sandbox, timeout_ms=300 if script == "stall" else 60_000))
    row = bench.queue(bench.payload())
    await bench.worker.drain()
    assert (row.answers[0].answer, row.state) == (expected, state)


async def test_the_token_reaches_the_receiver_and_a_wrong_one_is_final(bench: Bench, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("main")
    receiver.read_script({"answers": [], "token": "right-token", "enforce_token": True})
    bench.route("main", _settings(sandbox, headers={"Authorization": "Bearer right-token"}))
    bench.route("other", _settings(sandbox, headers={"Authorization": "Bearer wrong-token"}))
    good, bad = bench.queue(bench.payload()), bench.queue(bench.payload(route="other"))
    result = await bench.worker.drain()
    assert (result.done, result.dead) == (1, 1)
    assert (good.state, bad.answers[0].status) == (OutboxState.DONE, 401)


async def test_readiness_is_asked_before_each_try(bench: Bench, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("main")
    receiver.script([{"answer": "status", "status": 503}], channel="ready")
    bench.route("main", _settings(sandbox, readiness_url=sandbox.receiver_url("main", "ready")))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).deferred == 1
    assert receiver.requests == []
    bench.later(60_000)
    assert (await bench.worker.drain()).done == 1
    assert (receiver.ready_checks, row.attempt) == (2, 1)
