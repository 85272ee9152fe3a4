"""The older vocabulary of the protocol: how a job and its cells are called where people still say "slot".

One table for each word, from our states to the ones the older routes always had. Consumers branch on them, so none may
ever change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pixivflow.domain.cell import CLOSED, CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState

REACHED: Final = frozenset({CellState.SUBMITTED, CellState.STORED})
"""Cells that came to what they were for."""


class SlotStatus(StrEnum):
    """How a whole job stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"  # every cell
    PARTIAL = "partial"  # some cells
    FAILED = "failed"
    EXPIRED = "expired"


class BusinessState(StrEnum):
    """How a recovery stands, for people."""

    PENDING = "recovery_pending"
    RUNNING = "recovery_running"
    SUCCESS = "recovery_success"
    NO_CANDIDATE = "recovery_no_candidate"
    DUPLICATE_ONLY = "recovery_duplicate_only"
    FAILED = "recovery_failed"


# A target without a route ends when its files are stored; the older words know only one good end.
_CELL_WORDS: Final[Mapping[CellState, str]] = MappingProxyType(
    {
        **{state: state.value for state in CellState},
        CellState.STORED: CellState.SUBMITTED.value,
    }
)
_RECOVERY_WORDS: Final[Mapping[CellState, BusinessState]] = MappingProxyType(
    {
        **dict.fromkeys(REACHED, BusinessState.SUCCESS),
        CellState.NO_CANDIDATE: BusinessState.NO_CANDIDATE,
        CellState.DUPLICATE: BusinessState.DUPLICATE_ONLY,
        CellState.FAILED: BusinessState.FAILED,
    }
)
_MESSAGES: Final[Mapping[BusinessState, str]] = MappingProxyType(
    {
        BusinessState.PENDING: "waiting for its turn",
        BusinessState.RUNNING: "looking for a work",
        BusinessState.SUCCESS: "a work was found and handed on",
        BusinessState.NO_CANDIDATE: "no work that fits was found",
        BusinessState.DUPLICATE_ONLY: "only works that were handed on before were found",
        BusinessState.FAILED: "the recovery failed",
    }
)


def slot_status(job: JobRecord) -> SlotStatus:
    """The word for a whole job. What was reached before a job was cut short still counts."""
    if job.state is JobState.QUEUED:
        return SlotStatus.PENDING
    if job.state is JobState.RUNNING:
        return SlotStatus.RUNNING
    reached = _reached(job.cells)
    if job.state is JobState.SUCCEEDED:
        return SlotStatus.SUCCESS if reached == len(job.cells) else SlotStatus.PARTIAL
    if reached:
        return SlotStatus.PARTIAL
    return SlotStatus.EXPIRED if job.state is JobState.EXPIRED else SlotStatus.FAILED


def cell_word(state: CellState) -> str:
    """The word for one cell."""
    return _CELL_WORDS[state]


def cell_of(job: JobRecord, target_id: str) -> CellRecord | None:
    """The cell of a target, None when the job is not about it."""
    return next((cell for cell in job.cells if cell.target_id == target_id), None)


def terminal_reason(job: JobRecord, cell: CellRecord) -> tuple[str | None, str | None]:
    """Our own reason and its text for a cell that ended without success; (None, None) while it is open or when well.

    The older routes always showed the internal reason, never the protocol's code.
    """
    if cell.state not in CLOSED or cell.state in REACHED:
        return None, None
    return cell.reason or job.reason, cell.message or job.message


def business_state(job: JobRecord, cell: CellRecord) -> BusinessState:
    """How a recovery of a cell stands."""
    if cell.state in CLOSED:
        return _RECOVERY_WORDS[cell.state]
    return BusinessState.PENDING if job.state is JobState.QUEUED else BusinessState.RUNNING


def business_message(state: BusinessState, detail: str | None) -> str:
    """A sentence about a recovery, with what is known beyond the word."""
    return f"{_MESSAGES[state]}: {detail}" if detail else _MESSAGES[state]


def _reached(cells: Iterable[CellRecord]) -> int:
    return sum(cell.state in REACHED for cell in cells)
