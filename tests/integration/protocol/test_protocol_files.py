"""protocol/v1/ is what the code says, its fixtures follow its schema, and none of it holds a forbidden word."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import bodies
import jsonschema
import pytest

from pixivflow.domain.task import Task, TaskError, parse_task
from pixivflow.protocol import schema, words

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "protocol" / "v1"
INDEX: list[dict[str, Any]] = json.loads((FOLDER / "fixtures" / "index.json").read_text(encoding="utf-8"))


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_the_files_are_what_the_generator_writes() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "gen_protocol.py"))["render"]()
    there = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.json")}
    assert there.keys() == written.keys()
    for name, text in written.items():
        assert there[name] == text, f"protocol/v1/{name}: run `make docs`"


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_a_fixture_follows_the_schema(entry: dict[str, Any]) -> None:
    body = read(f"fixtures/{entry['file']}")
    bodies.check(body, entry["schema"])
    if entry["schema"] == "Task":
        assert isinstance(parse_task(body), Task)


def test_every_answer_of_the_protocol_has_a_fixture() -> None:
    listed = {entry["schema"] for entry in INDEX}
    answers = {"Job", "JobEnvelope", "JobPage", "EventPage", "Event", "AckRequest", "AckResult", "Capabilities"}
    assert listed == answers | {"Task", "ErrorBody", "Refusal"}
    statuses = {read(f"fixtures/{one['file']}")["status"] for one in INDEX if one["schema"] == "Job"}
    assert statuses == {"queued", "running", "succeeded", "failed", "cancelled", "expired"}


def test_the_schema_is_one() -> None:
    document = read("schema.json")
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$schema"] == schema.DIALECT
    for name, definition in document["$defs"].items():
        for ref in refs(definition):
            assert ref.removeprefix("#/$defs/") in document["$defs"], (name, ref)


def test_what_capabilities_name_is_in_the_schema() -> None:
    known = read("schema.json")["$defs"]
    for kind in read("fixtures/capabilities.json")["job_types"]:
        for key in ("params_schema", "result_schema"):
            assert kind[key].removeprefix("#/$defs/") in known, kind[key]


def test_no_forbidden_word_anywhere() -> None:
    assert words.in_schema(read("schema.json")) == []
    assert words.in_body(read("acceptance.json")) == []
    assert [code for code in read("errors.json")["codes"] if words.forbidden_in(code["code"])] == []


def test_wrong_tasks_fail_the_schema_too() -> None:
    document = read("schema.json")
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/Task", "$defs": document["$defs"]})
    task = read("fixtures/task-full.json")
    for change in ({"protocol_version": "2"}, {"params": {"query": {"tags": []}}}, {"idempotency_key": ""}):
        wrong = {**task, **change}
        assert isinstance(parse_task(wrong), TaskError)
        assert not validator.is_valid(wrong)


def refs(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [inner for key, one in value.items() for inner in ([one] if key == "$ref" else refs(one))]
    return [inner for one in value for inner in refs(one)] if isinstance(value, list) else []
