"""The life of `pixivflow serve`: ready, one at a time, two signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions

pytestmark = pytest.mark.acceptance
TOKEN = "an-invented-token-of-the-job-api"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """A small world."""
    async with Sandbox(SandboxOptions(seed=1, works=20)) as running:
        yield running


@pytest.fixture
def config(tmp_path: Path, sandbox: Sandbox) -> Path:
    """A configuration with one target that can be ordered."""
    document: dict[str, Any] = {
        "pixiv": {"refreshToken": "invented-refresh-token", "endpoints": sandbox.endpoints()},
        "network": {"requestPacingMs": 0},
        "storage": {"databasePath": "ledger.db", "downloadDirectory": "library"},
        "delivery": {
            "targets": {
                "r": {
                    "type": "httpMultipart",
                    "url": sandbox.receiver_url("r"),
                    "refetchOutcomeUrl": sandbox.receiver_url("r", "outcome"),
                    "fields": {"refetch_request_id": "{{refetchRequestId}}"},
                }
            }
        },
        "targets": [{"id": "t", "type": "illustration", "tag": "風景", "limit": 1, "delivery": {"target": "r"}}],
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


async def start(config: Path, *args: str, **env: str) -> asyncio.subprocess.Process:
    """A server that is starting."""
    command = (sys.executable, "-m", "pixivflow", "serve", "--config", str(config), "--port", "0", *args)
    return await asyncio.create_subprocess_exec(
        *command,
        env=os.environ | {"PIXIVFLOW_REFETCH_TOKEN": TOKEN} | env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def serving(config: Path, *args: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A server that is ready."""
    process = await start(config, "--json", *args)
    try:
        ready = json.loads(await process.stdout.readline())
        assert (ready["event"], ready["pid"]) == ("ready", process.pid)
        yield process, ready["url"]
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def order(url: str, key: str) -> None:
    """Order the target."""
    task = {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": {"target_id": "t"},
    }
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.post(f"{url}/jobs", json=task) as answer:
        assert answer.status == 202


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_one_signal_stops_in_order(config, number):
    async with serving(config) as (process, _):
        process.send_signal(number)
        out, err = await process.communicate()
        assert process.returncode == 0
        assert json.loads(out) == {"event": "stopped", "exit_code": 0}
        assert b"Traceback" not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_the_second_signal_stops_at_once(config, sandbox, number, code):
    sandbox.set_faults([{"match": "media.original", "action": {"type": "stall"}}])
    async with serving(config, "--grace", "60") as (process, url):
        await order(url, "stalls")
        await sandbox.until(lambda stats: stats["routes"].get("media.original", 0) > 0)
        process.send_signal(number)
        assert b"once more" in await process.stderr.readline()
        process.send_signal(number)
        _, err = await process.communicate()
        assert process.returncode == code, err
    assert not [path for path in (config.parent / "library").rglob("*") if path.is_file()]


async def test_the_grace_is_kept(config, sandbox):
    sandbox.set_faults([{"match": "media.original", "action": {"type": "stall"}}])
    async with serving(config, "--grace", "0") as (process, url):
        await order(url, "stalls")
        await sandbox.until(lambda stats: stats["routes"].get("media.original", 0) > 0)
        process.terminate()
        await process.communicate()
        assert process.returncode == 0


async def test_a_second_server_on_the_same_ledger_is_refused(config):
    async with serving(config) as (process, _):
        second = await start(config)
        out, err = await second.communicate()
        assert (second.returncode, out) == (4, b"")
        said = err.decode().strip().splitlines()
        assert len(said) == 1
        assert str(process.pid) in said[0]


async def test_a_person_sees_the_address(config):
    process = await start(config)
    line = (await process.stdout.readline()).decode()
    process.terminate()
    _, err = await process.communicate()
    assert line.startswith("pixivflow ")
    assert "is ready at http://127.0.0.1:" in line
    assert b"closed" not in err


async def test_without_a_token_it_starts_and_says_what_is_closed(config):
    process = await start(config, PIXIVFLOW_REFETCH_TOKEN="")
    await process.stdout.readline()
    process.terminate()
    _, err = await process.communicate()
    assert process.returncode == 0
    assert b"the Job API is closed: set PIXIVFLOW_REFETCH_TOKEN" in err
