"""Event ids are cursors: they survive the round trip and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind, event_id, parse_event_id

times = st.integers(0, 2**62)
numbers = st.integers(0, 10**18 - 1)


@given(times, numbers)
def test_an_id_gives_its_number_back(at: int, seq: int) -> None:
    assert parse_event_id(event_id(at, seq)) == seq


@given(st.text(max_size=60))
def test_free_text_is_not_an_id(text: str) -> None:
    number = parse_event_id(text)
    assert number is None or text.startswith("evt-")


@given(times, numbers, st.text(min_size=1, max_size=5))
def test_nothing_may_stand_around_an_id(at: int, seq: int, extra: str) -> None:
    assert parse_event_id(extra + event_id(at, seq)) is None
    longer = event_id(at, seq) + extra
    if not (extra.isascii() and extra.isdigit()):
        assert parse_event_id(longer) is None


@pytest.mark.parametrize(
    "junk",
    [
        "", "evt", "evt-", "evt--", "evt-1", "evt-1-", "evt--1", "EVT-1-2", "evt-1-2\n", " evt-1-2", "evt-1-2-3",
        "evt-+1-2", "evt-1--2", "evt-1-0x2", "evt-1-2.0", "evt-\u0661-2", "evt-1-\u0662", "evt-1-\uff12",
        "evt-1-" + "9" * 19, "evt-" + "9" * 20 + "-1", "' OR 1=1 --", "evt-1-2\x00",
    ],
)  # fmt: skip
def test_junk_is_refused(junk: str) -> None:
    assert parse_event_id(junk) is None


def test_wire_types_are_distinct_and_every_end_has_one() -> None:
    assert len(set(WIRE_TYPE.values())) == len(WIRE_TYPE)
    assert set(WIRE_TYPE) >= TERMINAL_KINDS
    assert all(name.startswith("job.") for name in WIRE_TYPE.values())


def test_inner_kinds_stay_inside() -> None:
    inside = {kind for kind in EventKind if kind.value.split(".")[0] in {"attempt", "outbox"}}
    assert not inside & set(WIRE_TYPE)
