"""What the client does when the site, the account or the network misbehaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.sources.errors import (
    AuthFailed,
    BadQuestion,
    Forbidden,
    NetworkFailed,
    NotFound,
    RateLimited,
    ShapeChanged,
    TimedOut,
    Unavailable,
)

ILLUST = WorkType.ILLUSTRATION
RANKING = Target("t", ILLUST, Mode.RANKING)


async def ids(source: Any, what: Target = RANKING) -> list[int]:
    return [int(work.id) async for page in source.pages(what) for work in page.works]


async def read(source: Any, url: str) -> bytes:
    async with source.media(url) as stream:
        return b"".join([chunk async for chunk in stream.chunks()])


def first_ref(sandbox: Any) -> WorkRef:
    return WorkRef(ILLUST, str(sandbox.world.first_single_page().id))


async def first_url(source: Any, sandbox: Any) -> str:
    return (await source.work(first_ref(sandbox))).pages[0].original_url


def calls(sandbox: Any, route: str) -> int:
    return sandbox.stats()["routes"].get(route, 0)


@pytest.mark.parametrize("status", [400, 401])
async def test_a_token_that_dies_in_the_middle_is_renewed_once(opened: Any, connect: Any, status: int) -> None:
    sandbox = await opened(page_size=10, rotate_refresh=True, auth_error_status=status)
    expected = await ids(connect(sandbox))
    sandbox.site.stats.reset()
    sandbox.set_faults([{"match": "illust.ranking", "nth": 3, "action": "expire_tokens"}])
    assert await ids(connect(sandbox)) == expected
    assert calls(sandbox, "oauth.token") == 1
    assert sandbox.stats()["max_concurrent_token_calls"] == 1


async def test_many_calls_at_once_share_one_token_call(opened: Any, connect: Any) -> None:
    sandbox = await opened(rotate_refresh=True, latency_ms=5)
    source = connect(sandbox)
    refs = [WorkRef(ILLUST, str(work.id)) for work in sandbox.world.newest("illust")[:12]]
    await asyncio.gather(*(source.work(ref) for ref in refs))
    sandbox.expire_tokens()
    works = await asyncio.gather(*(source.work(ref) for ref in refs))
    assert [work.ref for work in works] == refs
    assert calls(sandbox, "oauth.token") == 2
    assert sandbox.stats()["max_concurrent_token_calls"] == 1


async def test_a_rotated_token_is_the_one_used_after_a_restart(opened: Any, connect: Any, store: Any) -> None:
    sandbox = await opened(rotate_refresh=True)
    await connect(sandbox).check_login()
    sandbox.expire_tokens()
    again = connect(sandbox)
    assert await again.check_login() == str(store.tokens.user_id)
    assert await ids(again)  # the stored access token is dead, the stored refresh token is not
    assert calls(sandbox, "oauth.token") == 2


async def test_a_refused_login_costs_exactly_one_request(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "oauth.token", "action": "invalid_grant"}])
    for source in (connect(sandbox), connect(sandbox)):
        for _ in range(2):
            with pytest.raises(AuthFailed) as refusal:
                await ids(source)
            assert not refusal.value.retryable
            assert "sandbox-token" not in str(refusal.value)
    assert sandbox.stats()["total"] == 1


async def test_a_token_that_is_never_taken_ends_after_one_renewal(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "illust.ranking", "action": "invalid_grant"}])
    with pytest.raises(AuthFailed):
        await ids(connect(sandbox))
    assert calls(sandbox, "illust.ranking") == 2
    assert calls(sandbox, "oauth.token") == 2


@pytest.mark.parametrize("status", [403, 429])
async def test_a_rate_limit_of_three_calls_is_sat_out(opened: Any, connect: Any, clock: Any, status: int) -> None:
    sandbox = await opened(page_size=10)
    expected = await ids(connect(sandbox))
    sandbox.site.stats.reset()
    sandbox.set_faults(
        [{"match": "illust.ranking", "nth": [2, 3, 4], "action": {"type": "rate_limit", "status": status}}]
    )
    begin = clock.now()
    source = connect(sandbox)
    assert await ids(source) == expected
    assert clock.now() - begin == pytest.approx(60 + 120 + 240)
    assert (await source.gate_state()).penalty == 3
    pages = [entry["query"] for entry in sandbox.stats()["recent"] if entry["route"] == "illust.ranking"]
    assert pages[1] == pages[2] == pages[3] == pages[4]  # the same page again, and no other request meanwhile


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_retry_after_is_kept_in_both_forms(opened: Any, connect: Any, clock: Any, form: str) -> None:
    sandbox = await opened()
    limit = {"type": "rate_limit", "status": 429, "retry_after_s": 300, "retry_after_form": form}
    sandbox.set_faults([{"match": "illust.detail", "nth": 1, "action": limit}])
    begin = clock.now()
    await connect(sandbox).work(first_ref(sandbox))
    assert clock.now() - begin == pytest.approx(300, abs=5)


async def test_a_lasting_rate_limit_opens_the_circuit_and_stops_all_requests(
    opened: Any, connect: Any, clock: Any
) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "illust.*", "action": "rate_limit"}])
    source = connect(sandbox)
    with pytest.raises(RateLimited) as first:
        await source.work(first_ref(sandbox))
    assert first.value.retry_after_s == pytest.approx(480)
    assert calls(sandbox, "illust.detail") == 4
    for again in (source, connect(sandbox)):  # also after a restart
        with pytest.raises(RateLimited) as refusal:
            await again.work(first_ref(sandbox))
        assert refusal.value.retry_after_s == pytest.approx(480)
    assert calls(sandbox, "illust.detail") == 4
    sandbox.clear_faults()
    clock.time += 481
    assert await source.work(first_ref(sandbox))


async def test_all_callers_wait_for_one_probe(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    await source.check_login()
    sandbox.set_faults([{"match": "illust.detail", "nth": [1, 2], "action": "rate_limit"}])
    refs = [WorkRef(ILLUST, str(work.id)) for work in sandbox.world.newest("illust")[:6]]
    works = [await source.work(refs[0]), *await asyncio.gather(*(source.work(ref) for ref in refs[1:]))]
    assert [work.ref for work in works] == refs
    assert calls(sandbox, "illust.detail") == 8
    assert (await source.gate_state()).penalty == 2


@pytest.mark.parametrize("action", ["reset", "drop", {"type": "status", "status": 502, "body": "<html>bad gateway"}])
async def test_trouble_is_tried_again_and_then_told(opened: Any, connect: Any, clock: Any, action: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    await source.check_login()
    sandbox.set_faults([{"match": "illust.detail", "nth": [1, 2, 3], "action": action}])
    assert await source.work(first_ref(sandbox))
    assert clock.slept[-3:] == [1, 2, 3]
    sandbox.set_faults([{"match": "illust.detail", "action": action}])
    sandbox.site.stats.reset()
    with pytest.raises(Unavailable) as failure:
        await source.work(first_ref(sandbox))
    assert failure.value.retryable
    assert calls(sandbox, "illust.detail") == 4


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("not_found", NotFound),
        ("forbidden", Forbidden),
        ("challenge", Unavailable),
        ({"type": "challenge", "status": 503}, Unavailable),
        ("html200", ShapeChanged),
        ({"type": "status", "status": 400, "body": {"error": {"message": "bad"}}}, BadQuestion),
        ({"type": "status", "status": 200, "body": []}, ShapeChanged),
        ({"type": "status", "status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, Unavailable),
        ({"type": "set_in_answer", "values": {"illust": None}}, ShapeChanged),
    ],
)
async def test_answers_that_are_never_tried_again(opened: Any, connect: Any, action: Any, kind: type) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "illust.detail", "action": action}])
    with pytest.raises(kind):
        await connect(sandbox).work(first_ref(sandbox))
    assert calls(sandbox, "illust.detail") == 1


async def test_a_stalled_answer_times_out(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    sandbox.set_faults([{"match": "illust.detail", "action": {"type": "stall", "before_headers": True}}])
    with pytest.raises(TimedOut):
        await connect(sandbox, detail_timeout_s=0.05, retries=0).work(first_ref(sandbox))


async def test_a_cancelled_call_stops_at_once_and_harms_nobody(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    sandbox.set_faults([{"match": "illust.detail", "nth": 1, "action": {"type": "stall", "before_headers": True}}])
    task = asyncio.create_task(source.work(first_ref(sandbox)))
    await sandbox.until(lambda stats: stats["routes"].get("illust.detail") == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await source.work(first_ref(sandbox))


async def test_an_answer_without_end_is_cut_off(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    huge = {"illust": {"title": "x" * (17 * 1024 * 1024)}}
    sandbox.set_faults([{"match": "illust.detail", "action": {"type": "status", "status": 200, "body": huge}}])
    with pytest.raises(ShapeChanged, match="larger than"):
        await connect(sandbox).work(first_ref(sandbox))


async def test_media_arrive_whole_and_without_the_token(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    work = await source.work(WorkRef(ILLUST, str(sandbox.world.first_multi_page().id)))
    for page in work.pages:
        async with source.media(page.original_url) as stream:
            body = b"".join([chunk async for chunk in stream.chunks()])
        assert body == await sandbox.media_bytes(page.original_url)
        assert (stream.status, stream.content_length, stream.url) == (200, len(body), page.original_url)
        assert stream.content_type.startswith("image/")
    media = [entry for entry in sandbox.stats()["recent"] if entry["site"] == "media"]
    assert len(media) == len(work.pages)
    assert all("authorization" not in [name.lower() for name in entry["headers"]] for entry in media)


@pytest.mark.parametrize("action", ["short_body", "reset", "drop"])
async def test_a_broken_file_is_a_network_failure(opened: Any, connect: Any, action: str) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    sandbox.set_faults([{"match": "media.*", "nth": 1, "action": action}])
    with pytest.raises(NetworkFailed):
        await read(source, url)
    assert await read(source, url) == await sandbox.media_bytes(url)


async def test_a_file_without_a_length_is_read_to_its_end(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    sandbox.set_faults([{"match": "media.*", "action": "no_content_length"}])
    async with source.media(url) as stream:
        assert stream.content_length is None
        assert b"".join([chunk async for chunk in stream.chunks()]) == await sandbox.media_bytes(url)


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("not_found", NotFound),
        ("forbidden", Forbidden),
        ({"type": "status", "status": 500}, Unavailable),
        ({"type": "status", "status": 206}, Unavailable),
        ({"type": "status", "status": 200, "headers": {"Content-Encoding": "gzip"}, "body": "x"}, Unavailable),
        ({"type": "redirect", "to": "http://127.0.0.1:9/steal"}, ShapeChanged),
        ({"type": "redirect", "to": "https://evil.example/steal"}, ShapeChanged),
        ({"type": "redirect", "to": "https://app-api.pixiv.net/v1/illust/detail"}, ShapeChanged),
    ],
)
async def test_refusals_of_the_media_host(opened: Any, connect: Any, action: Any, kind: type) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    sandbox.set_faults([{"match": "media.*", "action": action}])
    with pytest.raises(kind):
        await read(source, url)
    assert sum(entry["site"] == "media" for entry in sandbox.stats()["recent"]) == 1


async def test_redirects_within_the_site_are_followed_and_bounded(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    path = url.removeprefix("https://i.pximg.net")
    for to in (url, path, sandbox.endpoints()["media"] + path):
        sandbox.set_faults([{"match": "media.*", "nth": 1, "action": {"type": "redirect", "to": to}}])
        assert await read(source, url) == await sandbox.media_bytes(url)
    sandbox.set_faults([{"match": "media.*", "action": {"type": "redirect", "to": path}}])
    sandbox.site.stats.reset()
    with pytest.raises(Unavailable, match="redirects"):
        await read(source, url)
    assert sandbox.stats()["total"] == 4


@pytest.mark.parametrize(("asked", "pause"), [(None, 5), (9, 9)])
async def test_a_limit_of_the_media_host_pauses_all_files(
    opened: Any, connect: Any, clock: Any, asked: int | None, pause: int
) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    limit = {"type": "status", "status": 429, "headers": {"Retry-After": str(asked)} if asked else {}}
    sandbox.set_faults([{"match": "media.*", "nth": 1, "action": limit}])
    with pytest.raises(RateLimited) as refusal:
        await read(source, url)
    assert refusal.value.retry_after_s == pause
    begin = clock.now()
    await asyncio.gather(read(source, url), read(source, url))
    assert clock.now() - begin >= pause
    assert (await source.gate_state()).penalty == 0  # the API's gate is another one


@pytest.mark.parametrize("url", ["https://evil.example/a.png", "http://127.0.0.1:9/a.png", "file:///etc/hostname", ""])
async def test_no_other_host_is_asked_for_a_file(opened: Any, connect: Any, url: str) -> None:
    source = connect(await opened())
    with pytest.raises(ShapeChanged):
        await read(source, url)


async def test_what_the_reader_raises_stays_the_readers(opened: Any, connect: Any) -> None:
    sandbox = await opened()
    source = connect(sandbox)
    url = await first_url(source, sandbox)
    disk = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space left"):
        async with source.media(url):
            raise disk


async def test_at_most_so_many_files_at_once(opened: Any, connect: Any) -> None:
    sandbox = await opened(latency_ms=5)
    source = connect(sandbox, media_connections=4)
    url = await first_url(source, sandbox)
    sandbox.site.stats.reset()
    await asyncio.gather(*(read(source, url) for _ in range(20)))
    assert sandbox.stats()["max_concurrent"] == 4


async def test_every_request_goes_through_the_proxy_and_shows_nothing_when_it_fails(opened: Any, connect: Any) -> None:
    seen: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readline()).decode().split()[0])
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sandbox = await opened()
    source = connect(sandbox, proxy=f"http://user:pw-secret@127.0.0.1:{port}", retries=0)
    with pytest.raises((Unavailable, AuthFailed)) as failure:
        await source.check_login()
    server.close()
    await server.wait_closed()
    assert seen == ["POST"]
    assert "pw-secret" not in str(failure.value)
    assert sandbox.stats()["total"] == 0


async def test_the_strict_headers_of_the_token_call_are_right(opened: Any, connect: Any) -> None:
    from pixivflow.sources.pixiv.config import PUBLIC_HASH_SALT

    sandbox = await opened(strict_hash=True, hash_salt=PUBLIC_HASH_SALT)
    assert await connect(sandbox).check_login() == "900"


async def test_logs_hold_no_secrets(opened: Any, connect: Any, caplog: pytest.LogCaptureFixture, store: Any) -> None:
    caplog.set_level("DEBUG")
    sandbox = await opened(rotate_refresh=True)
    await ids(connect(sandbox))
    sandbox.set_faults([{"match": "illust.*", "action": "invalid_grant"}])
    with pytest.raises(AuthFailed) as refusal:
        await ids(connect(sandbox))
    for secret in ("sandbox-token", store.tokens.access_token, store.tokens.refresh_token):
        assert secret not in caplog.text
        assert secret not in str(refusal.value)
        assert secret not in repr(store.tokens)
