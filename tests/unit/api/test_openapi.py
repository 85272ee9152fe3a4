from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.api import wire
from pixivflow.api.openapi import document
from pixivflow.domain.event import WIRE_TYPE
from pixivflow.domain.filters import ProtocolReason
from pixivflow.domain.job import JobState
from pixivflow.domain.reason import Code
from pixivflow.domain.task import Task, parse_task

DOCUMENT = json.loads(msgspec.json.encode(document("1.2.3")))
FORBIDDEN = {"refetch", "slot", "review", "telegram", "disposition", "submission", "moderation", "publish"}


def operations() -> Iterator[dict[str, Any]]:
    for item in DOCUMENT["paths"].values():
        yield from (item[method] for method in ("get", "post") if method in item)


def refs(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from refs(inner)


def test_the_enumerations_are_the_domain_s() -> None:
    assert set(get_args(wire.ErrorCode)) == {code.value for code in Code}
    assert set(get_args(wire.Status)) == {state.value for state in JobState}
    assert set(WIRE_TYPE.values()) < set(get_args(wire.EventType))
    reasons = DOCUMENT["components"]["schemas"]["Filtered"]["properties"]["reason"]["enum"]
    assert set(reasons) == {reason.value for reason in ProtocolReason}


def test_every_operation_has_its_own_id_and_every_reference_leads_somewhere() -> None:
    idents = [operation["operationId"] for operation in operations()]
    assert len(idents) == len(set(idents)) == 15
    for ref in refs(DOCUMENT):
        assert ref.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]


def test_every_job_operation_needs_the_token_and_says_how_it_fails() -> None:
    for operation in operations():
        if "jobs" in operation["tags"]:
            assert operation["security"] == [{"manual": []}]
            assert {"401", "500", "503"} <= set(operation["responses"])
        else:
            assert operation["security"] == []


def test_the_schemas_are_valid_json_schema() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def words(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name == "enum":
                yield from map(str, inner)
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)


def test_no_word_of_a_consumer_s_business_is_a_name() -> None:
    for word in words(DOCUMENT["components"]):
        assert not FORBIDDEN & set(re.split(r"[^A-Za-z0-9]+", word.lower())), word


def task_schema() -> dict[str, Any]:
    return {"$ref": "#/components/schemas/Task", "components": DOCUMENT["components"]}


words_of_people = st.text(min_size=1, max_size=10).filter(str.strip)
described = st.fixed_dictionaries(
    {
        "protocol_version": st.just("1"),
        "job_type": st.just("candidate_search"),
        "idempotency_key": words_of_people,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "target_id": words_of_people | st.none(),
                "source": st.just({"platform": "pixiv"}) | st.none(),
                "query": st.fixed_dictionaries({"tags": st.lists(words_of_people, min_size=1, max_size=20)})
                | st.none(),
                "constraints": st.fixed_dictionaries(
                    {},
                    optional={
                        "limit": st.integers(-1, 10) | st.none(),
                        "exclude": st.lists(
                            st.fixed_dictionaries({"kind": st.sampled_from(["work", "user"]), "id": words_of_people})
                        ),
                    },
                ),
            },
        ),
    },
    optional={"deadline_ms": st.integers(990, 1010) | st.none(), "labels": st.just({"a": "b"}) | st.none()},
)


@given(described)
def test_the_description_and_the_parser_agree(body: dict[str, Any]) -> None:
    valid = jsonschema.Draft202012Validator(task_schema()).is_valid(body)
    assert isinstance(parse_task(body), Task) == valid


@pytest.mark.parametrize("body", [{}, {"protocol_version": "2"}, []])
def test_the_description_refuses_what_the_parser_refuses(body: object) -> None:
    assert not jsonschema.Draft202012Validator(task_schema()).is_valid(body)


def test_an_operation_that_makes_a_job_leads_to_what_can_be_done_with_it() -> None:
    by_ident = {operation["operationId"]: operation for operation in operations()}
    for ident, status in (("submitJob", "202"), ("submitJob", "200"), ("listJobs", "200"), ("listEvents", "200")):
        links = by_ident[ident]["responses"][status]["links"]
        assert links
        for link in links.values():
            target = by_ident[link["operationId"]]
            known = {f"{one['in']}.{one['name']}" for one in target.get("parameters", ())} | {"path.job_id"}
            assert set(link["parameters"]) <= known


def test_every_example_is_what_its_schema_says() -> None:
    seen = 0
    for operation in operations():
        contents = [part.get("content", {}) for part in operation["responses"].values()]
        contents.append(operation.get("requestBody", {}).get("content", {}))
        for content in contents:
            for media in content.values():
                for example in media.get("examples", {}).values():
                    schema = {**media["schema"], "components": DOCUMENT["components"]}
                    jsonschema.Draft202012Validator(schema).validate(example["value"])
                    seen += 1
    assert seen >= 15


def test_the_callback_is_an_event_with_a_key() -> None:
    (callback,) = DOCUMENT["paths"]["/jobs"]["post"]["callbacks"]["event"].values()
    body = callback["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/Event"}
    assert {one["name"] for one in callback["post"]["parameters"]} == {"X-PixivFlow-Delivery", "X-Idempotency-Key"}
