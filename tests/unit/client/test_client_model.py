from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import pixivflow.client
from pixivflow.client import AsyncClient, BadAnswer, Client, Event, Job, Locator, MatchedTag, Order, Submitted
from pixivflow.client.model import task
from pixivflow.client.reading import event_of, job_path, read_as
from pixivflow.domain.task import Task, parse_task

SMALLEST = {"job_id": "j", "job_type": "candidate_search", "status": "queued", "created_at": 1, "updated_at": 2}


def test_every_order_is_one_the_server_reads() -> None:
    order: Order = {
        "target_id": "cats",
        "tags": ["cat", "night"],
        "expand": True,
        "exclude": ["149713091", {"kind": "tag", "id": "dog"}],
        "limit": 2,
        "scan_limit": 30,
        "work_types": ["illustration"],
        "account": "default",
        "callback_url": "http://receiver/events",
        "deadline_ms": 60_000,
        "labels": {"channel": "daily"},
        "correlation_id": "c-1",
    }
    parsed = parse_task(task("candidate_search", "k", order))
    assert isinstance(parsed, Task)
    assert (parsed.idempotency_key, parsed.correlation_id, parsed.deadline_ms) == ("k", "c-1", 60_000)
    assert parsed.labels == {"channel": "daily"}
    assert parsed.callback_url == "http://receiver/events"


def test_what_is_not_given_is_not_sent() -> None:
    assert task("candidate_search", "k", {"target_id": "cats", "limit": None}) == {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": "k",
        "params": {"target_id": "cats"},
    }
    assert task("other", "k", {"params": {"more": 1}})["params"] == {"more": 1}


def test_null_is_absent_and_unknown_is_kept() -> None:
    body: dict[str, Any] = {**SMALLEST, "status": "paused", "progress": None, "result": None, "novelty": [1]}
    job = read_as(Job, body)
    assert (job.status, job.progress, job.result, job.ended) == ("paused", None, None, False)
    assert job.raw == body
    assert "novelty" not in repr(job)


def test_a_candidate_comes_with_its_tags_and_files() -> None:
    asset = {
        "asset_id": "illustration-7-page-0",
        "type": "image",
        "role": "primary",
        "source": "pixiv",
        "quality": "custom",
        "mime": "image/png",
        "bytes": 2838,
        "hash": "sha256:00",
        "width": 60,
        "height": 80,
        "locator": {"kind": "path", "value": "illustrations/7.png"},
        "metadata": {"part": "page", "number": 0},
    }
    found = {
        "candidate_id": "7",
        "work_id": "7",
        "tags": [{"tag": "cat", "source": "seed", "weight": 1}],
        "assets": [asset],
    }
    job = read_as(Job, {**SMALLEST, "status": "succeeded", "result": {"candidates": [found], "scanned": 3}})
    assert job.result is not None
    (candidate,) = job.result.candidates
    assert candidate.tags == (MatchedTag("cat", "seed", 1.0),)
    assert candidate.assets[0].locator == Locator("path", "illustrations/7.png")
    assert (candidate.assets[0].bytes, candidate.assets[0].metadata) == (2838, {"part": "page", "number": 0})


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled", "expired"])
def test_a_job_that_has_ended_says_so(status: str) -> None:
    job = read_as(Job, {**SMALLEST, "status": status})
    assert job.ended
    assert job.succeeded is (status == "succeeded")
    event = read_as(Event, {"event_id": "e", "job_id": "j", "type": f"job.{status}", "at": 1})
    assert event.terminal


@pytest.mark.parametrize("body", [None, [], "x", {}, {**SMALLEST, "created_at": "soon"}, {**SMALLEST, "result": []}])
def test_an_answer_of_another_shape_is_a_bad_answer(body: object) -> None:
    with pytest.raises(BadAnswer):
        read_as(Job, body)


@pytest.mark.parametrize("data", ["", "{", "[]", "null", '{"event_id": 1}'])
def test_a_message_that_is_no_event_is_a_bad_answer(data: str) -> None:
    with pytest.raises(BadAnswer):
        event_of(data)


@pytest.mark.parametrize(
    ("ident", "path"),
    [
        ("daily@manual-k", "/jobs/daily%40manual-k"),
        ("a/b?c#d%2F", "/jobs/a%2Fb%3Fc%23d%252F"),
        ("\N{CJK UNIFIED IDEOGRAPH-732B}", "/jobs/%E7%8C%AB"),
        ("..", "/jobs/%2E%2E"),
        (".", "/jobs/%2E"),
    ],
)
def test_any_id_survives_in_an_address(ident: str, path: str) -> None:
    assert job_path(ident) == path
    job = read_as(Job, {**SMALLEST, "job_id": ident})
    assert job_path(job) == job_path(Submitted(job, created=True, key="k")) == path


def test_an_empty_id_is_the_caller_s_mistake() -> None:
    with pytest.raises(ValueError, match="a job has an id"):
        job_path("")


@pytest.mark.parametrize("kind", [AsyncClient, Client])
@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8090", "ftp://x", "http://", "http://u:secret@x", "http://x/?token=secret", "http://x/#secret"],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(kind: type, url: str) -> None:
    with pytest.raises(ValueError, match="address of a server") as caught:
        kind(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", [AsyncClient, Client])
def test_the_token_is_not_shown(kind: type) -> None:
    client = kind("http://x:1/base/", "the-secret")
    assert repr(client) == f"<{kind.__name__} http://x:1/base>"
    seen: list[str] = []
    inner = getattr(client, "_client", client)
    for thing in (client, inner, inner._transport):
        seen += [repr(thing), str(thing)]
    assert "the-secret" not in "".join(seen)


def test_everything_public_has_a_docstring() -> None:
    for name in pixivflow.client.__all__:
        thing = getattr(pixivflow.client, name)
        if isinstance(thing, type):
            assert thing.__doc__, name
    for kind in (AsyncClient, Client):
        public = [value for name, value in vars(kind).items() if not name.startswith("_")]
        assert all(getattr(value, "__doc__", None) for value in public)


def test_both_clients_can_do_the_same() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(AsyncClient) - {"aclose"} == public(Client) - {"close"}


def test_importing_it_brings_nothing_of_the_server() -> None:
    code = "import sys, pixivflow.client; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    rooms = {name.split(".")[1] for name in out if name.startswith("pixivflow.")}
    assert rooms <= {"client", "_version"}
    assert not {"litestar", "uvicorn", "apsw", "PIL", "pydantic", "typer", "rich", "structlog"} & set(out)
