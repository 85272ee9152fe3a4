"""Log-in with PKCE, tokens, and what an API call without one gets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pixivflow.sandbox.oauth import CALLBACK, challenge_of

VERIFIER = "abcDEF123-._~" * 4


async def _code(client: Any, verifier: str = VERIFIER) -> str:
    query = {"code_challenge": challenge_of(verifier), "code_challenge_method": "S256", "client": "pixiv-android"}
    url = client.sandbox.base_url + "/web/v1/login"
    async with client.session.get(url, params=query, allow_redirects=False) as answer:
        assert answer.status == 302
        target = answer.headers["Location"]
    assert target.startswith(CALLBACK + "?state=")
    return parse_qs(urlsplit(target).query)["code"][0]


async def _exchange(client: Any, code: str, verifier: str = VERIFIER) -> tuple[int, Any]:
    form = {
        "client_id": "id",
        "client_secret": "secret",
        "code": code,
        "code_verifier": verifier,
        "grant_type": "authorization_code",
        "include_policy": "true",
        "redirect_uri": CALLBACK,
    }
    async with client.session.post(client.sandbox.endpoints()["oauth"] + "/auth/token", data=form) as answer:
        return answer.status, await answer.json()


async def test_a_whole_login(stranger: Any) -> None:
    code = await _code(stranger)
    callback = stranger.sandbox.endpoints()["api"] + urlsplit(CALLBACK).path
    async with stranger.session.get(callback, params={"code": code}, allow_redirects=False) as answer:
        assert answer.headers["Location"] == f"pixiv://account/login?code={code}&via=login"
    status, grant = await _exchange(stranger, code)
    assert status == 200
    stranger.token = grant["response"]["access_token"]
    assert (await stranger.call("/v1/trending-tags/illust"))[0] == 200
    refreshed = await stranger.log_in(grant["refresh_token"])
    assert refreshed["access_token"] != grant["access_token"]


async def test_used_codes_and_wrong_verifiers(stranger: Any) -> None:
    code = await _code(stranger)
    status, refused = await _exchange(stranger, code, "x" * 50)
    assert (status, refused["error"]) == (400, "invalid_grant")
    assert (await _exchange(stranger, code))[0] == 400
    again = await _code(stranger)
    assert (await _exchange(stranger, again))[0] == 200
    assert (await _exchange(stranger, again))[0] == 400


async def test_a_login_page_without_a_challenge_is_400(stranger: Any) -> None:
    async with stranger.session.get(stranger.sandbox.endpoints()["api"] + "/web/v1/login") as answer:
        assert answer.status == 400
        assert answer.content_type == "text/html"


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer", "Basic abc"])
async def test_calls_without_a_good_token_are_400(stranger: Any, header: str | None) -> None:
    url = stranger.sandbox.endpoints()["api"] + "/v1/trending-tags/illust"
    async with stranger.session.get(url, headers={"Authorization": header} if header else {}) as answer:
        assert answer.status == 400
        message = (await answer.json())["error"]["message"]
    assert message.startswith("Error occurred at the OAuth process")
    assert message.endswith("invalid_grant")


async def test_tokens_expire_by_the_clock_and_at_once(open_client: Any) -> None:
    now = [datetime(2026, 3, 10, tzinfo=UTC)]
    async with open_client(now=lambda: now[0], token_life_s=60) as client:
        assert (await client.call("/v1/trending-tags/illust"))[0] == 200
        now[0] += timedelta(seconds=60)
        assert (await client.call("/v1/trending-tags/illust"))[0] == 400
        await client.log_in()
        assert (await client.call("/v1/trending-tags/illust"))[0] == 200
        client.sandbox.expire_tokens()
        assert (await client.call("/v1/trending-tags/illust"))[0] == 400


async def test_compatibility_statuses(open_client: Any) -> None:
    async with open_client(auth_error_status=401) as client:
        client.token = "wrong"
        assert (await client.call("/v1/trending-tags/illust"))[0] == 401
    async with open_client(require_auth=False) as client:
        client.token = None
        assert (await client.call("/v1/trending-tags/illust"))[0] == 200


async def test_only_the_configured_refresh_token(open_client: Any) -> None:
    async with open_client(refresh_token="the-one") as client:
        assert (await client.log_in("another"))["errors"]["system"]["code"] == 1508
        assert (await client.log_in("the-one"))["token_type"] == "bearer"


async def test_token_calls_take_no_other_method(stranger: Any) -> None:
    async with stranger.session.get(stranger.sandbox.endpoints()["oauth"] + "/auth/token") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


async def test_the_real_host_header_on_a_bare_path(stranger: Any) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "a"}
    url = stranger.sandbox.base_url + "/auth/token"
    async with stranger.session.post(url, data=form, headers={"Host": "oauth.secure.pixiv.net"}) as answer:
        assert answer.status == 200
        stranger.token = (await answer.json())["access_token"]
    url = stranger.sandbox.base_url + "/v1/trending-tags/illust"
    for host in ("app-api.pixiv.net", "127.0.0.1"):
        async with stranger.session.get(url, headers=stranger.headers | {"Host": host}) as answer:
            assert answer.status == 200
