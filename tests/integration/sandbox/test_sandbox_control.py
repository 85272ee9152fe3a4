"""Control addresses, statistics, and running as a command does."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import Addresses, FaultFileError, Sandbox, SandboxOptions, serve
from pixivflow.sandbox.fault_schema import load_rules


async def _get(client: Any, path: str) -> Any:
    async with client.session.get(client.sandbox.base_url + path) as answer:
        assert answer.status == 200
        return await answer.json()


async def test_health_and_unknown_addresses(stranger: Any, sandbox: Sandbox) -> None:
    assert await _get(stranger, "/__sandbox__/health") == {"status": "ok", "works": 70, "novels": 12}
    assert "sandbox" in (await _get(stranger, "/"))["message"]
    for path in ("/__sandbox__/none", "/__sandbox__", "/__sandbox__/stats/more", "/elsewhere"):
        async with stranger.session.get(sandbox.base_url + path) as answer:
            assert answer.status == 404


async def test_the_world_lists_the_hash_of_every_original(client: Any, sandbox: Sandbox) -> None:
    listed = await _get(client, "/__sandbox__/world")
    assert len(listed["works"]) == 70
    for work in listed["works"][:6]:
        for page, original in enumerate(work["originals"]):
            _, body = await client.media(original["url"])
            assert hashlib.sha256(body).hexdigest() == original["sha256"] == await sandbox.sha256(work["id"], page)
    moving = next(work for work in listed["works"] if work["type"] == "ugoira")
    assert moving["zip"]["content_type"] == "application/zip"
    novel = next(novel for novel in listed["novels"] if novel["id"] == sandbox.world.first_novel().id)
    assert novel["images"] == ["3000000", "3000777"]
    plain = await _get(client, "/__sandbox__/world?hashes=0")
    assert "sha256" not in plain["works"][0]["originals"][0]


async def test_statistics_of_real_calls(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    await client.good("/v1/illust/detail", illust_id=work.id)
    await client.call("/v1/illust/detail", illust_id=1)
    _, body = await client.media(work.record["meta_single_page"]["original_image_url"])
    await client.call("/v1/nothing")
    stats = await _get(client, "/__sandbox__/stats")
    assert stats["routes"] == {"illust.detail": 2, "media.original": 1, "oauth.token": 1, "unknown": 1}
    assert stats["hosts"] == {"app": 3, "media": 1, "oauth": 1}
    assert stats["statuses"] == {"200": 3, "404": 2}
    assert stats["token_calls"] == stats["max_concurrent_token_calls"] == 1
    assert stats["bytes"] > len(body)
    assert stats["total"] == 5
    last = stats["recent"][1]
    assert (last["path"], last["query"], last["status"]) == ("/v1/illust/detail", f"illust_id={work.id}", 200)
    assert "Authorization" in last["headers"]
    assert client.token not in json.dumps(stats)
    async with client.session.delete(sandbox.base_url + "/__sandbox__/stats") as answer:
        assert answer.status == 200
    assert sandbox.stats()["total"] == 0


async def test_concurrent_calls_are_counted(open_client: Any) -> None:
    async with open_client(latency_ms=20) as client:
        client.sandbox.reset_stats()
        await asyncio.gather(*(client.call("/v1/trending-tags/illust") for _ in range(5)))
        await asyncio.gather(*(client.log_in() for _ in range(3)))
        stats = client.sandbox.stats()
    assert stats["max_concurrent"] == 5
    assert stats["max_concurrent_token_calls"] == 3


async def test_tokens_can_be_expired_and_stalls_released_over_http(client: Any, sandbox: Sandbox) -> None:
    for path in ("/__sandbox__/expire-tokens", "/__sandbox__/release"):
        async with client.session.post(sandbox.base_url + path) as answer:
            assert answer.status == 200
    assert (await client.call("/v1/trending-tags/illust"))[0] == 400


async def test_endpoints_and_use_before_the_start() -> None:
    sandbox = Sandbox()
    with pytest.raises(RuntimeError):
        _ = sandbox.base_url
    with pytest.raises(RuntimeError):
        _ = sandbox.world
    shown = Addresses("::1", 80, proxy_port=81)
    assert shown.endpoints()["media"] == "http://[::1]:80/media"
    assert shown.proxy_url == "http://[::1]:81"


async def test_stopping_twice_and_a_port_in_use(options: SandboxOptions) -> None:
    sandbox = Sandbox(options)
    addresses = await sandbox.start()
    with pytest.raises(OSError, match="in use"):
        await Sandbox(options, port=addresses.port).start()
    await sandbox.stop()
    await sandbox.stop()
    async with Sandbox(options, port=addresses.port) as again:
        assert again.addresses.port == addresses.port


async def test_stopping_lets_stalled_clients_go(options: SandboxOptions) -> None:
    async with aiohttp.ClientSession() as session:
        async with Sandbox(options) as sandbox:
            sandbox.set_faults([{"match": "*", "action": {"type": "stall", "before_headers": True}}])
            held = asyncio.create_task(session.get(sandbox.base_url + "/ajax/user/1001"))
            await sandbox.until(lambda stats: stats["active"] == 1)
        # Released at the stop, it gets its answer or loses its connection; it must not hang.
        (outcome,) = await asyncio.gather(held, return_exceptions=True)
        assert isinstance(outcome, aiohttp.ClientResponse | aiohttp.ClientConnectionError)


async def test_serving_until_told_to_stop(options: SandboxOptions, tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    faults.write_text('[{"match": "web.user", "action": {"type": "status", "status": 502}}]')
    stop = asyncio.Event()
    ready: asyncio.Future[Addresses] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve(options, faults_file=faults, ready=ready.set_result, stop=stop, proxy_port=0))
    addresses = await ready
    assert addresses.proxy_port
    async with aiohttp.ClientSession() as session, session.get(f"{addresses.base_url}/ajax/user/1001") as answer:
        assert answer.status == 502
    stop.set()
    await running


async def test_a_bad_fault_file_stops_serving_before_it_listens(options: SandboxOptions, tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    faults.write_text("[{}]")
    with pytest.raises(FaultFileError, match=r"faults\.json: rules\[0\]\.match"):
        await serve(options, faults_file=faults)


def test_a_file_is_read_and_its_errors_name_it(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    rules = [{"match": "media.*", "nth": [1, 2], "work": 5, "action": {"type": "short_body", "fraction": 0.25}}]
    file.write_text(json.dumps({"description": "two cut files", "rules": rules}))
    read = load_rules(file)
    assert [rule.document() for rule in read] == rules
    file.write_text('[{"match": ]')
    with pytest.raises(FaultFileError, match=r"faults\.json: line 1, column 12"):
        load_rules(file)
    file.write_bytes(b"\xff")
    with pytest.raises(FaultFileError, match="UTF-8"):
        load_rules(file)
    with pytest.raises(FaultFileError, match="cannot be read"):
        load_rules(tmp_path / "none.json")
