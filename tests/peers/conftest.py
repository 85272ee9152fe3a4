"""Stock third-party clients in an environment of their own, and a sandbox they can be pointed at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Finished:
    """What a client left: exit code, what it said, and every file it wrote by path below its folder."""

    code: int
    output: str
    files: Mapping[str, bytes]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a comparison with stock clients."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peers)
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def peer_python(outer_environment: dict[str, str]) -> Path:
    """The interpreter of the environment that has stock gallery-dl and pixivpy3; installed on first use."""
    command = [sys.executable, str(ROOT / "scripts" / "peer_env.py")]
    done = subprocess.run(command, env=outer_environment, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip()) / "bin" / "python"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Sandbox]:
    """A world of a few dozen works over TLS and a CONNECT proxy, the way stock clients can be pointed at it."""
    options = SandboxOptions(seed=11, works=60, users=4, anchor=date(2026, 3, 1), picture_size=(120, 160))
    async with Sandbox(options, tls_dir=tmp_path / "tls", proxy=True) as sandbox:
        yield sandbox


@pytest.fixture
def client(peer_python: Path, tmp_path: Path) -> Callable[..., Awaitable[Finished]]:
    """Run the peers' Python with arguments in an empty folder, and collect what it wrote."""

    async def run(*arguments: str) -> Finished:
        folder = tmp_path / "client"
        folder.mkdir(exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            str(peer_python), *arguments, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        return Finished(process.returncode or 0, said.decode(errors="replace"), files)

    return run


@pytest.fixture
def gallery_dl(
    client: Callable[..., Awaitable[Finished]], site: Sandbox, tmp_path: Path
) -> Callable[..., Awaitable[Finished]]:
    """Run stock gallery-dl on addresses of the real site; files are named `<id>_p<page>.<extension>`."""
    settings: dict[str, Any] = {
        "extractor": {
            "base-directory": "files",
            "proxy": site.addresses.proxy_url,
            "verify": site.addresses.ca_file,
            "pixiv": {"refresh-token": "invented-token", "directory": [], "filename": "{id}_p{num}.{extension}"},
            "pixiv-novel": {
                "refresh-token": "invented-token",
                "directory": [],
                "filename": "{id}_p{num}.{extension}",
                "covers": True,
                "embeds": True,
                "sleep-request": 0,
            },
        },
        "cache": {"file": ":memory:"},
    }
    config = tmp_path / "gallery-dl.json"
    config.write_text(json.dumps(settings), encoding="utf-8")

    async def run(*addresses: str) -> Finished:
        return await client("-m", "gallery_dl", "--config-ignore", "-c", str(config), *addresses)

    return run
