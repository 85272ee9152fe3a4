"""What may be asked for right now: plans, their targets and the budgets, as the live configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from pixivflow.domain.recovery import SoftLimits
from pixivflow.domain.target import Target


@dataclass(frozen=True, slots=True)
class Entry:
    """A target of a plan, resolved for a run that starts today.

    Attributes:
        fault: why an order for this target could not be answered (a reason name), None when it can.
        recovery_fault: the same for a recovery by hand.
        limits: the limits on effort the target sets itself, which a relaxed recovery widens.
    """

    target: Target
    fault: str | None = None
    recovery_fault: str | None = None
    limits: SoftLimits = field(default_factory=SoftLimits)


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan that may run.

    Attributes:
        timeout_ms: the time one run may take.
        cron: when it is due; None for a plan without a clock.
        timezone: the zone in which `cron` is read.
    """

    id: str
    entries: Sequence[Entry]
    timeout_ms: int
    cron: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """Who keeps the plans' times: `internal` for this process, `external` for somebody who knocks.

    Attributes:
        grace: how long after its time an occurrence may still be asked for.
    """

    mode: str = "internal"
    grace: timedelta = timedelta(minutes=90)


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

    @property
    def clock(self) -> ClockSettings:
        """Who keeps the plans' times."""
        ...

    def plans(self) -> Sequence[PlanView]:
        """Plans that may run, in the order of the configuration."""
        ...

    def callback_fault(self, url: str) -> str | None:
        """Why events must not be sent to an address, None when they may. Holds nothing secret from it."""
        ...
