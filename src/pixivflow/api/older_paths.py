"""The OpenAPI path items of the routes under `/internal`, made from the types that are their bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pixivflow.api import older_wire as wire

_REF: Final = "#/"
_Operation = dict[str, Any]


def internal_paths() -> dict[str, Any]:
    """The path items. Schemas stand in them whole: the components belong to the job surface."""
    return {
        "/internal/targets/{targetId}/refetch": {
            "parameters": [_path("targetId")],
            "post": _operation(
                "requestWork",
                "Ask for a work of a target, by UUID; the same id again answers the same job",
                "manual",
                {202: wire.RefetchAccepted},
                failures=(400, 404, 409, 413),
                body=wire.RefetchRequest,
            ),
        },
        "/internal/targets/{targetId}/refetch/{requestId}": {
            "parameters": [_path("targetId"), _path("requestId")],
            "get": _operation(
                "getRequest", "How a request stands", "manual", {200: wire.RefetchState}, failures=(400, 404)
            ),
        },
        "/internal/targets/{targetId}/recover": {
            "parameters": [_path("targetId")],
            "post": _operation(
                "recoverTarget",
                "Make up for a missed run of a target",
                "manual",
                {202: wire.RecoveryAccepted},
                failures=(400, 404, 409, 413),
                body=wire.RecoveryRequest,
            ),
        },
        "/internal/targets/{targetId}/recover/{requestId}": {
            "parameters": [_path("targetId"), _path("requestId")],
            "get": _operation(
                "getRecovery", "How a recovery stands", "manual", {200: wire.RecoveryState}, failures=(400, 404)
            ),
        },
        "/internal/schedules": {
            "get": _operation("listSchedules", "Plans with a clock", "trigger", {200: wire.ScheduleList})
        },
        "/internal/schedules/{scheduleId}/run": {
            "parameters": [_path("scheduleId")],
            "post": _operation(
                "runSchedule",
                "A clock's knock: admit the occurrence of this moment, once",
                "trigger",
                {200: wire.Knocked, 202: wire.Knocked, 503: wire.Knocked},
                failures=(400, 404, 410, 413, 425),
                body=wire.KnockRequest,
                optional_body=True,
            ),
        },
        "/internal/outbox/drain": {
            "post": _operation("drainOutbox", "Send every row that is due", "trigger", {200: wire.DrainDone})
        },
    }


def _operation(
    ident: str,
    summary: str,
    token: str,
    answers: Mapping[int, type],
    *,
    failures: tuple[int, ...] = (),
    body: type | None = None,
    optional_body: bool = False,
) -> _Operation:
    responses = {status: _answer("Success" if status < 300 else "Not now", kind) for status, kind in answers.items()}
    for status in (*failures, 401, 500, 503):
        refused = _answer("Failure", wire.OlderRefusal)
        if status in responses:
            content = responses[status]["content"]["application/json"]
            refusal = refused["content"]["application/json"]["schema"]
            content["schema"] = {"anyOf": [content["schema"], refusal]}
        else:
            responses[status] = refused
    operation: _Operation = {
        "operationId": ident,
        "summary": summary,
        "tags": ["internal"],
        "security": [{token: []}],
        "responses": {str(status): responses[status] for status in sorted(responses)},
    }
    if body is not None:
        operation["requestBody"] = {"required": not optional_body, "content": _json(body)}
    return operation


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _answer(description: str, kind: type) -> dict[str, Any]:
    return {"description": description, "content": _json(kind)}


def _json(kind: type) -> dict[str, Any]:
    (schema,), parts = msgspec.json.schema_components((kind,), ref_template=_REF + "{name}")
    return {"application/json": {"schema": _whole(schema, parts)}}


def _whole(value: Any, parts: Mapping[str, Any]) -> Any:
    """A schema with what it refers to put in place. None of these types contains itself."""
    if isinstance(value, list):
        return [_whole(inner, parts) for inner in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _whole(parts[value["$ref"].removeprefix(_REF)], parts)
    return {name: _whole(inner, parts) for name, inner in value.items()}
