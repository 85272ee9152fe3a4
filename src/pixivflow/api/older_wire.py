"""The bodies of the routes under `/internal`, in the spelling their clients always read."""

from __future__ import annotations

from typing import Literal

import msgspec

from pixivflow.api.ports import Disposition, Knock
from pixivflow.domain.recovery import RetryMode
from pixivflow.domain.slot import BusinessState, SlotStatus


class _Body(msgspec.Struct, rename="camel"):
    pass


class RefetchAccepted(_Body):
    """A request for a work of a target was admitted, or had been before."""

    status: Literal["accepted"]
    slot_id: str
    disposition: Disposition


class RefetchState(_Body):
    """How a request stands. Times are epoch milliseconds; reasons are our internal ones."""

    request_id: str
    slot_id: str
    state: str
    slot_status: SlotStatus
    created_at: int
    started_at: int | None
    updated_at: int
    heartbeat_at: int | None
    lease_expires_at: int | None
    lease_active: bool
    claimed: bool
    attempt_count: int
    terminal_reason_code: str | None
    terminal_reason_message: str | None
    manual_request_id: str | None
    idempotency_key: str | None
    correlation_id: str | None


class RecoveryAccepted(_Body):
    """A recovery was admitted, or had been before."""

    status: Literal["accepted"]
    retry_mode: RetryMode
    slot_id: str
    disposition: Disposition


class RecoveryState(_Body):
    """How a recovery stands."""

    request_id: str
    slot_id: str
    state: str
    slot_status: SlotStatus
    business_state: BusinessState = msgspec.field(name="business_state")
    message: str


class Schedule(_Body):
    """A plan with a clock, and the occurrence a knock would mean now."""

    schedule_id: str
    mode: str
    occurrence: str | None


class ScheduleList(_Body):
    """The plans with a clock."""

    schedules: list[Schedule]


class OccurrenceCell(_Body):
    """One target of an occurrence that has ended."""

    target_id: str
    work_type: str
    status: str
    work_id: str | None
    reason: str | None


class OccurrenceState(_Body, omit_defaults=True):
    """An occurrence of a plan. `status` is null when nothing was stored."""

    schedule_id: str
    slot_id: str
    disposition: Knock
    status: SlotStatus | None
    already_completed: bool = False
    cells: list[OccurrenceCell] | None = None


class Knocked(_Body):
    """What a clock's knock came to."""

    status: Literal["accepted", "running", "completed", "rejected"]
    schedule: OccurrenceState
    note: Literal["queued", "already_running", "already_completed", "rejected"]


class DrainCounts(_Body):
    """Rows of the outbox by what became of them."""

    processed: int
    done: int
    retried: int
    dead: int


class DrainDone(_Body):
    """The outbox holds nothing that is due."""

    status: Literal["ok"]
    result: DrainCounts


class RefetchRequest(_Body):
    """A request for a work of a target as configured."""

    request_id: str
    correlation_id: str | msgspec.UnsetType = msgspec.UNSET


class RecoveryRequest(_Body):
    """A request to make up for a missed run."""

    request_id: str
    retry_mode: Literal["normal", "relaxed", ""] | msgspec.UnsetType | None = msgspec.UNSET
    correlation_id: str | msgspec.UnsetType = msgspec.UNSET


class KnockRequest(_Body):
    """Who knocks. The label decides nothing."""

    label: str | None = None


class OlderRefusal(_Body):
    """Why a request was not served."""

    status: Literal["error"]
    error: str
