"""Faults as a client meets them on a real socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import FaultFileError, Sandbox
from pixivflow.sandbox.world import original_urls, zip_url

REFERER = {"Referer": "https://app-api.pixiv.net/"}


def _rule(match: str, action: Any, **more: Any) -> dict[str, Any]:
    return {"match": match, "action": action, **more}


async def _status(client: Any, path: str = "/v1/trending-tags/illust", **query: object) -> int:
    url = client.sandbox.endpoints()["api"] + path
    async with client.session.get(url, params=query, headers=client.headers) as answer:
        await answer.read()
        return int(answer.status)


async def test_the_nth_call_is_refused_and_the_next_is_good(client: Any, sandbox: Sandbox) -> None:
    sandbox.set_faults([_rule("tags.*", {"type": "rate_limit", "retry_after_s": 3}, nth=2)])
    assert [await _status(client) for _ in range(3)] == [200, 403, 200]
    assert sandbox.faults()[0]["fired"] == 1
    sandbox.set_faults([_rule("/v1/trending-tags/*", {"type": "status", "status": 503}, nth={"from": 2})])
    assert [await _status(client) for _ in range(3)] == [200, 503, 503]
    sandbox.clear_faults()
    assert await _status(client) == 200


async def test_bad_rules_change_nothing(client: Any, sandbox: Sandbox) -> None:
    sandbox.set_faults([_rule("*", "challenge")])
    with pytest.raises(FaultFileError):
        sandbox.set_faults([_rule("*", "unheard of")])
    assert await _status(client) == 403


@pytest.mark.parametrize(
    ("action", "status", "content_type"),
    [
        ("not_found", 404, "text/html"),
        ("html200", 200, "text/html"),
        ("html_as_image", 200, "image/jpeg"),
        ("empty", 200, "image/jpeg"),
        ({"type": "status", "status": 500}, 500, "text/html"),
    ],
)
async def test_media_faults(client: Any, sandbox: Sandbox, action: Any, status: int, content_type: str) -> None:
    work = sandbox.world.first_multi_page()
    hit, spared = original_urls(work.record)[:2]
    sandbox.set_faults([_rule("media.original", action, work=work.id, page=0)])
    answer, body = await client.media(hit)
    assert (answer.status, answer.content_type) == (status, content_type)
    assert body != await sandbox.original(work.id)
    assert (await client.media(spared))[1] == await sandbox.original(work.id, 1)


async def test_a_wrong_type_on_the_right_bytes(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", {"type": "wrong_type", "content_type": "text/plain"})])
    answer, body = await client.media(original_urls(work.record)[0])
    assert (answer.content_type, body) == ("text/plain", await sandbox.original(work.id))


async def test_a_short_body_promises_more_than_it_sends(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    url = original_urls(work.record)[0]
    sandbox.set_faults([_rule("media.original", {"type": "short_body", "fraction": 0.5}, nth=1)])
    with pytest.raises(aiohttp.ClientPayloadError):
        await client.media(url)
    assert (await client.media(url))[1] == await sandbox.original(work.id)


async def test_a_cut_file_with_an_honest_length(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", {"type": "short_ok", "fraction": 0.5})])
    answer, body = await client.media(original_urls(work.record)[0])
    whole = await sandbox.original(work.id)
    assert body == whole[: len(whole) // 2]
    assert int(answer.headers["Content-Length"]) == len(body)


async def test_no_content_length(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", "no_content_length")])
    answer, body = await client.media(original_urls(work.record)[0])
    assert "Content-Length" not in answer.headers
    assert body == await sandbox.original(work.id)


async def test_a_slow_body_is_whole(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", {"type": "slow", "bytes_per_s": 1_000_000})])
    assert (await client.media(original_urls(work.record)[0]))[1] == await sandbox.original(work.id)


async def test_a_range_can_be_ignored(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", "ignore_range")])
    answer, body = await client.media(original_urls(work.record)[0], REFERER | {"Range": "bytes=5-"})
    assert (answer.status, body) == (200, await sandbox.original(work.id))


@pytest.mark.parametrize("before_headers", [True, False])
async def test_a_stall_holds_until_released(client: Any, sandbox: Sandbox, before_headers: bool) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", {"type": "stall", "before_headers": before_headers}, nth=1)])
    held = asyncio.create_task(client.media(original_urls(work.record)[0]))
    await sandbox.until(lambda stats: stats["active"] == 1)
    done, _ = await asyncio.wait([held], timeout=0.05)
    assert not done
    sandbox.release()
    assert (await held)[1] == await sandbox.original(work.id)


async def test_a_client_that_gives_up_ends_the_stall(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("media.original", "stall")])
    held = asyncio.create_task(client.media(original_urls(work.record)[0]))
    await sandbox.until(lambda stats: stats["active"] == 1)
    held.cancel()
    await sandbox.until(lambda stats: stats["active"] == 0)
    assert sandbox.stats()["statuses"]["dropped"] == 1


@pytest.mark.parametrize("kind", ["reset", "drop"])
async def test_connections_die(client: Any, sandbox: Sandbox, kind: str) -> None:
    sandbox.set_faults([_rule("illust.ranking", {"type": kind})])
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.call("/v1/illust/ranking")
    assert sandbox.stats()["statuses"]["dropped"] >= 1
    assert await _status(client) == 200


async def test_a_lost_token_answer_still_rotates(open_client: Any) -> None:
    async with open_client(rotate_refresh=True) as client:
        client.sandbox.set_faults([_rule("oauth.token", {"type": "drop", "processed": True}, nth=1)])
        with pytest.raises(aiohttp.ClientConnectionError):
            await client.log_in("mine")
        assert (await client.log_in("mine"))["error"] == "invalid_grant"


async def test_token_faults(client: Any, sandbox: Sandbox) -> None:
    sandbox.set_faults([_rule("oauth.token", "invalid_grant", nth=1)])
    assert (await client.log_in())["errors"]["system"]["code"] == 1508
    assert "access_token" in await client.log_in()
    sandbox.set_faults([_rule("illust.ranking", "expire_tokens", nth=1)])
    status, document = await client.call("/v1/illust/ranking")
    assert (status, document["error"]["message"].endswith("invalid_grant")) == (400, True)
    await client.log_in()
    assert await _status(client) == 200


async def test_records_lose_keys_in_lists_and_in_details(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("*", {"type": "drop_keys", "keys": ["type", "is_bookmarked"]}, work=work.id)])
    works = await client.every("/v1/user/illusts", "illusts", user_id=work.user_id)
    assert [record["id"] for record in works if "type" not in record] == [work.id]
    assert "type" not in (await client.good("/v1/illust/detail", illust_id=work.id))["illust"]
    sandbox.set_faults([_rule("search.illust", {"type": "drop_keys", "keys": ["type"], "numbers": [7, 9]})])
    page = (await client.good("/v1/search/illust", word="風景"))["illusts"]
    assert [number for number, record in enumerate(page, 1) if "type" not in record] == [7, 9]
    assert "type" in work.record


async def test_placeholders_in_lists(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults([_rule("illust.*", {"type": "placeholder", "reason": "never_seen"}, work=work.id)])
    record = (await client.good("/v1/illust/detail", illust_id=work.id))["illust"]
    url = record["meta_single_page"]["original_image_url"]
    assert url == "https://s.pximg.net/common/images/limit_never_seen_360.png"
    answer, _ = await client.media(url)
    assert (answer.status, answer.content_type) == (200, "image/png")


async def test_next_url_faults(client: Any, sandbox: Sandbox) -> None:
    query = {"word": "風景", "offset": "30"}
    sandbox.set_faults([_rule("search.illust", "next_url_repeat")])
    repeated = (await client.good("/v1/search/illust", **query))["next_url"]
    assert repeated.startswith("https://app-api.pixiv.net/v1/search/illust?")
    assert repeated.endswith("offset=30")
    sandbox.set_faults([_rule("search.illust", {"type": "next_url_foreign", "host": "evil.example"})])
    assert (await client.good("/v1/search/illust", word="風景"))["next_url"].startswith("https://evil.example/")
    sandbox.set_faults([_rule("search.illust", "empty_page", nth=1)])
    empty = await client.good("/v1/search/illust", word="風景")
    assert empty["illusts"] == []
    assert empty["next_url"].endswith("offset=30")


async def test_novel_faults(client: Any, sandbox: Sandbox) -> None:
    novel = sandbox.world.first_novel()
    url = f"{sandbox.endpoints()['api']}/webview/v2/novel?id={novel.id}"

    async def page() -> str:
        async with client.session.get(url, headers=client.headers) as answer:
            assert answer.status == 200
            return str(await answer.text())

    async def viewer() -> Any:
        return json.loads((await page()).partition("novel: ")[2].partition(",\n")[0])

    sandbox.set_faults([_rule("novel.webview", "webview_layout")])
    changed = await page()
    assert "novel: {" not in changed
    assert "isOwnWork" not in changed
    for text in ("", None):
        sandbox.set_faults([_rule("*", {"type": "novel_text", "text": text}, work=novel.id)])
        assert (await viewer())["text"] == text
        assert (await client.good(f"/ajax/novel/{novel.id}", "web"))["body"]["content"] == text
    sandbox.set_faults([_rule("novel.webview", "maps_as_lists")])
    assert (await viewer())["images"] == []
    sandbox.clear_faults()
    assert len((await viewer())["images"]) == 2


async def test_ugoira_faults(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first("ugoira")
    sandbox.set_faults(
        [
            _rule("media.zip", {"type": "bad_zip", "variant": "cut"}, nth=1),
            _rule("ugoira.metadata", {"type": "set_in_answer", "values": {"ugoira_metadata.frames.0.delay": 0}}),
        ]
    )
    whole = await sandbox.archive(work.id)
    assert (await client.media(zip_url(work)))[1] == whole[: len(whole) // 2]
    assert (await client.media(zip_url(work)))[1] == whole
    meta = await client.good("/v1/ugoira/metadata", illust_id=work.id)
    assert meta["ugoira_metadata"]["frames"][0]["delay"] == 0
    assert work.frames[0].delay_ms > 0


async def test_redirects_and_delays(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    sandbox.set_faults(
        [
            _rule("media.original", {"type": "delay", "seconds": 0}),
            _rule("media.original", {"type": "redirect", "to": "/media/common/images/limit_unknown_360.png"}),
        ]
    )
    answer, _ = await client.media(original_urls(work.record)[0])
    assert answer.url.path == "/media/common/images/limit_unknown_360.png"
    assert [seen["fired"] for seen in sandbox.faults()] == [1, 1]


async def test_limits_that_recover(client: Any, sandbox: Sandbox) -> None:
    sandbox.set_faults([_rule("*", {"type": "rate_limit", "status": 429, "after_requests": 2, "recover_after_s": 0})])
    assert [await _status(client) for _ in range(6)] == [200, 200, 429, 200, 200, 429]


async def test_rules_over_http(client: Any, sandbox: Sandbox) -> None:
    url = sandbox.base_url + "/__sandbox__/faults"
    rules = [_rule("tags.*", {"type": "challenge"}, count=1)]
    async with client.session.post(url, json=rules) as answer:
        assert answer.status == 200
    assert [await _status(client) for _ in range(2)] == [403, 200]
    async with client.session.get(url) as answer:
        shown = (await answer.json())["rules"][0]
        assert (shown["seen"], shown["fired"], shown["count"]) == (2, 1, 1)
    for bad in ('[{"match": "tags.*", "action": "nothing"}]', "not json", "{}"):
        async with client.session.post(url, data=bad) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]
    async with client.session.delete(url) as answer:
        assert (await answer.json())["rules"] == []
