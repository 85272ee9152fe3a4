from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from pixivflow.api import wire
from pixivflow.api.ports import Refused
from pixivflow.domain.job import Signal
from pixivflow.domain.reason import Code, Reason

ODD_KEYS = [
    "a/b",
    "a?b=c",
    "a#b",
    "100%",
    "a%2Fb",
    "two words",
    "é/ü",
    "猫",
    "..",
    "a/../b",
    "a//b",
    "events",
    "x/events",
]


def exact(body: Any, kind: type) -> None:
    """The body has the described shape and nothing the description does not know."""
    assert msgspec.to_builtins(msgspec.convert(body, kind)) == body


async def test_capabilities(api) -> None:
    body = (await api("GET", "/capabilities")).json
    exact(body, wire.Capabilities)
    assert body["protocol_versions"] == ["1"]
    kind = body["job_types"][0]
    assert kind["name"] == "candidate_search"
    assert kind["params_schema"] == "#/$defs/CandidateSearchParams"
    assert kind["features"][-1] == "target_selector"
    assert kind["heartbeat_interval_ms"] == 30_000


async def test_first_submission_is_202_and_the_replay_200_with_the_same_job(api, jobs) -> None:
    first = await api.submit("Key-1", correlation_id="corr", labels={"a": "b"})
    assert first.status == 202
    assert list(first.json) == ["job"]
    exact(first.json, wire.JobEnvelope)
    job = first.json["job"]
    assert job["status"] == "queued"
    assert (job["idempotency_key"], job["correlation_id"], job["labels"]) == ("Key-1", "corr", {"a": "b"})
    assert first.headers["Location"] == "/jobs/daily%40manual-key-1"
    assert first.headers["Cache-Control"] == "no-store"
    replay = await api.submit("  Key-1 ", correlation_id="another", deadline_ms=5000)
    assert replay.status == 200
    assert replay.json == first.json
    assert len(jobs.jobs) == 1


async def test_the_same_key_for_another_task_is_a_conflict(api, jobs) -> None:
    await api.submit("k")
    answer = await api.submit("k", params={"query": {"tags": ["dog"]}})
    assert answer.status == 409
    exact(answer.json, wire.ErrorEnvelope)
    assert answer.json["error"]["code"] == "idempotency_conflict"
    assert answer.json["error"]["retryable"] is False
    assert "slot_id" not in answer.raw.decode()
    assert len(jobs.jobs) == 1


async def test_a_refusal_of_the_service_is_passed_on_whole(api, jobs) -> None:
    jobs.refusal = Refused(503, Code.RESOURCE_BUSY, "draining", {"reason": "draining"}, retry_after_s=7)
    answer = await api.submit("k")
    assert answer.status == 503
    assert answer.headers["Retry-After"] == "7"
    assert answer.json == {
        "error": {
            "code": "resource_busy",
            "message": "draining",
            "retryable": True,
            "detail": {"reason": "draining"},
        }
    }
    jobs.refusal = Refused(409, Code.INVALID_PARAMS, "ambiguous", retryable=True)
    assert (await api.submit("k")).json == {
        "error": {"code": "invalid_params", "message": "ambiguous", "retryable": True}
    }


async def test_a_broken_task_is_explained(api, jobs) -> None:
    answer = await api.submit("k", protocol_version="2")
    assert answer.status == 400
    exact(answer.json, wire.ErrorEnvelope)
    assert answer.json["error"]["code"] == "unsupported_protocol_version"
    assert answer.json["error"]["detail"] == {"received": "2", "supported": ["1"]}
    answer = await api.submit("k", params={"target_id": " "})
    assert (answer.status, answer.json["error"]["detail"]["field"]) == (400, "params.target_id")
    assert jobs.tasks == []


async def test_a_job_is_reachable_whatever_its_key(api) -> None:
    for key in ODD_KEYS:
        await reach(api, key)


async def reach(api, key: str) -> None:
    job = (await api.submit(key)).json["job"]
    at = f"/jobs/{quote(job['job_id'], safe='')}"
    assert job["events_url"] == f"{at}/events"
    assert (await api("GET", at)).json == job
    page = (await api("GET", job["events_url"])).json
    assert page["job_id"] == job["job_id"]
    assert [event["type"] for event in page["events"]] == ["job.accepted"]
    ack = await api("POST", f"{at}/events/ack", {"ack_through": page["events"][0]["event_id"]})
    assert ack.json["unacked"] == 0
    assert (await api("POST", f"{at}/cancel")).json["status"] == "cancelled"
    found = (await api("GET", f"/jobs?idempotency_key={quote(key, safe='')}")).json
    assert [one["job_id"] for one in found["jobs"]] == [job["job_id"]]


async def test_an_id_may_be_sent_with_more_or_less_encoding(api) -> None:
    await api.submit("k")
    for spelling in ("daily@manual-k", "daily%40manual-k", "%64aily%40manual%2dk", "daily%40manual-k/"):
        assert (await api("GET", f"/jobs/{spelling}")).json["job_id"] == "daily@manual-k"


async def test_the_key_is_trimmed_on_both_sides(api) -> None:
    await api.submit(" k ")
    page = (await api("GET", "/jobs?idempotency_key=%20k+")).json
    exact(page, wire.JobPage)
    assert [job["idempotency_key"] for job in page["jobs"]] == ["k"]


async def test_an_unknown_key_is_an_empty_page_and_an_unknown_id_404(api) -> None:
    page = (await api("GET", "/jobs?idempotency_key=nobody")).json
    assert set(page) == {"jobs", "server_time"}
    assert page["jobs"] == []
    for method, path in (("GET", "/jobs/nobody"), ("GET", "/jobs/nobody/events")):
        answer = await api(method, path)
        assert answer.status == 404
        assert answer.json == {"error": {"code": "invalid_params", "message": "unknown job", "retryable": False}}
    answer = await api("POST", "/jobs/no%2Fbody/cancel")
    assert answer.status == 404
    assert answer.json["error"]["detail"] == {"reason": "unknown_job", "job_id": "no/body"}
    assert (await api("POST", "/jobs/nobody/events/ack", {"ack_through": "e"})).status == 404


async def test_jobs_are_listed_in_pages_and_by_filter(api, jobs) -> None:
    for number in range(5):
        await api.submit(f"k{number}", correlation_id="odd" if number % 2 else "even")
    jobs.signal("daily@manual-k0", Signal.START)
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await api("GET", f"/jobs?limit=2&cursor={cursor}")).json
        exact(page, wire.JobPage)
        seen += [job["idempotency_key"] for job in page["jobs"]]
        cursor = page.get("next_cursor", "")
        if not cursor:
            break
    assert seen == [f"k{number}" for number in reversed(range(5))]

    async def keys(query: str) -> list[str]:
        return [job["idempotency_key"] for job in (await api("GET", f"/jobs?{query}")).json["jobs"]]

    assert await keys("correlation_id=odd") == ["k3", "k1"]
    assert await keys("status=running") == ["k0"]
    assert await keys("status=queued&correlation_id=even") == ["k4", "k2"]
    assert await keys("job_type=other") == []
    assert await keys("idempotency_key=k1&correlation_id=even") == []
    assert await keys("idempotency_key=k1&status=queued&job_type=candidate_search") == ["k1"]
    assert await keys("surprise=1&surprise=2&idempotency_key=k1") == ["k1"]


UNREADABLE = [
    ("idempotency_key=", "idempotency_key"),
    ("idempotency_key=%20", "idempotency_key"),
    ("idempotency_key=a&idempotency_key=b", "idempotency_key"),
    ("correlation_id=", "correlation_id"),
    ("correlation_id=" + "c" * 201, "correlation_id"),
    ("status=done", "status"),
    ("status=", "status"),
    ("job_type=", "job_type"),
    ("limit=0", "limit"),
    ("limit=501", "limit"),
    ("limit=-1", "limit"),
    ("limit=1.5", "limit"),
    ("limit=%D9%A3", "limit"),
    ("limit=", "limit"),
    ("limit=" + "9" * 5000, "limit"),
    ("limit=1&limit=2", "limit"),
    ("cursor=garbage", "cursor"),
    ("cursor=am9iczoxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMw", "cursor"),
    ("cursor=%C3%A9", "cursor"),
]


async def test_a_filter_that_cannot_be_read_is_an_error(api) -> None:
    for query, field in UNREADABLE:
        answer = await api("GET", f"/jobs?{query}")
        assert answer.status == 400, query
        assert answer.json["error"]["code"] == "invalid_params"
        assert answer.json["error"]["detail"] == {"field": field}


async def test_the_largest_page_is_allowed(api) -> None:
    assert (await api("GET", "/jobs?limit=500")).status == 200
    assert (await api("GET", "/jobs?" + "&".join(f"p{n}=1" for n in range(40)))).status == 400


async def test_cancel_twice_is_the_same_answer_and_the_body_is_not_read(api) -> None:
    await api.submit("k")
    first = await api("POST", "/jobs/daily@manual-k/cancel", raw=b"{not json")
    second = await api("POST", "/jobs/daily@manual-k/cancel")
    assert first.status == second.status == 200
    assert first.raw == second.raw
    exact(first.json, wire.Job)
    assert first.json["error"]["code"] == "cancelled_by_consumer"
    assert first.json["error"]["retryable"] is False
    assert first.json["error"]["detail"] == {"internal_code": "cancelled_by_consumer"}


async def test_an_ended_job_is_answered_unchanged(api, jobs) -> None:
    await api.submit("k")
    jobs.succeed("daily@manual-k")
    before = (await api("GET", "/jobs/daily@manual-k")).raw
    assert (await api("POST", "/jobs/daily@manual-k/cancel")).raw == before
    replay = await api.submit("k")
    assert replay.status == 200
    assert replay.json["job"]["result"]["candidates"][0]["work_id"] == "77"
    exact(replay.json, wire.JobEnvelope)


async def test_a_failed_job_has_a_closed_code(api, jobs) -> None:
    await api.submit("k")
    jobs.fail("daily@manual-k", Reason.RATE_LIMITED)
    job = (await api("GET", "/jobs/daily@manual-k")).json
    exact(job, wire.Job)
    assert job["error"] == {
        "code": "quota_exceeded",
        "message": "for people",
        "retryable": True,
        "detail": {"internal_code": "rate_limited"},
    }


async def test_the_keys_the_real_client_reads_first_are_absent(api) -> None:
    job = (await api.submit("k")).json["job"]
    assert not {"state", "requestId", "jobId"} & set(job)
