"""The older request routes over a whole stack and an invented site: one identity space, outcomes, recoveries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import scene
from older_desk import UUID, Whole

from pixivflow.domain.job import JobRecord, JobState
from pixivflow.ledger import jobs, outbox
from pixivflow.ledger.outcomes import OUTCOME_KIND

OTHER = "4d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b12"
Open = Callable[..., Any]


async def ended(whole: Whole, slot: str) -> JobRecord:
    return await whole.stack.wait(slot)


async def status(whole: Whole, request: str = UUID, *, target: str = "pictures", kind: str = "refetch") -> Any:
    got = await whole.call("GET", f"/internal/targets/{target}/{kind}/{request}")
    assert got.status == 200, got.raw
    return got.json


def task(key: str, target: str = "pictures", **params: Any) -> dict[str, Any]:
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": {"target_id": target, **params},
    }


def recovery_route(name: str = "main") -> scene.RouteSpec:
    return scene.RouteSpec(name, extra={"scheduleOutcomeUrl": "http://127.0.0.1:9/schedule"})


async def test_a_request_ends_in_a_submission_that_carries_its_id(open_whole: Open) -> None:
    """Cases 170 and 48. The same job is found by its key, under the same id."""
    async with open_whole(found=True) as whole:
        assert await whole.order(correlationId="c-1") == {
            "status": "accepted",
            "slotId": f"orders@manual-{UUID}",
            "disposition": "accepted",
        }
        job = await ended(whole, f"orders@manual-{UUID}")
        assert job.state is JobState.SUCCEEDED
        (item,) = whole.consumer.items
        assert item["fields"]["refetch_request_id"] == [UUID]
        body = await status(whole)
        assert (body["state"], body["slotStatus"], body["correlationId"]) == ("submitted", "success", "c-1")
        assert (body["claimed"], body["leaseActive"], body["terminalReasonCode"]) == (True, False, None)
        page = (await whole.call("GET", f"/jobs?idempotency_key={UUID}")).json
        assert [found["job_id"] for found in page["jobs"]] == [job.id]
        assert (await whole.order())["disposition"] == "already_completed"
        assert whole.consumer.outcomes == [], "a success is told by its submission"


async def test_one_identity_space_whatever_route_comes_first(open_whole: Open) -> None:
    """Cases 48 and 49. A request has no view of its own, so it converges with any parameters, in both directions."""
    async with open_whole(started=False) as whole:
        first = await whole.call("POST", "/jobs", task(UUID, query={"tags": ["night"]}))
        assert first.status == 202
        assert (await whole.order())["slotId"] == first.json["job"]["job_id"]
        slot = (await whole.order(request=OTHER))["slotId"]
        again = await whole.call("POST", "/jobs", task(OTHER, query={"tags": ["anything"]}))
        assert (again.status, again.json["job"]["job_id"]) == (200, slot)
        stored = await whole.stack.ledger.read(lambda tx: jobs.listing(tx)[0])
        assert [len(job.cells) for job in stored] == [1, 1]


async def test_conflicts_are_an_ambiguous_target(open_whole: Open) -> None:
    """Cases 44, 50 and 174. The key for other work, and the same key in other letters."""
    async with open_whole(started=False) as whole:
        await whole.order()
        for target, request in (("novels", UUID), ("pictures", UUID.upper())):
            got = await whole.call("POST", f"/internal/targets/{target}/refetch", {"requestId": request})
            assert (got.status, got.error) == (409, "ambiguous target")
        assert len(await whole.stack.ledger.read(lambda tx: jobs.listing(tx)[0])) == 1


async def test_an_upper_case_uuid_is_found_again_by_the_same_spelling(open_whole: Open) -> None:
    """Case 173."""
    async with open_whole(found=True) as whole:
        slot = (await whole.order(request=UUID.upper()))["slotId"]
        assert slot == f"orders@manual-{UUID}"
        await ended(whole, slot)
        body = await status(whole, UUID.upper())
        assert (body["requestId"], body["idempotencyKey"], body["slotId"]) == (UUID.upper(), UUID.upper(), slot)
        assert (await whole.call("GET", f"/internal/targets/pictures/refetch/{UUID}")).status == 404
        (item,) = whole.consumer.items
        assert item["fields"]["refetch_request_id"] == [UUID], "what is delivered is canonical"


PLANS: list[dict[str, Any]] = [
    {"id": "one", "cron": "0 3 1 1 *", "timezone": "UTC", "targetIds": ["pictures", "novels"]},
    {"id": "two", "cron": "0 4 1 1 *", "timezone": "UTC", "targetIds": ["pictures"]},
]


@pytest.mark.parametrize("kind", ["refetch", "recover"])
async def test_which_targets_can_be_asked_for(open_whole: Open, kind: str) -> None:
    """Cases 35, 36 and 37. In two plans is ambiguous; a disabled plan and a route's name are unknown."""
    disabled = {**PLANS[1], "id": "off", "enabled": False, "targetIds": ["novels"]}
    async with open_whole(started=False, plans=[*PLANS, disabled], routes=(recovery_route(),)) as whole:
        got = await whole.call("POST", f"/internal/targets/pictures/{kind}", {"requestId": UUID})
        assert (got.status, got.error) == (409, "ambiguous target")
        got = await whole.call("POST", f"/internal/targets/novels/{kind}", {"requestId": UUID})
        assert got.status == 202
        for name in ("main", "nothing", "orders"):
            got = await whole.call("POST", f"/internal/targets/{name}/{kind}", {"requestId": OTHER})
            assert (got.status, got.error) == (404, "unknown target")
    async with open_whole(started=False, plans=[disabled]) as whole:
        got = await whole.call("POST", f"/internal/targets/novels/{kind}", {"requestId": OTHER})
        assert (got.status, got.error) == (404, "unknown target")


async def test_a_target_that_cannot_answer_is_a_failure(open_whole: Open) -> None:
    """Case 34 on the older routes: what is missing is not told."""
    spec = scene.RouteSpec("main", extra={"refetchOutcomeUrl": None})
    async with open_whole(started=False, routes=(spec,)) as whole:
        for kind, text in (("refetch", "refetch admission failed"), ("recover", "recovery admission failed")):
            got = await whole.call("POST", f"/internal/targets/pictures/{kind}", {"requestId": UUID})
            assert (got.status, got.error) == (500, text)
        assert await whole.stack.ledger.read(lambda tx: jobs.listing(tx)[0]) == ()


async def test_a_queued_request_is_run_when_its_turn_comes(open_whole: Open) -> None:
    """Case 177."""
    async with open_whole(started=False, found=True) as whole:
        assert (await whole.order())["disposition"] == "accepted"
        assert (await whole.order(request=OTHER))["disposition"] == "queued"
        waiting = await status(whole, OTHER)
        assert (waiting["slotStatus"], waiting["claimed"], waiting["attemptCount"]) == ("pending", False, 0)
        await whole.stack.start()
        for request in (UUID, OTHER):
            await ended(whole, f"orders@manual-{request}")
        assert (await status(whole, OTHER))["attemptCount"] == 1


async def test_nothing_is_admitted_while_stopping(open_whole: Open) -> None:
    async with open_whole(started=False, routes=(recovery_route(),)) as whole:
        kept = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": OTHER})
        assert kept.status == 202
        whole.stack.service.draining = True
        got = await whole.call("POST", "/internal/targets/pictures/refetch", {"requestId": UUID})
        assert (got.status, got.error) == (503, "refetch is unavailable")
        got = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": UUID})
        assert (got.status, got.error) == (503, "manual recovery is unavailable")
        again = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": OTHER})
        assert again.json["slotId"] == kept.json["slotId"]


async def test_a_request_without_a_work_is_told_to_its_consumer(open_whole: Open) -> None:
    """Cases 175 and 179. Internal reason on the older routes, mapped code on the job; one message, never a notice."""
    async with open_whole() as whole:
        slot = (await whole.order())["slotId"]
        job = await ended(whole, slot)
        await whole.consumer.until(lambda consumer: len(consumer.outcomes) == 1)
        (told,) = whole.consumer.outcomes
        assert told["json"] == {
            "request_id": UUID,
            "disposition": "no_alternative",
            "reason_code": job.reason,
            "reason": job.cells[0].message or "no work that fits was found",
            "scanned": 0,
            "skipped": {"total": 0, "duplicate": 0, "invalid": 0, "unavailable": 0},
        }
        assert told["idempotency_key"] == f"refetch-outcome:{slot}:pictures"
        body = await status(whole)
        assert (body["state"], body["slotStatus"], body["terminalReasonCode"]) == ("no_candidate", "failed", job.reason)
        shown = (await whole.call("GET", f"/jobs?idempotency_key={UUID}")).json["jobs"][0]
        assert shown["error"]["code"] == "no_candidate"
        assert (await whole.order())["disposition"] == "accepted", "it is not run again, and its end stays to be read"
        assert whole.consumer.notices == []


async def _outcome_row(whole: Whole, slot: str) -> dict[str, Any]:
    found = await whole.stack.ledger.read(lambda tx: outbox.listing(tx, job_id=slot))
    (row,) = [row for row in found if row["kind"] == OUTCOME_KIND]
    return row


async def test_an_outcome_nobody_takes_is_a_dead_letter_and_changes_nothing(open_whole: Open) -> None:
    """Case 180."""
    async with open_whole() as whole:
        whole.consumer.script([], default={"answer": "status", "status": 404}, channel="outcome")
        slot = (await whole.order())["slotId"]
        job = await ended(whole, slot)
        before = await status(whole)
        await whole.consumer.until(lambda consumer: len(consumer.outcomes) == 1)
        await whole.stack.worker.drain()  # until the answer is recorded
        row = await _outcome_row(whole, slot)
        assert (row["state"], row["error_class"], row["attempt"]) == ("dead", "remote_4xx", 1)
        assert await whole.stack.service.get(slot) == job
        assert await status(whole) == before


async def test_a_submission_that_is_refused_ends_the_job_and_is_told(open_whole: Open) -> None:
    """Case 181. Permanent, dead at once; the job does not stay running."""
    async with open_whole(found=True) as whole:
        whole.consumer.script([], default={"answer": "status", "status": 400})
        slot = (await whole.order())["slotId"]
        job = await ended(whole, slot)
        assert (job.state, len(whole.consumer.requests)) == (JobState.FAILED, 1)
        await whole.consumer.until(lambda consumer: len(consumer.outcomes) == 1)
        told = whole.consumer.outcomes[0]["json"]
        assert (told["disposition"], told["work_id"]) == ("failed", str(whole.subject.id))
        shown = (await whole.call("GET", f"/jobs?idempotency_key={UUID}")).json["jobs"][0]
        assert shown["error"]["code"] in ("delivery_rejected", "delivery_failed", "delivery_abandoned")


async def test_a_cancelled_request_is_not_told(open_whole: Open) -> None:
    """Case 131."""
    async with open_whole(started=False) as whole:
        slot = (await whole.order())["slotId"]
        assert (await whole.call("POST", f"/jobs/{slot.replace('@', '%40')}/cancel")).status == 200
        await whole.stack.start()
        await whole.stack.worker.drain()
        assert whole.consumer.outcomes == []
        body = await status(whole)
        assert (body["slotStatus"], body["terminalReasonCode"]) == ("failed", "cancelled_by_consumer")


async def test_a_literal_placeholder_is_refused_before_anything_is_sent(open_whole: Open) -> None:
    """Case 178. The form field of a target that does not carry the id makes it one that cannot answer."""
    wrong = {"pictures": {"delivery": {"targets": ["main"], "fields": {"refetch_request_id": "{{refetchRequestID}}"}}}}
    async with open_whole(found=True, targets=wrong) as whole:
        got = await whole.call("POST", "/internal/targets/pictures/refetch", {"requestId": UUID})
        assert (got.status, got.error) == (500, "refetch admission failed")
        job = await whole.stack.order(whole.stack.catalog.plans()[0].entries[0].target)
        ended_job = await whole.stack.wait(job.id)
        assert ended_job.state is JobState.FAILED
        assert whole.consumer.requests == []


async def test_a_recovery_runs_once_for_each_request(open_whole: Open) -> None:
    """Case 182. It is delivered like a planned run: there is no request id in it, and no outcome is told."""
    async with open_whole(found=True, routes=(recovery_route(),)) as whole:
        path = "/internal/targets/pictures/recover"
        got = await whole.call("POST", path, {"requestId": UUID.upper(), "correlationId": "c"})
        slot = f"orders@recover-{UUID}"
        assert got.json == {"status": "accepted", "retryMode": "normal", "slotId": slot, "disposition": "accepted"}
        job = await ended(whole, slot)
        assert (job.state, job.key, job.correlation_id) == (JobState.SUCCEEDED, None, "c")
        (item,) = whole.consumer.items
        assert item["fields"]["refetch_request_id"] == [""]
        for request in (UUID, UUID.upper()):
            again = await whole.call("POST", path, {"requestId": request, "retryMode": "relaxed"})
            assert again.json["slotId"] == slot
            assert (again.json["disposition"], again.json["retryMode"]) == ("already_completed", "normal")
            body = await status(whole, request, kind="recover")
            assert (body["requestId"], body["business_state"], body["state"]) == (
                request,
                "recovery_success",
                "submitted",
            )
        assert len(whole.consumer.requests) == 1
        other = await whole.call("POST", path, {"requestId": OTHER})
        assert other.json["slotId"] == f"orders@recover-{OTHER}"
        job = await ended(whole, other.json["slotId"])
        assert job.state is JobState.FAILED
        assert (await status(whole, OTHER, kind="recover"))["business_state"] in (
            "recovery_duplicate_only",
            "recovery_no_candidate",
        )
        assert whole.consumer.outcomes == []


async def test_a_recovery_and_a_request_of_one_uuid_are_two_jobs(open_whole: Open) -> None:
    """Case 182. The two have their own identities; another target of the plan cannot take a recovery's."""
    async with open_whole(started=False, routes=(recovery_route(),)) as whole:
        slot = (await whole.order())["slotId"]
        path = "/internal/targets/{}/recover"
        got = await whole.call("POST", path.format("pictures"), {"requestId": UUID})
        assert got.json["slotId"] != slot
        assert got.json["disposition"] == "queued"
        got = await whole.call("POST", path.format("novels"), {"requestId": UUID})
        assert (got.status, got.error) == (409, "ambiguous target")
        assert (await whole.call("GET", f"{path.format('novels')}/{UUID}")).status == 404
        assert (await whole.call("GET", f"{path.format('pictures')}/{OTHER}")).status == 404


@pytest.mark.parametrize(
    ("target", "mode", "scan"),
    [
        ({"candidateScanLimit": 5}, "relaxed", 15),
        ({"candidateScanLimit": 40}, "relaxed", 100),
        ({"candidateScanLimit": 5}, "normal", 5),
        ({}, "relaxed", 5),
    ],
)
async def test_a_relaxed_recovery_looks_further(open_whole: Open, target: dict[str, Any], mode: str, scan: int) -> None:
    """Case 184. A target that sets no limit keeps the general one."""
    async with open_whole(started=False, routes=(recovery_route(),), targets={"pictures": target}) as whole:
        got = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": UUID, "retryMode": mode})
        assert got.json["retryMode"] == mode
        stored = await whole.stack.ledger.read(lambda tx: jobs.snapshot(tx, got.json["slotId"]))
        (frozen,) = stored["targets"]
        assert frozen["scan_limit"] == scan
        again = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": UUID})
        assert again.json["retryMode"] == mode


async def test_a_recovery_needs_a_place_to_tell_of_it(open_whole: Open) -> None:
    async with open_whole(started=False) as whole:
        got = await whole.call("POST", "/internal/targets/pictures/recover", {"requestId": UUID})
        assert (got.status, got.error) == (500, "recovery admission failed")
