"""`/openapi.json`: OpenAPI 3.1 of the job surface, made from the types in `wire`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pixivflow.api import wire
from pixivflow.api.openapi_links import complete
from pixivflow.api.ports import DEFAULT_PAGE, MAX_PAGE
from pixivflow.api.protocol import protocol_paths

_REF: Final = "#/components/schemas/{name}"
_TYPES: Final = (
    wire.AckRequest,
    wire.AckResult,
    wire.Alive,
    wire.Capabilities,
    wire.ErrorEnvelope,
    wire.EventPage,
    wire.Health,
    wire.Job,
    wire.JobEnvelope,
    wire.JobPage,
    wire.Readiness,
    wire.Refusal,
    wire.Task,
)


def document(version: str, extra_paths: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The whole document. `extra_paths` are the path items of neighbouring routes."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_REF)
    paths = _paths()
    complete(paths, _REF)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "PixivFlow Job API",
            "version": version,
            "summary": "Workflow Protocol v1.1: submit a job, watch it, read its events.",
        },
        "paths": {**paths, **protocol_paths(), **(extra_paths or {})},
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "manual": {"type": "http", "scheme": "bearer"},
                "trigger": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _paths() -> dict[str, Any]:
    return {
        "/capabilities": {"get": _operation("getCapabilities", "What this server can do", {200: "Capabilities"})},
        "/jobs": {
            "post": _operation(
                "submitJob",
                "Submit a task; the same key again answers the same job",
                {202: "JobEnvelope", 200: "JobEnvelope"},
                failures=(400, 404, 409, 413, 503),
                body="Task",
            ),
            "get": _operation(
                "listJobs",
                "The job of a key, or jobs by filter",
                {200: "JobPage"},
                failures=(400,),
                parameters=[
                    _query("idempotency_key", {"type": "string", "minLength": 1}),
                    _query("correlation_id", {"type": "string", "minLength": 1}),
                    _query("status", msgspec.json.schema(wire.Status)),
                    _query("job_type", {"type": "string", "minLength": 1}),
                    _query("limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE}),
                    _query("cursor", {"type": "string"}),
                ],
            ),
        },
        "/jobs/{job_id}": {
            "parameters": [_JOB_ID],
            "get": _operation("getJob", "One job", {200: "Job"}, failures=(404,)),
        },
        "/jobs/{job_id}/cancel": {
            "parameters": [_JOB_ID],
            "post": _operation("cancelJob", "Cancel an open job", {200: "Job"}, failures=(404,)),
        },
        "/jobs/{job_id}/events": {
            "parameters": [_JOB_ID],
            "get": _operation(
                "listEvents",
                "The story of a job, event by event",
                {200: "EventPage"},
                failures=(400, 404),
                parameters=[
                    _query("after", {"type": "string", "minLength": 1}),
                    _query("unacked", {"type": "string", "enum": ["1", "true", "0", "false", ""]}),
                ],
            ),
        },
        "/jobs/{job_id}/events/ack": {
            "parameters": [_JOB_ID],
            "post": _operation(
                "ackEvents",
                "Acknowledge stored events",
                {200: "AckResult"},
                failures=(400, 404, 413),
                body="AckRequest",
            ),
        },
        "/events/stream": {"get": _stream()},
        "/health": {"get": _open("getHealth", "The protocol's health answer", "Health")},
        "/healthz": {"get": _open("getHealthz", "The process answers", "Alive")},
        "/livez": {"get": _open("getLivez", "The process answers", "Alive")},
        "/readyz": {
            "get": {
                **_open("getReadyz", "New work may be sent here", "Readiness", 503),
                "parameters": [_query("verbose", {"type": "string"})],
            }
        },
    }


_JOB_ID: Final = {
    "name": "job_id",
    "in": "path",
    "required": True,
    "description": "Percent-encode every character that is not unreserved.",
    "schema": {"type": "string", "minLength": 1},
}


def _query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _answer(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": _json(name)}


def _json(*names: str) -> dict[str, Any]:
    refs = [{"$ref": _REF.format(name=name)} for name in names]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}}


def _operation(
    ident: str,
    summary: str,
    answers: Mapping[int, str],
    *,
    failures: tuple[int, ...] = (),
    body: str | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    responses: dict[str, Any] = {str(status): _answer("Success", name) for status, name in answers.items()}
    for status in sorted({*failures, 500, 503}):
        responses[str(status)] = _answer("Failure", "ErrorEnvelope")
    responses["401"] = _answer("Missing or wrong token", "Refusal")
    responses["503"] = {
        "description": "The token is not configured, or the Job API is not served here",
        "content": _json("ErrorEnvelope", "Refusal"),
    }
    operation: dict[str, Any] = {
        "operationId": ident,
        "summary": summary,
        "tags": ["jobs"],
        "security": [{"manual": []}],
        "responses": dict(sorted(responses.items())),
    }
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


def _stream() -> dict[str, Any]:
    operation = _operation(
        "streamEvents",
        "The events of all jobs, or of one, as they happen",
        {},
        failures=(400, 404),
        parameters=[
            _query("job_id", {"type": "string", "minLength": 1}),
            _query("after", {"type": "string", "minLength": 1}),
            _query("live", {"type": "string", "enum": ["1", "true", "0", "false", ""]}),
            {"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}},
        ],
    )
    stream = {
        "description": "Server-Sent Events; the data of each is an Event, its name the type, its id the event_id",
        "content": {"text/event-stream": {"schema": _SERVER_SENT}},
    }
    ended = {"description": "The job has ended and nothing follows"}
    operation["responses"] = {"200": stream, "204": ended, **operation["responses"]}
    return operation


_SERVER_SENT: Final = {
    "description": "One Server-Sent Event after another; this is one of them.",
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "retry": {"type": "integer"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": _REF.format(name="Event")},
        },
    },
}


def _open(ident: str, summary: str, name: str, *failures: int) -> dict[str, Any]:
    responses = {str(status): _answer(summary if status == 200 else "Not now", name) for status in (200, *failures)}
    return {"operationId": ident, "summary": summary, "tags": ["health"], "security": [], "responses": responses}
