"""Intents for callbacks: in the commit of their event, once, equal to what the stream serves, and never more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from ledger_desk import Desk, Motions, Now

from pixivflow.domain.delivery import Answer, AnswerClass, OutboxState
from pixivflow.domain.job import JobState, Signal
from pixivflow.domain.projection import project_event
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, callbacks, cells, events, jobs, outbox
from pixivflow.ledger.ports import Row, Tx
from pixivflow.ledger.sqlite import SqliteLedger, open_connection
from pixivflow.ledger.sqlite import Tx as SqliteTx

URL = "http://orchestrator:8080/jobs/events"
REF = WorkRef(WorkType.ILLUSTRATION, "11")


def new_job(number: int = 1, *, callback: str | None = URL, correlation: str | None = "事件-1") -> jobs.NewJob:
    return jobs.NewJob(
        id=f"p@manual-{number}",
        type="candidate_search",
        plan_id="p",
        account="default",
        trigger="manual",
        cells=[("t", "illustration")],
        snapshot={"targets": []},
        key=f"key-{number}",
        correlation_id=correlation,
        callback_url=callback,
        labels={"ü": "1", "a": "2"},
    )


async def admit(desk: Desk, **given: Any) -> str:
    job = new_job(**given)

    def work(tx: Tx) -> None:
        jobs.insert(tx, job)
        attempts.grant(tx, "default", places=1)

    await desk.ledger.write(work)
    return job.id


async def rows(desk: Desk, job_id: str) -> list[Row]:
    found = await desk.ledger.read(lambda tx: outbox.listing(tx, job_id=job_id))
    return [row for row in reversed(found) if row["kind"] == callbacks.CALLBACK_KIND]


async def page(desk: Desk, job_id: str) -> list[dict[str, Any]]:
    """What `GET /jobs/{id}/events` serves, by the same builder, a while later."""

    def read(tx: Tx) -> list[dict[str, Any]]:
        job = jobs.get(tx, job_id)
        assert job is not None
        found = events.page(tx, job_id, after=None, from_ack=False)
        wire = [project_event(event, job, tx.now + 10**9) for event in found.events]
        return [event for event in wire if event is not None]

    return await desk.ledger.read(read)


async def collect(desk: Desk, motions: Motions, job_id: str) -> None:
    attempt = motions.dispatched[-1]
    await desk.begin(attempt)
    hold = cells.Hold(attempt, job_id, "t")

    def work(tx: Tx) -> None:
        cells.lock(tx, hold, REF, "the title")
        cells.report(tx, hold, {"fetched": 3, "named": [{"work_id": "5", "reason": "already_delivered"}]})
        cells.ready(tx, hold, REF, [])
        cells.finish(tx, attempt, job_id, [])
        attempts.end(tx, attempt, "default", places=1)

    await desk.ledger.write(work)


async def end(desk: Desk, job_id: str, signal: Signal, reason: Reason) -> bool:
    return await desk.ledger.write(lambda tx: jobs.apply(tx, job_id, signal, reason=reason, message="why"))


async def test_each_event_has_one_row_that_holds_what_the_stream_serves(desk: Desk, motions: Motions, now: Now) -> None:
    job_id = await admit(desk)
    now.forward(1)
    await collect(desk, motions, job_id)
    now.forward(1)
    stored, served = await rows(desk, job_id), await page(desk, job_id)
    assert [event["type"] for event in served] == ["job.accepted", "job.started", "job.succeeded"]
    assert [row["key"] for row in stored] == [f"job-event:{job_id}:{event['event_id']}" for event in served]
    for row, event in zip(stored, served, strict=True):
        payload = json.loads(row["payload"])
        assert payload == {"event": event, "job_id": job_id}
        assert msgspec.json.encode(payload["event"]) == msgspec.json.encode(event), "the very text, members in order"
        assert (row["route"], row["state"], row["max_attempts"], row["attempt"]) == (URL, "pending", 8, 0)
    assert motions.sends == 3


@pytest.mark.parametrize(
    ("signal", "reason", "kind"),
    [
        (Signal.FAIL, Reason.NO_CANDIDATE, "job.failed"),
        (Signal.CANCEL, Reason.CANCELLED, "job.cancelled"),
        (Signal.EXPIRE, Reason.EXECUTION_TIMEOUT, "job.expired"),
    ],
)
async def test_a_bad_end_is_told_too_and_its_row_is_not_taken_back(
    desk: Desk, motions: Motions, now: Now, signal: Signal, reason: Reason, kind: str
) -> None:
    job_id = await admit(desk)
    await desk.begin(motions.dispatched[-1])
    assert await end(desk, job_id, signal, reason)
    now.forward(3600)
    served, stored = await page(desk, job_id), await rows(desk, job_id)
    assert served[-1]["type"] == kind
    assert [json.loads(row["payload"])["event"] for row in stored] == served
    assert {row["state"] for row in stored} == {"pending"}, "an end from outside stops deliveries, not callbacks"
    claimed = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    assert [row.payload["event"]["type"] for row in claimed] == ["job.accepted", "job.started", kind]
    for row in claimed:
        assert await desk.ledger.write(lambda tx, row=row: outbox.may_send(tx, row))


async def test_a_callback_of_a_cancelled_job_keeps_its_tries(desk: Desk, now: Now) -> None:
    job_id = await admit(desk)
    await end(desk, job_id, Signal.CANCEL, Reason.CANCELLED)
    (row, *_) = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    later = Answer(AnswerClass.RETRYABLE, error_class="remote_5xx")
    done = await desk.ledger.write(lambda tx: outbox.settle(tx, row, later, retry_in_ms=1000))
    assert done.state is OutboxState.RETRY_WAIT


async def test_nothing_is_written_for_a_job_without_an_address(desk: Desk, motions: Motions) -> None:
    job_id = await admit(desk, callback=None)
    await collect(desk, motions, job_id)
    assert len(await page(desk, job_id)) == 3
    assert await rows(desk, job_id) == []
    assert motions.sends == 0


async def test_a_job_without_an_address_runs_no_statement_more(
    desk: Desk, motions: Motions, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("all", "run"):
        plain = getattr(SqliteTx, name)

        def noted(self: object, statement: str, params: object = None, plain: Any = plain) -> Any:
            asked.append(statement)
            return plain(self, statement, params)

        monkeypatch.setattr(SqliteTx, name, noted)
    job_id = await admit(desk, callback=None)
    asked.clear()
    await end(desk, job_id, Signal.CANCEL, Reason.CANCELLED)
    assert asked.count("jobs_get") == 0
    assert not {"outbox_insert", "events_newest_of_kind"} & set(asked)


async def test_reading_and_acknowledging_adds_no_row(desk: Desk, motions: Motions) -> None:
    job_id = await admit(desk)
    await collect(desk, motions, job_id)
    before = await rows(desk, job_id)
    for _ in range(3):
        last = (await page(desk, job_id))[-1]["event_id"]
        await desk.ledger.write(lambda tx, last=last: events.ack(tx, job_id, last))
    assert await rows(desk, job_id) == before


async def test_a_signal_that_comes_too_late_adds_no_row(desk: Desk, motions: Motions) -> None:
    job_id = await admit(desk)
    await collect(desk, motions, job_id)
    before = await rows(desk, job_id)
    assert not await end(desk, job_id, Signal.CANCEL, Reason.CANCELLED)
    assert not await end(desk, job_id, Signal.EXPIRE, Reason.STALLED)
    assert await rows(desk, job_id) == before


async def test_a_second_attempt_starts_the_job_only_once(desk: Desk, motions: Motions) -> None:
    job_id = await admit(desk)
    await desk.begin(motions.dispatched[-1])
    await desk.ledger.write(lambda tx: attempts.lose(tx, motions.dispatched[-1], job_id))
    await desk.ledger.write(lambda tx: attempts.grant(tx, "default", places=1))
    await desk.begin(motions.dispatched[-1])
    assert [event["type"] for event in await page(desk, job_id)] == ["job.accepted", "job.started"]
    assert len(await rows(desk, job_id)) == 2


async def test_what_is_rolled_back_leaves_neither_event_nor_intent(desk: Desk, ledger: SqliteLedger) -> None:
    class Halt(Exception):
        pass

    def admit_and_fail(tx: Tx) -> None:
        jobs.insert(tx, new_job())
        raise Halt

    with pytest.raises(Halt):
        await ledger.write(admit_and_fail)
    assert await ledger.read(outbox.listing) == []
    job_id = await admit(desk)
    before = await rows(desk, job_id)

    def cancel_and_fail(tx: Tx) -> None:
        jobs.apply(tx, job_id, Signal.CANCEL, reason=Reason.CANCELLED)
        raise Halt

    with pytest.raises(Halt):
        await ledger.write(cancel_and_fail)
    assert await rows(desk, job_id) == before
    assert [event["type"] for event in await page(desk, job_id)] == ["job.accepted"]


async def test_an_intent_that_cannot_be_written_takes_its_event_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await admit(desk)

    def refuse(*_: object) -> None:
        raise apsw.ConstraintError("no")

    monkeypatch.setattr(callbacks, "intend", refuse)
    with pytest.raises(apsw.ConstraintError):
        await end(desk, job_id, Signal.CANCEL, Reason.CANCELLED)
    assert (await desk.job(job_id)).state is JobState.QUEUED
    assert [event["type"] for event in await page(desk, job_id)] == ["job.accepted"]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Answer(AnswerClass.ACCEPTED, status=200), "done"),
        (Answer(AnswerClass.PERMANENT, error_class="remote_4xx", status=404), "dead"),
        (Answer(AnswerClass.RETRYABLE, error_class="remote_5xx", status=503), "retry_wait"),
    ],
)
async def test_no_answer_changes_the_job_the_stream_or_the_cursor(
    desk: Desk, motions: Motions, now: Now, answer: Answer, state: str
) -> None:
    job_id = await admit(desk)
    await collect(desk, motions, job_id)
    job, served = await desk.job(job_id), await page(desk, job_id)
    now.forward(5)
    for row in await desk.ledger.write(lambda tx: outbox.claim(tx, 10)):
        await desk.ledger.write(lambda tx, row=row: outbox.settle(tx, row, answer, retry_in_ms=1000))
    assert {row["state"] for row in await rows(desk, job_id)} == {state}
    assert (await desk.job(job_id), await page(desk, job_id)) == (job, served)
    left = await desk.ledger.read(lambda tx: events.page(tx, job_id, after=None, from_ack=True))
    assert left.unacked == 3, "a callback that arrived is not an acknowledgement, and one that died stays visible"


async def test_the_eighth_failure_is_the_last(desk: Desk, now: Now) -> None:
    job_id = await admit(desk)
    later = Answer(AnswerClass.RETRYABLE, error_class="network_timeout")
    ends = []
    for _ in range(8):
        (row,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
        settled = await desk.ledger.write(lambda tx, row=row: outbox.settle(tx, row, later, retry_in_ms=1000))
        ends.append(settled.state)
        now.forward(1)
    assert ends == [OutboxState.RETRY_WAIT] * 7 + [OutboxState.DEAD]
    assert await desk.ledger.write(lambda tx: outbox.claim(tx, 10)) == []
    assert (await rows(desk, job_id))[0]["state"] == "dead"


async def test_an_operator_can_send_a_dead_callback_again_or_give_one_up(desk: Desk) -> None:
    job_id = await admit(desk)
    await end(desk, job_id, Signal.CANCEL, Reason.CANCELLED)
    before = await desk.job(job_id)
    first, second = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    no = Answer(AnswerClass.PERMANENT, error_class="remote_4xx", status=401)
    for row in (first, second):
        await desk.ledger.write(lambda tx, row=row: outbox.settle(tx, row, no, retry_in_ms=0))
    assert await desk.ledger.write(lambda tx: outbox.replay(tx, first.id))
    assert await desk.ledger.write(lambda tx: outbox.cancel(tx, second.id))
    (again,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    assert (again.key, again.payload, again.attempt) == (first.key, first.payload, 1)
    assert [row["state"] for row in await rows(desk, job_id)] == ["processing", "cancelled"]
    assert await desk.job(job_id) == before


async def test_a_token_in_an_address_reaches_no_event(desk: Desk, ledger_path: Path) -> None:
    job = replace(new_job(), callback_url=f"{URL}?token=s3cr3t")
    await desk.ledger.write(lambda tx: jobs.insert(tx, job))
    (row,) = await desk.ledger.write(lambda tx: outbox.claim(tx, 10))
    assert (row.route, row.place) == (f"{URL}?token=s3cr3t", URL)
    no = Answer(AnswerClass.PERMANENT, error_class="remote_4xx", status=401)
    await desk.ledger.write(lambda tx: outbox.settle(tx, row, no, retry_in_ms=0))
    reader = open_connection(ledger_path, read_only=True)
    details = [detail for (detail,) in reader.execute("SELECT detail FROM events WHERE detail IS NOT NULL")]
    reader.close()
    assert any(URL in detail for detail in details)
    assert not any("s3cr3t" in detail for detail in details)
