"""The acceptance list, run against our own server with an invented site behind it."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from pathlib import Path

import pytest
import scene
from local import LocalServer
from place import Place, open_local

from pixivflow.protocol.http import HttpProducer
from pixivflow.protocol.point import Need
from pixivflow.protocol.session import Plan, Unreachable
from pixivflow.protocol.verify import Outcome, Verdict, verify

EVERYTHING = frozenset({Need.READ, Need.SUBMIT, Need.CANCEL})


async def run(place: Place[LocalServer], plan: Plan, token: str = scene.API_TOKEN) -> list[Outcome]:
    told: list[Outcome] = []
    async with HttpProducer(place.server.url, token) as producer:
        outcomes = await verify(
            producer,
            plan,
            new_key=lambda: str(uuid.uuid4()),
            sleep=asyncio.sleep,
            clock=time.monotonic,
            told=told.append,
        )
    assert told == outcomes
    return outcomes


def said(outcomes: list[Outcome], verdict: Verdict) -> dict[str, str]:
    return {outcome.point.id: outcome.why for outcome in outcomes if outcome.verdict is verdict}


async def test_our_server_passes_every_point(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        subject = place.subjects[0]
        plan = Plan(EVERYTHING, strict=True, target=subject.target, tags=(subject.tag,), timeout_s=30, poll_s=0.02)
        outcomes = await run(place, plan)
        assert said(outcomes, Verdict.FAIL) == {}
        assert set(said(outcomes, Verdict.SKIP)) == {"legacy-order", "legacy-lookup", "legacy-job"}
        page = (await place.client.call("GET", "/jobs"))[1]
        assert sorted(job["status"] for job in page["jobs"]) == ["cancelled", "succeeded"]


async def test_a_job_that_finds_nothing_is_as_good(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        plan = Plan(EVERYTHING, target="novels", tags=("nothing-has-this-tag",), timeout_s=30, poll_s=0.02)
        outcomes = await run(place, plan)
        assert said(outcomes, Verdict.FAIL) == {}
        assert said(outcomes, Verdict.SKIP)["result"] == "the job ended failed"


async def test_without_leave_nothing_is_submitted(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        outcomes = await run(place, Plan(strict=True))
        assert said(outcomes, Verdict.FAIL) == {}
        skipped = said(outcomes, Verdict.SKIP)
        assert skipped["submit"] == "submits a job; allow it with --submit"
        assert {point.point.id for point in outcomes if point.verdict is Verdict.PASS} >= {"capabilities", "token"}
        assert (await place.client.call("GET", "/jobs"))[1]["jobs"] == []


async def test_a_wrong_token_fails_what_needs_it_and_reads_nothing(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        outcomes = await run(place, Plan(EVERYTHING), token="another")
        failed = said(outcomes, Verdict.FAIL)
        assert "answers 401, not 200" in failed["capabilities"]
        assert "submit" in failed
        assert said(outcomes, Verdict.SKIP)["replay"] == "no job was accepted"


async def test_nobody_there(unused_tcp_port: int) -> None:
    async with HttpProducer(f"http://127.0.0.1:{unused_tcp_port}", None) as producer:
        with pytest.raises(Unreachable, match="GET /capabilities is not answered"):
            await verify(producer, Plan(), new_key=str, sleep=asyncio.sleep, clock=time.monotonic, told=print)


async def test_the_documents_are_served_without_a_token(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "protocol" / "v1"
    async with open_local(tmp_path, ["single"]) as place:
        for name in ("schema", "errors", "acceptance"):
            status, document = await place.client.call("GET", f"/protocol/v1/{name}.json")
            assert status == 200
            assert document == json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
