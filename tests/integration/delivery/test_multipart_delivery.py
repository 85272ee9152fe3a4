"""Works on their way through the worker to a receiver on a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from pixivflow.delivery.multipart import MultipartSettings
from pixivflow.delivery.worker import DrainResult
from pixivflow.domain.delivery import AnswerClass, DeliveryState, OutboxState
from pixivflow.domain.work import AssetRole

# The fixtures' classes live in conftest.py, which importlib mode does not let a test import.
Bench = Any
Receiver = Any


def _answering(status: int, document: Any = None, headers: dict[str, str] | None = None) -> Any:
    """A script line: answer, store nothing."""

    async def answer(request: web.Request, seen: Any) -> web.Response:
        if document is None:
            return web.Response(status=status, headers=headers)
        return web.json_response(document, status=status, headers=headers)

    return answer


async def test_a_work_arrives_once_with_its_files_fields_and_key(bench: Bench, receiver: Receiver) -> None:
    fields = {
        "title": "{{title}}",
        "tags": ["{{tag}}", "{{topic}}", "new"],
        "count": 3,
        "spoiler": True,
        "likes": "{{bookmarkCount}}",
        "typo": "{{titel}}",
    }
    headers = {"Authorization": "Bearer abcdefgh", "Content-Type": "text/plain"}
    bench.route("main", MultipartSettings(receiver.url, headers=headers, fields=fields))
    assets = [
        bench.asset("sea/77_p1.jpg", b"second", number=1),
        bench.asset("sea/77_p0.jpg", b"first"),
        bench.asset("sea/cover.jpg", b"cover", AssetRole.COVER),
        bench.asset("sea/77.json", b"{}", AssetRole.METADATA),
    ]
    row = bench.queue(bench.payload(assets, fields={"title": "own {{title}}"}))
    assert await bench.worker.drain() == DrainResult(processed=1, done=1)
    (seen,) = receiver.seen
    assert seen.fields["title"] == ["own 夜の海"]
    assert seen.fields["tags"] == ["海,new"]
    assert (seen.fields["count"], seen.fields["spoiler"]) == (["3"], ["true"])
    assert (seen.fields["likes"], seen.fields["typo"]) == (["1.2w"], ["{{titel}}"])
    assert seen.fields["idempotency_key"] == [row.key]
    assert seen.headers["x-idempotency-key"] == row.key
    assert seen.headers["x-pixivflow-delivery"] == "submission"
    assert seen.headers["authorization"] == "Bearer abcdefgh"
    assert seen.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert "transfer-encoding" not in seen.headers
    assert [(name, body) for name, _, _, body in seen.files] == [
        ("files", b"first"),
        ("files", b"second"),
        ("previews", b"cover"),
    ]
    listed = json.loads(seen.fields["media_assets"][0])
    assert [(entry["filename"], entry["sent"]) for entry in listed] == [
        ("77_p0.jpg", True),
        ("77_p1.jpg", True),
        ("cover.jpg", True),
        ("77.json", False),
    ]
    assert listed[0]["hash"] == f"sha256:{assets[1].sha256}"
    assert row.answers[0].remote_id == "rv-1"
    assert row.settled is not None
    assert row.settled.delivery is DeliveryState.DELIVERED


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_an_answer_lost_after_storing_shows_the_work_once(bench: Bench, receiver: Receiver, method: str) -> None:
    async def store_and_drop(request: web.Request, seen: Any) -> web.StreamResponse:
        receiver.store(seen)
        request.transport.abort()
        await asyncio.sleep(0)
        return web.Response()

    receiver.script.append(store_and_drop)
    bench.route("main", MultipartSettings(receiver.url, method=method))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).retried == 1
    assert (row.state, row.answers[0].error_class) == (OutboxState.RETRY_WAIT, "network_timeout")
    bench.later(1_000)
    assert (await bench.worker.drain()).done == 1
    assert row.answers[1].answer is AnswerClass.REPLAYED
    assert len(receiver.seen) == 2
    assert {seen.headers["x-idempotency-key"] for seen in receiver.seen} == {row.key}
    assert [seen.key for seen in receiver.seen] == [row.key, row.key]
    assert len(receiver.visible) == 1


async def test_a_duplicate_from_elsewhere_is_named_and_not_repeated(bench: Bench, receiver: Receiver) -> None:
    data = {"review_id": "rv-9", "reused": True, "matched_idempotency_key": "other", "reuse_reason": "same work"}
    receiver.script.append(_answering(200, {"data": data}))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    await bench.worker.drain()
    assert (row.state, row.answers[0].answer, row.answers[0].remote_id) == (
        OutboxState.DONE,
        AnswerClass.DUPLICATE,
        "rv-9",
    )
    assert row.settled is not None
    assert row.settled.delivery is DeliveryState.DUPLICATE


async def test_a_failed_record_in_a_success_is_never_booked_as_delivered(bench: Bench, receiver: Receiver) -> None:
    receiver.script.append(_answering(201, {"data": {"review_id": 4, "status": "Rejected"}}))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).dead == 1
    assert (row.state, row.answers[0].answer) == (OutboxState.DEAD, AnswerClass.FAILED_INSIDE)


async def test_a_plain_no_ends_on_the_first_try_and_quotes_no_secret(bench: Bench, receiver: Receiver) -> None:
    receiver.script.append(_answering(400, {"error": {"message": "bad\r\ntoken s3cr3t-value here"}}))
    bench.route("main", MultipartSettings(receiver.url, headers={"Authorization": "Bearer s3cr3t-value"}))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).dead == 1
    assert row.answers[0].error_class == "remote_4xx"
    assert row.answers[0].detail == "the receiver answered 400: bad token [secret] here"
    assert len(receiver.seen) == 1


async def test_a_fault_is_repeated_with_the_same_key(bench: Bench, receiver: Receiver) -> None:
    receiver.script.append(_answering(500))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    assert await bench.worker.drain() == DrainResult(processed=1, retried=1)
    assert await bench.worker.drain() == DrainResult()
    bench.later(1_000)
    assert await bench.worker.drain() == DrainResult(processed=1, done=1)
    assert (row.attempt, row.answers[0].error_class) == (2, "remote_5xx")


async def test_the_pause_the_receiver_asks_for_is_kept(bench: Bench, receiver: Receiver) -> None:
    receiver.script.append(_answering(429, headers={"Retry-After": "90"}))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    await bench.worker.drain()
    assert row.answers[0].error_class == "rate_limited"
    bench.later(89_999)
    assert (await bench.worker.drain()).processed == 0
    bench.later(1)
    assert (await bench.worker.drain()).done == 1


async def test_a_receiver_that_never_answers_costs_one_try(bench: Bench, receiver: Receiver) -> None:
    hold = asyncio.Event()

    async def silence(request: web.Request, seen: Any) -> web.StreamResponse:
        await hold.wait()
        return web.Response()

    receiver.script.append(silence)
    bench.route("main", MultipartSettings(receiver.url, timeout_ms=300))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).retried == 1
    hold.set()
    assert (row.answers[0].error_class, row.answers[0].detail) == (
        "network_timeout",
        "the receiver did not answer in time",
    )


async def test_a_receiver_that_is_not_ready_costs_no_try(bench: Bench, receiver: Receiver) -> None:
    receiver.ready_status.append(503)
    bench.route("main", MultipartSettings(receiver.url, readiness_url=f"{receiver.base}/ready"))
    row = bench.queue(bench.payload())
    assert await bench.worker.drain() == DrainResult(processed=1, deferred=1)
    assert (row.attempt, receiver.seen) == (0, [])
    assert row.deferred == ["the receiver says it is not ready (503)"]
    bench.later(60_000)
    assert (await bench.worker.drain()).done == 1
    assert (row.attempt, receiver.asked_ready) == (1, 2)


async def test_eight_failed_tries_are_the_end(bench: Bench, receiver: Receiver) -> None:
    receiver.script.extend(_answering(503) for _ in range(9))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    for _ in range(7):
        assert (await bench.worker.drain()).retried == 1
        bench.later(60_000)
    assert (await bench.worker.drain()).dead == 1
    bench.later(10**9)
    assert (await bench.worker.drain()).processed == 0
    assert (row.state, len(receiver.seen)) == (OutboxState.DEAD, 8)


@pytest.mark.parametrize("key", ["not-a-uuid", "0f8fad5b-d9cb-469f-a165-70867728950e"])
async def test_a_request_id_that_cannot_be_filled_in_is_never_sent(bench: Bench, receiver: Receiver, key: str) -> None:
    bench.route("main", MultipartSettings(receiver.url, fields={"refetch_request_id": "{{refetchRequestID}}"}))
    row = bench.queue(bench.payload(key=key))
    assert (await bench.worker.drain()).dead == 1
    assert (row.answers[0].answer, row.answers[0].error_class) == (AnswerClass.PERMANENT, "configuration_error")
    assert receiver.seen == []


async def test_the_request_id_reaches_the_receiver_in_its_one_spelling(bench: Bench, receiver: Receiver) -> None:
    ident = "0f8fad5b-d9cb-469f-a165-70867728950e"
    bench.route("main", MultipartSettings(receiver.url, fields={"refetch_request_id": "{{refetchRequestId}}"}))
    bench.queue(bench.payload(key=ident.upper()))
    bench.queue(bench.payload(job="morning@2"))
    bench.queue(bench.payload(job="morning@3", key="a key that is no request id"))
    assert (await bench.worker.drain()).done == 3
    assert sorted(seen.fields["refetch_request_id"][0] for seen in receiver.seen) == ["", "", ident]


async def test_a_redirect_is_not_followed(bench: Bench, receiver: Receiver) -> None:
    receiver.script.append(_answering(307, headers={"Location": f"{receiver.base}/submit?token=x"}))
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).dead == 1
    assert (len(receiver.seen), row.answers[0].error_class) == (1, "configuration_error")
    assert "token" not in (row.answers[0].detail or "")


@pytest.mark.parametrize("damage", ["gone", "shorter", "longer"])
async def test_a_file_that_changed_is_never_sent_short(bench: Bench, receiver: Receiver, damage: str) -> None:
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload([bench.asset("sea/77_p0.jpg", b"0123456789")]))
    file = bench.root / "sea/77_p0.jpg"
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"0" * (9 if damage == "shorter" else 11))
    assert (await bench.worker.drain()).dead == 1
    assert (row.answers[0].error_class, receiver.seen) == ("invalid_payload", [])


async def test_a_route_that_is_not_configured_is_named(bench: Bench) -> None:
    row = bench.queue(bench.payload(route="gone"))
    assert (await bench.worker.drain()).dead == 1
    assert row.answers[0].error_class == "configuration_error"
    assert "'gone'" in (row.answers[0].detail or "")


async def test_nobody_listening_is_a_fault_to_repeat(bench: Bench, unused_tcp_port: int) -> None:
    bench.route("main", MultipartSettings(f"http://127.0.0.1:{unused_tcp_port}/"))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).retried == 1
    assert row.answers[0].error_class == "network_timeout"


async def test_an_endless_answer_is_cut_and_books_nothing(bench: Bench, receiver: Receiver) -> None:
    async def flood(request: web.Request, seen: Any) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            for _ in range(10_000):
                await response.write(b" " * 65_536)
        except (ConnectionError, OSError):
            pass
        return response

    receiver.script.append(flood)
    bench.route("main", MultipartSettings(receiver.url))
    row = bench.queue(bench.payload())
    assert (await bench.worker.drain()).retried == 1
    assert row.answers[0].answer is AnswerClass.RETRYABLE
