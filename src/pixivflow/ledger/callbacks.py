"""Intents to tell an orchestrator of its job's events: written with the event, in the same transaction.

The address is the one stored with the job at admission, never one from the configuration, and a replay of the
submission cannot change it. A job without one costs nothing here.
"""

from __future__ import annotations

import json

from pixivflow.domain.delivery import DELIVERY_ATTEMPTS
from pixivflow.domain.event import EventKind, event_id
from pixivflow.domain.job import JobRecord
from pixivflow.domain.projection import project_event
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.rows import event_of

CALLBACK_KIND = "event_callback"


def callback_key(job_id: str, event: str) -> str:
    """The idempotency key of one event of one job (Workflow Protocol 9.1)."""
    return f"job-event:{job_id}:{event}"


def intend(tx: Tx, job: JobRecord, kind: EventKind) -> None:
    """Queue the job's newest event of a kind for its callback address; nothing when it has none.

    `job` is read after the change the event tells of: what a terminal event carries is frozen here, and is what every
    later read of the stream serves, because a job that has ended does not change.
    """
    if job.callback_url is None:
        return
    row = tx.one("events_newest_of_kind", {"job_id": job.id, "kind": kind.value})
    wire = project_event(event_of(row), job, tx.now) if row is not None else None
    if row is None or wire is None:
        return
    # The order of members is kept, so that the body that is sent is the very text the stream serves.
    payload = json.dumps({"event": wire, "job_id": job.id}, ensure_ascii=False, separators=(",", ":"))
    tx.run(
        "outbox_insert",
        {
            "kind": CALLBACK_KIND,
            "key": callback_key(job.id, event_id(row["at"], row["seq"])),
            "route": job.callback_url,
            "job_id": job.id,
            "payload": payload,
            "max_attempts": DELIVERY_ATTEMPTS,
            "now": tx.now,
        },
    )
    tx.signals.outbox(tx)
