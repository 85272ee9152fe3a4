"""One target inside one job, and the works picked for it: states, the table of transitions, and the roll-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class CellState(StrEnum):
    """Shared by cells and by the works picked for them (a pick is never `pending` or `no_candidate`)."""

    PENDING = "pending"
    SELECTED = "selected"
    ARTIFACT_READY = "artifact_ready"
    DELIVERY_PENDING = "delivery_pending"
    SUBMITTED = "submitted"  # every route confirmed
    STORED = "stored"  # complete in the library; the target has no route
    NO_CANDIDATE = "no_candidate"
    DUPLICATE = "duplicate"
    FAILED = "failed"


CLOSED: frozenset[CellState] = frozenset(
    {CellState.SUBMITTED, CellState.STORED, CellState.NO_CANDIDATE, CellState.DUPLICATE, CellState.FAILED}
)

_S = CellState
CELL_TRANSITIONS: Mapping[CellState, frozenset[CellState]] = MappingProxyType(
    {
        _S.PENDING: frozenset(set(_S) - {_S.PENDING}),
        _S.SELECTED: frozenset(set(_S) - {_S.PENDING, _S.SELECTED}),
        _S.ARTIFACT_READY: frozenset({_S.DELIVERY_PENDING, _S.SUBMITTED, _S.STORED, _S.DUPLICATE, _S.FAILED}),
        _S.DELIVERY_PENDING: frozenset({_S.SUBMITTED, _S.DUPLICATE, _S.FAILED}),
        _S.SUBMITTED: frozenset(),
        _S.STORED: frozenset(),
        _S.NO_CANDIDATE: frozenset(),
        _S.DUPLICATE: frozenset(),
        _S.FAILED: frozenset(),
    }
)


def may_become(state: CellState, to: CellState) -> bool:
    """Whether a cell or pick may go from `state` to `to`."""
    return to in CELL_TRANSITIONS[state]


def roll_up(picks: Iterable[CellState], *, collecting: bool) -> CellState:
    """The state of a cell from the states of its picks.

    While the attempt still collects, a cell with picks is `selected`. Afterwards the least advanced open pick speaks;
    when all are closed, one work that reached its end makes the cell a success (what failed beside it stays named on
    its pick), and a cell without picks has no candidate.
    """
    states = list(picks)
    if collecting:
        return CellState.SELECTED if states else CellState.PENDING
    for open_state in (CellState.SELECTED, CellState.ARTIFACT_READY, CellState.DELIVERY_PENDING):
        if open_state in states:
            return open_state
    for end in (CellState.SUBMITTED, CellState.STORED, CellState.FAILED, CellState.DUPLICATE):
        if end in states:
            return end
    return CellState.NO_CANDIDATE
