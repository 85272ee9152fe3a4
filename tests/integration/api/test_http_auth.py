from __future__ import annotations

import logging

import pytest

from pixivflow.api.auth import Tokens

NOT_CONFIGURED = {"status": "error", "error": "endpoint disabled: token not configured"}
UNAUTHORIZED = {"status": "error", "error": "unauthorized"}
ROUTES = [
    ("GET", "/capabilities"),
    ("GET", "/jobs"),
    ("POST", "/jobs"),
    ("GET", "/jobs/x"),
    ("POST", "/jobs/x/cancel"),
    ("GET", "/jobs/x/events"),
    ("POST", "/jobs/x/events/ack"),
    ("GET", "/jobs/x/no/such/route"),
    ("DELETE", "/jobs"),
]


async def test_without_a_configured_token_every_route_is_closed(serve) -> None:
    api = await serve(tokens=Tokens(manual="  ", trigger="t"))
    for method, path in ROUTES:
        answer = await api(method, path, token="t")
        assert (answer.status, answer.json) == (503, NOT_CONFIGURED), (method, path)


async def test_without_a_token_every_route_refuses(api) -> None:
    for method, path in ROUTES:
        answer = await api(method, path, token=None)
        assert (answer.status, answer.json) == (401, UNAUTHORIZED), (method, path)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_the_header_is_read_strictly(api) -> None:
    for sent, status in [
        ("Bearer the-manual-token", 200),
        ("Bearer   the-manual-token  ", 200),
        ("bearer the-manual-token", 401),
        ("BEARER the-manual-token", 401),
        ("Bearerthe-manual-token", 401),
        ("Basic the-manual-token", 401),
        ("the-manual-token", 401),
        ("Bearer the-trigger-token", 401),
        ("Bearer the-manual-tokem", 401),
        ("Bearer the-manual-token-longer", 401),
        ("Bearer the-manual", 401),
        ("Bearer THE-MANUAL-TOKEN", 401),
        ("Bearer", 401),
        ("Bearer \u00fcml\u00e4ut", 401),
        ("", 401),
    ]:
        assert (await api("GET", "/capabilities", headers={"Authorization": sent})).status == status, sent


async def test_two_authorization_headers_are_none(api) -> None:
    from multidict import CIMultiDict

    good = "Bearer the-manual-token"
    both = CIMultiDict([("Authorization", good), ("Authorization", good)])
    async with api._session.get(api.base + "/capabilities", headers=both) as answer:
        assert answer.status == 401


async def test_a_refused_acknowledgement_moves_nothing(api, jobs, event_ids) -> None:
    job_id = (await api.submit("k")).json["job"]["job_id"]
    body = {"ack_through": event_ids(job_id)[0]}
    assert (await api("POST", f"/jobs/{job_id}/events/ack", body, token="wrong")).status == 401
    assert jobs.acked == {}


async def test_a_refused_submission_makes_nothing(api, jobs) -> None:
    from pixivflow.domain.task import CANDIDATE_SEARCH

    refused = await api("POST", "/jobs", {"job_type": CANDIDATE_SEARCH}, token="wrong")
    assert refused.status == 401
    assert jobs.tasks == []


async def test_no_token_is_ever_logged(api, jobs, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await api("GET", "/capabilities", token="guessed-token")
    await api("GET", "/capabilities")
    jobs.fault = RuntimeError("the ledger is gone")
    assert (await api("GET", "/jobs/x")).status == 500
    text = caplog.text
    assert "the ledger is gone" in text
    assert "guessed-token" not in text
    assert "the-manual-token" not in text


async def test_health_needs_no_token(serve) -> None:
    api = await serve(tokens=Tokens())
    for path in ("/health", "/healthz", "/livez", "/readyz", "/openapi.json"):
        assert (await api("GET", path, token=None)).status == 200
