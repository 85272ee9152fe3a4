from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.protocol.words import CALLERS_OWN, forbidden_in, in_body, in_schema


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("refetch", "refetch"),
        ("refetch_request_id", "refetch"),
        ("refetchOutcomeUrl", "refetch"),
        ("slotId", "slotid"),
        ("slot_id", "slot"),
        ("slots", "slots"),
        ("in-review", "review"),
        ("job.review", "review"),
        ("messageId", "message_id"),
        ("message_id", "message_id"),
        ("TELEGRAM", "telegram"),
        ("published", None),
        ("preview", None),
        ("message", None),
        ("id", None),
        ("timeslot", None),
        ("", None),
    ],
)
def test_words_are_found_by_token(name: str, word: str | None) -> None:
    found = forbidden_in(name)
    assert (found is None) == (word is None)
    assert found in (word, "slot")


def test_keys_and_vocabulary_are_judged_and_the_caller_s_words_are_not() -> None:
    body = {
        "job_id": "refetch",
        "labels": {"slot": "review"},
        "result": {"candidates": [{"title": "review", "tags": [{"tag": "telegram"}]}]},
        "progress": {"stage": "moderation"},
        "deep": [{"submission": 1}],
    }
    assert in_body(body) == ["/progress/stage: moderation", "/deep/0/submission: submission"]


def test_names_and_enumerations_of_a_schema_are_judged_and_descriptions_are_not() -> None:
    schema = {
        "title": "Disposition",
        "description": "no review here",
        "properties": {"slot": {"enum": ["telegram", "x"]}},
        "required": ["slot"],
    }
    assert in_schema(schema) == [
        "/title: disposition",
        "/properties/slot: slot",
        "/properties/slot/enum: telegram",
        "/required: slot",
    ]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_can_be_judged(body: object) -> None:
    assert isinstance(in_body(body), list)
    if isinstance(body, dict):
        assert in_body(dict.fromkeys(CALLERS_OWN, body)) == []
