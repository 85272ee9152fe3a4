"""Tokens: one call at a time, kept before used, and a refused login asked about once."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixivflow.sources.errors import AuthFailed, NetworkFailed, RateLimited, Unavailable
from pixivflow.sources.pixiv.answers import Reply
from pixivflow.sources.pixiv.auth import Authenticator, chain_of, choose, client_headers
from pixivflow.sources.pixiv.config import PixivSourceConfig
from pixivflow.sources.ports import AccountTokens, MemoryAccountStore

REFUSED = Reply(
    400,
    b'{"has_error":true,"errors":{"system":{"message":"Invalid refresh token","code":1508}},"error":"invalid_grant"}',
)


def grant(access: str, refresh: str | None = None, life: int = 3600) -> Reply:
    record = {"access_token": access, "expires_in": life, "user": {"id": "42"}}
    if refresh is not None:
        record["refresh_token"] = refresh
    return Reply(200, json.dumps({**record, "response": record}).encode())


class Endpoint:
    """A token endpoint that answers from a script and repeats its last answer."""

    def __init__(self, *answers: Reply | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, form: Any, headers: Any) -> Reply:
        self.asked.append(form["refresh_token"])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer
        finally:
            self.at_once -= 1


def login(endpoint: Any, clock: Any, store: Any = None, configured: Any = "first-token", **settings: Any) -> Any:
    config = PixivSourceConfig(refresh_token=configured, **settings)
    return Authenticator(config, store or MemoryAccountStore(), clock, endpoint)


async def test_a_token_is_reused_until_a_minute_before_its_end(clock: Any) -> None:
    endpoint = Endpoint(grant("a1"), grant("a2"))
    auth = login(endpoint, clock)
    assert await auth.access_token() == "a1"
    clock.time += 3600 - 61
    assert await auth.access_token() == "a1"
    clock.time += 1
    assert await auth.access_token() == "a2"
    assert auth.user_id == "42"


async def test_many_callers_share_one_call(clock: Any) -> None:
    endpoint = Endpoint(grant("a1"))
    auth = login(endpoint, clock)
    assert set(await asyncio.gather(*(auth.access_token() for _ in range(20)))) == {"a1"}
    assert endpoint.asked == ["first-token"]


async def test_a_rotated_token_is_stored_before_the_new_access_token_is_given_out(clock: Any) -> None:
    order = []

    class Slow(MemoryAccountStore):
        async def save_tokens(self, tokens: AccountTokens) -> None:
            await asyncio.sleep(0)
            order.append("stored")
            await super().save_tokens(tokens)

    store = Slow()
    endpoint = Endpoint(grant("a1", "second-token"), grant("a2"))
    auth = login(endpoint, clock, store)
    await auth.access_token()
    order.append("used")
    assert order == ["stored", "used"]
    assert store.tokens.refresh_token == "second-token"
    await auth.access_token(rejected="a1")
    assert endpoint.asked == ["first-token", "second-token"]


async def test_a_rejected_token_costs_one_call_for_all_who_had_it(clock: Any) -> None:
    endpoint = Endpoint(grant("a1"), grant("a2"))
    auth = login(endpoint, clock)
    await auth.access_token()
    assert set(await asyncio.gather(*(auth.access_token(rejected="a1") for _ in range(5)))) == {"a2"}
    assert await auth.access_token(rejected="a1") == "a2"
    assert len(endpoint.asked) == 2


async def test_a_refused_login_is_asked_about_once_even_over_a_restart(clock: Any) -> None:
    endpoint, store = Endpoint(REFUSED), MemoryAccountStore()
    auth = login(endpoint, clock, store, account="gallery")
    for _ in range(3):
        with pytest.raises(AuthFailed, match="account gallery") as failure:
            await auth.access_token()
        assert not failure.value.retryable
        assert "first-token" not in str(failure.value)
    with pytest.raises(AuthFailed):
        await login(endpoint, clock, store).access_token()
    assert endpoint.asked == ["first-token"]


async def test_another_configured_token_starts_a_new_chain(clock: Any) -> None:
    endpoint, store = Endpoint(REFUSED, grant("b1")), MemoryAccountStore()
    with pytest.raises(AuthFailed):
        await login(endpoint, clock, store).access_token()
    assert await login(endpoint, clock, store, configured="other-token").access_token() == "b1"
    assert endpoint.asked == ["first-token", "other-token"]
    assert store.tokens.configured_from == hashlib.sha256(b"other-token").hexdigest()


async def test_a_login_stored_by_another_process_is_found_without_a_restart(clock: Any) -> None:
    endpoint, store = Endpoint(REFUSED, grant("b1")), MemoryAccountStore()
    auth = login(endpoint, clock, store)
    with pytest.raises(AuthFailed):
        await auth.access_token()
    await store.save_tokens(AccountTokens(refresh_token="new-login", configured_from=chain_of("first-token")))
    assert await auth.access_token() == "b1"
    assert endpoint.asked == ["first-token", "new-login"]


async def test_a_stored_access_token_is_good_after_a_restart(clock: Any) -> None:
    endpoint, store = Endpoint(grant("a1")), MemoryAccountStore()
    await login(endpoint, clock, store).access_token()
    assert await login(endpoint, clock, store).access_token() == "a1"
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("configured", [None, "", "  ", "YOUR_REFRESH_TOKEN"])
async def test_nothing_configured_is_told_without_a_call(clock: Any, configured: Any) -> None:
    endpoint = Endpoint(grant("a1"))
    with pytest.raises(AuthFailed, match="not configured"):
        await login(endpoint, clock, configured=configured).access_token()
    assert endpoint.asked == []


def test_a_stored_login_serves_when_nothing_is_configured() -> None:
    stored = AccountTokens(refresh_token="from-login")
    assert choose(stored, "YOUR_REFRESH_TOKEN") is stored
    assert choose(stored, "real-token").refresh_token == "real-token"


@pytest.mark.parametrize(
    "answer",
    [
        Reply(403, b"<!DOCTYPE html><title>Just a moment</title>", "text/html"),
        Reply(400, b"<html>proxy</html>", "text/html"),
        Reply(200, b"[]"),
        Reply(200, b'{"response":{}}'),
        Reply(200, b""),
    ],
)
async def test_a_page_or_nonsense_is_trouble_and_not_a_refusal(clock: Any, answer: Any) -> None:
    endpoint, store = Endpoint(answer, grant("a1")), MemoryAccountStore()
    auth = login(endpoint, clock, store)
    with pytest.raises(Unavailable) as failure:
        await auth.access_token()
    assert failure.value.retryable
    assert len(endpoint.asked) == 1
    assert await auth.access_token() == "a1"


async def test_network_trouble_and_5xx_are_tried_again_with_growing_pauses(clock: Any) -> None:
    endpoint = Endpoint(NetworkFailed("reset"), Reply(502, b"bad gateway"), NetworkFailed("reset"), grant("a1"))
    auth = login(endpoint, clock)
    begin = clock.now()
    assert await clock.run(auth.access_token()) == "a1"
    assert clock.now() - begin == 1 + 2 + 3


async def test_a_wrong_client_pair_is_not_asked_about_again(clock: Any) -> None:
    endpoint, store = Endpoint(Reply(400, b'{"error":"invalid_client"}')), MemoryAccountStore()
    auth = login(endpoint, clock, store)
    for _ in range(2):
        with pytest.raises(AuthFailed, match="client id"):
            await auth.access_token()
    assert len(endpoint.asked) == 1
    assert store.tokens == AccountTokens()  # the login itself was not refused


async def test_a_rate_limit_of_the_token_endpoint_is_one(clock: Any) -> None:
    auth = login(Endpoint(Reply(429, b"", retry_after_s=30.0)), clock)
    with pytest.raises(RateLimited) as failure:
        await auth.access_token()
    assert failure.value.retry_after_s == 30


async def test_a_life_shorter_than_the_margin_does_not_mean_a_call_per_request(clock: Any) -> None:
    endpoint = Endpoint(grant("a1", life=10), grant("a2", life=10))
    auth = login(endpoint, clock)
    assert [await auth.access_token() for _ in range(3)] == ["a1"] * 3
    clock.time += 6
    assert await auth.access_token() == "a2"


async def test_a_call_outlives_the_caller_who_gave_up(clock: Any) -> None:
    endpoint, store = Endpoint(grant("a1", "second-token")), MemoryAccountStore()
    auth = login(endpoint, clock, store)
    caller = asyncio.create_task(auth.access_token())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await auth.aclose()
    assert store.tokens.refresh_token == "second-token"
    assert await auth.access_token() == "a1"
    assert len(endpoint.asked) == 1


async def test_a_read_only_process_uses_what_is_stored_and_never_calls(clock: Any) -> None:
    endpoint, store = Endpoint(grant("a1")), MemoryAccountStore()
    auth = login(endpoint, clock, store, read_only_auth=True)
    with pytest.raises(Unavailable):
        await auth.access_token()
    await store.save_tokens(
        AccountTokens("r", "from-the-other", clock.now() + 3600, configured_from=chain_of("first-token"))
    )
    assert await auth.access_token() == "from-the-other"
    assert endpoint.asked == []


def test_client_headers_hash_the_time_they_tell() -> None:
    headers = client_headers(0.0, salt="salt")
    assert headers["X-Client-Time"] == "1970-01-01T00:00:00+00:00"
    assert headers["X-Client-Hash"] == hashlib.md5(b"1970-01-01T00:00:00+00:00salt").hexdigest()  # noqa: S324 - the site's


def test_secrets_do_not_print() -> None:
    config = PixivSourceConfig(refresh_token="very-secret", client_secret="pair-secret", proxy="http://u:pw-secret@h")
    assert "secret" not in repr(config)


steps = st.lists(
    st.tuples(st.integers(1, 6), st.booleans(), st.floats(0, 4000), st.sampled_from(["ok", "down", "429"])), max_size=12
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
async def test_there_are_never_two_token_calls_at_once(new_clock: Any, steps: Any) -> None:
    clock = new_clock()
    endpoint = Endpoint(grant("a0"))
    auth = login(endpoint, clock, retries=0)
    last = None
    for number, (callers, reject, later, mood) in enumerate(steps):
        clock.time += later
        endpoint.answers = [
            {"ok": grant(f"a{number + 1}", f"r{number}"), "down": Reply(503, b""), "429": Reply(429, b"{}")}[mood]
        ]
        asked = len(endpoint.asked)
        results = await asyncio.gather(
            *(auth.access_token(rejected=last if reject else None) for _ in range(callers)), return_exceptions=True
        )
        assert len(endpoint.asked) - asked <= 1
        tokens = {result for result in results if isinstance(result, str)}
        assert len(tokens) <= 1
        last = tokens.pop() if tokens else last
    assert endpoint.most_at_once <= 1
