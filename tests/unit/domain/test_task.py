from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.reason import Code
from pixivflow.domain.target import RetrievalView
from pixivflow.domain.task import MAX_INTEGER, Task, TaskError, canonical, parse_task, view_of

ABSENT = object()


def body(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": "key-1",
        "params": {},
    }
    whole.update(changes)
    return {name: value for name, value in whole.items() if value is not ABSENT}


def params(**inner: Any) -> dict[str, Any]:
    return body(params=inner)


def query(**inner: Any) -> dict[str, Any]:
    return params(query={"tags": ["cat"], **inner})


def constraints(**inner: Any) -> dict[str, Any]:
    return params(constraints=inner)


def accepted(raw: object) -> Task:
    task = parse_task(raw)
    assert isinstance(task, Task), task
    return task


def refused(raw: object) -> TaskError:
    error = parse_task(raw)
    assert isinstance(error, TaskError), error
    return error


REFUSED: list[tuple[str, object, str]] = [
    ("null body", None, "body"),
    ("array body", [], "body"),
    ("text body", "{}", "body"),
    ("no version", body(protocol_version=ABSENT), "protocol_version"),
    ("null version", body(protocol_version=None), "protocol_version"),
    ("unknown job type", body(job_type="novel_search"), "job_type"),
    ("no job type", body(job_type=ABSENT), "job_type"),
    ("job type in a list", body(job_type=["candidate_search"]), "job_type"),
    ("no key", body(idempotency_key=ABSENT), "idempotency_key"),
    ("null key", body(idempotency_key=None), "idempotency_key"),
    ("blank key", body(idempotency_key=" \t"), "idempotency_key"),
    ("number as key", body(idempotency_key=7), "idempotency_key"),
    ("key of 201", body(idempotency_key="k" * 201), "idempotency_key"),
    ("half a surrogate pair as key", body(idempotency_key="\ud800"), "idempotency_key"),
    ("number as correlation", body(correlation_id=7), "correlation_id"),
    ("correlation of 201", body(correlation_id="c" * 201), "correlation_id"),
    ("number as callback", body(callback_url=7), "callback_url"),
    ("callback of 2001", body(callback_url="u" * 2001), "callback_url"),
    ("deadline of 999", body(deadline_ms=999), "deadline_ms"),
    ("fractional deadline", body(deadline_ms=1500.5), "deadline_ms"),
    ("deadline as text", body(deadline_ms="2000"), "deadline_ms"),
    ("true as deadline", body(deadline_ms=True), "deadline_ms"),
    ("deadline beyond exact numbers", body(deadline_ms=MAX_INTEGER + 1), "deadline_ms"),
    ("endless deadline", body(deadline_ms=float("inf")), "deadline_ms"),
    ("labels in a list", body(labels=["a"]), "labels"),
    ("number as label", body(labels={"a": 1}), "labels"),
    ("null as label", body(labels={"a": None}), "labels"),
    ("labels without end", body(labels={"a": "x" * 16_384}), "labels"),
    ("no params", body(params=ABSENT), "params"),
    ("null params", body(params=None), "params"),
    ("params in a list", body(params=[]), "params"),
    ("source as text", params(source="pixiv"), "params.source"),
    ("other platform", params(source={"platform": "elsewhere"}), "params.source.platform"),
    ("blank account", params(source={"account": "  "}), "params.source.account"),
    ("account of 101", params(source={"account": "a" * 101}), "params.source.account"),
    ("number as account", params(source={"account": 3}), "params.source.account"),
    ("query in a list", params(query=[]), "params.query"),
    ("query without tags", params(query={}), "params.query.tags"),
    ("null tags", query(tags=None), "params.query.tags"),
    ("tags as text", query(tags="cat"), "params.query.tags"),
    ("no tag", query(tags=[]), "params.query.tags"),
    ("21 tags", query(tags=["t"] * 21), "params.query.tags"),
    ("blank tag", query(tags=["cat", " "]), "params.query.tags[1]"),
    ("tag of 101, blanks counted", query(tags=["t" * 100 + " "]), "params.query.tags[0]"),
    ("number as tag", query(tags=[1]), "params.query.tags[0]"),
    ("expand as text", query(expand="true"), "params.query.expand"),
    ("expand as number", query(expand=1), "params.query.expand"),
    ("constraints in a list", params(constraints=[]), "params.constraints"),
    ("exclude as object", constraints(exclude={}), "params.constraints.exclude"),
    ("101 exclusions", constraints(exclude=[{"kind": "work", "id": "1"}] * 101), "params.constraints.exclude"),
    ("text as exclusion", constraints(exclude=["1"]), "params.constraints.exclude[0]"),
    ("unknown exclusion", constraints(exclude=[{"kind": "user", "id": "1"}]), "params.constraints.exclude[0].kind"),
    ("list as kind", constraints(exclude=[{"kind": ["work"], "id": "1"}]), "params.constraints.exclude[0].kind"),
    ("blank exclusion", constraints(exclude=[{"kind": "work", "id": ""}]), "params.constraints.exclude[0].id"),
    ("number as exclusion", constraints(exclude=[{"kind": "work", "id": 1}]), "params.constraints.exclude[0].id"),
    ("exclusion of 101", constraints(exclude=[{"kind": "tag", "id": "t" * 101}]), "params.constraints.exclude[0].id"),
    ("limit of zero", constraints(limit=0), "params.constraints.limit"),
    ("limit as text", constraints(limit="5"), "params.constraints.limit"),
    ("false as limit", constraints(limit=False), "params.constraints.limit"),
    ("negative scan limit", constraints(scan_limit=-1), "params.constraints.scan_limit"),
    ("fractional scan limit", constraints(scan_limit=1.5), "params.constraints.scan_limit"),
    ("work types as text", constraints(work_types="novel"), "params.constraints.work_types"),
    ("empty work type", constraints(work_types=[""]), "params.constraints.work_types"),
    ("number as work type", constraints(work_types=[1]), "params.constraints.work_types"),
    ("number as target", params(target_id=42), "params.target_id"),
    ("empty target", params(target_id=""), "params.target_id"),
    ("blank target", params(target_id="  "), "params.target_id"),
    ("target of 201", params(target_id="t" * 201), "params.target_id"),
]


@pytest.mark.parametrize(("raw", "field"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_broken_rule_names_its_field(raw: object, field: str) -> None:
    error = refused(raw)
    assert error.code is Code.INVALID_PARAMS
    assert error.detail["field"] == field
    assert field.partition(".")[0].partition("[")[0] in error.message


@pytest.mark.parametrize(("value", "received"), [("2", "2"), (1, 1), ({}, "an object"), ("9" * 999, "9" * 200)])
def test_another_version_is_told_apart_from_a_missing_one(value: object, received: object) -> None:
    error = refused(body(protocol_version=value))
    assert error.code is Code.UNSUPPORTED_PROTOCOL_VERSION
    assert error.detail == {"received": received, "supported": ["1"]}


def test_an_unknown_job_type_is_explained() -> None:
    detail = refused(body(job_type="x")).detail
    assert (detail["reason"], detail["job_type"], detail["supported"]) == (
        "unsupported_job_type",
        "x",
        ["candidate_search"],
    )


def test_messages_the_protocol_fixes() -> None:
    assert refused(body(protocol_version=ABSENT)).message.endswith("is required")
    assert refused(params(query=[])).message == "params.query must be a JSON object"
    assert refused(body(labels={"a": 1})).message == "labels.a must be a string"
    assert refused(params(source={"platform": "x"})).detail["received"] == "x"


ORDER = [
    ("protocol_version", {"protocol_version": None}),
    ("job_type", {"job_type": 1}),
    ("idempotency_key", {"idempotency_key": ""}),
    ("correlation_id", {"correlation_id": 1}),
    ("callback_url", {"callback_url": 1}),
    ("deadline_ms", {"deadline_ms": 1}),
    ("labels", {"labels": 1}),
    ("params", {"params": 1}),
]
INNER_ORDER = [
    ("params.source.platform", {"source": {"platform": 1, "account": 1}}),
    ("params.query.tags", {"query": {"tags": 1, "expand": 1}}),
    (
        "params.constraints.exclude",
        {"constraints": {"exclude": 1, "limit": "", "scan_limit": "", "work_types": 1}},
    ),
    ("params.target_id", {"target_id": 1}),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_broken_rule_of_a_task_is_the_one_reported(first: int) -> None:
    broken: dict[str, Any] = {}
    for _, change in ORDER[first:]:
        broken.update(change)
    assert refused(body(**broken)).detail["field"] == ORDER[first][0]


@pytest.mark.parametrize("first", range(len(INNER_ORDER)))
def test_the_first_broken_rule_of_the_parameters_is_the_one_reported(first: int) -> None:
    broken: dict[str, Any] = {}
    for _, change in INNER_ORDER[first:]:
        broken.update(change)
    assert refused(params(**broken)).detail["field"] == INNER_ORDER[first][0]


def test_constraints_are_checked_in_order() -> None:
    rules = {"limit": 0, "scan_limit": 0, "work_types": 1}
    for name in ("limit", "scan_limit", "work_types"):
        assert refused(constraints(**rules)).detail["field"] == f"params.constraints.{name}"
        del rules[name]


def test_everything_at_once() -> None:
    task = accepted(
        body(
            idempotency_key="  a/b?c#d% é ",
            correlation_id=" as sent ",
            callback_url="http://receiver:8080/x",
            deadline_ms=1000,
            labels={"channel": "daily"},
            params={
                "source": {"platform": "pixiv", "account": " main "},
                "query": {"tags": [" cat", "dog "], "expand": True},
                "constraints": {
                    "exclude": [{"kind": "work", "id": " 5 "}, {"kind": "tag", "id": "x"}],
                    "limit": 500,
                    "scan_limit": 500,
                    "work_types": ["novel"],
                },
                "target_id": " daily-cats ",
            },
        )
    )
    view = RetrievalView(("cat", "dog"), True, 500, 100, (("work", "5"), ("tag", "x")), ("novel",))
    assert task == Task(
        job_type="candidate_search",
        idempotency_key="a/b?c#d% é",
        correlation_id=" as sent ",
        callback_url="http://receiver:8080/x",
        deadline_ms=1000,
        labels={"channel": "daily"},
        account="main",
        view=view,
        target_id="daily-cats",
        canonical_params='{"source":{"account":"main"},"query":{"tags":["cat","dog"],"expand":true},'
        '"constraints":{"exclude":[{"kind":"work","id":"5"},{"kind":"tag","id":"x"}],"limit":500,"scan_limit":100,'
        '"work_types":["novel"]}}',
    )


def test_the_real_client_sends_a_selector_and_nothing_else() -> None:
    task = accepted(params(target_id="t"))
    assert task.target_id == "t"
    assert task.view == RetrievalView()
    assert task.canonical_params == "{}"


def test_null_is_absent_and_unknown_keys_are_ignored() -> None:
    nothing = accepted(body())
    nulls = {"correlation_id": None, "callback_url": None, "deadline_ms": None, "labels": None, "surprise": [1]}
    inner = {"source": None, "query": None, "constraints": None, "target_id": None, "surprise": {}}
    assert accepted(body(**nulls, params=inner)) == nothing
    deep = {
        "source": {"platform": None, "account": None, "x": 1},
        "constraints": {"exclude": None, "limit": None, "scan_limit": None, "work_types": None, "x": 1},
    }
    assert accepted(body(params=deep)) == nothing
    assert accepted(query(expand=None, x=1)) == accepted(query())


SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("expand false is no expand", query(expand=False), query()),
    ("blanks around tags", query(tags=[" cat "]), query()),
    ("scan limits over the cap", constraints(scan_limit=500), constraints(scan_limit=100)),
    ("whole numbers", constraints(limit=5.0), constraints(limit=5)),
    ("the only platform", params(source={"platform": "pixiv"}), params()),
    ("empty lists", constraints(exclude=[], work_types=[]), params()),
    ("the target is identity", params(target_id="a"), params(target_id="b")),
    ("key order", params(constraints={}, query={"tags": ["cat"]}), query()),
    ("nothing but the task", body(correlation_id="a", labels={"a": "b"}, deadline_ms=5000), body()),
]
OTHER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tags in another order", query(tags=["a", "b"]), query(tags=["b", "a"])),
    ("expand", query(expand=True), query()),
    ("limits are kept as sent", constraints(limit=500), constraints(limit=100)),
    ("an account", params(source={"account": "default"}), params()),
    ("a query", query(), params()),
    ("an exclusion's kind", *(constraints(exclude=[{"kind": k, "id": "1"}]) for k in ("work", "tag"))),
]


@pytest.mark.parametrize(("one", "two"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_parameters_that_mean_the_same_are_equal(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert accepted(one).canonical_params == accepted(two).canonical_params


@pytest.mark.parametrize(("one", "two"), [row[1:] for row in OTHER], ids=[row[0] for row in OTHER])
def test_parameters_that_differ_are_not_equal(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert accepted(one).canonical_params != accepted(two).canonical_params


@pytest.mark.parametrize("stored", [None, "", "[]", "null", "{", '{"query":{}}', '{"constraints":7}', "[" * 100_000])
def test_a_stored_view_that_cannot_be_read_means_as_configured(stored: str | None) -> None:
    assert view_of(stored) is None


def test_a_stored_view_without_a_query_keeps_its_constraints() -> None:
    assert view_of('{"constraints":{"limit":3}}') == RetrievalView(limit=3)


words = st.text(min_size=1, max_size=12).map(str.strip).filter(bool)
views = st.builds(
    RetrievalView,
    tags=st.lists(words, min_size=1, max_size=20).map(tuple),
    expand=st.booleans(),
    limit=st.none() | st.integers(1, MAX_INTEGER),
    scan_limit=st.none() | st.integers(1, 100),
    exclude=st.lists(st.tuples(st.sampled_from(["work", "candidate", "tag"]), words), max_size=5).map(tuple),
    work_types=st.lists(words, max_size=3).map(tuple),
)


@given(views)
def test_the_normal_form_is_stable_and_read_back(view: RetrievalView) -> None:
    text = canonical(view)
    assert view_of(text) == view
    task = accepted(body(params=json.loads(text)))
    assert task.view == view
    assert task.canonical_params == text


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["1", "candidate_search", "pixiv", "work", "tag", "\ud800", " "])
)
FIELDS = [
    "protocol_version", "job_type", "idempotency_key", "correlation_id", "callback_url", "deadline_ms", "labels",
    "params", "source", "platform", "account", "query", "tags", "expand", "constraints", "exclude", "kind", "id",
    "limit", "scan_limit", "work_types", "target_id",
]  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=25,
)
inside = st.dictionaries(st.sampled_from(FIELDS), anything, max_size=8)


@given(anything | inside.map(lambda changes: body(**changes)) | inside.map(lambda inner: body(params=inner)))
def test_no_body_makes_the_parser_raise(raw: object) -> None:
    outcome = parse_task(raw)
    if isinstance(outcome, TaskError):
        assert outcome.code in (Code.INVALID_PARAMS, Code.UNSUPPORTED_PROTOCOL_VERSION)
        json.dumps([outcome.message, outcome.detail], allow_nan=True, ensure_ascii=False).encode()
    else:
        assert outcome.idempotency_key == outcome.idempotency_key.strip() != ""
        assert view_of(outcome.canonical_params) == outcome.view
        outcome.idempotency_key.encode()
