"""Placeholders in form fields."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.template import (
    PLACEHOLDERS,
    REQUEST_ID_FIELD,
    canonical_uuid,
    compact_count,
    render,
    request_id_fault,
    unresolved,
)

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def test_names_are_filled_in() -> None:
    values = {"title": "夜の海", "author": "Aoi"}
    assert render("{{title}} / {{ author }} / {{title}}", values) == "夜の海 / Aoi / 夜の海"


def test_a_known_name_without_a_value_is_empty_and_an_unknown_one_stays() -> None:
    assert render("[{{topic}}][{{titel}}][{{}}][{{a b}}]", {"title": "x"}) == "[][{{titel}}][{{}}][{{a b}}]"


def test_a_value_is_never_expanded_again() -> None:
    values = {"title": "{{author}} {{refetchRequestId}}", "author": "Aoi", "refetchRequestId": ID}
    assert render("{{title}}", values) == "{{author}} {{refetchRequestId}}"


@given(st.dictionaries(st.sampled_from(sorted(PLACEHOLDERS)), st.text()), st.sampled_from(sorted(PLACEHOLDERS)))
def test_any_value_arrives_unchanged(values: dict[str, str], name: str) -> None:
    assert render("<{{" + name + "}}>", values) == f"<{values.get(name, '')}>"


@given(st.text())
def test_any_template_renders(text: str) -> None:
    rendered = render(text, {})
    assert rendered == text or "{{" in text


def test_what_would_stay_literal_is_named() -> None:
    assert unresolved("{{title}} {{ titel }} {{}} {{a-b}} {x}") == ("titel", "", "a-b")
    assert unresolved("{{custom}} {{title}}", {"custom": "1"}) == ()


@pytest.mark.parametrize(
    ("field", "template", "values", "requested"),
    [
        (REQUEST_ID_FIELD, "{{refetchRequestID}}", {"refetchRequestId": ID}, False),
        (REQUEST_ID_FIELD, "{{refetch-request-id}}", {"refetchRequestId": ID}, False),
        (REQUEST_ID_FIELD, "{{ {refetchRequestId} }}", {"refetchRequestId": ID}, False),
        (REQUEST_ID_FIELD, "{{requestId}}", {"refetchRequestId": ID}, True),
        (REQUEST_ID_FIELD, "{{refetchRequestId}}", {"refetchRequestId": ""}, True),
        (REQUEST_ID_FIELD, "{{refetchRequestId}}", {}, True),
        ("note", "asked by {{refetchRequestId}}", {"refetchRequestId": ""}, True),
        ("note", "asked by {{refetch_request_id}}", {"refetchRequestId": ID}, False),
    ],
)
def test_an_unusable_request_id_is_refused(field: str, template: str, values: dict[str, str], requested: bool) -> None:
    fault = request_id_fault(field, [template], values, requested=requested)
    assert fault is not None
    assert field in fault


@pytest.mark.parametrize(
    ("field", "template", "values", "requested"),
    [
        (REQUEST_ID_FIELD, "{{refetchRequestId}}", {"refetchRequestId": ID}, True),
        (REQUEST_ID_FIELD, "{{refetchRequestId}}", {"refetchRequestId": ""}, False),
        ("note", "{{unknown}}", {}, True),
        ("note", "{{title}}", {"title": "{{refetchRequestId}}"}, True),
    ],
)
def test_a_usable_one_passes(field: str, template: str, values: dict[str, str], requested: bool) -> None:
    assert request_id_fault(field, [template], values, requested=requested) is None


@pytest.mark.parametrize(
    "text", [ID, ID.upper(), f" {ID} ", ID.replace("-", ""), f"urn:uuid:{ID}", "{" + ID.upper() + "}"]
)
def test_a_request_id_has_one_spelling(text: str) -> None:
    assert canonical_uuid(text) == ID


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "x",
        ID[:-1],
        ID + "0",
        ID.replace("469f", "069f"),
        ID.replace("a165", "7165"),
        ID.replace("0", "\uff10"),
    ],
)
def test_anything_else_is_no_request_id(text: str | None) -> None:
    assert canonical_uuid(text) == ""


@given(st.uuids(version=4))
def test_every_uuid_keeps_its_value(value: uuid.UUID) -> None:
    assert canonical_uuid(str(value).upper()) == str(value)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, ""), (-5, "0"), (0, "0"), (999, "999"), (1000, "1k"), (1290, "1.2k"), (9999, "9.9k"), (10_000, "1w"),
        (34_999, "3.4w"), (1_230_000, "123w"),
    ],
)  # fmt: skip
def test_counts_are_short(count: int | None, text: str) -> None:
    assert compact_count(count) == text
