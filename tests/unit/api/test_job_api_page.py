"""The reference page is held against the code it describes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from pixivflow.api.openapi import document
from pixivflow.domain import task as rules
from pixivflow.domain.projection import job_path
from pixivflow.domain.reason import RETRYABLE

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "job-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json (\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
DOCUMENT = json.loads(msgspec.json.encode(document("0")))


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[f"{at}-{name}" for at, (name, _) in enumerate(EXAMPLES)])
def test_every_example_is_what_it_says(name: str, text: str) -> None:
    body = json.loads(text)
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(body)
    if name == "Task":
        assert isinstance(rules.parse_task(body), rules.Task)
    if name == "Job":
        assert body["events_url"] == f"{job_path(body['job_id'])}/events"


def test_there_are_examples() -> None:
    assert {name for name, _ in EXAMPLES} == {"ErrorEnvelope", "Task", "Job", "EventPage", "AckResult"}


def test_every_route_and_code_is_on_the_page() -> None:
    for path, item in DOCUMENT["paths"].items():
        for method in ("get", "post"):
            if method in item and path != "/openapi.json":
                assert f"`{method.upper()} {path}`" in PAGE, (method, path)
    for answer in (True, False):
        row = next(line for line in PAGE.splitlines() if line.endswith(f"| {str(answer).lower()} |"))
        assert set(re.findall(r"`(\w+)`", row)) == {code.value for code, again in RETRYABLE.items() if again is answer}


def test_the_limits_on_the_page_are_the_parser_s() -> None:
    for limit in (rules.MAX_KEY, rules.MAX_CALLBACK_URL, rules.MAX_LABEL_TEXT, rules.MIN_DEADLINE_MS, rules.MAX_TAGS):
        assert re.search(rf"\b{limit}\b", PAGE), limit
