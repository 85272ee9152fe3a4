"""Callbacks of real jobs: everything is joined as it is when served, against the sandbox's site and receiver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import scene

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.api.ports import Refused, Submitted
from pixivflow.api.server import HttpServer
from pixivflow.bootstrap import Stack
from pixivflow.config import check_config
from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.delivery import Answer
from pixivflow.domain.job import JobState
from pixivflow.domain.task import Task, parse_task
from pixivflow.ledger import events, outbox
from pixivflow.sandbox import Receiver, Sandbox

TYPES = ["job.accepted", "job.started", "job.succeeded"]
Place = Any


class _Place:
    def __init__(self, stack: Stack, sandbox: Sandbox, subject: scene.Subject, server: HttpServer) -> None:
        self.stack = stack
        self.sandbox = sandbox
        self.subject = subject
        self.server = server
        self._recorded = asyncio.Event()
        queue = stack.worker._runner._outbox
        settle = queue.settle

        async def noted(row: OutboxRow, answer: Answer) -> None:
            await settle(row, answer)
            self._recorded.set()

        queue.settle = noted  # type: ignore[method-assign]

    @property
    def consumer(self) -> Receiver:
        return self.sandbox.receiver("orchestrator")

    @property
    def url(self) -> str:
        return self.sandbox.receiver_url("orchestrator", "callback")

    def task(self, key: str = "k-1", *, callback: str | None = "", **changes: Any) -> Task:
        url = self.url if callback == "" else callback
        body = {**scene.task(self.subject, key, **changes), "callback_url": url, "correlation_id": "照合-1"}
        parsed = parse_task(body)
        assert isinstance(parsed, Task)
        return parsed

    async def submit(self, *given: Any, **changes: Any) -> str:
        outcome = await self.stack.service.submit(self.task(*given, **changes))
        assert isinstance(outcome, Submitted)
        return outcome.job.id

    async def told(self, count: int) -> list[dict[str, Any]]:
        """The first callbacks, once there are so many."""
        await self.consumer.until(lambda consumer: len(consumer.callbacks) >= count)
        return self.consumer.callbacks

    async def rows(self, job_id: str) -> list[dict[str, Any]]:
        found = await self.stack.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id))
        return [row for row in reversed(found) if row["kind"] == "event_callback"]

    async def settled(self, job_id: str, done: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """The rows of a job as soon as they are as asked: the answer is recorded a moment after it was given."""
        while True:
            self._recorded.clear()
            if done(rows := await self.rows(job_id)):
                return rows
            await self._recorded.wait()

    async def page(self, job_id: str) -> str:
        """The text of the first page of the job's stream, over HTTP."""
        url = f"{self.server.url}/jobs/{job_id}/events"
        async with aiohttp.ClientSession() as session, session.get(url, headers={"Authorization": "Bearer t"}) as got:
            assert got.status == 200
            return await got.text()


def _all(state: str) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda rows: all(row["state"] == state for row in rows)


@asynccontextmanager
async def _open(folder: Path, *, started: bool = True, **given: Any) -> AsyncIterator[_Place]:
    world, subjects = scene.build_world(["single"])
    async with Sandbox(scene.options(), world=world) as sandbox:
        document = scene.config_document(sandbox, **given)
        config = check_config(document, {}, base=folder).config
        assert config is not None
        stack = await Stack.open(config, purpose="a test")
        server = HttpServer("127.0.0.1", 0, create_app(stack.service, Tokens("t", "t"), now_ms=stack.clock.now_ms))
        await server.start()
        try:
            if started:
                await stack.start()
            yield _Place(stack, sandbox, subjects[0], server)
        finally:
            await stack.stop(5.0)
            await server.stop(1.0)


async def test_a_job_tells_of_each_step_once_with_the_text_of_its_stream(tmp_path: Path) -> None:
    async with _open(tmp_path) as place:
        job_id = await place.submit()
        assert (await place.stack.wait(job_id)).state is JobState.SUCCEEDED
        await place.settled(job_id, _all("done"))
        told, page = await place.told(3), await place.page(job_id)
    assert sorted(seen["json"]["type"] for seen in told) == TYPES
    served = {event["event_id"]: event for event in json.loads(page)["events"]}
    assert {seen["json"]["event_id"]: seen["json"] for seen in told} == served
    for seen in told:
        assert seen["text"] in page, "byte for byte what the stream serves"
        assert seen["idempotency_key"] == f"job-event:{job_id}:{seen['json']['event_id']}"
        assert (seen["method"], seen["authorization"]) == ("POST", "absent")
    assert json.loads(page)["unacked"] == 3, "a callback that arrived is no acknowledgement"


async def test_a_replay_neither_changes_nor_adds_the_address(tmp_path: Path) -> None:
    async with _open(tmp_path) as place:
        with_url = await place.submit("k-1")
        without = await place.submit("k-2", callback=None)
        elsewhere = place.sandbox.receiver_url("intruder", "callback")
        assert await place.submit("k-1", callback=elsewhere) == with_url
        assert await place.submit("k-2", callback=elsewhere) == without
        for job_id in (with_url, without):
            await place.stack.wait(job_id)
        await place.told(3)
        await place.settled(with_url, _all("done"))
        assert {row["route"] for row in await place.rows(with_url)} == {place.url}
        assert await place.rows(without) == []
        assert place.sandbox.receiver("intruder").callbacks == []


async def test_a_cancelled_job_still_says_so(tmp_path: Path) -> None:
    async with _open(tmp_path, started=False) as place:
        job_id = await place.submit()
        cancelled = await place.stack.service.cancel(job_id)
        assert cancelled is not None
        assert cancelled.state is JobState.CANCELLED
        await place.stack.start()
        told = await place.told(2)
        assert sorted(seen["json"]["type"] for seen in told) == ["job.accepted", "job.cancelled"]
        await place.settled(job_id, _all("done"))
        (ended,) = [seen["json"] for seen in told if seen["json"]["type"] == "job.cancelled"]
        assert ended["payload"]["job"]["status"] == "cancelled"
        assert ended["payload"]["error"]["code"] == "cancelled_by_consumer"


async def test_a_failing_consumer_changes_no_job_and_what_died_stays_visible(tmp_path: Path) -> None:
    async with _open(tmp_path) as place:
        place.consumer.script([], default={"answer": "status", "status": 404}, channel="callback")
        job_id = await place.submit()
        job = await place.stack.wait(job_id)
        assert job.state is JobState.SUCCEEDED
        rows = await place.settled(job_id, lambda rows: len(rows) == 3 and _all("dead")(rows))
        assert [(row["attempt"], row["error_class"]) for row in rows] == [(1, "remote_4xx")] * 3
        assert await place.stack.service.get(job_id) == job
        left = await place.stack.ledger.read(lambda tx: events.page(tx, job_id, after=None, from_ack=True))
        assert left.unacked == 3
        assert len(place.consumer.callbacks) == 3, "a no is not asked again"


async def test_what_fails_for_a_while_arrives_later_with_the_same_key_and_body(tmp_path: Path) -> None:
    async with _open(tmp_path) as place:
        busy = {"answer": "status", "status": 503}
        place.consumer.script([busy, "drop_after", "duplicate"], channel="callback")
        job_id = await place.submit()
        await place.stack.wait(job_id)
        await place.settled(job_id, lambda rows: len(rows) == 3 and _all("done")(rows))
        bodies: dict[str, set[str]] = {}
        for seen in place.consumer.callbacks:
            bodies.setdefault(seen["idempotency_key"], set()).add(seen["text"])
        assert len(place.consumer.callbacks) == 5
        assert [len(texts) for texts in bodies.values()] == [1, 1, 1]


async def test_a_server_without_any_route_calls_back_too(tmp_path: Path) -> None:
    async with _open(tmp_path, routes=()) as place:
        target = place.stack.catalog.plans()[0].entries[0].target
        job = await place.stack.order(target)
        await place.stack.wait(job.id)
        assert await place.rows(job.id) == [], "nobody asked to be called"
        await place.stack.ledger.write(lambda tx: _queue(tx, place.url))
        (seen,) = await place.told(1)
        assert seen["json"]["event_id"] == "evt-1-1"


def _queue(tx: Any, url: str) -> None:
    payload = json.dumps({"event": {"event_id": "evt-1-1"}})
    values = {"kind": "event_callback", "key": "k", "route": url, "job_id": None, "payload": payload}
    tx.run("outbox_insert", {**values, "max_attempts": 8, "now": tx.now})
    tx.signals.outbox(tx)


@pytest.mark.parametrize(
    ("callbacks", "url"),
    [
        ({}, "ftp://a.example/x"),
        ({}, "not an address"),
        ({}, "http://user:s3cr3t@a.example/x"),
        ({"allowHosts": ["telepost"]}, "http://elsewhere.example/x"),
        ({"blockPrivate": True}, "http://127.0.0.1:1/x"),
        ({"blockPrivate": True}, "http://[::ffff:10.0.0.1]/x"),
        ({"blockPrivate": True}, "http://169.254.169.254/latest/meta-data"),
    ],
)
async def test_a_forbidden_address_is_refused_at_submission(
    tmp_path: Path, callbacks: dict[str, Any], url: str
) -> None:
    async with _open(tmp_path, started=False, sections={"callbacks": callbacks}) as place:
        refused = await place.stack.service.submit(place.task(callback=url))
        assert isinstance(refused, Refused)
        assert (refused.status, refused.code.value) == (400, "invalid_params")
        assert refused.detail == {"reason": "callback_url_not_allowed", "field": "callback_url"}
        assert refused.message.startswith("callback_url is not allowed: ")
        assert "s3cr3t" not in refused.message
        assert await place.stack.service.find("k-1") is None
        job_id = await place.submit(callback=None)
        assert await place.submit(callback=url) == job_id, "a replay keeps its own address, so this one is not judged"


async def test_a_policy_that_was_tightened_stops_what_was_queued_before(tmp_path: Path) -> None:
    async with _open(tmp_path, started=False) as place:
        job_id = await place.submit()
        url = place.url
    async with _open(tmp_path, sections={"callbacks": {"blockPrivate": True}}) as place:
        rows = await place.settled(job_id, lambda rows: rows[0]["state"] == "dead")
        assert rows[0]["route"] == url
        assert (rows[0]["attempt"], rows[0]["error_class"]) == (1, "configuration_error")
        assert "not a public one" in rows[0]["detail"]


async def test_credentials_and_signature_of_the_configuration_are_used(tmp_path: Path) -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    world, _ = scene.build_world(["single"])
    async with Sandbox(scene.options(), world=world) as elsewhere:
        consumer = elsewhere.receiver("orchestrator")
        consumer.read_script({"channel": "callback", "token": "the-token", "enforce_token": True})
        callbacks = {
            "credentials": [{"urlPrefix": elsewhere.base_url, "token": "the-token"}],
            "signingSecrets": [secret],
        }
        async with _open(tmp_path, sections={"callbacks": callbacks}) as place:
            job_id = await place.submit(callback=elsewhere.receiver_url("orchestrator", "callback"))
            await place.stack.wait(job_id)
            await place.settled(job_id, lambda rows: len(rows) == 3 and _all("done")(rows))
        assert [seen["authorization"] for seen in consumer.callbacks] == ["right"] * 3
        for seen in consumer.callbacks:
            assert seen["headers"]["webhook-id"] == seen["json"]["event_id"]
            assert seen["headers"]["webhook-signature"].startswith("v1,")
