"""The older request routes on a socket: shapes, texts, order of checks. Cases 170 to 184, sections 14 and 15."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from older_desk import MANUAL, NOW, TRIGGER, UUID, Client, Parts, job_record

from pixivflow.api.auth import Tokens
from pixivflow.api.internal import InternalPorts
from pixivflow.api.ports import Disposition, NotOrdered, Ordered
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobState
from pixivflow.domain.recovery import RetryMode

REFETCH, RECOVER = "/internal/targets/cats/refetch", "/internal/targets/cats/recover"
BOTH = pytest.mark.parametrize("route", [REFETCH, RECOVER])


async def test_a_request_is_answered_with_exactly_three_keys(api: Client, parts: Parts) -> None:
    """Case 170."""
    got = await api("POST", REFETCH, {"requestId": UUID})
    assert got.status == 202
    assert got.json == {"status": "accepted", "slotId": f"daily@manual-{UUID}", "disposition": "accepted"}
    assert parts.asked == [("refetch", "cats", UUID, None)]


@pytest.mark.parametrize("disposition", list(Disposition))
@BOTH
async def test_every_disposition_is_a_202(api: Client, parts: Parts, disposition: Disposition, route: str) -> None:
    """Case 177. Queued is durable and no error."""
    parts.ordered = Ordered(job_record(), disposition)
    got = await api("POST", route, {"requestId": UUID})
    assert (got.status, got.json["disposition"]) == (202, disposition.value)


@pytest.mark.parametrize(
    "request_id",
    [
        None,
        "",
        7,
        f"{UUID}-suffix",
        f"{UUID}\n",
        f" {UUID}",
        UUID.replace("-", ""),
        "3d1f0c3e-6a0e-0a58-9c0e-9a1c6c1f2b11",  # version 0
        "3d1f0c3e-6a0e-9a58-9c0e-9a1c6c1f2b11",  # version 9
        "3d1f0c3e-6a0e-4a58-cc0e-9a1c6c1f2b11",  # another variant
        "00000000-0000-0000-0000-000000000000",
        [UUID],
    ],
)
@BOTH
async def test_a_request_needs_a_uuid(api: Client, parts: Parts, route: str, request_id: Any) -> None:
    """Case 171."""
    got = await api("POST", route, {"requestId": request_id})
    assert (got.status, got.error) == (400, "requestId must be a UUID")
    if isinstance(request_id, str) and request_id and request_id.isascii() and " " not in request_id:
        got = await api("GET", f"{route}/{request_id.strip() + ('%0A' if request_id.endswith(chr(10)) else '')}")
        assert (got.status, got.error) == (400, "requestId must be a UUID")
    assert parts.asked == []


@pytest.mark.parametrize("version", "12345678")
async def test_every_version_and_spelling_of_a_uuid_is_taken_as_it_is(api: Client, parts: Parts, version: str) -> None:
    """Case 173."""
    request_id = f"3D1F0C3E-6A0E-{version}A58-BC0E-9A1C6C1F2B11"
    assert (await api("POST", REFETCH, {"requestId": request_id})).status == 202
    got = await api("GET", f"{REFETCH}/{request_id}")
    assert (got.status, got.json["requestId"]) == (200, request_id)
    assert parts.asked == [("refetch", "cats", request_id, None), ("find_refetch", "cats", request_id)]


@pytest.mark.parametrize("value", [None, 7, "x" * 201, ["a"], {}])
@BOTH
async def test_a_correlation_must_be_a_short_string(api: Client, parts: Parts, route: str, value: Any) -> None:
    """Case 172. Null is an error here."""
    got = await api("POST", route, {"requestId": UUID, "correlationId": value})
    assert (got.status, got.error) == (400, "correlationId must be a string of at most 200 chars")
    assert parts.asked == []


@pytest.mark.parametrize("value", ["照合-1", "x" * 200])
async def test_a_correlation_goes_with_the_request(api: Client, parts: Parts, value: str) -> None:
    """Case 172."""
    assert (await api("POST", REFETCH, {"requestId": UUID, "correlationId": value})).status == 202
    assert parts.asked == [("refetch", "cats", UUID, value)]


async def test_half_a_surrogate_is_no_text(api: Client, parts: Parts) -> None:
    raw = b'{"requestId":"%s","correlationId":"\\ud800"}' % UUID.encode()
    assert (await api("POST", REFETCH, raw=raw)).status == 400
    assert parts.asked == []


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"nul", b'{"requestId":', b"[" * 5000])
@BOTH
async def test_a_body_that_is_no_json_is_a_400(api: Client, route: str, raw: bytes) -> None:
    got = await api("POST", route, raw=raw)
    assert (got.status, got.error) == (400, "body must be valid JSON")


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"7", b"null"])
@BOTH
async def test_a_body_that_is_no_object_is_a_400(api: Client, route: str, raw: bytes) -> None:
    got = await api("POST", route, raw=raw)
    assert (got.status, got.error) == (400, "body must be a JSON object")


async def test_a_body_over_the_limit_is_a_413(serve: Callable[..., Any]) -> None:
    api = await serve(max_body=100)
    got = await api("POST", REFETCH, {"requestId": UUID, "correlationId": "x" * 100})
    assert (got.status, got.error) == (413, "body is too large")


@pytest.mark.parametrize(
    ("why", "status", "texts"),
    [
        (NotOrdered.UNKNOWN_TARGET, 404, ("unknown target", "unknown target")),
        (NotOrdered.AMBIGUOUS_TARGET, 409, ("ambiguous target", "ambiguous target")),
        (NotOrdered.FAILED, 500, ("refetch admission failed", "recovery admission failed")),
        (NotOrdered.UNAVAILABLE, 503, ("refetch is unavailable", "manual recovery is unavailable")),
        (RuntimeError("secret detail"), 500, ("refetch admission failed", "recovery admission failed")),
    ],
)
async def test_refusals_have_a_status_and_a_fixed_text(
    api: Client, parts: Parts, why: Any, status: int, texts: tuple[str, str]
) -> None:
    """Case 174. What went wrong inside is not told."""
    parts.ordered = why
    for route, text in zip((REFETCH, RECOVER), texts, strict=True):
        got = await api("POST", route, {"requestId": UUID})
        assert (got.status, got.error) == (status, text)


async def test_a_process_without_orders_says_so(serve: Callable[..., Any]) -> None:
    api = await serve(ports=InternalPorts())
    for method, route in (("POST", REFETCH), ("GET", f"{REFETCH}/{UUID}")):
        got = await api(method, route, {"requestId": UUID} if method == "POST" else None)
        assert (got.status, got.error) == (503, "refetch is unavailable")
    for method, route in (("POST", RECOVER), ("GET", f"{RECOVER}/{UUID}")):
        got = await api(method, route, {"requestId": UUID} if method == "POST" else None)
        assert (got.status, got.error) == (503, "manual recovery is unavailable")


async def test_how_a_request_stands_has_exactly_these_keys(api: Client, parts: Parts) -> None:
    """Case 170. A request nobody has taken up."""
    parts.job = job_record(correlation_id="c-1")
    got = await api("GET", f"{REFETCH}/{UUID}")
    assert got.status == 200
    assert got.json == {
        "requestId": UUID,
        "slotId": f"daily@manual-{UUID}",
        "state": "pending",
        "slotStatus": "pending",
        "createdAt": NOW - 5000,
        "startedAt": None,
        "updatedAt": NOW - 1000,
        "heartbeatAt": None,
        "leaseExpiresAt": None,
        "leaseActive": False,
        "claimed": False,
        "attemptCount": 0,
        "terminalReasonCode": None,
        "terminalReasonMessage": None,
        "manualRequestId": UUID,
        "idempotencyKey": UUID,
        "correlationId": "c-1",
    }
    assert list(got.json)[:4] == ["requestId", "slotId", "state", "slotStatus"]


async def test_a_running_request_shows_its_lease(api: Client, parts: Parts) -> None:
    parts.job = job_record(
        JobState.RUNNING, started_at=NOW - 3000, heartbeat_at=NOW - 100, lease_until=NOW + 60_000, attempt=1
    )
    body = (await api("GET", f"{REFETCH}/{UUID}")).json
    shown = {name: body[name] for name in ("slotStatus", "leaseActive", "claimed", "leaseExpiresAt", "attemptCount")}
    assert shown == {
        "slotStatus": "running",
        "leaseActive": True,
        "claimed": True,
        "leaseExpiresAt": NOW + 60_000,
        "attemptCount": 1,
    }
    parts.job = job_record(JobState.RUNNING, lease_until=NOW)
    body = (await api("GET", f"{REFETCH}/{UUID}")).json
    assert (body["leaseActive"], body["claimed"]) == (False, True)


async def test_a_granted_request_that_waits_is_claimed(api: Client, parts: Parts) -> None:
    parts.job = job_record(lease_until=NOW + 1, attempt=1)
    body = (await api("GET", f"{REFETCH}/{UUID}")).json
    assert (body["slotStatus"], body["leaseActive"], body["claimed"]) == ("pending", True, True)


async def test_an_ended_request_shows_the_internal_reason_and_no_longer_moves(api: Client, parts: Parts) -> None:
    """Case 175."""
    cell = CellRecord("cats", 0, "illustration", CellState.FAILED, reason="telepost_rejected", message="they said no")
    parts.job = job_record(JobState.FAILED, cells=(cell,), finished_at=NOW - 2000, reason="telepost_rejected")
    body = (await api("GET", f"{REFETCH}/{UUID}")).json
    assert (body["state"], body["slotStatus"]) == ("failed", "failed")
    assert (body["terminalReasonCode"], body["terminalReasonMessage"]) == ("telepost_rejected", "they said no")
    assert body["updatedAt"] == NOW - 2000


@pytest.mark.parametrize(
    ("route", "text"), [(REFETCH, "manual refetch not found"), (RECOVER, "manual recovery not found")]
)
async def test_an_unknown_request_and_another_targets_are_not_found(
    api: Client, parts: Parts, route: str, text: str
) -> None:
    """Case 176."""
    got = await api("GET", f"{route.replace('cats', 'dogs')}/{UUID}")
    assert (got.status, got.error) == (404, text)
    parts.job = None
    got = await api("GET", f"{route}/{UUID}")
    assert (got.status, got.error) == (404, text)


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ({}, RetryMode.NORMAL),
        ({"retryMode": None}, RetryMode.NORMAL),
        ({"retryMode": ""}, RetryMode.NORMAL),
        ({"retryMode": "normal"}, RetryMode.NORMAL),
        ({"retryMode": "relaxed", "candidateScanLimit": 5000, "tag": "other"}, RetryMode.RELAXED),
    ],
)
async def test_a_recovery_has_a_mode_and_no_other_parameter(
    api: Client, parts: Parts, body: dict[str, Any], mode: RetryMode
) -> None:
    """Case 183. Raw parameters are not read."""
    got = await api("POST", RECOVER, {"requestId": UUID, **body})
    assert got.status == 202
    assert got.json == {
        "status": "accepted",
        "retryMode": mode.value,
        "slotId": f"daily@manual-{UUID}",
        "disposition": "accepted",
    }
    assert parts.asked == [("recover", "cats", UUID, mode, None)]


@pytest.mark.parametrize("mode", ["RELAXED", "wild", 7, True, [], {}])
async def test_an_unknown_mode_is_refused(api: Client, parts: Parts, mode: Any) -> None:
    """Case 183."""
    got = await api("POST", RECOVER, {"requestId": UUID, "retryMode": mode})
    assert (got.status, got.error) == (400, 'retryMode must be "normal" or "relaxed"')
    assert parts.asked == []


@pytest.mark.parametrize(
    ("state", "cell", "word"),
    [
        (JobState.QUEUED, CellState.PENDING, "recovery_pending"),
        (JobState.RUNNING, CellState.SELECTED, "recovery_running"),
        (JobState.SUCCEEDED, CellState.SUBMITTED, "recovery_success"),
        (JobState.FAILED, CellState.NO_CANDIDATE, "recovery_no_candidate"),
        (JobState.FAILED, CellState.DUPLICATE, "recovery_duplicate_only"),
        (JobState.CANCELLED, CellState.FAILED, "recovery_failed"),
    ],
)
async def test_how_a_recovery_stands(api: Client, parts: Parts, state: JobState, cell: CellState, word: str) -> None:
    parts.job = job_record(state, cell)
    body = (await api("GET", f"{RECOVER}/{UUID}")).json
    assert list(body) == ["requestId", "slotId", "state", "slotStatus", "business_state", "message"]
    assert body["business_state"] == word
    assert body["message"]


async def test_the_two_tokens_are_not_interchangeable(api: Client, parts: Parts) -> None:
    """Case 3. The routes of targets want the token of manual work, the others the trigger's."""
    targets = [("POST", REFETCH), ("GET", f"{REFETCH}/{UUID}"), ("POST", RECOVER), ("GET", f"{RECOVER}/{UUID}")]
    others = [
        ("GET", "/internal/schedules"),
        ("POST", "/internal/schedules/daily/run"),
        ("POST", "/internal/outbox/drain"),
        ("GET", "/internal/nothing"),
    ]
    for wrong, routes in ((TRIGGER, targets), (MANUAL, others)):
        for method, path in routes:
            for token in (wrong, None, "short", "x" * len(wrong)):
                got = await api(method, path, token=token, raw=b"{")
                assert (got.status, got.error) == (401, "unauthorized"), path
    for method, path in (*targets, *others):
        right = MANUAL if (method, path) in targets else TRIGGER
        got = await api(method, path, token=None, headers={"Authorization": f"bearer {right}"})
        assert got.status == 401
    assert parts.asked == []


async def test_a_token_that_is_not_configured_closes_its_routes(serve: Callable[..., Any], parts: Parts) -> None:
    """Case 1."""
    text = "endpoint disabled: token not configured"
    without_manual = await serve(tokens=Tokens(None, TRIGGER))
    got = await without_manual("POST", REFETCH, {"requestId": UUID})
    assert (got.status, got.error) == (503, text)
    assert (await without_manual("GET", "/internal/schedules")).status == 200
    without_trigger = await serve(tokens=Tokens(MANUAL, " "))
    for method, path in (("GET", "/internal/schedules"), ("POST", "/internal/schedules/daily/run")):
        got = await without_trigger(method, path)
        assert (got.status, got.error) == (503, text)
    assert (await without_trigger("GET", f"{REFETCH}/{UUID}")).status == 200
    assert ("run", "daily", None) not in parts.asked


@pytest.mark.parametrize(
    "path",
    [
        "/internal",
        "/internal/",
        "/internal/targets",
        "/internal/targets//refetch",
        "/internal/targets/cats",
        "/internal/targets/cats/refetch/a/b",
        "/internal/schedules/daily",
        "/internal/schedules//run",
        "/internal/outbox",
        "/internal/schedules/daily/run/now",
    ],
)
async def test_an_unknown_route_is_a_404_in_the_same_shape(api: Client, path: str) -> None:
    """Case 174."""
    token = MANUAL if path.startswith("/internal/targets") else TRIGGER
    got = await api("GET", path, token=token)
    assert (got.status, got.error) == (404, "unknown route")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", REFETCH, "POST"),
        ("DELETE", f"{REFETCH}/{UUID}", "GET, HEAD"),
        ("PUT", RECOVER, "POST"),
        ("POST", "/internal/schedules", "GET, HEAD"),
        ("GET", "/internal/schedules/daily/run", "POST"),
        ("GET", "/internal/outbox/drain", "POST"),
    ],
)
async def test_a_wrong_method_is_a_405_that_says_the_right_ones(
    api: Client, method: str, path: str, allowed: str
) -> None:
    got = await api(method, path)
    assert (got.status, got.error) == (405, "method not allowed")
    assert got.headers["allow"] == allowed


async def test_a_name_is_decoded_and_a_trailing_slash_forgiven(api: Client, parts: Parts) -> None:
    """Case 199. An encoded slash stays inside its name."""
    assert (await api("POST", "/internal/targets/a%2Fb%40%E7%8C%AB/refetch/", {"requestId": UUID})).status == 202
    assert parts.asked == [("refetch", "a/b@猫", UUID, None)]


async def test_answers_are_not_stored_and_carry_the_request_id(api: Client) -> None:
    got = await api("GET", f"{REFETCH}/{UUID}", headers={"X-Request-Id": "abc-1"})
    assert (got.headers["cache-control"], got.headers["x-request-id"]) == ("no-store", "abc-1")
    head = await api("HEAD", f"{REFETCH}/{UUID}")
    assert (head.status, head.raw) == (200, b"")


async def test_the_routes_are_described(api: Client) -> None:
    document = (await api("GET", "/openapi.json")).json
    paths = {path for path in document["paths"] if path.startswith("/internal")}
    assert len(paths) == 7
    idents = [
        operation["operationId"]
        for item in document["paths"].values()
        for name, operation in item.items()
        if name in ("get", "post")
    ]
    assert len(set(idents)) == len(idents)
    for path in paths:
        for name, operation in document["paths"][path].items():
            if name == "parameters":
                continue
            (scheme,) = operation["security"][0]
            assert scheme in document["components"]["securitySchemes"]
            assert scheme == ("manual" if "/targets/" in path else "trigger")
    assert '"$ref":"#/R' not in json.dumps(document["paths"], separators=(",", ":"))
