"""From rows to records. Everything that reads JSON out of the ledger does it here."""

from __future__ import annotations

import json
from typing import Any

from pixivflow.domain.cell import CellState
from pixivflow.domain.event import EventKind, EventRecord
from pixivflow.domain.job import CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, WorkRef, WorkType
from pixivflow.ledger.ports import Row, Tx


def dump(value: Any) -> str | None:
    """Canonical JSON, None for nothing."""
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def write(value: Any) -> str:
    """JSON with its members in the order they were given: what is stored to be shown."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def load(text: str | None) -> Any:
    """The value of stored JSON, None for nothing."""
    return None if text is None else json.loads(text)


def ref_of(row: Row) -> WorkRef:
    """The work a row is about."""
    return WorkRef(WorkType(row["work_type"]), row["work_id"])


def pick_of(row: Row) -> PickRecord:
    """A pick."""
    return PickRecord(
        ref=ref_of(row),
        ordinal=row["ordinal"],
        state=CellState(row["state"]),
        reason=_reason(row["reason"]),
        message=row["message"],
        title=row["title"],
        described=row["described"],
    )


def cell_of(row: Row, picks: tuple[PickRecord, ...]) -> CellRecord:
    """A cell with its picks."""
    return CellRecord(
        target_id=row["target_id"],
        ordinal=row["ordinal"],
        work_type=row["work_type"],
        state=CellState(row["state"]),
        reason=row["reason"],
        message=row["message"],
        report=load(row["report"]) or {},
        picks=picks,
        updated_at=row["updated_at"],
    )


def job_of(row: Row, cells: tuple[CellRecord, ...]) -> JobRecord:
    """A job with its cells. A job that has ended has no live lease, whoever still winds down."""
    state = JobState(row["state"])
    return JobRecord(
        id=row["id"],
        seq=row["seq"],
        type=row["type"],
        state=state,
        plan_id=row["plan_id"],
        account=row["account"],
        trigger=row["trigger_source"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        key=row["idempotency_key"],
        correlation_id=row["correlation_id"],
        callback_url=row["callback_url"],
        labels=load(row["labels"]),
        params=row["params"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        deadline_at=row["deadline_at"],
        heartbeat_at=row["heartbeat_at"],
        lease_until=row["lease_until"] if row["phase"] != "done" else None,
        attempt=row["attempts"],
        phase=row["phase"],
        stage=row["stage"],
        stage_message=row["stage_message"],
        reason=row["reason"],
        message=row["message"],
        cells=cells,
    )


def read_job(tx: Tx, row: Row) -> JobRecord:
    """Complete a job row with its cells and picks."""
    picks = sorted(tx.all("picks_of_job", {"job_id": row["id"]}), key=_ordinal)
    cells = tuple(
        cell_of(cell, tuple(pick_of(p) for p in picks if p["target_id"] == cell["target_id"]))
        for cell in sorted(tx.all("cells_of_job", {"job_id": row["id"]}), key=_ordinal)
    )
    return job_of(row, cells)


def event_of(row: Row) -> EventRecord:
    """An event."""
    return EventRecord(
        seq=row["seq"],
        job_id=row["job_id"],
        kind=EventKind(row["kind"]),
        at=row["at"],
        detail=load(row["detail"]) or {},
    )


def asset_of(row: Row) -> Asset:
    """A recorded file."""
    return Asset(
        role=AssetRole(row["role"]),
        number=row["number"],
        path=row["path"],
        bytes=row["bytes"],
        sha256=row["sha256"],
        mime=row["mime"] or "application/octet-stream",
        width=row["width"],
        height=row["height"],
        quality=AssetQuality(row["quality"]),
        source_url=row["source_url"],
        duration_ms=row["duration_ms"],
        key=row["key"] or "",
    )


def _ordinal(row: Row) -> int:
    return int(row["ordinal"])


def _reason(text: str | None) -> Reason | None:
    if text is None:
        return None
    try:
        return Reason(text)
    except ValueError:
        return Reason.INTERNAL_ERROR
