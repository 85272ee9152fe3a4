"""Intents to tell the consumer of an order that it came to nothing: written with the end of the job.

Only a job that somebody asked for by the search protocol has such a consumer. The row names the route, not an address:
where the message goes and with which headers is read from the configuration when it is sent, so that a moved consumer
still hears of it and no secret lies in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pixivflow.domain.delivery import DELIVERY_ATTEMPTS
from pixivflow.domain.job import JobRecord, JobState
from pixivflow.domain.outcome import MANUAL, TOLD, outcome_body, outcome_key
from pixivflow.domain.task import CANDIDATE_SEARCH
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.rows import write

OUTCOME_KIND: Final = "outcome"


def heard_of(state: JobState, *, job_type: str, trigger: str) -> bool:
    """Whether anybody waits to hear that such a job became so."""
    return state in TOLD and trigger == MANUAL and job_type == CANDIDATE_SEARCH


def intend(tx: Tx, job: JobRecord, snapshot: Mapping[str, Any]) -> None:
    """Queue one message for each target of an ended job that came to nothing; the key makes it one for ever.

    `job` is read after its end; `snapshot` is what it was admitted with, whose primary route is the one whose consumer
    asked.
    """
    queued = False
    for cell in job.cells:
        body = outcome_body(job, cell)
        route = _primary_route(snapshot, cell.target_id)
        if body is None or route is None:
            continue
        row = {
            "kind": OUTCOME_KIND,
            "key": outcome_key(job.id, cell.target_id),
            "route": route,
            "job_id": job.id,
            "payload": write({"outcome": body, "job_id": job.id, "target_id": cell.target_id}),
            "max_attempts": DELIVERY_ATTEMPTS,
            "now": tx.now,
        }
        queued = bool(tx.run("outbox_insert", row)) or queued
    if queued:
        tx.signals.outbox(tx)


def _primary_route(snapshot: Mapping[str, Any], target_id: str) -> str | None:
    targets = snapshot.get("targets")
    for target in targets if isinstance(targets, list) else ():
        if isinstance(target, Mapping) and target.get("id") == target_id:
            routes = target.get("routes")
            return str(routes[0]) if isinstance(routes, list) and routes else None
    return None
