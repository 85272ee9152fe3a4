"""What makes the OpenAPI document more than a list: examples, headers, links between operations, and callbacks.

Links are what lets a tool walk through a whole story (submit, read, list events, acknowledge, cancel) by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pixivflow.protocol.samples import samples

_JOB_OF: Final[Mapping[str, tuple[str, str]]] = {
    # operation: (status, where in the answer the id of a job stands)
    "submitJob": ("202", "$response.body#/job/job_id"),
    "getJob": ("200", "$response.body#/job_id"),
    "listJobs": ("200", "$response.body#/jobs/0/job_id"),
    "cancelJob": ("200", "$response.body#/job_id"),
}
_FROM_A_JOB: Final = ("getJob", "cancelJob", "listEvents")

_EXAMPLES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("submitJob", "body"): ("task-minimal", "task-full"),
    ("submitJob", "202"): ("job-accepted",),
    ("submitJob", "200"): ("job-accepted",),
    ("submitJob", "400"): ("error-missing-key", "error-unsupported-version", "error-invalid-params"),
    ("getJob", "200"): ("job-queued", "job-running", "job-succeeded", "job-failed-no-candidate", "job-expired"),
    ("getJob", "404"): ("error-unknown-job",),
    ("cancelJob", "200"): ("job-cancelled",),
    ("listJobs", "200"): ("job-page",),
    ("listEvents", "200"): ("event-page",),
    ("ackEvents", "body"): ("ack-request",),
    ("ackEvents", "200"): ("ack-result",),
    ("getCapabilities", "200"): ("capabilities",),
}


_ALWAYS: Final = {
    "X-Request-Id": "The caller's, reduced to harmless characters, or one made here",
    "Cache-Control": "no-store",
}
_SOMETIMES: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("submitJob", "202"): {"Location": "The address of the job"},
    ("submitJob", "200"): {"Idempotency-Replayed": "true"},
}
_MAYBE: Final = {
    "401": ("WWW-Authenticate", "Bearer"),
    "503": ("Retry-After", "Seconds, where a later try makes sense"),
}


def complete(paths: dict[str, Any], ref: str) -> None:
    """Add them to the path items. `ref` is the template of a reference to a schema."""
    for item in paths.values():
        for method, operation in item.items():
            if method in ("get", "post"):
                _complete(operation, ref)


def _complete(operation: dict[str, Any], ref: str) -> None:
    ident = operation["operationId"]
    _add_examples(operation, ident)
    if "jobs" in operation["tags"]:
        _add_headers(operation, ident)
    if ident in _JOB_OF:
        status, job_id = _JOB_OF[ident]
        for name in _FROM_A_JOB:
            if name != ident:
                _link(operation, status, name, parameters={"path.job_id": job_id})
    if ident == "submitJob":
        operation["responses"]["200"]["links"] = dict(operation["responses"]["202"]["links"])
        key = "$response.body#/job/idempotency_key"
        _link(operation, "202", "listJobs", parameters={"query.idempotency_key": key})
        operation["callbacks"] = {"event": {"{$request.body#/callback_url}": {"post": _callback(ref)}}}
    if ident == "listJobs":
        _link(operation, "200", "listJobs", name="next", parameters={"query.cursor": "$response.body#/next_cursor"})
    if ident == "listEvents":
        job_id = "$request.path.job_id"
        last = {"ack_through": "$response.body#/events/0/event_id"}
        _link(operation, "200", "ackEvents", parameters={"path.job_id": job_id}, body=last)
        after = {"path.job_id": job_id, "query.after": "$response.body#/events/0/event_id"}
        _link(operation, "200", "listEvents", name="after", parameters=after)


def _add_headers(operation: dict[str, Any], ident: str) -> None:
    for status, response in operation["responses"].items():
        headers = {name: _header(text) for name, text in _ALWAYS.items()}
        for name, text in _SOMETIMES.get((ident, status), {}).items():
            headers[name] = _header(text)
        if status in _MAYBE:
            name, text = _MAYBE[status]
            headers[name] = _header(text, required=status == "401")
        response["headers"] = headers


def _header(text: str, *, required: bool = True) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": {"type": "string"}}


def _link(
    operation: dict[str, Any],
    status: str,
    to: str,
    *,
    parameters: Mapping[str, str],
    name: str | None = None,
    body: Any = None,
) -> None:
    link: dict[str, Any] = {"operationId": to, "parameters": dict(parameters)}
    if body is not None:
        link["requestBody"] = body
    operation["responses"][status].setdefault("links", {})[name or to] = link


def _add_examples(operation: dict[str, Any], ident: str) -> None:
    known = samples()
    for (owner, place), names in _EXAMPLES.items():
        if owner != ident:
            continue
        holder = operation["requestBody"] if place == "body" else operation["responses"][place]
        content = holder["content"]["application/json"]
        content["examples"] = {name: {"value": known[name].body} for name in names}


def _callback(ref: str) -> dict[str, Any]:
    known = samples()
    answers = {
        "200": "Stored. Every 2xx counts",
        "409": "Stored before; counts as done",
        "429": "Tried again later",
        "500": "Tried again later, as every other 5xx and no answer; 8 attempts in all",
        "400": "Given up at once, as after every other 4xx; the event stays readable and counts as unacked",
    }
    headers = {
        "X-PixivFlow-Delivery": {"const": "job-event"},
        "X-Idempotency-Key": {"type": "string", "pattern": "^job-event:"},
    }
    return {
        "operationId": "jobEvent",
        "summary": "Each event of the job, with the same key on every attempt",
        "tags": ["jobs"],
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "schema": {"type": "string", **schema}}
            for name, schema in headers.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": ref.format(name="Event")},
                    "examples": {name: {"value": known[name].body} for name in ("event-accepted", "event-succeeded")},
                }
            },
        },
        "responses": {status: {"description": text} for status, text in answers.items()},
    }
