"""Liveness: what has run out of its budget ends, what lost its owner gets another, in bounded batches."""

from __future__ import annotations

from dataclasses import dataclass

from pixivflow.domain.job import Signal
from pixivflow.domain.reason import Reason
from pixivflow.ledger import attempts, jobs, outbox
from pixivflow.ledger.ports import Tx

BATCH = 100


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did."""

    overdue: int = 0
    queued_too_long: int = 0
    stalled: int = 0
    lost: int = 0
    granted: int = 0

    @property
    def anything(self) -> bool:
        """Whether anything was found."""
        return bool(self.overdue or self.queued_too_long or self.stalled or self.lost or self.granted)


def sweep(tx: Tx, *, queued_ms: int, stall_ms: int, places: int) -> Swept:
    """One round: deadlines, stalls, lost leases, queued budgets, then grant what became free."""
    overdue = [row["id"] for row in tx.all("jobs_overdue", {"now": tx.now, "limit": BATCH})]
    for job_id in overdue:
        jobs.apply(tx, job_id, Signal.EXPIRE, reason=Reason.EXECUTION_TIMEOUT, message="the deadline passed")
    stalled = [
        row["id"] for row in tx.all("jobs_stalled", {"now": tx.now, "before": tx.now - stall_ms, "limit": BATCH})
    ]
    for job_id in stalled:
        text = f"no progress for {stall_ms // 1000} s and no live worker"
        jobs.apply(tx, job_id, Signal.EXPIRE, reason=Reason.STALLED, message=text)
    lost = lose_expired(tx)
    granted = grant_all(tx, places=places)
    queued = [row["id"] for row in tx.all("jobs_queued_too_long", {"before": tx.now - queued_ms, "limit": BATCH})]
    for job_id in queued:
        text = f"not started within {queued_ms // 1000} s although the account was free"
        jobs.apply(tx, job_id, Signal.EXPIRE, reason=Reason.QUEUED_TOO_LONG, message=text)
    granted += grant_all(tx, places=places)
    return Swept(len(overdue), len(queued), len(stalled), lost, granted)


def lose_expired(tx: Tx) -> int:
    """Attempts whose lease has run out are lost."""
    rows = tx.all("attempts_expired", {"now": tx.now, "limit": BATCH})
    for row in rows:
        attempts.lose(tx, row["id"], row["job_id"])
    return len(rows)


def grant_all(tx: Tx, *, places: int) -> int:
    """Grant every free place of every account that waits."""
    accounts = [row["account"] for row in tx.all("jobs_accounts_waiting")]
    return sum(len(attempts.grant(tx, account, places=places)) for account in accounts)


def take_over(tx: Tx) -> int:
    """At start under the file lock: every earlier owner is dead, so nothing has to be waited for."""
    rows = tx.all("attempts_live")
    for row in rows:
        attempts.lose(tx, row["id"], row["job_id"])
    outbox.release_all(tx)
    return len(rows)


def next_deadline(tx: Tx) -> int | None:
    """When the next open job must have ended, epoch ms."""
    row = tx.one("jobs_next_deadline")
    return row["at"] if row else None
