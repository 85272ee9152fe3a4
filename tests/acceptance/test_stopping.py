"""Promise: a stop hands work back and the next start finishes it; a deadline ends a job that hangs."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
import scene
from judge_record import read_record
from live import Server
from place import Place, open_local, open_place

STALLED_SEARCH = {"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}
STALLED_MEDIA = {"match": "media.*", "nth": 1, "action": {"type": "stall", "fraction": 0.5}}


async def _finishes(place: Place[Server], job_id: str, *, attempts: int) -> None:
    place.sandbox.clear_faults()
    await place.server.start()
    job = await place.client.wait_until_terminal(job_id)
    events = await place.client.events(job_id)
    assert (job["status"], job["attempt"]) == ("succeeded", attempts), f"{job}\n{place.server.output}"
    assert [event["type"] for event in events] == ["job.accepted", "job.started", "job.succeeded"]
    assert len(place.receiver().items) == 1
    place.assert_clean()


@pytest.mark.acceptance
async def test_sigterm_hands_a_job_back(tmp_path: Path) -> None:
    async with open_place(tmp_path, ["pages"], arguments=("--grace", "0.2")) as place:
        place.sandbox.set_faults([STALLED_MEDIA])
        await place.server.start()
        job_id = await place.client.order(scene.task(place.subjects[0], "handed back"))
        await place.sandbox.until(lambda seen: seen["routes"].get("media.original", 0) == place.subjects[0].files)
        assert await place.server.terminate() == 0, place.server.output
        place.assert_clean(at_rest=False)
        assert not [row for row in read_record(place.ledger).attempts if row["state"] in ("granted", "running")]
        assert not list((place.library / ".incoming").glob("*/*")), "unfinished files are removed at a stop"
        await _finishes(place, job_id, attempts=2)


@pytest.mark.acceptance
async def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    """The grace is long; the second SIGTERM does not wait for it."""
    async with open_place(tmp_path, ["pages"], arguments=("--grace", "600")) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        await place.server.start()
        job_id = await place.client.order(scene.task(place.subjects[0], "hurried"))
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 1)
        place.server.send(signal.SIGTERM)
        await place.server.until_said(lambda: "stopping" in place.server.output, "say that it stops")
        status, answer = await place.client.submit(scene.task(place.subjects[0], "too late"))
        assert (status, answer["error"]["code"]) == (503, "resource_busy")
        place.server.send(signal.SIGTERM)
        code = await place.server.wait()
        assert code == 128 + signal.SIGTERM, place.server.output
        place.assert_clean(at_rest=False)
        await _finishes(place, job_id, attempts=2)


async def test_a_job_that_was_handed_back_often_is_not_given_up(tmp_path: Path) -> None:
    """Restarts are the operator's business and say nothing about the job."""
    async with open_local(tmp_path, ["single"]) as place:
        place.sandbox.set_faults([{**STALLED_SEARCH, "nth": "every"}])
        job_id = await place.client.order(scene.task(place.subjects[0], "many restarts"))
        for stops in range(1, 13):
            await place.sandbox.until(lambda seen, stops=stops: seen["routes"].get("search.illust") == stops)
            await place.server.stop()
            await place.server.start()
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 13)
        place.sandbox.clear_faults()
        await place.server.stop()
        await place.server.start()
        job = await place.client.wait_until_terminal(job_id)
        assert (job["status"], job["attempt"]) == ("succeeded", 14)
        place.assert_clean()


async def test_a_deadline_ends_a_job_whose_source_hangs(tmp_path: Path) -> None:
    """The deadline itself wakes the sweep, which otherwise looks once a minute only."""
    async with open_local(tmp_path, ["single", "single"]) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        first, second = place.subjects
        job_id = await place.client.order(scene.task(first, "hangs", deadline_ms=1000))
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 1)
        async with asyncio.timeout(20):
            job = await place.client.wait_until_terminal(job_id)
        assert (job["status"], job["error"]["code"]) == ("expired", "deadline_exceeded")
        assert read_record(place.ledger).jobs[0]["finished_at"] >= job["deadline_at"]
        next_id = await place.client.order(scene.task(second, "the account is free again"))
        assert (await place.client.wait_until_terminal(next_id))["status"] == "succeeded"
        place.assert_clean()


async def test_a_deadline_counts_while_the_job_waits_too(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single", "single"]) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        first, second = place.subjects
        busy = await place.client.order(scene.task(first, "has the account"))
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 1)
        job_id = await place.client.order(scene.task(second, "never started", deadline_ms=1000))
        async with asyncio.timeout(20):
            job = await place.client.wait_until_terminal(job_id)
        assert (job["status"], job["error"]["code"], job["started_at"]) == ("expired", "deadline_exceeded", None)
        assert [event["type"] for event in await place.client.events(job_id)] == ["job.accepted", "job.expired"]
        await place.client.cancel(busy)
        await place.server.stop()
        place.assert_clean()
