"""Cells and picks: their table, and the state of a cell from those of its picks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.cell import CELL_TRANSITIONS, CLOSED, CellState, may_become, roll_up

pick_states = st.sampled_from(sorted(set(CellState) - {CellState.PENDING, CellState.NO_CANDIDATE}))
OPEN = set(CellState) - CLOSED


def test_the_table_covers_every_state_and_only_ends_have_no_exits() -> None:
    assert set(CELL_TRANSITIONS) == set(CellState)
    assert {state for state, exits in CELL_TRANSITIONS.items() if not exits} == CLOSED


def test_nothing_returns_to_pending_and_nothing_goes_round() -> None:
    def ancestors_free(state: CellState, seen: frozenset[CellState]) -> bool:
        return state not in seen and all(ancestors_free(to, seen | {state}) for to in CELL_TRANSITIONS[state])

    assert all(not may_become(state, CellState.PENDING) for state in CellState)
    assert ancestors_free(CellState.PENDING, frozenset())


@pytest.mark.parametrize("state", sorted(OPEN))
def test_every_open_state_can_still_fail_or_succeed(state: CellState) -> None:
    assert may_become(state, CellState.FAILED)
    assert may_become(state, CellState.SUBMITTED)


def test_no_candidate_is_said_only_before_there_are_files() -> None:
    sayers = {state for state in CellState if may_become(state, CellState.NO_CANDIDATE)}
    assert sayers == {CellState.PENDING, CellState.SELECTED}


@given(st.lists(pick_states, min_size=1, max_size=8))
def test_a_collecting_cell_with_picks_is_selected(picks: list[CellState]) -> None:
    assert roll_up(picks, collecting=True) is CellState.SELECTED
    assert roll_up([], collecting=True) is CellState.PENDING


@given(st.lists(pick_states, max_size=8))
def test_a_cell_is_open_exactly_while_a_pick_is(picks: list[CellState]) -> None:
    state = roll_up(picks, collecting=False)
    assert (state in CLOSED) == all(pick in CLOSED for pick in picks)
    assert state in picks or (not picks and state is CellState.NO_CANDIDATE)


@given(st.lists(pick_states, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_picks_does_not_matter(picks: list[CellState], random: object) -> None:
    shuffled = list(picks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert roll_up(shuffled, collecting=False) is roll_up(picks, collecting=False)


@given(st.lists(pick_states.filter(lambda state: state in CLOSED), max_size=6))
def test_one_work_that_reached_its_end_makes_the_cell_a_success(picks: list[CellState]) -> None:
    assert roll_up([*picks, CellState.SUBMITTED], collecting=False) is CellState.SUBMITTED
    expected = CellState.SUBMITTED if CellState.SUBMITTED in picks else CellState.STORED
    assert roll_up([*picks, CellState.STORED], collecting=False) is expected


def test_a_failure_is_not_hidden_behind_a_duplicate() -> None:
    assert roll_up([CellState.DUPLICATE, CellState.FAILED], collecting=False) is CellState.FAILED


ROUTED = set(CellState) - {CellState.PENDING, CellState.NO_CANDIDATE, CellState.STORED}
UNROUTED = {CellState.SELECTED, CellState.ARTIFACT_READY, CellState.STORED, CellState.FAILED}


@pytest.mark.parametrize("possible", [ROUTED, UNROUTED], ids=["with routes", "without"])
@given(data=st.data())
def test_a_pick_that_advances_never_reopens_a_closed_cell(possible: set[CellState], data: st.DataObject) -> None:
    """All picks of a cell share its target, so all of them have routes or none has."""
    picks = data.draw(st.lists(st.sampled_from(sorted(possible)), min_size=1, max_size=6))
    before = roll_up(picks, collecting=False)
    index = data.draw(st.integers(0, len(picks) - 1))
    exits = sorted(CELL_TRANSITIONS[picks[index]] & possible)
    if not exits:
        return
    advanced = [*picks]
    advanced[index] = data.draw(st.sampled_from(exits))
    after = roll_up(advanced, collecting=False)
    assert before not in CLOSED
    assert after is before or may_become(before, after)
