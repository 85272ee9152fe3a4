"""JSON Schema 2020-12 of every object of the protocol, made from the types that describe the wire.

The types say which keys there are; the few rules between keys (a job that succeeded has a result, a terminal event
carries its job) are added here from the tables of states and events.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any, Final

import msgspec

from pixivflow.api import wire
from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind
from pixivflow.domain.job import TERMINAL, JobState

SCHEMA_ID: Final = "urn:pixivflow:workflow-protocol:v1.1"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

PROTOCOL_NAMES: Final = {"Result": "Result_CandidateSearch", "ErrorEnvelope": "ErrorBody"}
"""Where the protocol calls an object otherwise than our types do."""

_REF: Final = "#/$defs/{name}"
_BESIDE: Final = frozenset({"Alive", "Check", "Health", "Readiness"})
"""Types of the wire that no part of the protocol speaks of."""

_STATE_OF: Final = {
    EventKind.SUCCEEDED: JobState.SUCCEEDED,
    EventKind.FAILED: JobState.FAILED,
    EventKind.EXPIRED: JobState.EXPIRED,
    EventKind.CANCELLED: JobState.CANCELLED,
}


def document() -> dict[str, Any]:
    """The whole document: `$defs` with one schema for each object, by the protocol's names. A fresh copy."""
    made: dict[str, Any] = json.loads(_encoded())
    return made


def encoded() -> bytes:
    """The document as it is served and as it stands in `protocol/v1/schema.json`."""
    return _encoded()


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The document for what we send ourselves: a key that is not described is an error.

    A reader must ignore keys it does not know, so this is for tests of a producer and never for a consumer.
    """
    made: dict[str, Any] = json.loads(json.dumps(schema))
    _close(made["$defs"])
    return made


@cache
def _encoded() -> bytes:
    _, found = msgspec.json.schema_components(_types(), ref_template=_REF)
    schemas = json.loads(msgspec.json.encode(found))
    for name in _BESIDE:
        schemas.pop(name, None)
    definitions = {PROTOCOL_NAMES.get(name, name): _renamed(schema) for name, schema in schemas.items()}
    for name, rules in _rules().items():
        definitions[name]["allOf"] = [*definitions[name].get("allOf", ()), *rules]
    made = {
        "$schema": DIALECT,
        "$id": SCHEMA_ID,
        "title": "Workflow Protocol v1.1, as PixivFlow serves it",
        "description": (
            "One schema for each object, under $defs. Answers may gain keys: a reader ignores those it does not know. "
            "Whole numbers may be written with a fraction of zero."
        ),
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(made, indent=2, ensure_ascii=False).encode() + b"\n"


def _types() -> list[type[msgspec.Struct]]:
    """Every object of the wire's module, so that a new one is described without being listed here."""
    return [
        kind
        for _, kind in inspect.getmembers(wire, inspect.isclass)
        if issubclass(kind, msgspec.Struct) and kind.__module__ == wire.__name__
    ]


def _renamed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_renamed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "$ref":
            name = value.rpartition("/")[2]
            out[key] = _REF.format(name=PROTOCOL_NAMES.get(name, name))
        elif key == "title" and isinstance(value, str):
            out[key] = PROTOCOL_NAMES.get(value, value)
        else:
            out[key] = _renamed(value)
    return out


def _rules() -> dict[str, list[dict[str, Any]]]:
    return {"Job": _job_rules(), "Event": _event_rules()}


def _job_rules() -> list[dict[str, Any]]:
    failed = sorted(state.value for state in TERMINAL - {JobState.SUCCEEDED})
    is_open = sorted(state.value for state in set(JobState) - TERMINAL)
    unleased = {"lease_active": {"const": False}, "lease_expires_at": {"type": "null"}}
    return [
        _when(
            {"status": {"const": JobState.SUCCEEDED.value}},
            {"required": ["result"], "properties": unleased, **_without("error")},
        ),
        _when({"status": {"enum": failed}}, {"required": ["error"], "properties": unleased, **_without("result")}),
        _when({"status": {"enum": is_open}}, _without("result", "error")),
    ]


def _event_rules() -> list[dict[str, Any]]:
    rules = []
    for kind in EventKind:
        if kind not in WIRE_TYPE:
            continue
        condition = {"type": {"const": WIRE_TYPE[kind]}}
        if kind not in TERMINAL_KINDS:
            rules.append(_when(condition, {"properties": {"payload": _without("result", "error")}}))
            continue
        state = _STATE_OF[kind]
        outcome = "result" if state is JobState.SUCCEEDED else "error"
        job = {"required": ["status"], "properties": {"status": {"const": state.value}}}
        payload = {"required": ["job", outcome], "properties": {"job": job}}
        rules.append(_when(condition, {"properties": {"payload": payload}}))
    return rules


def _when(condition: dict[str, Any], consequence: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"required": list(condition), "properties": condition}, "then": consequence}


def _without(*names: str) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [name]} for name in names]}}


def _close(schema: Any) -> None:
    if isinstance(schema, list):
        for item in schema:
            _close(item)
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            _close(value)
