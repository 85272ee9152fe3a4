"""The receiver's answers and its memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pixivflow.sandbox.receiver import ANSWERS, Receiver, Reply, ScriptError, ready_reply


def _send(receiver: Receiver, key: str | None = "k1") -> Reply:
    return receiver.submitted(receiver.next_step("submit"), {"idempotency_key": key, "fields": {"a": ["1"]}})


def test_one_visible_item_per_key() -> None:
    receiver = Receiver("r")
    first, second, other = _send(receiver), _send(receiver), _send(receiver, "k2")
    assert (first.status, second.status, other.status) == (201, 200, 201)
    assert first.body["data"] == {
        "review_id": "rv-1",
        "status": "pending",
        "reused": False,
        "reuse_reason": None,
        "matched_idempotency_key": None,
    }
    assert second.body["data"]["review_id"] == "rv-1"
    assert second.body["data"]["matched_idempotency_key"] == "k1"
    assert [item["times"] for item in receiver.items] == [2, 1]
    assert len(receiver.requests) == 3


def test_submissions_without_a_key_are_all_visible() -> None:
    receiver = Receiver("r")
    _send(receiver, None)
    _send(receiver, None)
    assert len(receiver.items) == 2


def test_answers_in_order_then_the_default() -> None:
    receiver = Receiver("r")
    receiver.script(
        ["duplicate", {"answer": "status", "status": 429, "retry_after_s": 7}, {"answer": "failed", "word": "expired"}],
        default={"answer": "accepted", "status": 200},
    )
    duplicate, limited, failed, accepted = (_send(receiver, f"k{n}") for n in range(4))
    assert duplicate.body["data"]["reuse_reason"] == "duplicate_existing"
    assert duplicate.body["data"]["matched_idempotency_key"] == "earlier-delivery"
    assert (limited.status, limited.headers) == (429, {"Retry-After": "7"})
    assert (failed.status, failed.body["data"]["status"]) == (200, "expired")
    assert accepted.status == 200
    assert [item["idempotency_key"] for item in receiver.items] == ["k3"]
    assert [request["answered"] for request in receiver.requests] == [200, 429, 200, 200]


def test_a_lost_answer_is_one_item_after_the_retry() -> None:
    receiver = Receiver("r")
    receiver.script(["drop_after"])
    lost, retried = _send(receiver), _send(receiver)
    assert lost.drop
    assert not retried.drop
    assert retried.body["data"]["reused"]
    assert len(receiver.items) == 1
    assert receiver.items[0]["times"] == 2


def test_replay_names_the_same_key() -> None:
    receiver = Receiver("r")
    receiver.script(["replay"])
    assert _send(receiver).body["data"]["matched_idempotency_key"] == "k1"
    assert receiver.items == []


def test_channels_have_scripts_of_their_own() -> None:
    receiver = Receiver("r")
    receiver.read_script(
        {"channel": "callback", "answers": ["duplicate"], "default": {"answer": "status", "status": 503}}
    )
    body: dict[str, Any] = {"idempotency_key": "e1"}
    first = receiver.noticed("callback", receiver.next_step("callback"), dict(body))
    second = receiver.noticed("callback", receiver.next_step("callback"), dict(body))
    outcome = receiver.noticed("outcome", receiver.next_step("outcome"), dict(body))
    assert (first.status, second.status, outcome.status) == (409, 503, 200)
    assert len(receiver.callbacks) == 2
    assert len(receiver.outcomes) == 1
    receiver.script([{"answer": "status", "status": 503}], channel="ready")
    assert ready_reply(receiver.next_step("ready")).status == 503
    assert ready_reply(receiver.next_step("ready")).status == 200


def test_only_whether_a_token_is_right_is_kept() -> None:
    receiver = Receiver("r")
    assert receiver.authorization(None) == "absent"
    assert receiver.authorization("Bearer x") == "unchecked"
    receiver.read_script({"token": "good", "enforce_token": True})
    assert receiver.authorization("Bearer good") == "right"
    assert receiver.authorization("Bearer bad") == "wrong"
    assert receiver.refuses("wrong")
    assert receiver.refuses("absent")
    assert not receiver.refuses("right")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("x", "a script is a list"),
        ([1], r"answers\[0\]: must be an object"),
        (["yes"], r"answers\[0\].answer: must be one of accepted"),
        ([{}], r"answers\[0\].answer: is required"),
        ([{"answer": "status"}], "status: is required"),
        ([{"answer": "slow", "seconds": -1}], "seconds: must be a number"),
        ([{"answer": "accepted", "when": 1}], "unknown key 'when'"),
        ({"answers": [], "channel": "post"}, "channel: must be one of submit"),
        ({"answer": []}, "unknown key 'answer'"),
        ({"token": 1}, "token: must be a text"),
        ({"default": "no"}, "default.answer"),
    ],
)
def test_bad_scripts(script: Any, told: str) -> None:
    receiver = Receiver("r")
    with pytest.raises(ScriptError, match=told):
        receiver.read_script(script)


def test_every_answer_that_needs_nothing_can_be_given_by_name() -> None:
    receiver = Receiver("r")
    receiver.script([name for name in ANSWERS if name != "status"])
    assert receiver.document()["scripted"]["submit"] == len(ANSWERS) - 1


async def test_waiting_for_arrivals() -> None:
    receiver = Receiver("r")
    waiting = asyncio.create_task(receiver.until(lambda got: len(got.items) == 2))
    await asyncio.sleep(0)
    _send(receiver, "a")
    await asyncio.sleep(0)
    assert not waiting.done()
    _send(receiver, "b")
    await waiting
    receiver.clear()
    assert receiver.items == []
