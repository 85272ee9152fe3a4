"""A sandbox in this process, and the command line in processes of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions

TOKEN = "an-invented-token-of-the-job-api"


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed: exactly one document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """What it printed, as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """`pixivflow` in a folder, with a configuration that points at the sandbox."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder = folder
        self.sandbox = sandbox
        self.config = folder / "config.json"

    def write(self, *targets: dict[str, Any], **sections: Any) -> None:
        """Write the configuration."""
        route = {
            "type": "httpMultipart",
            "url": self.sandbox.receiver_url("r"),
            "refetchOutcomeUrl": self.sandbox.receiver_url("r", "outcome"),
            "fields": {"refetch_request_id": "{{refetchRequestId}}"},
        }
        document = {
            "pixiv": {"refreshToken": "invented-refresh-token", "endpoints": self.sandbox.endpoints()},
            "network": {"requestPacingMs": 0, "retries": 0},
            "download": {"requestDelay": 0, "maxRetries": 0, "ugoiraFormats": ["gif"]},
            "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
            "delivery": {"targets": {"r": route}, "outboxRetryBaseMs": 60000},
            "targets": list(targets),
            "schedulerRuntime": {"watchConfig": False},
        }
        self.config.write_text(json.dumps(document | sections), encoding="utf-8")

    async def start(self, *args: str, **env: str) -> asyncio.subprocess.Process:
        """Start a command and leave it running."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "pixivflow", *args),
            cwd=self.folder,
            env=os.environ | {"PIXIVFLOW_REFETCH_TOKEN": TOKEN} | env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *args: str, **env: str) -> Ran:
        """Run a command with the configuration to its end."""
        process = await self.start("--config", str(self.config), *args, **env)
        out, err = await process.communicate()
        return Ran(process.returncode or 0, out.decode(), err.decode())

    @asynccontextmanager
    async def serving(self, *args: str, **env: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
        """A server for the length of a block, and its address."""
        process = await self.start("serve", "--json", "--port", "0", "--config", str(self.config), *args, **env)
        try:
            ready = json.loads(await process.stdout.readline())
            assert ready["event"] == "ready"
            yield process, ready["url"]
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """A small world."""
    async with Sandbox(SandboxOptions(seed=1, works=40)) as running:
        yield running


@pytest.fixture
def cli(tmp_path: Path, sandbox: Sandbox) -> Cli:
    """The command line in an empty folder, configured with one plain and one delivered target."""
    made = Cli(tmp_path, sandbox)
    made.write(
        {"id": "plain", "type": "illustration", "tag": "風景", "limit": 2},
        {"id": "sent", "type": "illustration", "tag": "風景", "limit": 1, "delivery": {"target": "r"}},
    )
    return made
