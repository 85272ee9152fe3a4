"""Promise: whatever a receiver does, a work ends in the right state there, and is seen at most once.

Each case is one job on its way to a receiver that misbehaves in one way: it is down, slow, answers with an error, loses
the answer after it stored, says no, or had the work before. Asserted are the job as an orchestrator sees it, the rows
of the ledger, what the receiver shows, and (by the judge) that all of it agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scene
from aiohttp import web
from judge_record import Row, read_record
from live import unused_port
from place import Place, open_local


@dataclass(frozen=True, slots=True)
class Expected:
    """How a case ends."""

    status: str
    delivery: str
    outbox: str
    items: int
    tries: int
    code: str | None = None
    internal: str | None = None


GOOD = {"status": "succeeded", "delivery": "delivered", "outbox": "done", "items": 1}
NO = {"status": "failed", "outbox": "dead", "items": 0}
CASES: dict[str, tuple[Sequence[Any], Expected]] = {
    "accepted": (["accepted"], Expected(**GOOD, tries=1)),
    "slow": ([{"answer": "slow", "seconds": 0.3}], Expected(**GOOD, tries=1)),
    "500 then 201": ([{"answer": "status", "status": 500}, "accepted"], Expected(**GOOD, tries=2)),
    "dropped before it was read, then 201": (["drop_before", "accepted"], Expected(**GOOD, tries=2)),
    "stored, answer lost": (["drop_after"], Expected(**GOOD, tries=2)),
    "stored, answer lost three times": (["drop_after"] * 3, Expected(**GOOD, tries=4)),
    "429 with Retry-After": (
        [{"answer": "status", "status": 429, "retry_after_s": 1}, "accepted"],
        Expected(**GOOD, tries=2),
    ),
    "200 with a failed record": (
        ["failed"],
        Expected(**NO, delivery="failed", tries=1, code="delivery_rejected", internal="telepost_rejected"),
    ),
    "permanent 400": (
        [{"answer": "status", "status": 400}],
        Expected(**NO, delivery="failed", tries=1, code="delivery_rejected", internal="telepost_rejected"),
    ),
    "500 for ever": (
        [{"answer": "status", "status": 500}] * 8,
        Expected(**NO, delivery="dead", tries=8, code="delivery_failed", internal="delivery_failed"),
    ),
    "had it before, from elsewhere": (
        ["duplicate"],
        Expected("failed", "duplicate", "done", 0, 1, code="no_candidate", internal="duplicate_exhausted"),
    ),
    "knows the key already": (["replay"], Expected("succeeded", "delivered", "done", 0, 1)),
}


def _rows(place: Place[Any]) -> tuple[Row, Row]:
    record = read_record(place.ledger)
    (delivery,) = record.deliveries
    # An order that comes to nothing also leaves the message that says so.
    (sent,) = [row for row in record.outbox if row["kind"] == "delivery"]
    return delivery, sent


@pytest.mark.parametrize("name", CASES)
async def test_each_answer_has_its_end(tmp_path: Path, name: str) -> None:
    script, expected = CASES[name]
    async with open_local(tmp_path, ["pages"]) as place:
        receiver = place.receiver()
        receiver.script(script)
        job_id = await place.client.order(scene.task(place.subjects[0], "one order"))
        job = await place.client.wait_until_terminal(job_id)
        await place.client.events(job_id)
        delivery, sent = _rows(place)
        assert (job["status"], delivery["state"], sent["state"]) == (
            expected.status,
            expected.delivery,
            expected.outbox,
        )
        assert sent["attempt"] == expected.tries
        assert len(receiver.items) == expected.items
        error = job.get("error", {})
        assert (error.get("code"), error.get("detail", {}).get("internal_code")) == (expected.code, expected.internal)
        if expected.status == "succeeded":
            assert [found["work_id"] for found in job["result"]["candidates"]] == [str(place.subjects[0].id)]
        if name != "knows the key already":  # there the receiver only claims to have seen it
            place.assert_clean()


async def test_a_receiver_that_is_down_is_waited_for(tmp_path: Path) -> None:
    """Refused connections are no verdict: the work waits in the outbox and arrives once somebody listens there."""
    port = unused_port()
    route = scene.RouteSpec(url=f"http://127.0.0.1:{port}/submit")
    async with open_local(tmp_path, ["single"], routes=(route,)) as place:
        job_id = await place.client.order(scene.task(place.subjects[0], "while it is down"))
        job = await place.client.until(job_id, lambda _: _waits_after_a_try(place))
        assert job["status"] == "running"
        delivery, sent = _rows(place)
        assert (delivery["state"], sent["error_class"]) == ("pending", "network_timeout")
        shown: list[str] = []

        async def submit(request: web.Request) -> web.Response:
            form = await request.post()
            key = str(form["idempotency_key"])
            shown.extend([key] if key not in shown else [])
            return web.json_response({"data": {"review_id": "1", "status": "pending"}}, status=201)

        app = web.Application()
        app.router.add_post("/submit", submit)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            job = await place.client.wait_until_terminal(job_id)
        finally:
            await runner.cleanup()
        assert job["status"] == "succeeded"
        assert shown == [delivery["key"]]


def _waits_after_a_try(place: Place[Any]) -> bool:
    return any(row["state"] == "retry_wait" for row in read_record(place.ledger).outbox)


async def test_a_receiver_that_never_answers_is_cut_off_and_asked_again(tmp_path: Path) -> None:
    sections = {"delivery": {"requestTimeoutMs": 300}}
    async with open_local(tmp_path, ["single"], sections=sections) as place:
        place.receiver().script(["stall", "accepted"])
        job_id = await place.client.order(scene.task(place.subjects[0], "no answer"))
        job = await place.client.wait_until_terminal(job_id)
        delivery, sent = _rows(place)
        assert (job["status"], delivery["state"], sent["attempt"]) == ("succeeded", "delivered", 2)
        assert len(place.receiver().items) == 1
        place.assert_clean()


async def test_one_route_that_fails_fails_the_work_and_keeps_what_the_other_has(tmp_path: Path) -> None:
    routes = (scene.RouteSpec("main"), scene.RouteSpec("second"))
    async with open_local(tmp_path, ["single"], routes=routes) as place:
        place.receiver("second").script([{"answer": "status", "status": 400}])
        job_id = await place.client.order(scene.task(place.subjects[0], "two routes"))
        job = await place.client.wait_until_terminal(job_id)
        states = {row["route"]: row["state"] for row in read_record(place.ledger).deliveries}
        assert (job["status"], states) == ("failed", {"main": "delivered", "second": "failed"})
        assert job["error"]["code"] == "delivery_rejected"
        assert len(place.receiver("main").items) == 1
        place.assert_clean()
