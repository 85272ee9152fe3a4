"""Requests by target and UUID, as they were made before the Job API: the same admission, the same identities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from pixivflow.api.ports import Disposition, NotOrdered, Ordered, Refused, Submitted
from pixivflow.domain.job import JobRecord
from pixivflow.domain.recovery import RetryMode, recovery_id, recovery_target
from pixivflow.domain.slot import SlotStatus, slot_status
from pixivflow.domain.task import CANDIDATE_SEARCH, Task
from pixivflow.engine.admission import DEFAULT_ACCOUNT, Chosen
from pixivflow.engine.catalog import Catalog
from pixivflow.engine.snapshot import freeze
from pixivflow.ledger import attempts, jobs
from pixivflow.ledger.ports import Ledger, Tx

RECOVERY = "recovery"
_REFUSALS = {
    404: NotOrdered.UNKNOWN_TARGET,
    409: NotOrdered.AMBIGUOUS_TARGET,
    503: NotOrdered.UNAVAILABLE,
}


class Submits(Protocol):
    """The Job API's own admission."""

    draining: bool

    async def submit(self, task: Task) -> Submitted | Refused:
        """Admit a task, or answer the job of its key."""
        ...

    async def get(self, job_id: str) -> JobRecord | None:
        """A job by id."""
        ...

    async def find(self, key: str) -> JobRecord | None:
        """A job by key."""
        ...


class LegacyOrders:
    """`api.ports.Orders` on the service and the ledger."""

    def __init__(self, service: Submits, ledger: Ledger, catalog: Callable[[], Catalog]) -> None:
        self._service = service
        self._ledger = ledger
        self._catalog = catalog

    async def refetch(self, target_id: str, request_id: str, correlation_id: str | None) -> Ordered | NotOrdered:
        """The task that says no more than its target. Without a view of its own it never conflicts with parameters."""
        outcome = await self._service.submit(
            Task(
                job_type=CANDIDATE_SEARCH,
                idempotency_key=request_id,
                correlation_id=correlation_id,
                target_id=target_id,
            )
        )
        if isinstance(outcome, Refused):
            return _REFUSALS.get(outcome.status, NotOrdered.FAILED)
        # Read again: whether it was granted its account is known only after the admission it was read in.
        job = await self._service.get(outcome.job.id) or outcome.job
        return Ordered(job, _disposition(job))

    async def find_refetch(self, target_id: str, request_id: str) -> JobRecord | None:
        """By its key, in the spelling it was sent with."""
        return _about(await self._service.find(request_id), target_id)

    async def recover(
        self, target_id: str, request_id: str, mode: RetryMode, correlation_id: str | None
    ) -> Ordered | NotOrdered:
        """A run of the target as its plan would, under an id of its own: it belongs to no occurrence and no order."""
        catalog = self._catalog()
        chosen = _choose(catalog, target_id)
        if isinstance(chosen, NotOrdered):
            return chosen
        account, places, draining = catalog.account.strip() or DEFAULT_ACCOUNT, catalog.places, self._service.draining
        new = _recovery(chosen, request_id, mode, correlation_id, account)

        def store(tx: Tx) -> Ordered | NotOrdered:
            known = jobs.get(tx, new.id)
            if known is not None:
                if _about(known, target_id) is None:
                    return NotOrdered.AMBIGUOUS_TARGET
                return Ordered(known, _disposition(known), _mode_of(tx, new.id))
            if draining:
                return NotOrdered.UNAVAILABLE
            jobs.insert(tx, replace(new, deadline_at=tx.now + chosen.plan.timeout_ms))
            attempts.grant(tx, account, places=places)
            job = jobs.get(tx, new.id)
            return NotOrdered.FAILED if job is None else Ordered(job, _disposition(job), mode)

        return await self._ledger.write(store)

    async def find_recovery(self, target_id: str, request_id: str) -> JobRecord | None:
        """Under any plan that has the target now."""
        ids = [
            recovery_id(plan.id, request_id)
            for plan in self._catalog().plans()
            if any(entry.target.id == target_id for entry in plan.entries)
        ]

        def read(tx: Tx) -> JobRecord | None:
            found = (_about(jobs.get(tx, ident), target_id) for ident in ids)
            return next((job for job in found if job is not None), None)

        return await self._ledger.read(read)


def _choose(catalog: Catalog, target_id: str) -> Chosen | NotOrdered:
    found = [Chosen(plan, entry) for plan in catalog.plans() for entry in plan.entries if entry.target.id == target_id]
    if not found:
        return NotOrdered.UNKNOWN_TARGET
    if len(found) > 1:
        return NotOrdered.AMBIGUOUS_TARGET
    return found[0] if found[0].entry.recovery_fault is None else NotOrdered.FAILED


def _recovery(
    chosen: Chosen, request_id: str, mode: RetryMode, correlation_id: str | None, account: str
) -> jobs.NewJob:
    target = recovery_target(chosen.entry.target, chosen.entry.limits, mode)
    return jobs.NewJob(
        id=recovery_id(chosen.plan.id, request_id),
        type=CANDIDATE_SEARCH,
        plan_id=chosen.plan.id,
        account=account,
        trigger=RECOVERY,
        cells=[(target.id, target.type.value)],
        snapshot={"targets": [freeze(target)], "recovery": {"mode": mode.value}},
        correlation_id=correlation_id,
    )


def _mode_of(tx: Tx, job_id: str) -> RetryMode:
    stored = jobs.snapshot(tx, job_id).get("recovery")
    relaxed = isinstance(stored, dict) and stored.get("mode") == RetryMode.RELAXED
    return RetryMode.RELAXED if relaxed else RetryMode.NORMAL


def _about(job: JobRecord | None, target_id: str) -> JobRecord | None:
    return job if job is not None and any(cell.target_id == target_id for cell in job.cells) else None


def _disposition(job: JobRecord) -> Disposition:
    # Three words are all there is. A job that failed was accepted; how it ended is for the status route to say, and
    # "completed" would be read as a success.
    if slot_status(job) in (SlotStatus.SUCCESS, SlotStatus.PARTIAL):
        return Disposition.ALREADY_COMPLETED
    return Disposition.ACCEPTED if job.attempt or job.terminal else Disposition.QUEUED
