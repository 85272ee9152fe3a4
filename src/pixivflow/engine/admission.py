"""Admission: which target a task means, whether its key is known, and the one commit that makes a job of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pixivflow.api.ports import Refused, Submitted
from pixivflow.domain.job import JobRecord
from pixivflow.domain.reason import Code
from pixivflow.domain.target import apply_view
from pixivflow.domain.task import Task
from pixivflow.engine.catalog import Catalog, Entry, PlanView
from pixivflow.engine.identity import manual_job_id
from pixivflow.engine.snapshot import freeze
from pixivflow.ledger import attempts, jobs
from pixivflow.ledger.ports import Tx

DEFAULT_ACCOUNT = "default"
MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The plan and target a task means."""

    plan: PlanView
    entry: Entry


def choose(catalog: Catalog, task: Task) -> Chosen | Refused:
    """Find the one target a task can mean: account first, then target, then work type."""
    configured = catalog.account.strip() or DEFAULT_ACCOUNT
    requested = (task.account or "").strip() or DEFAULT_ACCOUNT
    if task.account is not None and requested != configured:
        return _refuse(
            "the account is not configured here", "account_unavailable", requested=requested, configured=configured
        )
    plans = catalog.plans()
    chosen = _selected(plans, task.target_id) if task.target_id is not None else _only(plans)
    if isinstance(chosen, Refused):
        return chosen
    wanted = task.view.work_types if task.view else ()
    kind = chosen.entry.target.type.value
    if wanted and kind not in wanted:
        return _refuse("the target has another work type", "work_type_not_available", target_type=kind)
    return chosen


def admit(
    tx: Tx, task: Task, chosen: Chosen, *, account: str, places: int, callback_fault: str | None = None
) -> Submitted | Refused:
    """Make the job, or answer the one the key already has. Everything in one commit.

    `callback_fault` says why the task's callback address must not be called. It refuses a new job only: a replay keeps
    the address of the first submission, so the one it brings is not looked at.
    """
    known = jobs.find(tx, task.idempotency_key)
    if known is not None:
        return _replay(known, task, chosen)
    job_id = manual_job_id(chosen.plan.id, task.idempotency_key)
    if jobs.get(tx, job_id) is not None:
        # Two keys that differ only in the case of letters would become one job; that is never done silently.
        return _conflict(job_id, "another key with the same letters is in use")
    if callback_fault is not None:
        return _refuse(
            f"callback_url is not allowed: {callback_fault}", "callback_url_not_allowed", field="callback_url"
        )
    target = apply_view(chosen.entry.target, task.view)
    job = jobs.insert(
        tx,
        jobs.NewJob(
            id=job_id,
            type=task.job_type,
            plan_id=chosen.plan.id,
            account=account,
            trigger=MANUAL,
            cells=[(target.id, target.type.value)],
            snapshot={"targets": [freeze(target)]},
            key=task.idempotency_key,
            correlation_id=task.correlation_id,
            callback_url=task.callback_url,
            labels=task.labels,
            params=task.canonical_params,
            deadline_at=tx.now + (task.deadline_ms or chosen.plan.timeout_ms),
        ),
    )
    attempts.grant(tx, account, places=places)
    return Submitted(job, created=True)


def _replay(known: JobRecord, task: Task, chosen: Chosen) -> Submitted | Refused:
    same_target = known.plan_id == chosen.plan.id and [c.target_id for c in known.cells] == [chosen.entry.target.id]
    if not same_target:
        return _conflict(known.id, "the key belongs to a job for another target")
    if known.params is not None and task.canonical_params is not None and known.params != task.canonical_params:
        return _conflict(known.id, "the key belongs to a job with other parameters")
    return Submitted(known, created=False)


def _selected(plans: Sequence[PlanView], target_id: str) -> Chosen | Refused:
    found = [Chosen(plan, entry) for plan in plans for entry in plan.entries if entry.target.id == target_id]
    if not found:
        detail = {"reason": "unknown_target", "target_id": target_id}
        return Refused(404, Code.INVALID_PARAMS, "no enabled plan has this target", detail)
    if len(found) > 1:
        detail = {"reason": "ambiguous_target", "target_id": target_id}
        return Refused(409, Code.INVALID_PARAMS, "several enabled plans have this target", detail)
    fault = found[0].entry.fault
    if fault is not None:
        detail = {"reason": fault, "target_id": target_id}
        return Refused(500, Code.INTERNAL_ERROR, "the target cannot answer orders; see its delivery settings", detail)
    return found[0]


def _only(plans: Sequence[PlanView]) -> Chosen | Refused:
    able = [Chosen(plan, entry) for plan in plans for entry in plan.entries if entry.fault is None]
    if not able:
        return _refuse("no enabled plan has a target that can answer orders", "no_eligible_target")
    if len(able) > 1:
        ids = [chosen.entry.target.id for chosen in able]
        detail = {"reason": "ambiguous_target", "targets": ids}
        return Refused(409, Code.INVALID_PARAMS, "several targets could be meant; name one in params.target_id", detail)
    return able[0]


def _refuse(message: str, reason: str, **detail: object) -> Refused:
    return Refused(400, Code.INVALID_PARAMS, message, {"reason": reason, **detail})


def _conflict(job_id: str, message: str) -> Refused:
    return Refused(409, Code.IDEMPOTENCY_CONFLICT, message, {"reason": "idempotency_conflict", "job_id": job_id})
