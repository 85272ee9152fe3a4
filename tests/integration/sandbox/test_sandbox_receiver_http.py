"""The receiver over a real socket."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import Sandbox

PICTURE = bytes(range(256)) * 1000


def _form(key: str = "k1") -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("title", "花 & 穹")
    form.add_field("files", PICTURE, filename="a.jpg", content_type="image/jpeg")
    form.add_field("tags", "one")
    form.add_field("tags", "two")
    form.add_field("idempotency_key", key)
    return form


async def _submit(client: Any, name: str = "r", key: str = "k1", **more: Any) -> tuple[int, Any]:
    async with client.session.post(client.sandbox.receiver_url(name), data=_form(key), **more) as answer:
        return answer.status, await answer.json()


async def test_what_comes_is_kept_in_order_without_secrets(stranger: Any, sandbox: Sandbox) -> None:
    headers = {"Authorization": "Bearer top-secret", "X-Trace": "t1", "Cookie": "also=secret"}
    status, ack = await _submit(stranger, headers=headers)
    assert (status, ack["data"]["status"]) == (201, "pending")
    async with stranger.session.get(f"{sandbox.base_url}/__sandbox__/receiver/r") as answer:
        text = await answer.text()
        seen = await answer.json()
    assert "secret" not in text
    request = seen["requests"][0]
    assert [part["name"] for part in request["parts"]] == ["title", "files", "tags", "tags", "idempotency_key"]
    assert request["fields"] == {"title": ["花 & 穹"], "tags": ["one", "two"], "idempotency_key": ["k1"]}
    assert request["files"] == [
        {
            "name": "files",
            "content_type": "image/jpeg",
            "filename": "a.jpg",
            "size": len(PICTURE),
            "sha256": hashlib.sha256(PICTURE).hexdigest(),
        }
    ]
    assert request["headers"]["X-Trace"] == "t1"
    assert request["authorization"] == "unchecked"
    assert seen["items"][0]["files"] == request["files"]


async def test_a_lost_answer_then_a_retry_is_one_item(stranger: Any, sandbox: Sandbox) -> None:
    sandbox.receiver("r").script(["drop_after"])
    with pytest.raises(aiohttp.ClientConnectionError):
        await _submit(stranger)
    status, ack = await _submit(stranger)
    assert (status, ack["data"]["reused"]) == (200, True)
    assert len(sandbox.receiver("r").items) == 1
    assert len(sandbox.receiver("r").requests) == 2


async def test_a_dropped_connection_before_reading_stores_nothing(stranger: Any, sandbox: Sandbox) -> None:
    sandbox.receiver("r").script(["drop_before"])
    with pytest.raises(aiohttp.ClientConnectionError):
        await _submit(stranger)
    assert sandbox.receiver("r").requests == []
    assert sandbox.receiver("r").dropped_unread == 1
    assert (await _submit(stranger))[0] == 201


async def test_a_script_over_http(stranger: Any, sandbox: Sandbox) -> None:
    url = f"{sandbox.base_url}/__sandbox__/receiver/r/script"
    script = {
        "answers": [
            {"answer": "status", "status": 429, "retry_after_s": 2},
            {"answer": "slow", "seconds": 0},
            "duplicate",
        ],
        "default": {"answer": "status", "status": 503},
    }
    async with stranger.session.post(url, json=script) as answer:
        assert answer.status == 200
    got = [await _submit(stranger, key=f"k{n}") for n in range(4)]
    assert [status for status, _ in got] == [429, 201, 200, 503]
    assert got[2][1]["data"]["reuse_reason"] == "duplicate_existing"
    for bad in ({"answers": ["sometimes"]}, {"channel": "x"}):
        async with stranger.session.post(url, json=bad) as answer:
            assert answer.status == 400


async def test_a_stalled_submission_is_stored_when_released(stranger: Any, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("r")
    receiver.script(["stall"])
    held = asyncio.create_task(_submit(stranger))
    await receiver.until(lambda got: got.arrived == 1)
    assert not held.done()
    assert receiver.items == []
    sandbox.release()
    assert (await held)[0] == 201
    assert len(receiver.items) == 1


async def test_a_request_can_be_stored_and_left_without_an_answer(stranger: Any, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("r")
    receiver.script(["stall_after"])
    held = asyncio.create_task(_submit(stranger))
    await receiver.until(lambda got: len(got.items) == 1)
    assert not held.done()
    assert receiver.arrived == 1
    sandbox.release()
    assert (await held)[0] == 201


async def test_a_wrong_token_is_turned_away(stranger: Any, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("r")
    receiver.read_script({"token": "good", "enforce_token": True})
    assert (await _submit(stranger))[0] == 401
    assert (await _submit(stranger, headers={"Authorization": "Bearer good"}))[0] == 201
    assert [request["authorization"] for request in receiver.requests] == ["absent", "right"]


async def test_json_channels(stranger: Any, sandbox: Sandbox) -> None:
    receiver = sandbox.receiver("r")
    receiver.script(["accepted", "duplicate"], channel="callback")
    headers = {"X-Idempotency-Key": "job-event:1:2", "X-PixivFlow-Delivery": "job-event"}
    statuses = []
    for _ in range(2):
        async with stranger.session.post(
            sandbox.receiver_url("r", "callback"), json={"a": 1}, headers=headers
        ) as answer:
            statuses.append(answer.status)
    assert statuses == [200, 409]
    assert receiver.callbacks[0]["json"] == {"a": 1}
    assert receiver.callbacks[0]["idempotency_key"] == "job-event:1:2"
    assert [callback["number"] for callback in receiver.callbacks] == [1, 2]
    for channel, kept in (("outcome", receiver.outcomes), ("notify", receiver.notices)):
        async with stranger.session.post(sandbox.receiver_url("r", channel), json={"b": 2}) as answer:
            assert answer.status == 200
        assert kept[0]["json"] == {"b": 2}
    async with stranger.session.get(sandbox.receiver_url("r", "ready")) as answer:
        assert answer.status == 200
    assert receiver.ready_checks == 1


async def test_a_json_submission_is_an_item_by_its_key(stranger: Any, sandbox: Sandbox) -> None:
    for _ in range(2):
        async with stranger.session.post(sandbox.receiver_url("r"), json={"idempotencyKey": "g1", "x": 1}) as answer:
            assert answer.status in {200, 201}
    assert [(item["idempotency_key"], item["times"]) for item in sandbox.receiver("r").items] == [("g1", 2)]


async def test_unreadable_bodies_are_400_and_told(stranger: Any, sandbox: Sandbox) -> None:
    url = sandbox.receiver_url("r")
    for kind, body in (("application/json", b"{"), ("multipart/form-data", b"x"), ("text/plain", b"\xff")):
        async with stranger.session.post(url, data=body, headers={"Content-Type": kind}) as answer:
            assert answer.status == 400, kind
    assert all("problem" in request for request in sandbox.receiver("r").requests)
    assert sandbox.receiver("r").items == []


async def test_unknown_channels_and_clearing(stranger: Any, sandbox: Sandbox) -> None:
    await _submit(stranger)
    async with stranger.session.post(sandbox.receiver_url("r", "elsewhere"), json={}) as answer:
        assert answer.status == 404
    async with stranger.session.delete(f"{sandbox.base_url}/__sandbox__/receiver/r") as answer:
        assert answer.status == 200
    assert sandbox.receiver("r").items == []


async def test_waiting_for_an_item(stranger: Any, sandbox: Sandbox) -> None:
    waiting = asyncio.create_task(sandbox.receiver("r").until(lambda got: bool(got.items)))
    await _submit(stranger)
    await waiting
    assert sandbox.receiver("r").items[0]["idempotency_key"] == "k1"
