"""`pixivflow protocol verify` as a person or a pipeline runs it."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import scene
from place import open_local

from pixivflow.cli.exits import Exit


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


async def run(*args: str) -> Ran:
    words = ("-m", "pixivflow", "protocol", "verify", *args)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    file = tmp_path / "token"
    file.write_text(scene.API_TOKEN + "\n", encoding="utf-8")
    return str(file)


async def test_it_only_reads_and_says_what_it_would_send(tmp_path, token_file) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        ran = await run(place.server.url, "--token-file", token_file, "--target", "pictures")
        assert ran.code == Exit.OK, ran
        lines = ran.out.splitlines()
        assert lines[0].startswith("pass  capabilities ")
        assert any(line.startswith("skip  submit ") and "--submit" in line for line in lines)
        assert '"target_id": "pictures"' in ran.err
        assert (await place.client.call("GET", "/jobs"))[1]["jobs"] == []
        assert scene.API_TOKEN not in ran.out + ran.err


async def test_the_whole_list_as_json(tmp_path, token_file) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        subject = place.subjects[0]
        more = ("--submit", "--cancel", "--strict", "--target", subject.target, "--tag", subject.tag, "--poll", "0.05")
        ran = await run(place.server.url, "--token-file", token_file, "--json", *more)
        assert ran.code == Exit.OK, ran
        document = json.loads(ran.out)
        assert document["counts"]["fail"] == 0
        assert document["counts"]["pass"] > 45
        assert {point["id"] for point in document["points"] if point["verdict"] == "skip"} == {
            "legacy-order",
            "legacy-lookup",
            "legacy-job",
        }


async def test_a_failure_is_exit_1_and_names_the_point(tmp_path, token_file) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        ran = await run(place.server.url, "--token-file", token_file, "--submit", "--account", "another")
        assert ran.code == Exit.FAILURE, ran
        failed = [line for line in ran.out.splitlines() if line.startswith("fail")]
        assert len(failed) == 1
        assert failed[0].startswith("fail  submit ")
        assert "account_unavailable" in failed[0]


async def test_nobody_there_is_one_line(unused_tcp_port, token_file) -> None:
    ran = await run(f"127.0.0.1:{unused_tcp_port}", "--token-file", token_file)
    assert ran.code == Exit.UNAVAILABLE
    assert ran.err.count("\n") == 1


async def test_the_older_route_needs_a_target(token_file) -> None:
    ran = await run("http://127.0.0.1:1", "--token-file", token_file, "--legacy")
    assert ran.code == Exit.USAGE
    assert "--target" in ran.err
