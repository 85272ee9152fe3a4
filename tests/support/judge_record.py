"""The rows of a ledger, read without the program's own code and without changing anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

Row = dict[str, Any]
_ORDER = {
    "jobs": "seq",
    "attempts": "job_id, number",
    "cells": "job_id, ordinal",
    "picks": "job_id, target_id, ordinal",
    "events": "seq",
    "deliveries": "key",
    "outbox": "id",
    "works": "type, id",
    "files": "path",
}


@dataclass(frozen=True, slots=True)
class Record:
    """Every row of the tables that matter, and what the database says about itself."""

    jobs: list[Row]
    attempts: list[Row]
    cells: list[Row]
    picks: list[Row]
    events: list[Row]
    deliveries: list[Row]
    outbox: list[Row]
    works: list[Row]
    files: list[Row]
    integrity: list[str]
    foreign_keys: list[str]

    def job(self, job_id: str) -> Row | None:
        """One job."""
        return next((row for row in self.jobs if row["id"] == job_id), None)

    def of_job(self, table: str, job_id: str) -> list[Row]:
        """The rows of a table that belong to a job."""
        rows: list[Row] = getattr(self, table)
        return [row for row in rows if row["job_id"] == job_id]


def read_record(ledger: Path) -> Record:
    """Read everything in one snapshot, and leave the log as it is for the next owner."""
    # Not opened read-only: SQLite's integrity check does not look at CHECK constraints then.
    connection = apsw.Connection(str(ledger), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_timeout(10_000)
        connection.pragma("query_only", True)
        connection.execute("BEGIN")
        tables = {name: _rows(connection, name, order) for name, order in _ORDER.items()}
        integrity = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        foreign = [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        connection.execute("COMMIT")
    finally:
        connection.close()
    return Record(**tables, integrity=integrity, foreign_keys=foreign)


def _rows(connection: apsw.Connection, table: str, order: str) -> list[Row]:
    cursor = connection.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608 - both are words of ours
    found = list(cursor)
    if not found:
        return []
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    return [dict(zip(names, row, strict=True)) for row in found]
