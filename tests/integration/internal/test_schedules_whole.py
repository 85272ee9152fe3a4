"""Clocks over a whole stack: one occurrence is one job, whoever knocks and however often. Cases 185 to 191."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from older_desk import UUID, Whole

from pixivflow.domain.job import JobState
from pixivflow.ledger import jobs

Open = Callable[..., Any]
ID = "daily@2026-05-10T1900"


def plan(**changes: Any) -> dict[str, Any]:
    """Due at 10:00 UTC, in a zone that is not."""
    given = {"id": "daily", "cron": "0 19 * * *", "timezone": "Asia/Tokyo", "targetIds": ["pictures", "novels"]}
    return {**given, **changes}


async def knock(whole: Whole, schedule: str = "daily", **body: Any) -> Any:
    return await whole.call("POST", f"/internal/schedules/{schedule}/run", body or None)


async def stored(whole: Whole) -> tuple[Any, ...]:
    found, _ = await whole.stack.ledger.read(jobs.listing)
    return found


async def test_an_occurrence_is_one_job_with_a_cell_for_each_target(open_whole: Open) -> None:
    """Cases 185 and 188. The second clock, two minutes later, hears how the first one's run stands."""
    async with open_whole(started=False, found=True, plans=[plan()]) as whole:
        got = await knock(whole, label="github")
        assert got.status == 202
        assert got.json["schedule"] == {
            "scheduleId": "daily",
            "slotId": ID,
            "disposition": "accepted",
            "status": "pending",
        }
        whole.clock.forward(2)
        again = await knock(whole, label="the other clock")
        assert (again.status, again.json["status"], again.json["schedule"]["slotId"]) == (202, "running", ID)
        await whole.stack.start()
        job = await whole.stack.wait(ID)
        assert (job.type, job.trigger, job.key, job.state) == ("collection", "schedule", None, JobState.SUCCEEDED)
        assert [cell.target_id for cell in job.cells] == ["pictures", "novels"]
        assert job.deadline_at == job.created_at + whole.stack.config.default_deadline_ms
        done = await knock(whole)
        assert (done.status, done.json["schedule"]["status"]) == (200, "partial")
        cells = {cell["targetId"]: cell for cell in done.json["schedule"]["cells"]}
        assert (cells["pictures"]["status"], cells["pictures"]["workId"]) == ("submitted", str(whole.subject.id))
        assert (cells["novels"]["status"], cells["novels"]["workId"]) == ("no_candidate", None)
        assert len(await stored(whole)) == 1
        assert len(whole.consumer.items) == 1
        assert whole.consumer.items[0]["fields"]["refetch_request_id"] == [""]
        assert whole.consumer.outcomes == [], "nobody asked for it"
        snapshot = await whole.stack.ledger.read(lambda tx: jobs.snapshot(tx, ID))
        assert snapshot["label"] == "github"
        assert snapshot["occurrence"] == {"at": 1_778_407_200_000, "timezone": "Asia/Tokyo"}


async def test_a_planned_work_carries_the_time_it_was_due(open_whole: Open) -> None:
    """In the zone of its plan, where it was another day, and although it ran later."""
    fields = {"due": "{{occurrenceAt}}", "day": "{{slotDate}}", "why": "{{triggerSource}}", "slot": "{{slotId}}"}
    targets = {"pictures": {"delivery": {"targets": ["main"], "fields": fields}}}
    late = plan(cron="30 0 * * *", targetIds=["pictures"])
    async with open_whole(found=True, plans=[late], targets=targets, at="2026-05-10T15:40:00") as whole:
        assert (await knock(whole)).status == 202
        job = await whole.stack.wait("daily@2026-05-11T0030")
        assert job.state is JobState.SUCCEEDED
        (item,) = whole.consumer.items
        assert {name: item["fields"][name] for name in fields} == {
            "due": ["2026-05-11T00:30:00+09:00"],
            "day": ["2026-05-11"],
            "why": ["schedule"],
            "slot": ["daily@2026-05-11T0030"],
        }


async def test_many_clocks_at_once_make_one_job(open_whole: Open) -> None:
    """Case 185."""
    async with open_whole(started=False, plans=[plan()]) as whole:
        answers = await asyncio.gather(*(knock(whole) for _ in range(20)))
        assert Counter(got.json["schedule"]["disposition"] for got in answers) == {"accepted": 1, "already_running": 19}
        assert {got.json["schedule"]["slotId"] for got in answers} == {ID}
        assert len(await stored(whole)) == 1


@pytest.mark.parametrize(
    ("at", "status", "text"),
    [
        ("2026-05-10T09:45:00", 202, ""),
        ("2026-05-10T09:59:30", 202, ""),
        ("2026-05-10T11:29:30", 202, ""),
        ("2026-05-10T08:00:00", 425, f"occurrence {ID} is not due yet"),
        ("2026-05-10T11:31:00", 410, f"occurrence {ID} has expired (grace 90 min)"),
    ],
)
async def test_the_window_of_an_occurrence(open_whole: Open, at: str, status: int, text: str) -> None:
    """Cases 186 and 187. No date in the body opens it."""
    async with open_whole(started=False, plans=[plan()], at=at) as whole:
        got = await knock(whole, date="2026-05-10", slotId=ID, label=ID)
        assert got.status == status
        if text:
            assert got.error == text
            assert await stored(whole) == ()
            assert ("retry-after" in got.headers) == (status == 425)
        else:
            assert got.json["schedule"]["slotId"] == ID


async def test_the_grace_is_the_configured_one(open_whole: Open) -> None:
    trigger = {"enabled": True, "host": "127.0.0.1", "port": 8090, "graceMinutes": 1}
    async with open_whole(started=False, plans=[plan()], sections={"schedulerRuntime": {"trigger": trigger}}) as whole:
        got = await knock(whole)
        assert (got.status, got.error) == (410, f"occurrence {ID} has expired (grace 1 min)")


async def test_what_is_no_schedule(open_whole: Open) -> None:
    plans = [plan(enabled=False), plan(id="never", cron="0 0 31 2 *")]
    async with open_whole(started=False, plans=plans) as whole:
        for name in ("daily", "nothing", "Never"):
            got = await knock(whole, name)
            assert (got.status, got.error) == (404, f"unknown schedule: {name}")
        got = await knock(whole, "a%0Ab")
        assert (got.status, got.error) == (404, "unknown schedule: a b")
        got = await knock(whole, "never")
        assert got.status == 400
        assert "0 0 31 2 *" in got.error
        assert await stored(whole) == ()


async def test_a_plan_without_a_clock_is_no_schedule(open_whole: Open) -> None:
    async with open_whole(started=False, plans=[]) as whole:
        got = await knock(whole, "default")
        assert (got.status, got.error) == (404, "unknown schedule: default")
        assert (await whole.call("GET", "/internal/schedules")).json == {"schedules": []}


async def test_the_list_names_what_a_knock_would_mean(open_whole: Open) -> None:
    plans = [plan(), plan(id="later", cron="0 23 * * *"), plan(id="never", cron="0 0 31 2 *")]
    async with open_whole(started=False, plans=plans) as whole:
        got = await whole.call("GET", "/internal/schedules")
        assert got.json == {
            "schedules": [
                {"scheduleId": "daily", "mode": "external", "occurrence": ID},
                {"scheduleId": "later", "mode": "external", "occurrence": None},
                {"scheduleId": "never", "mode": "external", "occurrence": None},
            ]
        }


async def test_an_occurrence_accepted_before_a_stop_runs_after_it(open_whole: Open) -> None:
    """Case 189. Accepted is durable; the next start takes it up although nobody knocks again."""
    async with open_whole(started=False, found=True, plans=[plan()]) as whole:
        assert (await knock(whole)).status == 202
    async with open_whole(found=True, plans=[plan()], at="2026-05-10T14:00:00") as whole:
        # The invented site is a new one, at another address; the frozen target is the same.
        job = await whole.stack.wait(ID)
        assert job.terminal
        assert job.attempt == 2, "the grant of the first process was taken over"


async def test_a_stopping_process_rejects_what_it_has_not_stored(open_whole: Open) -> None:
    """Case 190. And says of what it has how it stands."""
    plans = [plan(), plan(id="second", targetIds=["novels"])]
    async with open_whole(started=False, plans=plans) as whole:
        assert (await knock(whole, "second")).status == 202
        whole.stack.service.draining = True
        got = await knock(whole)
        assert (got.status, got.json["status"], got.json["schedule"]["status"]) == (503, "rejected", None)
        running = await knock(whole, "second")
        assert (running.status, running.json["note"]) == (202, "already_running")
        assert len(await stored(whole)) == 1


async def test_nothing_found_and_never_run_are_told_apart(open_whole: Open) -> None:
    """Case 191. By a durable record, also days later."""
    async with open_whole(plans=[plan(), plan(id="second")]) as whole:
        assert (await knock(whole)).status == 202
        job = await whole.stack.wait(ID)
        assert (job.state, job.reason) == (JobState.FAILED, "no_candidate")
        got = await knock(whole)
        assert (got.status, got.json["schedule"]["status"]) == (200, "failed")
        assert {cell["status"] for cell in got.json["schedule"]["cells"]} == {"no_candidate"}
        shown = await whole.call("GET", f"/jobs/{ID.replace('@', '%40')}")
        assert (shown.json["job_type"], shown.json["error"]["code"]) == ("collection", "no_candidate")
        never = await whole.call("GET", "/jobs/second%402026-05-10T1900")
        assert never.status == 404


@pytest.mark.parametrize(
    ("at", "ident"),
    [
        ("2026-11-01T05:30:00", "night@2026-11-01T0130"),  # 01:30 the first time
        ("2026-11-01T06:30:00", "night@2026-11-01T0130"),  # 01:30 the second time: still the first one's grace
        ("2026-03-08T07:00:00", "night@2026-03-08T0130"),
    ],
)
async def test_clocks_that_change_make_no_second_run(open_whole: Open, at: str, ident: str) -> None:
    """B88."""
    plans = [plan(id="night", cron="30 1 * * *", timezone="America/New_York")]
    async with open_whole(started=False, plans=plans, at=at) as whole:
        assert (await knock(whole, "night")).json["schedule"]["slotId"] == ident


async def test_a_time_that_is_left_out_runs_when_the_gap_ends(open_whole: Open) -> None:
    """B88."""
    plans = [plan(id="night", cron="30 2 * * *", timezone="America/New_York")]
    async with open_whole(started=False, plans=plans, at="2026-03-08T07:00:10") as whole:
        assert (await knock(whole, "night")).json["schedule"]["slotId"] == "night@2026-03-08T0300"


async def test_a_drain_sends_what_is_due(open_whole: Open) -> None:
    """The worker's own loop does not run here: what is sent is sent by the drain."""
    async with open_whole(started=False, found=True) as whole:
        slot = (await whole.order())["slotId"]
        whole.stack.dispatch.work(whole.stack.runner.run)
        await whole.stack.dispatch._idle.wait()
        got = await whole.call("POST", "/internal/outbox/drain")
        assert got.status == 200
        assert got.json == {"status": "ok", "result": {"processed": 1, "done": 1, "retried": 0, "dead": 0}}
        job = await whole.stack.service.get(slot)
        assert job is not None
        assert job.state is JobState.SUCCEEDED
        again = await whole.call("POST", "/internal/outbox/drain")
        assert again.json["result"] == {"processed": 0, "done": 0, "retried": 0, "dead": 0}
        assert (await whole.call("GET", f"/internal/targets/pictures/refetch/{UUID}")).json["slotStatus"] == "success"
