"""Promise: a cancelled job stops, frees its account at once, and never comes back.

Cancel meets every moment of a job's life: waiting, searching, downloading, waiting for another try, being sent. The
site's stalled answers stay open on purpose: what ends the work is the cancel, not the site.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import scene
from judge_record import read_record
from place import Place, open_local

STALLED_SEARCH = {"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}
STALLED_MEDIA = {"match": "media.*", "nth": 1, "action": {"type": "stall", "fraction": 0.5}}
STOPS_WITHIN_S = 2.0  # the project's own promise


def _searches(place: Place[Any]) -> int:
    return int(place.sandbox.stats()["routes"].get("search.illust", 0))


async def _until_delivered(place: Place[Any]) -> None:
    """Until the outbox has nothing on the way and nothing due."""
    worker = place.server.stack.worker
    async with asyncio.timeout(20):
        await worker.idle.wait()


async def _types(place: Place[Any], job_id: str) -> list[str]:
    return [event["type"] for event in await place.client.events(job_id)]


async def test_during_the_search(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single", "single"]) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        first, second = place.subjects
        job_id = await place.client.order(scene.task(first, "stuck"))
        await place.sandbox.until(lambda _: _searches(place) == 1)
        next_id = await place.client.order(scene.task(second, "waits for the account"))
        async with asyncio.timeout(STOPS_WITHIN_S):
            job = await place.client.cancel(job_id)
            await place.sandbox.until(lambda _: _searches(place) == 2)
        assert (job["status"], job["error"]["code"]) == ("cancelled", "cancelled_by_consumer")
        assert (await place.client.wait_until_terminal(next_id))["status"] == "succeeded"
        assert await _types(place, job_id) == ["job.accepted", "job.started", "job.cancelled"]
        assert await place.client.cancel(job_id) == job, "a second cancel answers the same job"
        assert len(place.receiver().items) == 1
        place.assert_clean()


async def test_while_it_waits_for_its_account(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single", "single"]) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        first, second = place.subjects
        busy = await place.client.order(scene.task(first, "has the account"))
        await place.sandbox.until(lambda _: _searches(place) == 1)
        waiting = await place.client.order(scene.task(second, "waits"))
        job = await place.client.cancel(waiting)
        assert (job["status"], job["started_at"], job["attempt"]) == ("cancelled", None, 0)
        place.sandbox.release()
        assert (await place.client.wait_until_terminal(busy))["status"] in ("succeeded", "failed")
        await _until_delivered(place)
        assert await _types(place, waiting) == ["job.accepted", "job.cancelled"]
        assert _searches(place) <= 2, "nothing was searched for the cancelled job"
        assert len(place.receiver().items) <= 1
        place.assert_clean()


async def test_during_a_download(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["pages", "single"]) as place:
        place.sandbox.set_faults([STALLED_MEDIA])
        first, second = place.subjects
        job_id = await place.client.order(scene.task(first, "half a file"))
        await place.sandbox.until(lambda seen: seen["routes"].get("media.original", 0) == first.files)
        next_id = await place.client.order(scene.task(second, "comes next"))
        async with asyncio.timeout(STOPS_WITHIN_S):
            assert (await place.client.cancel(job_id))["status"] == "cancelled"
            await place.sandbox.until(lambda _: _searches(place) == 2)
        await place.client.wait_until_terminal(next_id)
        record = read_record(place.ledger)
        assert record.of_job("deliveries", job_id) == []
        assert [request["fields"]["title"] for request in place.receiver().requests] == [["work 0001"]]
        place.assert_clean()


async def test_while_a_delivery_is_on_the_wire_the_request_completes_and_the_job_stays_cancelled(
    tmp_path: Path,
) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        place.receiver().script(["stall"])
        job_id = await place.client.order(scene.task(place.subjects[0], "on the wire"))
        await place.receiver().until(lambda receiver: receiver.arrived == 1)
        job = await place.client.cancel(job_id)
        assert job["status"] == "cancelled"
        place.sandbox.release()
        await place.receiver().until(lambda receiver: len(receiver.items) == 1)
        await _until_delivered(place)
        (delivery,) = read_record(place.ledger).deliveries
        assert delivery["state"] == "delivered", "what the receiver has is on record"
        assert await place.client.job(job_id) == job
        assert await _types(place, job_id) == ["job.accepted", "job.started", "job.cancelled"]
        place.assert_clean()


async def test_a_failed_request_of_a_cancelled_job_is_not_repeated(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        place.receiver().script([{"answer": "status", "status": 503, "seconds": 0.3}])
        job_id = await place.client.order(scene.task(place.subjects[0], "fails on the wire"))
        await place.receiver().until(lambda receiver: receiver.arrived == 1)
        await place.client.cancel(job_id)
        await place.receiver().until(lambda receiver: len(receiver.requests) == 1)
        await _until_delivered(place)
        record = read_record(place.ledger)
        assert record.outbox[0]["state"] in ("dead", "cancelled")
        assert len(place.receiver().requests) == 1
        assert (await place.client.job(job_id))["status"] == "cancelled"
        place.assert_clean()


async def test_while_a_delivery_waits_for_another_try(tmp_path: Path) -> None:
    sections = {"delivery": {"outboxRetryBaseMs": 3_600_000, "outboxRetryMaxMs": 3_600_000}}
    async with open_local(tmp_path, ["single"], sections=sections) as place:
        place.receiver().script([{"answer": "status", "status": 500}])
        job_id = await place.client.order(scene.task(place.subjects[0], "waits for another try"))
        await place.client.until(job_id, lambda _: read_record(place.ledger).outbox[0]["state"] == "retry_wait"
                                 if read_record(place.ledger).outbox else False)  # fmt: skip
        await place.client.cancel(job_id)
        record = read_record(place.ledger)
        assert [row["state"] for row in (*record.outbox, *record.deliveries)] == ["cancelled", "cancelled"]
        place.assert_clean()


async def test_one_route_has_it_and_the_other_is_stopped(tmp_path: Path) -> None:
    sections = {"delivery": {"outboxRetryBaseMs": 3_600_000, "outboxRetryMaxMs": 3_600_000}}
    routes = (scene.RouteSpec("main"), scene.RouteSpec("second"))
    async with open_local(tmp_path, ["single"], routes=routes, sections=sections) as place:
        place.receiver("second").script([{"answer": "status", "status": 500}])
        job_id = await place.client.order(scene.task(place.subjects[0], "half delivered"))

        def halfway(_: Any) -> bool:
            states = sorted(row["state"] for row in read_record(place.ledger).outbox)
            return states == ["done", "retry_wait"]

        await place.client.until(job_id, halfway)
        await place.client.cancel(job_id)
        states = {row["route"]: row["state"] for row in read_record(place.ledger).deliveries}
        assert states == {"main": "delivered", "second": "cancelled"}
        place.assert_clean()


async def test_an_ended_job_is_answered_and_left_alone(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        job_id = await place.client.order(scene.task(place.subjects[0], "done"))
        done = await place.client.wait_until_terminal(job_id)
        assert await place.client.cancel(job_id) == done
        status, document = await place.client.call("POST", "/jobs/orders@manual-nobody/cancel")
        assert (status, document["error"]["detail"]["reason"]) == (404, "unknown_job")
        place.assert_clean()


async def test_cancelling_while_the_attempt_begins_frees_the_account(tmp_path: Path) -> None:
    """The cancel and the first commit of the attempt may land in the same group commit, in either order."""
    kinds: list[scene.Kind] = ["single"] * 12
    async with open_local(tmp_path, kinds) as place:
        *first, last = place.subjects
        for number, subject in enumerate(first):
            job_id = await place.client.order(scene.task(subject, f"gone at once {number}"))
            for _ in range(number):
                await asyncio.sleep(0)
            await place.client.cancel(job_id)
        job_id = await place.client.order(scene.task(last, "the account is free"))
        assert (await place.client.wait_until_terminal(job_id))["status"] == "succeeded"
        await _until_delivered(place)
        place.assert_clean()
