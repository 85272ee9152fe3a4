from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest

from pixivflow.api import wire


async def test_health_has_the_protocol_s_shape(api) -> None:
    answer = await api("GET", "/health", token=None)
    assert answer.json == {
        "status": "ok",
        "service": "pixivflow-scheduler-trigger",
        "version": "9.9.9",
        "commit": "abc1234",
    }
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_alive_depends_on_nothing(api, jobs, path: str) -> None:
    jobs.ledger_ok = False
    jobs.draining = True
    answer = await api("GET", path, token=None)
    assert (answer.status, answer.json) == (200, {"status": "ok"})


async def test_ready_follows_the_checks_and_the_drain(api, jobs) -> None:
    assert (await api("GET", "/readyz", token=None)).status == 200
    jobs.ledger_ok = False
    broken = await api("GET", "/readyz", token=None)
    assert (broken.status, broken.json) == (503, {"status": "unavailable"})
    jobs.ledger_ok = True
    jobs.draining = True
    assert (await api("GET", "/readyz", token=None)).status == 503
    jobs.draining = False
    assert (await api("GET", "/readyz", token=None)).status == 200


@pytest.mark.parametrize("query", ["verbose", "verbose=", "verbose=1"])
async def test_verbose_lists_the_checks(api, jobs, query: str) -> None:
    jobs.ledger_ok = False
    answer = await api("GET", f"/readyz?{query}", token=None)
    assert answer.status == 503
    assert answer.json["checks"] == [{"name": "ledger", "ok": False, "message": ""}]
    assert answer.json["draining"] is False
    assert msgspec.to_builtins(msgspec.convert(answer.json, wire.Readiness)) == answer.json


async def test_not_knowing_is_not_ready(api, jobs) -> None:
    jobs.fault = RuntimeError("gone")
    answer = await api("GET", "/readyz", token=None)
    assert (answer.status, answer.json) == (503, {"status": "unavailable"})
    assert (await api("GET", "/livez", token=None)).status == 200


async def test_the_description_describes_what_is_answered(api, jobs) -> None:
    document = (await api("GET", "/openapi.json", token=None)).json
    assert document["openapi"] == "3.1.0"

    def check(name: str, body: object) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(body)

    check("JobEnvelope", (await api.submit("k", correlation_id="c")).json)
    jobs.succeed("daily@manual-k")
    check("Job", (await api("GET", "/jobs/daily@manual-k")).json)
    check("JobPage", (await api("GET", "/jobs")).json)
    check("EventPage", (await api("GET", "/jobs/daily@manual-k/events")).json)
    check("Capabilities", (await api("GET", "/capabilities")).json)
    check("ErrorEnvelope", (await api("GET", "/jobs/nobody")).json)
    check("Refusal", (await api("GET", "/jobs", token=None)).json)
    check("Readiness", (await api("GET", "/readyz?verbose")).json)
    check("Health", (await api("GET", "/health")).json)


async def test_neighbours_are_described_with_us(serve) -> None:
    path = {"get": {"operationId": "neighbour", "responses": {"200": {"description": "ok"}}}}
    api = await serve(extra_paths={"/neighbour": path})
    document = json.loads((await api("GET", "/openapi.json")).raw)
    assert document["paths"]["/neighbour"] == path
    assert "/jobs" in document["paths"]
