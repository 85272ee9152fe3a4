"""Attempts: who may run what. An attempt's id is the fence; the database holds at most one live attempt per place.

The place of an account is freed only when the attempt's work has stopped (`end`) or its lease has run out (`lose`), and
the next job is granted it in the same transaction.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from pixivflow.domain.event import EventKind
from pixivflow.ledger import events
from pixivflow.ledger.ports import Tx

LEASE_MS = 180_000
START_LEASE_MS = 180_000
MAX_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that may run."""

    attempt_id: str
    job_id: str
    account: str
    number: int


def grant(tx: Tx, account: str, *, places: int) -> list[str]:
    """Give the free places of an account to its oldest waiting jobs. Returns the new attempts' ids."""
    taken = {row["slot"] for row in tx.all("attempts_live_slots", {"account": account})}
    granted = []
    for place in range(places):
        if place in taken:
            continue
        row = tx.one("jobs_next_to_collect", {"account": account})
        if row is None:
            break
        attempt_id = uuid.uuid4().hex
        tx.run(
            "attempts_insert",
            {
                "id": attempt_id,
                "job_id": row["id"],
                "number": row["attempts"] + 1,
                "account": account,
                "slot": place,
                "now": tx.now,
                "lease_until": tx.now + START_LEASE_MS,
            },
        )
        tx.run("jobs_count_attempt", {"id": row["id"]})
        tx.signals.dispatch(tx, attempt_id)
        granted.append(attempt_id)
    return granted


def start(tx: Tx, attempt_id: str, owner: str) -> Started | None:
    """Begin to run. None when the attempt is not waiting to be started (a second delivery, a lost or stopped one)."""
    changed = tx.run(
        "attempts_start", {"id": attempt_id, "owner": owner, "now": tx.now, "lease_until": tx.now + LEASE_MS}
    )
    if not changed:
        return None
    row = tx.one("attempts_get", {"id": attempt_id})
    if row is None or row["job_phase"] != "collect":
        tx.run("attempts_end", {"id": attempt_id, "to": "done", "now": tx.now})
        return None
    tx.run("jobs_beat", {"id": row["job_id"], "now": tx.now, "moved": True})
    return Started(attempt_id, row["job_id"], row["account"], row["number"])


def beat(tx: Tx, attempt_id: str, owner: str, *, job_id: str, moved: bool) -> bool:
    """Renew the lease. False when the attempt may no longer write."""
    if not may_write(tx, attempt_id):
        return False
    changed = tx.run("attempts_beat", {"id": attempt_id, "owner": owner, "lease_until": tx.now + LEASE_MS})
    if changed:
        tx.run("jobs_beat", {"id": job_id, "now": tx.now, "moved": moved})
    return bool(changed)


def may_write(tx: Tx, attempt_id: str) -> bool:
    """The fence: the attempt runs, and its job still collects."""
    row = tx.one("attempts_get", {"id": attempt_id})
    return row is not None and row["state"] == "running" and row["job_phase"] == "collect"


def end(tx: Tx, attempt_id: str, account: str, *, places: int) -> None:
    """The work has stopped: free the place and grant it again."""
    tx.run("attempts_end", {"id": attempt_id, "to": "done", "now": tx.now})
    grant(tx, account, places=places)


def lose(tx: Tx, attempt_id: str, job_id: str) -> None:
    """The owner is dead or silent. Its place is free; whatever it still does is fenced off."""
    if tx.run("attempts_end", {"id": attempt_id, "to": "lost", "now": tx.now}):
        events.append(tx, job_id, EventKind.ATTEMPT_LOST, {"attempt": attempt_id})
        tx.signals.forget(tx, attempt_id)


def stop_of_job(tx: Tx, job_id: str) -> None:
    """A job has ended: an attempt that never started frees its place now, a running one is told to stop.

    The place of a running one is freed by `end`, once its work has really stopped. Granting a freed place is the
    caller's next step.
    """
    for row in tx.all("attempts_of_job", {"job_id": job_id}):
        if row["state"] == "granted":
            tx.run("attempts_end", {"id": row["id"], "to": "done", "now": tx.now})
        elif row["state"] == "running":
            tx.signals.forget(tx, row["id"])


def drop_late(tx: Tx, job_id: str, attempt_id: str) -> None:
    """Count a result that came too late; nothing of it is stored."""
    tx.run("counters_add", {"name": "late_results_dropped", "by": 1})
    events.append(tx, job_id, EventKind.RESULT_DROPPED, {"attempt": attempt_id})
