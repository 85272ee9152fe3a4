"""A callback on the wire: what is sent, what each answer means, and where nothing is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from standardwebhooks import Webhook

from pixivflow.config.callbacks import signing_key
from pixivflow.delivery.answer import BODY_LIMIT
from pixivflow.delivery.egress import BlockedAddress, EgressPolicy, guarded_session
from pixivflow.domain.delivery import AnswerClass
from pixivflow.sandbox import Sandbox, SandboxOptions

Consumer = Any
MakeSender = Any
MakeRow = Any
C = AnswerClass
SECRETS = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
PUBLIC_ONLY = EgressPolicy(block_private=True)


def redirect(status: int, location: str | None) -> web.Response:
    return web.Response(status=status, headers={"Location": location} if location is not None else {})


async def test_the_request_is_the_event_and_three_headers(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    sent = row(f"{consumer.base}/jobs/events?bot=1")
    answer = await sender().send(sent)
    assert (answer.answer, answer.status) == (C.ACCEPTED, 200)
    (seen,) = consumer.seen
    assert seen.path == "/jobs/events?bot=1"
    assert seen.body == msgspec.json.encode(sent.payload["event"])
    transport = {"host", "content-length", "connection"}
    headers = {name.lower(): value for name, value in seen.headers.items() if name.lower() not in transport}
    assert headers == {
        "content-type": "application/json",
        "x-pixivflow-delivery": "job-event",
        "x-idempotency-key": sent.key,
    }


async def test_every_try_is_the_same_request(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    consumer.answers = [web.Response(status=503)]
    for attempt in (1, 2):
        await sender().send(row(f"{consumer.base}/x", attempt=attempt))
    first, second = consumer.seen
    assert (first.body, dict(first.headers)) == (second.body, dict(second.headers))


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(SandboxOptions(works=1, novels=1, users=1)) as running:
        yield running


@pytest.mark.parametrize(
    ("step", "answer", "error_class"),
    [
        ("accepted", C.ACCEPTED, None),
        ("duplicate", C.REPLAYED, None),
        ({"answer": "status", "status": 503, "retry_after_s": 40}, C.RETRYABLE, "remote_5xx"),
        ({"answer": "status", "status": 429, "retry_after_s": 40}, C.RETRYABLE, "rate_limited"),
        ({"answer": "status", "status": 404}, C.PERMANENT, "remote_4xx"),
        ({"answer": "status", "status": 422}, C.PERMANENT, "remote_4xx"),
        ("drop_before", C.RETRYABLE, "network_timeout"),
        ("drop_after", C.RETRYABLE, "network_timeout"),
        ("stall", C.RETRYABLE, "network_timeout"),
        ("stall_after", C.RETRYABLE, "network_timeout"),
    ],
)
async def test_each_scripted_answer_is_understood(
    sandbox: Sandbox, sender: MakeSender, row: MakeRow, step: Any, answer: AnswerClass, error_class: str | None
) -> None:
    sandbox.receiver("r").script([step], channel="callback")
    stalls = str(step).startswith("stall")
    found = await sender(timeout_ms=300 if stalls else 30_000).send(row(sandbox.receiver_url("r", "callback")))
    assert (found.answer, found.error_class) == (answer, error_class)
    assert found.retry_after_ms == (40_000 if "retry_after_s" in step else None)


async def test_a_wanted_token_is_sent_only_where_its_prefix_fits(
    sandbox: Sandbox, sender: MakeSender, row: MakeRow
) -> None:
    receiver = sandbox.receiver("r")
    receiver.read_script({"channel": "callback", "token": "right-token", "enforce_token": True})
    url = sandbox.receiver_url("r", "callback")
    assert (await sender().send(row(url))).status == 401
    fitting = sender(credentials=((sandbox.receiver_url("r", "").rstrip("/"), "right-token"),))
    assert (await fitting.send(row(url))).answer is C.ACCEPTED
    elsewhere = sender(credentials=((sandbox.receiver_url("r2", "").rstrip("/"), "right-token"),))
    assert (await elsewhere.send(row(url))).answer is C.PERMANENT
    assert [seen["authorization"] for seen in receiver.callbacks] == ["absent", "right", "absent"]


async def test_the_stock_library_takes_a_signed_callback(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    now = int(datetime.now(UTC).timestamp() * 1000)
    times = iter([now, now, now + 60_000, now + 60_000])
    signed = sender(signing_keys=tuple(map(signing_key, SECRETS)), now_ms=lambda: next(times))
    consumer.answers = [web.Response(status=500)]
    for attempt in (1, 2):
        await signed.send(row(f"{consumer.base}/x", attempt=attempt))
    for seen in consumer.seen:
        for secret in SECRETS:
            event = Webhook(secret).verify(seen.body, dict(seen.headers))
            assert event == json.loads(seen.body)
        assert seen.headers["webhook-id"] == event["event_id"]
    stamps = [int(seen.headers["webhook-timestamp"]) for seen in consumer.seen]
    assert stamps[1] - stamps[0] == 60, "the time of the try, or a late try would be refused as a replay"


# --- redirects ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("location", ["/there?x=1", "there?x=1", "{base}/there?x=1"])
async def test_a_redirect_within_the_origin_is_followed_once(
    consumer: Consumer, sender: MakeSender, row: MakeRow, status: int, location: str
) -> None:
    consumer.answers = [redirect(status, location.format(base=consumer.base))]
    answer = await sender(credentials=((f"{consumer.base}/here", "word"),)).send(row(f"{consumer.base}/here"))
    assert answer.answer is C.ACCEPTED
    here, there = consumer.seen
    assert (here.path, there.path) == ("/here", "/there?x=1")
    assert here.body == there.body
    assert here.headers["Authorization"] == "Bearer word"
    assert "Authorization" not in there.headers, "the token's prefix ends at the old path"


@pytest.mark.parametrize(
    "location",
    [
        "http://localhost:{port}/x",
        "http://127.0.0.1:1/x",
        "https://127.0.0.1:{port}/x",
        "//evil.example/x",
        "http://user@127.0.0.1:{port}/x",
        "http://[bad/",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ],
)
async def test_a_redirect_anywhere_else_ends_the_row(
    consumer: Consumer, sender: MakeSender, row: MakeRow, location: str
) -> None:
    consumer.answers = [redirect(307, location.format(port=consumer.port))]
    answer = await sender().send(row(f"{consumer.base}/here"))
    assert (answer.answer, answer.error_class) == (C.PERMANENT, "configuration_error")
    assert "redirect" in (answer.detail or "")
    assert len(consumer.seen) == 1


async def test_a_second_redirect_ends_the_row(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    consumer.answers = [redirect(302, "/b"), redirect(302, "/c")]
    answer = await sender().send(row(f"{consumer.base}/a"))
    assert (answer.answer, answer.detail) == (C.PERMANENT, "the receiver redirects more than once")
    assert [seen.path for seen in consumer.seen] == ["/a", "/b"]


@pytest.mark.parametrize(("status", "location"), [(303, "/b"), (302, None), (304, None), (300, "/b")])
async def test_what_sends_nobody_elsewhere_is_tried_again(
    consumer: Consumer, sender: MakeSender, row: MakeRow, status: int, location: str | None
) -> None:
    consumer.answers = [redirect(status, location)]
    answer = await sender().send(row(f"{consumer.base}/a"))
    assert (answer.answer, answer.error_class) == (C.RETRYABLE, "internal_error")
    assert len(consumer.seen) == 1


# --- hostile answers ------------------------------------------------------------------------------------------------


async def test_an_endless_answer_is_read_only_a_little_and_its_status_counts(
    consumer: Consumer, sender: MakeSender, row: MakeRow
) -> None:
    written = 0
    gone = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65_536)
                written += 65_536
        except (ConnectionError, asyncio.CancelledError):
            gone.set()
        return response

    consumer.answers = [endless]
    assert (await sender().send(row(f"{consumer.base}/a"))).answer is C.ACCEPTED
    await gone.wait()
    assert written < 200 * BODY_LIMIT, "the connection was broken off, not drained"


async def test_a_packed_answer_is_not_unpacked(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    consumer.answers = [web.Response(body=b"no gzip at all", headers={"Content-Encoding": "gzip"})]
    assert (await sender().send(row(f"{consumer.base}/a"))).answer is C.ACCEPTED


async def test_a_cut_answer_has_a_status_all_the_same(consumer: Consumer, sender: MakeSender, row: MakeRow) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"x")
        assert request.transport is not None
        request.transport.close()
        return response

    consumer.answers = [cut]
    assert (await sender().send(row(f"{consumer.base}/a"))).answer is C.ACCEPTED


@pytest.mark.parametrize("payload", [{}, {"event": None}, {"event": {"event_id": "a.b"}}, {"event": {"event_id": ""}}])
async def test_a_row_without_an_event_is_not_sent(
    consumer: Consumer, sender: MakeSender, row: MakeRow, payload: dict[str, Any]
) -> None:
    answer = await sender().send(row(f"{consumer.base}/a", payload=payload))
    assert (answer.answer, answer.error_class) == (C.PERMANENT, "invalid_payload")
    assert consumer.seen == []


async def test_nobody_there_is_tried_again_and_the_address_is_not_told(
    free_port: int, sender: MakeSender, row: MakeRow
) -> None:
    answer = await sender().send(row(f"http://127.0.0.1:{free_port}/x?token=s3cr3t"))
    assert (answer.answer, answer.error_class) == (C.RETRYABLE, "network_timeout")
    assert "s3cr3t" not in (answer.detail or "")


# --- where it may go ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [PUBLIC_ONLY, EgressPolicy(("other.example",))])
async def test_a_forbidden_address_is_never_connected_to(
    consumer: Consumer, sender: MakeSender, row: MakeRow, policy: EgressPolicy
) -> None:
    answer = await sender(policy=policy).send(row(f"{consumer.base}/a"))
    assert (answer.answer, answer.error_class) == (C.PERMANENT, "configuration_error")
    assert consumer.seen == []


async def test_a_name_that_turns_private_after_the_check_is_blocked_where_it_connects(
    consumer: Consumer, sender: MakeSender, row: MakeRow, names: Any
) -> None:
    found = names(["127.0.0.1"])
    answer = await sender(policy=PUBLIC_ONLY, names=found).send(row(f"http://evil.example:{consumer.port}/a"))
    assert (answer.answer, answer.error_class) == (C.PERMANENT, "configuration_error")
    assert answer.detail == "the callback address is not allowed: the address is not a public one (loopback)"
    assert (found.asked, consumer.seen) == (["evil.example"], [])


async def test_the_address_that_was_looked_at_is_the_one_connected_to(
    consumer: Consumer, sender: MakeSender, row: MakeRow, names: Any
) -> None:
    policy = EgressPolicy(block_private=True, allow_addresses=("127.0.0.0/8",))
    found = names(["10.0.0.1", "127.0.0.1"], ["10.0.0.1"])
    calls = sender(policy=policy, names=found)
    url = f"http://twofaced.example:{consumer.port}/a"
    assert (await calls.send(row(url))).answer is C.ACCEPTED
    assert (await calls.send(row(url))).answer is C.PERMANENT, "asked anew for each connection, never remembered"
    assert found.asked == ["twofaced.example"] * 2
    (seen,) = consumer.seen
    assert seen.headers["Host"] == f"twofaced.example:{consumer.port}"


async def test_a_name_nobody_knows_is_tried_again(sender: MakeSender, row: MakeRow, names: Any) -> None:
    answer = await sender(policy=PUBLIC_ONLY, names=names()).send(row("http://nowhere.example/a"))
    assert (answer.answer, answer.error_class) == (C.RETRYABLE, "network_timeout")


async def test_the_socket_itself_refuses_what_slipped_past_every_other_check(consumer: Consumer) -> None:
    async with guarded_session(PUBLIC_ONLY) as session:
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get(consumer.base)
    assert isinstance(caught.value.os_error, BlockedAddress)
    assert consumer.seen == []
