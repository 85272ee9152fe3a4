"""`/internal/schedules`: plans with a clock, and the knock of a clock that stands outside.

Workflow Protocol v1, section 16. A knock means the occurrence of its moment and nothing else: no date and no label in a
body chooses one. It is answered as soon as the occurrence is durable; the run is never waited for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import structlog

from pixivflow.api.exchange import Call, Headers, Reply, header, reply
from pixivflow.api.older import OlderProblem, Route, json_object, storable
from pixivflow.api.older_wire import Knocked, OccurrenceCell, OccurrenceState, Schedule, ScheduleList
from pixivflow.api.ports import Clocks, Knock, NotTriggered, Triggered
from pixivflow.domain.job import JobRecord
from pixivflow.domain.slot import cell_word, slot_status

_log = structlog.get_logger(__name__)
_MAX_LABEL: Final = 80
_MAX_SHOWN: Final = 80
_UNAVAILABLE: Final = "the scheduler is not available in this runtime"
FAILED: Final = "schedule trigger failed; nothing is lost, trigger it again"

_Status = Literal["accepted", "running", "completed", "rejected"]
_Note = Literal["queued", "already_running", "already_completed", "rejected"]
_ANSWERS: Final[Mapping[Knock, tuple[int, _Status, _Note]]] = MappingProxyType(
    {
        Knock.ACCEPTED: (202, "accepted", "queued"),
        # Not 200: a clock that repeats until it sees 200 then also sees how the run ended.
        Knock.ALREADY_RUNNING: (202, "running", "already_running"),
        Knock.ALREADY_COMPLETED: (200, "completed", "already_completed"),
        Knock.REJECTED: (503, "rejected", "rejected"),
    }
)


class ScheduleRoutes:
    """The routes over clocks; None for a process that has none."""

    def __init__(self, clocks: Clocks | None) -> None:
        self._clocks = clocks

    def routes(self) -> tuple[Route, ...]:
        """Every address here."""
        return (
            Route(("schedules",), {"GET": self.listing}),
            Route(("schedules", None, "run"), {"POST": self.run}, FAILED),
        )

    async def listing(self, call: Call, names: tuple[str, ...]) -> Reply:
        """GET /internal/schedules."""
        del call, names
        found = self._available().schedules()
        return reply(200, ScheduleList([Schedule(plan.id, plan.mode, plan.occurrence) for plan in found]))

    async def run(self, call: Call, names: tuple[str, ...]) -> Reply:
        """POST /internal/schedules/{id}/run."""
        clocks = self._available()
        (plan_id,) = names
        outcome = await clocks.run(plan_id, _label(await json_object(call, optional=True)))
        if isinstance(outcome, NotTriggered):
            event = "schedule.trigger_not_found" if outcome.status == 404 else "schedule.trigger_refused"
            _log.info(event, schedule=plan_id[:_MAX_SHOWN], status=outcome.status)
            raise OlderProblem(outcome.status, outcome.message, *_retry_after(outcome.retry_after_s))
        status, word, note = _ANSWERS[outcome.knock]
        _log.info(f"schedule.trigger_{outcome.knock.value}", schedule=plan_id, occurrence=outcome.occurrence)
        retry = _retry_after(5) if outcome.knock is Knock.REJECTED else ()
        return reply(status, Knocked(word, _occurrence(plan_id, outcome), note), *retry)

    def _available(self) -> Clocks:
        if self._clocks is None:
            raise OlderProblem(503, _UNAVAILABLE)
        return self._clocks


def received(segments: list[str], headers: Headers) -> bool:
    """Note a knock before anything is decided about it. True when the request is one.

    Also before its token is looked at: "nobody knocked" must be told apart from "somebody was turned away". The clock's
    own id of its attempt and its name are written down where they can be used, and never made up.
    """
    if len(segments) != 3 or segments[0] != "schedules" or segments[2] != "run":
        return False
    said = {
        "attempt": _clean(header(headers, b"x-schedule-attempt-id"), _NOT_IN_AN_ATTEMPT, 64)
        or _clean(header(headers, b"x-attempt-id"), _NOT_IN_AN_ATTEMPT, 64),
        "provider": _clean(header(headers, b"x-schedule-provider"), _NOT_IN_A_PROVIDER, 32),
    }
    _log.info(
        "schedule.trigger_received",
        schedule=segments[1][:_MAX_SHOWN],
        **{name: text for name, text in said.items() if text},
    )
    return True


def turned_away(segments: list[str], status: int) -> None:
    """Note that a knock did not have the right token."""
    _log.warning("schedule.trigger_unauthorized", schedule=segments[1][:_MAX_SHOWN], status=status)


def broke(segments: list[str]) -> None:
    """Note that a knock met a mistake of ours; the exception is logged apart."""
    _log.error("schedule.trigger_error", schedule=segments[1][:_MAX_SHOWN])


_NOT_IN_AN_ATTEMPT: Final = re.compile(rb"[^A-Za-z0-9._:-]+")
_NOT_IN_A_PROVIDER: Final = re.compile(rb"[^A-Za-z0-9._-]+")


def _clean(value: bytes | None, bad: re.Pattern[bytes], most: int) -> str:
    return bad.sub(b"", value)[:most].decode() if value else ""


def _label(body: Mapping[str, object]) -> str | None:
    """Who knocked, for the record. A label of another kind is none: it must not cost an occurrence."""
    value = body.get("label")
    return value[:_MAX_LABEL] if isinstance(value, str) and value and storable(value) else None


def _occurrence(plan_id: str, outcome: Triggered) -> OccurrenceState:
    job = outcome.job
    ended = outcome.knock is Knock.ALREADY_COMPLETED
    return OccurrenceState(
        schedule_id=plan_id,
        slot_id=outcome.occurrence,
        disposition=outcome.knock,
        status=slot_status(job) if job is not None else None,
        already_completed=ended,
        cells=_cells(job) if job is not None and ended else None,
    )


def _cells(job: JobRecord) -> list[OccurrenceCell]:
    return [
        OccurrenceCell(
            target_id=cell.target_id,
            work_type=cell.work_type,
            status=cell_word(cell.state),
            work_id=cell.picks[-1].ref.id if cell.picks else None,
            reason=cell.reason,
        )
        for cell in job.cells
    ]


def _retry_after(seconds: int | None) -> tuple[tuple[bytes, bytes], ...]:
    return () if seconds is None else ((b"retry-after", str(seconds).encode()),)
