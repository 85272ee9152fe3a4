from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.api.errors import Problem
from pixivflow.api.ports import JobQuery
from pixivflow.api.query import job_query, parse_query, read_cursor, write_cursor
from pixivflow.domain.job import JobState


@given(st.integers(0, 10**18 - 1))
def test_a_cursor_is_read_back(seq: int) -> None:
    text = write_cursor(seq)
    assert read_cursor(text) == seq
    assert text.replace("-", "").replace("_", "").isalnum()


@given(st.text(max_size=40))
def test_any_other_text_is_no_cursor(text: str) -> None:
    seq = read_cursor(text)
    assert seq is None or read_cursor(write_cursor(seq)) == seq


@given(st.binary(max_size=60))
def test_a_query_string_is_read_or_refused(raw: bytes) -> None:
    try:
        limit = job_query(parse_query(raw)).limit
    except Problem as problem:
        limit, status = 1, problem.status
    else:
        status = 400
    assert 1 <= limit <= 500
    assert status == 400


def test_filters_are_read() -> None:
    raw = f"status=failed&limit=7&job_type=candidate_search&correlation_id=%20a%2Bb&cursor={write_cursor(4)}"
    assert job_query(parse_query(raw.encode())) == JobQuery(
        correlation_id=" a+b", status=JobState.FAILED, job_type="candidate_search", limit=7, after_seq=4
    )
    assert job_query(parse_query(b"")) == JobQuery()


def test_too_many_parameters_are_refused() -> None:
    with pytest.raises(Problem, match="too many"):
        parse_query(b"&".join(b"a=1" for _ in range(100)))
