"""Outcomes on real sockets: what is sent, with which headers, and what the answers mean (section 14.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pixivflow.delivery.outcome import OutcomePlace, OutcomeSender
from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.delivery import AnswerClass
from pixivflow.sandbox import Receiver, Sandbox, SandboxOptions

SECRET = "invented-submit-token"
BODY = {"request_id": "3d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b11", "disposition": "no_alternative", "reason": "無し"}
KEY = "refetch-outcome:p@manual-1:t"


def row(**changes: Any) -> OutboxRow:
    given: dict[str, Any] = {
        "id": 1,
        "kind": "outcome",
        "key": KEY,
        "route": "main",
        "attempt": 1,
        "max_attempts": 8,
        "payload": {"outcome": BODY, "job_id": "p@manual-1", "target_id": "t"},
        "token": "token",
        "job_id": "p@manual-1",
    }
    return OutboxRow(**{**given, **changes})


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(SandboxOptions(works=1)) as found:
        yield found


class Bench:
    """A sender and the receiver its route leads to; `place` may be replaced."""

    def __init__(self, sandbox: Sandbox) -> None:
        headers = {"Authorization": f"Bearer {SECRET}", "X-Bot": "1", "content-type": "text/plain"}
        self.place: OutcomePlace | None = OutcomePlace(sandbox.receiver_url("main", "outcome"), headers)
        self.receiver: Receiver = sandbox.receiver("main")
        self.receiver.token = SECRET
        self.asked: list[str] = []
        self.sender = OutcomeSender(self.where, now_ms=lambda: 1_700_000_000_000, timeout_ms=5_000)

    def where(self, route: str) -> OutcomePlace | None:
        self.asked.append(route)
        return self.place


@pytest.fixture
async def bench(sandbox: Sandbox) -> AsyncIterator[Bench]:
    found = Bench(sandbox)
    yield found
    await found.sender.aclose()


async def test_the_message_goes_with_the_headers_of_its_route(bench: Bench) -> None:
    assert await bench.sender.ready(row()) is None
    answer = await bench.sender.send(row())
    assert answer.answer is AnswerClass.ACCEPTED
    (seen,) = bench.receiver.outcomes
    assert seen["json"] == BODY
    assert (seen["method"], seen["authorization"]) == ("POST", "right")
    assert seen["idempotency_key"] == KEY
    assert bench.asked == ["main"]


@pytest.mark.parametrize(
    ("step", "means"),
    [
        ({"answer": "status", "status": 404}, AnswerClass.PERMANENT),
        ({"answer": "status", "status": 401}, AnswerClass.PERMANENT),
        ({"answer": "status", "status": 302}, AnswerClass.PERMANENT),
        ({"answer": "status", "status": 409}, AnswerClass.REPLAYED),
        ({"answer": "status", "status": 429, "retry_after_s": 7}, AnswerClass.RETRYABLE),
        ({"answer": "status", "status": 503}, AnswerClass.RETRYABLE),
        ("drop_before", AnswerClass.RETRYABLE),
        ("drop_after", AnswerClass.RETRYABLE),
    ],
)
async def test_what_an_answer_means(bench: Bench, step: Any, means: AnswerClass) -> None:
    """Case 180. 404 is a no for good."""
    bench.receiver.script([step], channel="outcome")
    answer = await bench.sender.send(row())
    assert answer.answer is means
    assert SECRET not in str(answer)
    if answer.status == 429:
        assert answer.retry_after_ms == 7000


async def test_where_it_goes_is_asked_for_each_time(bench: Bench, sandbox: Sandbox) -> None:
    await bench.sender.send(row())
    bench.place = OutcomePlace(sandbox.receiver_url("elsewhere", "outcome"))
    await bench.sender.send(row())
    assert len(sandbox.receiver("main").outcomes) == 1
    (seen,) = sandbox.receiver("elsewhere").outcomes
    assert seen["authorization"] == "absent"
    bench.place = None
    answer = await bench.sender.send(row())
    assert (answer.answer, answer.error_class) == (AnswerClass.PERMANENT, "configuration_error")


@pytest.mark.parametrize(
    ("place", "error_class", "means"),
    [
        (OutcomePlace("http://127.0.0.1:1/outcome"), "network_timeout", AnswerClass.RETRYABLE),
        (OutcomePlace("ftp://127.0.0.1/outcome"), "configuration_error", AnswerClass.PERMANENT),
        (OutcomePlace("http://"), "configuration_error", AnswerClass.PERMANENT),
    ],
)
async def test_what_cannot_be_sent_is_named(
    bench: Bench, place: OutcomePlace, error_class: str, means: AnswerClass
) -> None:
    bench.place = place
    answer = await bench.sender.send(row())
    assert (answer.answer, answer.error_class) == (means, error_class)
    assert place.url not in str(answer.detail)


async def test_a_header_that_cannot_be_sent_ends_the_row_and_is_not_shown(bench: Bench, sandbox: Sandbox) -> None:
    bench.place = OutcomePlace(sandbox.receiver_url("main", "outcome"), {"X-Key": f"{SECRET}\nX-Other: 1"})
    answer = await bench.sender.send(row())
    assert (answer.answer, answer.error_class) == (AnswerClass.PERMANENT, "configuration_error")
    assert SECRET not in str(answer)
    assert bench.receiver.outcomes == []


@pytest.mark.parametrize("payload", [{}, {"outcome": "x"}, {"outcome": {}}, {"outcome": {"request_id": ""}}])
async def test_a_row_without_a_message_is_not_sent(bench: Bench, payload: dict[str, Any]) -> None:
    answer = await bench.sender.send(row(payload=payload))
    assert (answer.answer, answer.error_class) == (AnswerClass.PERMANENT, "invalid_payload")
    assert bench.receiver.outcomes == []
    assert bench.asked == []


async def test_a_receiver_that_never_answers_is_left(sandbox: Sandbox) -> None:
    sandbox.receiver("main").script(["stall"], channel="outcome")
    place = OutcomePlace(sandbox.receiver_url("main", "outcome"))
    sender = OutcomeSender(lambda route: place, now_ms=lambda: 0, timeout_ms=50)
    answer = await sender.send(row())
    await sender.aclose()
    assert (answer.answer, answer.error_class) == (AnswerClass.RETRYABLE, "network_timeout")
