"""The ledger after years: what a page, an ack, a list, the next due row and a sweep cost beside a long past.

Two ledgers hold the same open jobs, and behind them 10,000 or 1,000,000 events of jobs that have ended. Ended jobs are
made once through the ledger's own functions and then copied by SQL: every row is one the program writes. What is timed
is the work inside a transaction on one connection, without the event loop and without the sync of a commit (they cost
the same beside any past, and would hide what grows); the durable acknowledgement is timed beside it.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from pixivflow.domain.delivery import Answer, AnswerClass
from pixivflow.domain.job import Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, events, jobs, outbox, sweep
from pixivflow.ledger.migrate import migrate
from pixivflow.ledger.ports import NullSignals
from pixivflow.ledger.sqlite import Tx, open_connection

EVENTS_PER_JOB = 10
SIZES = (10_000, 1_000_000)
OPEN_JOBS = 40
SAMPLES = 400
NOW = 1_800_000_000_000
_ENDED = ("done", "failed", "cancelled", "expired")
_TRIES = EVENTS_PER_JOB - 3  # accepted, started, ended are the others
_COPIES_A_COMMIT = 5_000
# What differs between a copied row and its original, by column; `n.n` is the number of the copy.
_RENAMED = {
    "jobs": {"id": "t.id || '.' || n.n", "idempotency_key": "t.idempotency_key || '.' || n.n"},
    "attempts": {"id": "t.id || '.' || n.n", "job_id": "t.job_id || '.' || n.n"},
    "cells": {"job_id": "t.job_id || '.' || n.n"},
    "picks": {"job_id": "t.job_id || '.' || n.n", "work_id": "t.work_id || '.' || n.n"},
    "events": {"job_id": "t.job_id || '.' || n.n"},
    "deliveries": {
        "key": "t.key || '.' || n.n",
        "job_id": "t.job_id || '.' || n.n",
        "work_id": "t.work_id || '.' || n.n",
    },
    "outbox": {"key": "t.key || '.' || n.n", "job_id": "t.job_id || '.' || n.n"},
}
_COUNTED = {"jobs": "seq", "events": "seq", "outbox": "id"}  # numbered by the table itself


def measure(folder: Path, *, say: Callable[[str], None]) -> dict[str, Any]:
    """Medians in microseconds beside a short and a long past, and their ratio."""
    facts: dict[str, Any] = {}
    desks = []
    try:
        for size in SIZES:
            path = folder / f"history-{size}.db"
            begun = time.monotonic()
            desks.append(Past(build(path, size // EVENTS_PER_JOB), size // EVENTS_PER_JOB))
            facts[f"megabytes_at_{size}"] = round(path.stat().st_size / 1e6)
            say(f"a ledger of {size} events: {path.stat().st_size / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s")
        figures = {name: _compare(name, desks, say) for name in desks[0].operations}
    finally:
        for desk in desks:
            desk.connection.close()
    return {**facts, "operations": figures, "worst_ratio": max(figure["ratio"] for figure in figures.values())}


def _compare(name: str, desks: list[Past], say: Callable[[str], None]) -> dict[str, float]:
    """One operation in both ledgers by turns, so that whatever else the machine does meets both alike."""
    times: list[list[float]] = [[] for _ in desks]
    for _ in range(SAMPLES):
        for desk, taken in zip(desks, times, strict=True):
            taken.append(desk.time(name))
    small, large = (statistics.median(taken[SAMPLES // 4 :]) * 1e6 for taken in times)
    say(f"{name}: {small:.1f} -> {large:.1f} us, ratio {large / small:.2f}")
    return {
        f"us_at_{SIZES[0]}": round(small, 1),
        f"us_at_{SIZES[1]}": round(large, 1),
        "ratio": round(large / small, 2),
    }


def build(path: Path, ended: int) -> apsw.Connection:
    """A ledger with so many ended jobs and a few open ones after them."""
    connection = open_connection(path)
    migrate(connection, now_ms=NOW)
    with _transaction(connection) as tx:
        for how in _ENDED:
            _end_one(tx, how)
    connection.pragma("synchronous", "OFF")
    for table in _RENAMED:
        connection.execute(f"CREATE TEMP TABLE original_{table} AS SELECT * FROM {table}")  # noqa: S608 - words of ours
    copies = ended // len(_ENDED) - 1
    for first in range(1, copies + 1, _COPIES_A_COMMIT):
        last = min(first + _COPIES_A_COMMIT - 1, copies)
        connection.execute("BEGIN IMMEDIATE")
        for table, renamed in _RENAMED.items():
            connection.execute(_copy(connection, table, renamed), (first, last))
        connection.execute("COMMIT")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.pragma("synchronous", "FULL")
    with _transaction(connection) as tx:
        for number in range(OPEN_JOBS):
            jobs.insert(tx, _new(f"open-{number}", correlation="one" if number % 10 == 0 else None))
        (attempt,) = attempts.grant(tx, "default", places=1)
        cells.begin(tx, attempt, "bench")
    return connection


class Past:
    """One of the ledgers, and what is asked of it.

    The jobs asked for are the newest thousand, which is what orchestrators follow; `_anywhere` asks for any job of the
    whole past, whose rows no cache holds.
    """

    def __init__(self, connection: apsw.Connection, ended: int) -> None:
        self.connection = connection
        self._rng = random.Random(7)  # noqa: S311 - a repeatable choice of rows, no secret
        self._copies = ended // len(_ENDED) - 1
        self._newest = int(next(connection.execute("SELECT max(seq) FROM events"))[0])
        self._ended = ended
        self.operations: dict[str, Callable[[Tx, str], Any]] = {
            "job": jobs.get,
            "job_anywhere": jobs.get,
            "job_by_key": lambda tx, job_id: jobs.find(tx, job_id.replace("p@manual-", "key-")),
            "page": lambda tx, job_id: events.page(tx, job_id, after=None, from_ack=False),
            "page_anywhere": lambda tx, job_id: events.page(tx, job_id, after=None, from_ack=False),
            "page_unacked": lambda tx, job_id: events.page(tx, job_id, after=None, from_ack=True),
            "stream_page_newest": lambda tx, _: events.stream(tx, after=self._newest - 100),
            "stream_page_anywhere": lambda tx, _: events.stream(tx, after=self._rng.randint(0, self._newest - 2000)),
            "ack": self._ack,
            "ack_anywhere": self._ack,
            "ack_durable": self._ack,
            "list": lambda tx, _: jobs.listing(tx),
            **{f"list_{state}": _listing(state) for state in ("queued", "running", "succeeded", "failed", "expired")},
            "list_failed_anywhere": lambda tx, _: jobs.listing(
                tx, state="failed", before=self._rng.randint(500, self._ended)
            ),
            "list_rare_type": lambda tx, _: jobs.listing(tx, job_type="tag_query"),
            "list_succeeded_of_rare_type": lambda tx, _: jobs.listing(tx, state="succeeded", job_type="tag_query"),
            "list_correlation": lambda tx, _: jobs.listing(tx, correlation_id="one"),
            "list_succeeded_of_correlation": lambda tx, _: jobs.listing(tx, state="succeeded", correlation_id="one"),
            "next_due": lambda tx, _: outbox.next_due(tx),
            "claim_nothing_due": lambda tx, _: outbox.claim(tx, 10),
            "next_deadline": lambda tx, _: sweep.next_deadline(tx),
            "sweep": lambda tx, _: sweep.sweep(tx, queued_ms=1_800_000, stall_ms=900_000, places=1),
        }
        self._last: dict[str, str] = {}

    def time(self, name: str) -> float:
        """Seconds that an operation takes; only what is `_durable` is kept, and timed with its commit."""
        keep = name.endswith("_durable")
        number = self._rng.randint(1 if name.endswith("_anywhere") else max(1, self._copies - 249), self._copies)
        job_id = f"p@manual-{self._rng.choice(_ENDED)}.{number}"
        if name.startswith("ack"):
            # A consumer has read the page before it acknowledges it.
            with _transaction(self.connection, keep=False) as tx:
                seq = events.page(tx, job_id, after=None, from_ack=False).events[-1].seq
            self._last[job_id] = f"evt-0-{seq}"
        work = self.operations[name]
        begun = time.perf_counter()
        with _transaction(self.connection, keep=keep) as tx:
            work(tx, job_id)
            inside = time.perf_counter() - begun
        return time.perf_counter() - begun if keep else inside

    def _ack(self, tx: Tx, job_id: str) -> None:
        events.ack(tx, job_id, self._last[job_id])


def _listing(state: str) -> Callable[[Tx, str], Any]:
    return lambda tx, _: jobs.listing(tx, state=state)


@contextmanager
def _transaction(connection: apsw.Connection, *, keep: bool = True) -> Iterator[Tx]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield Tx(connection, NOW, NullSignals())
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT" if keep else "ROLLBACK")


def _new(name: str, *, correlation: str | None = None) -> jobs.NewJob:
    return jobs.NewJob(
        id=f"p@manual-{name}",
        type="candidate_search",
        plan_id="p",
        account="default",
        trigger="manual",
        cells=[("t", "illustration")],
        snapshot={"targets": [{"id": "t", "type": "illustration", "tag": "a tag", "limit": 1}]},
        key=f"key-{name}",
        correlation_id=correlation,
        params='{"target_id":"t"}',
        deadline_at=NOW + 3_600_000,
    )


def _end_one(tx: Tx, how: str) -> None:
    """One job through its whole life: its delivery is tried again and again, then it ends in the way asked for."""
    job_id = jobs.insert(tx, _new(how)).id
    (attempt,) = attempts.grant(tx, "default", places=1)
    cells.begin(tx, attempt, "bench")
    ref = WorkRef(WorkType.ILLUSTRATION, str(1000 + _ENDED.index(how)))
    hold = cells.Hold(attempt, job_id, "t")
    cells.lock(tx, hold, ref, "a title")
    cells.report(tx, hold, {"scanned": 30, "kept": 1})
    payload = {"target_id": "t", "work": {"type": ref.type.value, "id": ref.id}}
    cells.ready(tx, hold, ref, [cells.Intent("main", f"main:{job_id}:{ref.id}", payload, "persistent", _TRIES)])
    cells.finish(tx, attempt, job_id, [])
    attempts.end(tx, attempt, "default", places=0)
    last = Answer(AnswerClass.ACCEPTED, remote_id="1") if how == "done" else Answer(AnswerClass.RETRYABLE, detail="503")
    for number in range(1, _TRIES + 1):
        (row,) = outbox.claim(tx, 1)
        if number == _TRIES and how in ("cancelled", "expired"):
            signal, reason = (
                (Signal.CANCEL, Reason.CANCELLED) if how == "cancelled" else (Signal.EXPIRE, Reason.EXECUTION_TIMEOUT)
            )
            jobs.apply(tx, job_id, signal, reason=reason)
        outbox.settle(tx, row, last if number == _TRIES else Answer(AnswerClass.RETRYABLE, detail="503"), retry_in_ms=0)


def _copy(connection: apsw.Connection, table: str, renamed: dict[str, str]) -> str:
    """An INSERT that copies every original row for the numbers ?1 to ?2, whatever columns the table has."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    columns = [column for column in columns if column != _COUNTED.get(table)]
    values = ", ".join(renamed.get(column, f"t.{column}") for column in columns)
    order = f"n.n, t.{_COUNTED[table]}" if table in _COUNTED else "n.n"
    return (
        f"WITH RECURSIVE n(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2) "  # noqa: S608 - words of ours
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM n CROSS JOIN original_{table} AS t "
        f"ORDER BY {order}"
    )
