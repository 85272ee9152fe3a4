"""Requests made from our own OpenAPI document, right and wrong ones, alone and along its links, at a live server.

`pytest --scale 40` (as `make fuzz` runs it) sends 20,000; the plain run sends about 500: every example, every boundary
of every parameter, and a few stories.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import scene

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.server import HttpServer
from pixivflow.bootstrap import Stack
from pixivflow.config import load_config
from pixivflow.protocol.samples import TARGET
from pixivflow.sandbox import Sandbox

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None, reason="the extra `fuzz` is not installed"),
]

PLAIN = 500
# Left out: `positive_data_acceptance`. What is well formed may still name an account, a target, a cursor or an address
# that is none here, and the protocol answers that with 400.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "ensure_resource_availability",
)

# A stream never ends by itself: one event is looked at, or nothing comes and the reader hangs up.
SETTINGS = """
request-timeout = 20

[[operations]]
include-path = "/events/stream"
max-stream-events = 1
request-timeout = 0.5
"""


class Counted:
    """The application, with every answer counted by its status."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.statuses: Counter[int] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def counting(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.statuses[message["status"]] += 1
            await send(message)

        await self.app(scope, receive, counting)

    def end_streams(self) -> None:
        self.app.end_streams()


async def schemathesis(url: str, folder: Path, *arguments: str) -> None:
    """Run it in a process of its own; fail with what it found."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"),
        "run",
        f"{url}/openapi.json",
        *("--header", f"Authorization: Bearer {scene.API_TOKEN}"),
        *("--checks", ",".join(CHECKS)),
        *("--continue-on-failure", "--no-color"),
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode("utf-8", "replace")


@pytest.mark.timeout(7200)
async def test_no_request_breaks_a_promise_of_the_document(
    tmp_path: Path, scale: int, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = PLAIN * scale
    (tmp_path / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")
    world, subjects = scene.build_world(["single"])
    async with Sandbox(scene.options(), world=world) as sandbox:
        document = scene.config_document(sandbox, sections={"callbacks": {"allowHosts": ["127.0.0.1"]}})
        # One target, so that a task that names none is an order; and its name is the one of the document's examples.
        target = {**document["targets"][0], "id": TARGET, "tag": subjects[0].tag}
        schedule = {**document["schedules"][0], "targetIds": [TARGET]}
        path = scene.write_config(tmp_path / "server", {**document, "targets": [target], "schedules": [schedule]})
        loaded = load_config(path, env={})
        assert loaded.config is not None, loaded.problems
        stack = await Stack.open(loaded.config, purpose="a test")
        counted = Counted(create_app(stack.service, Tokens(scene.API_TOKEN), now_ms=stack.clock.now_ms))
        server = HttpServer("127.0.0.1", 0, counted)
        await stack.start()
        await server.start()
        try:
            with caplog.at_level(logging.ERROR):
                await _send(server.url, counted, wanted, tmp_path)
            assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
            await _still_well(server.url)
        finally:
            await server.stop(5.0)
            await stack.stop(0.0)
    assert sum(counted.statuses.values()) >= wanted
    assert {status for status in counted.statuses if status >= 500} == set()
    assert {200, 202, 400, 401, 404, 405} <= set(counted.statuses)


async def _send(url: str, counted: Counted, wanted: int, folder: Path) -> None:
    seed = random.randrange(2**31)  # noqa: S311 - pytest-randomly makes it repeatable
    phases = "examples,coverage,stateful"
    await schemathesis(url, folder, "--seed", str(seed), "--phases", phases, "--max-examples", "15")
    workers = max(1, min(4, os.cpu_count() or 1))
    while (left := wanted - sum(counted.statuses.values())) > 0:
        # Making requests costs many times more than answering them, so several processes make them.
        examples = str(max(5, min(400, left // (10 * workers))))
        more = ("--phases", "fuzzing,stateful", "--max-examples", examples)
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                seed += 1
                group.create_task(schemathesis(url, folder, "--seed", str(seed), *more))


async def _still_well(url: str) -> None:
    headers = {"Authorization": f"Bearer {scene.API_TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.get(f"{url}/readyz") as answer:
            assert answer.status == 200
        async with session.get(f"{url}/jobs?limit=500") as answer:
            assert (await answer.json())["jobs"]
