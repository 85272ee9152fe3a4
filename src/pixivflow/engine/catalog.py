"""What may be asked for right now: plans, their targets and the budgets, as the live configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pixivflow.domain.target import Target


@dataclass(frozen=True, slots=True)
class Entry:
    """A target of a plan, resolved for a run that starts today.

    Attributes:
        fault: why an order for this target could not be answered (a reason name), None when it can.
    """

    target: Target
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan that may run. `timeout_ms` is the time one run may take."""

    id: str
    entries: Sequence[Entry]
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Budgets:
    """The liveness budgets in force, in milliseconds."""

    queued_ms: int
    stall_ms: int
    default_deadline_ms: int


class Catalog(Protocol):
    """The live configuration, as admission and the sweep see it."""

    @property
    def account(self) -> str:
        """The configured account."""
        ...

    @property
    def places(self) -> int:
        """How many jobs of the account may run at the same time."""
        ...

    @property
    def budgets(self) -> Budgets:
        """The liveness budgets."""
        ...

    def plans(self) -> Sequence[PlanView]:
        """Plans that may run, in the order of the configuration."""
        ...

    def callback_fault(self, url: str) -> str | None:
        """Why events must not be sent to an address, None when they may. Holds nothing secret from it."""
        ...
