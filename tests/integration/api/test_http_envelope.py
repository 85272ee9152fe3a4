from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import AsyncIterator

import msgspec
import pytest
from litestar import get
from litestar.exceptions import ClientException, InternalServerException

from pixivflow.api import wire
from pixivflow.api.exchange import MAX_BODY


def error(answer) -> wire.Error:
    """The body is the envelope, whole and alone."""
    assert list(answer.json) == ["error"]
    assert msgspec.to_builtins(msgspec.convert(answer.json, wire.ErrorEnvelope)) == answer.json
    return msgspec.convert(answer.json["error"], wire.Error)


NO_OBJECTS = [
    b"",
    b"{",
    b"{}x",
    b"\xff\xfe",
    b'{"a":NaN}',
    b'{"a":1e999}',
    b'{"a":"\\ud800"}',
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b"9" * 10_000,
    b"[]",
    b'"{}"',
    b"null",
    b"<html>",
]


async def test_a_body_that_is_no_json_object_is_a_json_error(api, jobs) -> None:
    for path, raw in itertools.product(("/jobs", "/jobs/x/events/ack"), NO_OBJECTS):
        answer = await api("POST", path, raw=raw)
        assert answer.status == 400, raw[:20]
        assert error(answer).code == "invalid_params"
    assert jobs.tasks == []


async def test_a_body_over_the_limit_is_refused_by_its_announced_length(api, jobs) -> None:
    answer = await api("POST", "/jobs", raw=io.BytesIO(b" " * (MAX_BODY + 1)))
    assert answer.status == 413
    assert error(answer).detail == {"field": "body", "max_bytes": MAX_BODY}
    assert jobs.tasks == []


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(0)


async def test_a_body_over_the_limit_is_refused_while_it_comes_in(serve, jobs) -> None:
    api = await serve(max_body=1000)
    answer = await api("POST", "/jobs", raw=chunks(*[b" " * 100] * 50))
    assert answer.status == 413
    assert error(answer).code == "invalid_params"
    answer = await api("POST", "/jobs", raw=chunks(b"{", b" " * 998, b"}"))
    assert answer.status == 400, "exactly the limit is read"
    assert jobs.tasks == []


async def test_a_body_in_pieces_is_put_together(api) -> None:
    raw = b'{"protocol_version":"1","job_type":"candidate_search","idempotency_key":"k\xc3\xa9","params":{}}'
    answer = await api("POST", "/jobs", raw=chunks(*(raw[at : at + 1] for at in range(len(raw)))))
    assert answer.status == 202
    assert answer.json["job"]["idempotency_key"] == "ké"


async def test_the_content_type_does_not_matter(api) -> None:
    answer = await api("POST", "/jobs", raw=b"[]", headers={"Content-Type": "text/plain"})
    assert error(answer).message == "body must be a JSON object"


NO_ROUTES = [
    "/jobs/x/y", "/jobs/x/events/ack/z", "/jobs//", "/jobs//x", "/jobs//events", "/jobs/x//events", "/capabilities/x",
]  # fmt: skip


async def test_an_unknown_route_is_a_json_error(api) -> None:
    for method, path in itertools.product(("GET", "POST"), NO_ROUTES):
        answer = await api(method, path)
        assert answer.status == 404, (method, path)
        assert error(answer).detail == {"reason": "unknown_route"}


async def test_outside_the_job_surface_too(api) -> None:
    for path in ("/", "/nowhere", "/jobsx", "/job"):
        answer = await api("GET", path)
        assert answer.status == 404, path
        assert error(answer).code == "invalid_params"


ALLOWED = [
    ("/capabilities", ["GET", "HEAD"]),
    ("/jobs", ["GET", "POST", "HEAD"]),
    ("/jobs/x", ["GET", "HEAD"]),
    ("/jobs/x/cancel", ["POST"]),
    ("/jobs/x/events", ["GET", "HEAD"]),
    ("/jobs/x/events/ack", ["POST"]),
]


async def test_a_wrong_method_names_the_right_ones(api) -> None:
    for method, (path, allowed) in itertools.product(("DELETE", "PUT", "PATCH", "OPTIONS"), ALLOWED):
        answer = await api(method, path)
        assert answer.status == 405, (method, path)
        assert answer.headers["Allow"] == ", ".join(allowed)
        assert error(answer).code == "invalid_params"


async def test_post_where_only_get_is_served_and_back(api) -> None:
    assert (await api("POST", "/jobs/x")).status == 405
    assert (await api("GET", "/jobs/x/cancel")).status == 405
    assert (await api("POST", "/health", token=None)).status == 405


async def test_head_is_get_without_its_body(api) -> None:
    await api.submit("k")
    answer = await api("HEAD", "/jobs/daily@manual-k")
    assert (answer.status, answer.raw) == (200, b"")
    assert (await api("HEAD", "/jobs/nobody")).status == 404


async def test_an_unexpected_fault_stays_inside(api, jobs) -> None:
    jobs.fault = RuntimeError("secret path /srv/ledger.db")
    answers = [
        await api.submit("k"),
        await api("GET", "/jobs"),
        await api("GET", "/jobs?idempotency_key=k"),
        await api("GET", "/jobs/x"),
        await api("POST", "/jobs/x/cancel"),
        await api("GET", "/jobs/x/events"),
        await api("POST", "/jobs/x/events/ack", {"ack_through": "e"}),
    ]
    for answer in answers:
        assert answer.status == 500
        assert answer.json == {"error": {"code": "internal_error", "message": "internal error", "retryable": False}}


async def test_a_neighbour_s_fault_stays_inside_too(serve) -> None:
    @get("/neighbour", sync_to_thread=False)
    def neighbour() -> str:
        raise RuntimeError("secret")

    @get("/picky", sync_to_thread=False)
    def picky() -> str:
        raise ClientException("secret")

    @get("/broken", sync_to_thread=False)
    def broken() -> str:
        raise InternalServerException("secret")

    api = await serve(routes=[neighbour, picky, broken])
    for path, status, code in (
        ("/neighbour", 500, "internal_error"),
        ("/picky", 400, "invalid_params"),
        ("/broken", 500, "internal_error"),
    ):
        answer = await api("GET", path)
        assert (answer.status, error(answer).code) == (status, code)
        assert b"secret" not in answer.raw


async def test_a_process_without_the_job_api_says_so(serve) -> None:
    api = await serve(jobs_enabled=False)
    for method, path in (("GET", "/capabilities"), ("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/jobs/x/events")):
        answer = await api(method, path)
        assert answer.status == 503
        assert answer.json["error"] == {
            "code": "internal_error",
            "message": "job API is unavailable",
            "retryable": False,
            "detail": {"reason": "job_api_disabled"},
        }
        assert (await api(method, path, token=None)).status == 401
    assert (await api("GET", "/health", token=None)).status == 200


REQUEST_IDS = [
    ("abc-1.2_3:4", "abc-1.2_3:4"),
    ("a b\tc", "abc"),
    ("x" * 100, "x" * 64),
    ("<>", "made"),
    ("", "made"),
    (None, "made"),
]


async def test_the_request_id_comes_back_in_harmless_form(serve) -> None:
    api = await serve(new_id=lambda: "made")
    for (sent, returned), path in itertools.product(REQUEST_IDS, ("/jobs", "/jobs/nobody")):
        headers = {} if sent is None else {"X-Request-Id": sent}
        assert (await api("GET", path, headers=headers)).headers["X-Request-Id"] == returned


async def test_answers_are_not_for_caches_and_name_no_server(api) -> None:
    for path in ("/jobs", "/jobs/nobody", "/capabilities", "/health"):
        answer = await api("GET", path)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


async def test_a_caller_who_hangs_up_leaves_the_server_well(serve, jobs) -> None:
    api = await serve()
    host, port = api.base.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = "POST /jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer the-manual-token\r\nContent-Length: 100\r\n\r\n{"
    writer.write(head.encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await api("GET", "/jobs")).status == 200
    assert jobs.tasks == []


@pytest.mark.parametrize(
    "line", [b"GET /jobs HTTP/9.9\r\n\r\n", b"\x00\x01\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"]
)
async def test_what_is_no_request_gets_no_page(api, line: bytes) -> None:
    host, port = api.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(line)
    await writer.drain()
    writer.write_eof()
    answer = await reader.read()
    assert b" 200 " not in answer[:20]
    assert b"Traceback" not in answer
    writer.close()
    await writer.wait_closed()
