"""Occurrences of plans: each one job, made once, whoever asks for it and however often.

A clock inside this process, a clock outside and a person all end here. The id of the job is the plan and its local
time, and the ledger makes one job of an id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from pixivflow.api.ports import Knock, NotTriggered, ScheduleState, Triggered
from pixivflow.domain.job import JobRecord
from pixivflow.domain.occurrence import Fires, Occurrence, TooEarly, TooLate, due
from pixivflow.domain.task import COLLECTION
from pixivflow.engine.admission import DEFAULT_ACCOUNT
from pixivflow.engine.catalog import Catalog, PlanView
from pixivflow.engine.clock import Clock
from pixivflow.engine.cron import BadCron, cron_fires
from pixivflow.engine.snapshot import freeze
from pixivflow.ledger import attempts, jobs
from pixivflow.ledger.ports import Ledger, Tx

SCHEDULE = "schedule"
_log = structlog.get_logger(__name__)


class Occurrences:
    """`api.ports.Clocks` on the ledger.

    Args:
        draining: whether the process is about to stop; nothing new is admitted then.
    """

    def __init__(
        self, ledger: Ledger, catalog: Callable[[], Catalog], clock: Clock, *, draining: Callable[[], bool]
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._clock = clock
        self._draining = draining

    def schedules(self) -> Sequence[ScheduleState]:
        """Enabled plans with a clock, in the order of the configuration."""
        catalog = self._catalog()
        mode = catalog.clock.mode
        return [
            ScheduleState(
                plan.id, mode, found.id if isinstance(found := self._due(catalog, plan), Occurrence) else None
            )
            for plan in catalog.plans()
            if plan.cron is not None
        ]

    async def run(self, plan_id: str, label: str | None) -> Triggered | NotTriggered:
        """Admit the occurrence that is meant now."""
        catalog = self._catalog()
        plan = next((plan for plan in catalog.plans() if plan.id == plan_id and plan.cron is not None), None)
        if plan is None:
            return NotTriggered(404, f"unknown schedule: {_shown(plan_id)}")
        found = self._due(catalog, plan)
        if isinstance(found, Occurrence):
            return await self.admit(plan, found, label)
        return found

    async def admit(self, plan: PlanView, occurrence: Occurrence, label: str | None = None) -> Triggered | NotTriggered:
        """Make the job of an occurrence, or answer the one there is. Durable when it returns."""
        if not plan.entries:
            return NotTriggered(400, f"schedule {plan.id} has no targets")
        catalog = self._catalog()
        account, places, draining = catalog.account.strip() or DEFAULT_ACCOUNT, catalog.places, self._draining()
        new = _new_job(plan, occurrence, account, label)

        def store(tx: Tx) -> Triggered:
            known = jobs.get(tx, occurrence.id)
            if known is not None:
                return Triggered(occurrence.id, _again(known), known)
            if draining:
                return Triggered(occurrence.id, Knock.REJECTED, None)
            job = jobs.insert(tx, replace(new, deadline_at=tx.now + plan.timeout_ms))
            attempts.grant(tx, account, places=places)
            return Triggered(occurrence.id, Knock.ACCEPTED, job)

        outcome = await self._ledger.write(store)
        if outcome.knock is Knock.ACCEPTED:
            _log.info("schedule.job_admitted", schedule=plan.id, job_id=occurrence.id, targets=len(plan.entries))
        return outcome

    def _due(self, catalog: Catalog, plan: PlanView) -> Occurrence | NotTriggered:
        try:
            fires: Fires = cron_fires(plan.cron or "", plan.timezone)
        except BadCron as error:
            return NotTriggered(400, f"schedule {plan.id}: {error}")
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        grace = catalog.clock.grace
        found = due(plan.id, fires, now, grace)
        if isinstance(found, TooEarly):
            wait = max(1, math.ceil((found.opens - now).total_seconds()))
            return NotTriggered(425, f"occurrence {found.occurrence.id} is not due yet", wait)
        if isinstance(found, TooLate):
            minutes = int(grace.total_seconds() // 60)
            what = f"occurrence {found.occurrence.id}" if found.occurrence else f"schedule {plan.id}"
            return NotTriggered(410, f"{what} has expired (grace {minutes} min)")
        return found


def _new_job(plan: PlanView, occurrence: Occurrence, account: str, label: str | None) -> jobs.NewJob:
    targets = [entry.target for entry in plan.entries]
    return jobs.NewJob(
        id=occurrence.id,
        type=COLLECTION,
        plan_id=plan.id,
        account=account,
        trigger=SCHEDULE,
        cells=[(target.id, target.type.value) for target in targets],
        snapshot={
            "targets": [freeze(target) for target in targets],
            "occurrence": {"at": occurrence.at_ms, "timezone": plan.timezone},
            **({"label": label} if label else {}),
        },
    )


def _again(job: JobRecord) -> Knock:
    # One that ended badly is complete too: it is never run again under the same id, so nothing would come of repeating.
    return Knock.ALREADY_COMPLETED if job.terminal else Knock.ALREADY_RUNNING


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text[:80])
