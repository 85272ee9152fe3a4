"""The invariants of `judge`, each a function that yields (number, what is wrong)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge_record import Record, Row

if TYPE_CHECKING:
    from judge import Case

Found = Iterator[tuple[str, str]]

ENDED = frozenset({"succeeded", "failed", "cancelled", "expired"})
NEXT = {
    "queued": {"queued", "running", *ENDED},
    "running": {"running", *ENDED},
    **{state: {state} for state in ENDED},
}
TERMINAL_KIND = {
    "succeeded": "job.outcome_succeeded",
    "failed": "job.outcome_failed",
    "cancelled": "job.outcome_cancelled",
    "expired": "job.outcome_expired",
}
CELL_CLOSED = frozenset({"submitted", "stored", "no_candidate", "duplicate", "failed"})
OUTBOX_OF_DELIVERY = {
    "pending": {"pending", "processing", "retry_wait"},
    "delivered": {"done"},
    "duplicate": {"done"},
    "failed": {"dead"},
    "dead": {"dead"},
    "cancelled": {"cancelled", "dead"},
}
ORIGINAL_ROLES = frozenset({"page", "archive", "embedded"})
INCOMING = ".incoming"


# -- the ledger alone ----------------------------------------------------------------------------------------------


def ledger_checks(case: Case, record: Record) -> Found:
    """What rows say about each other."""
    if record.integrity != ["ok"]:
        yield "I11", f"integrity_check: {record.integrity[:3]}"
    if record.foreign_keys:
        yield "I11", f"foreign_key_check: {record.foreign_keys[:3]}"
    keys = Counter(row["idempotency_key"] for row in record.jobs if row["idempotency_key"] is not None)
    for key, count in keys.items():
        if count > 1:
            yield "I9", f"key {key} has {count} jobs"
    for job in record.jobs:
        yield from _attempts(case, record, job)
        yield from _events(record, job)
        yield from _story(case, record, job)
    yield from _deliveries(case, record)


def _attempts(case: Case, record: Record, job: Row) -> Found:
    rows = record.of_job("attempts", job["id"])
    if [row["number"] for row in rows] != list(range(1, len(rows) + 1)) or len(rows) != job["attempts"]:
        yield "I3", f"{job['id']} counts {job['attempts']} attempts and has {[row['number'] for row in rows]}"
    live = [row["id"] for row in rows if row["state"] in ("granted", "running")]
    if live and (case.at_rest or (job["state"] in ENDED and any(row["state"] == "granted" for row in rows))):
        yield "I4", f"{job['id']} ({job['state']}) has the live attempts {live}"


def _events(record: Record, job: Row) -> Found:
    rows = [row for row in record.of_job("events", job["id"]) if row["visible"]]
    kinds = [row["kind"] for row in rows]
    if not kinds or kinds[0] != "job.requested":
        yield "I5", f"{job['id']} does not begin with its admission: {kinds}"
    ends = [kind for kind in kinds if kind in TERMINAL_KIND.values()]
    wanted = [TERMINAL_KIND[job["state"]]] if job["state"] in ENDED else []
    if ends != wanted or (ends and kinds[-1] != ends[0]):
        yield "I5", f"{job['id']} is {job['state']} and its events are {kinds}"
    if (job["started_at"] is not None) != ("job.execution_started" in kinds):
        yield "I5", f"{job['id']} started at {job['started_at']} and its events are {kinds}"
    if any(later["at"] < earlier["at"] for earlier, later in pairwise(rows)):
        yield "I5", f"time runs backward in {job['id']}"


def _story(case: Case, record: Record, job: Row) -> Found:
    ident, ended = job["id"], job["state"] in ENDED
    if case.at_rest and not ended:
        yield "I12", f"{ident} is still {job['state']}"
    if ended and (job["state"] == "succeeded") != (job["reason"] is None):
        yield "I12", f"{ident} is {job['state']} with the reason {job['reason']}"
    cells, picks = record.of_job("cells", ident), record.of_job("picks", ident)
    if not cells:
        yield "I12", f"{ident} has no cell"
    for row in [*cells, *picks]:
        if ended and row["state"] not in CELL_CLOSED:
            yield "I12", f"{ident} has ended and {row['target_id']} is still {row['state']}"
    reached = [row for row in picks if row["state"] in ("submitted", "stored")]
    if job["state"] == "succeeded" and not reached:
        yield "I12", f"{ident} succeeded without a work"
    for pick in picks:
        rows = [row for row in record.of_job("deliveries", ident) if _work(row) == _work(pick)]
        states = {row["state"] for row in rows}
        if pick["state"] == "submitted" and (not rows or not states <= {"delivered", "duplicate"}):
            yield "I12", f"{ident}: {_work(pick)} is submitted and its deliveries are {sorted(states)}"
        if pick["state"] == "stored" and rows:
            yield "I12", f"{ident}: {_work(pick)} is only stored and has deliveries"


def _deliveries(case: Case, record: Record) -> Found:
    outbox = {row["key"]: row for row in record.outbox if row["kind"] == "delivery"}
    keys = {row["key"] for row in record.deliveries}
    for row in record.deliveries:
        sent = outbox.get(row["key"])
        if sent is None or sent["state"] not in OUTBOX_OF_DELIVERY[row["state"]]:
            yield "I6", f"delivery {row['key']} is {row['state']}, its outbox row {sent and sent['state']}"
        if case.at_rest and row["state"] == "pending":
            yield "I6", f"delivery {row['key']} is still open"
    for key in outbox.keys() - keys:
        yield "I6", f"outbox row {key} belongs to no delivery"
    many = Counter((row["job_id"], row["route"], _work(row)) for row in record.deliveries)
    for what, count in many.items():
        if count > 1:
            yield "I6", f"{what} has {count} deliveries"


# -- what a client was told ----------------------------------------------------------------------------------------


def client_checks(case: Case, record: Record) -> Found:
    """What a client was told, against itself and against the ledger."""
    history = case.history
    ids: dict[str, set[str]] = defaultdict(set)
    created = Counter(key for key, status, _ in history.submissions if status == 202)
    for key, _status, job in history.submissions:
        ids[key].add(job["job_id"])
        stored = record.job(job["job_id"])
        if stored is None:
            yield "I1", f"{job['job_id']} was acknowledged and does not exist"
        elif stored["idempotency_key"] != key:
            yield "I1", f"{job['job_id']} was acknowledged for {key} and has the key {stored['idempotency_key']}"
    for key, found in ids.items():
        if len(found) > 1 or created[key] > 1:
            yield "I9", f"key {key} was answered with {sorted(found)}, {created[key]} times as new"
    for job_id, seen in history.jobs.items():
        yield from _observed(job_id, seen, record.job(job_id))
    for job_id, readings in history.streams.items():
        yield from _streams(job_id, readings, record)


def _observed(job_id: str, seen: list[Mapping[str, Any]], stored: Row | None) -> Found:
    if stored is None:
        yield "I1", f"{job_id} was shown and does not exist"
        return
    for earlier, later in pairwise(seen):
        yield from _step(job_id, earlier, later)
    if stored["state"] not in NEXT[seen[-1]["status"]]:
        yield "I2", f"{job_id} was shown {seen[-1]['status']} and is stored {stored['state']}"
    for job in seen:
        parts = {"result", "error"} & job.keys()
        wanted = {"result"} if job["status"] == "succeeded" else {"error"} if job["status"] in ENDED else set()
        if parts != wanted:
            yield "I2", f"{job_id} is {job['status']} with {sorted(parts)}"
        if "result" in job and job["result"]["scanned"] < len(job["result"]["candidates"]):
            yield "I12", f"{job_id} found more works than it looked at"


def _step(job_id: str, earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Found:
    if later["status"] not in NEXT[earlier["status"]]:
        yield "I2", f"{job_id} went from {earlier['status']} to {later['status']}"
    if earlier["status"] in ENDED and later != earlier:
        yield "I2", f"{job_id} had ended and was shown differently"
    if later["attempt"] < earlier["attempt"]:
        yield "I3", f"{job_id} fell from attempt {earlier['attempt']} to {later['attempt']}"
    if later["created_at"] != earlier["created_at"]:
        yield "I2", f"{job_id} was created twice"


def _streams(job_id: str, readings: list[list[Mapping[str, Any]]], record: Record) -> Found:
    rows = [row for row in record.of_job("events", job_id) if row["visible"]]
    truth = [f"evt-{row['at']}-{row['seq']}" for row in rows]
    for reading in readings:
        ids = [event["event_id"] for event in reading]
        if ids != truth[: len(ids)]:
            yield "I5", f"{job_id} was streamed as {ids} and is {truth}"
    for earlier, later in pairwise(readings):
        if later[: len(earlier)] != earlier:
            yield "I5", f"an event of {job_id} was read again and had changed"


# -- files, receivers, outputs -------------------------------------------------------------------------------------


def world_checks(case: Case, record: Record) -> Found:
    """What left the program: files and submissions."""
    for route, shown in case.receivers.items():
        yield from _receiver(route, list(shown.items), list(shown.requests), record)
    if case.library is not None:
        yield from _files(case, case.library, record)
    yield from _secrets(case, record)


def _receiver(route: str, items: list[Any], requests: list[Any], record: Record) -> Found:
    deliveries = {row["key"]: row for row in record.deliveries if row["route"] == route}
    yield from _effects(route, items, deliveries)
    hashes: dict[str, set[str]] = defaultdict(set)
    for row in record.files:
        hashes[_work(row)].add(row["sha256"])
    yield from _tries(route, requests, deliveries, hashes)


def _effects(route: str, items: list[Any], deliveries: Mapping[str, Row]) -> Found:
    visible = Counter(item["idempotency_key"] for item in items)
    works = Counter(_work(deliveries[key]) for key in visible.elements() if key in deliveries)
    for key in visible.keys() - deliveries.keys():
        yield "I8", f"{route} shows {key}, which no delivery accounts for"
    for key, row in deliveries.items():
        if row["state"] == "delivered" and visible[key] != 1:
            yield "I8", f"{route} confirmed {key} and shows it {visible[key]} times"
    for work, count in works.items():
        if count > 1:
            yield "I8", f"{route} shows {work} {count} times"


def _tries(route: str, requests: list[Any], deliveries: Mapping[str, Row], hashes: Mapping[str, set[str]]) -> Found:
    forms: dict[str, set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    for request in requests:
        key = request.get("idempotency_key")
        if key not in deliveries:
            yield "I7", f"{route} was sent the key {key}, which no delivery has"
            continue
        sent = tuple((entry["filename"], entry["sha256"]) for entry in request.get("files", ()))
        forms[key].add(sent)
        foreign = {sha for _, sha in sent} - hashes.get(_work(deliveries[key]), set())
        if foreign or not sent:
            yield "I7", f"{key} was sent with {len(sent)} files, {len(foreign)} of them not the work's"
    for key, seen in forms.items():
        if len(seen) > 1:
            yield "I7", f"{key} was sent in {len(seen)} different forms"


def _files(case: Case, library: Path, record: Record) -> Found:
    complete = {row["path"]: row for row in record.files if row["state"] == "complete"}
    for path, row in complete.items():
        file = library / path
        if not file.is_file():
            yield "I10", f"{path} is recorded and not there"
            continue
        data = file.read_bytes()
        if len(data) != row["bytes"] or hashlib.sha256(data).hexdigest() != row["sha256"]:
            yield "I10", f"{path} is not what is recorded"
        yield from _true(case, row, data)
    for row in record.works:
        if row["state"] != "incomplete" and not any(_work(file) == _work(row) for file in complete.values()):
            yield "I10", f"{_work(row)} is {row['state']} and has no file"
    there = {file.relative_to(library).as_posix() for file in library.rglob("*") if not file.is_dir()}
    incoming = {path for path in there if path.startswith(f"{INCOMING}/")}
    if case.at_rest and incoming:
        yield "I10", f"unfinished files are left: {sorted(incoming)[:3]}"
    # A name that is claimed for a work which is not whole: a stop between the rename and the record leaves it, and the
    # next run overwrites it. Once the work is whole nothing may be left over.
    whole = {_work(row) for row in record.works if row["state"] != "incomplete"}
    claimed = {row["path"] for row in record.files if row["state"] == "reserved" and _work(row) not in whole}
    unknown = there - incoming - complete.keys() - claimed
    if case.at_rest and unknown:
        yield "I10", f"files without a record: {sorted(unknown)[:3]}"


def _true(case: Case, row: Row, data: bytes) -> Found:
    role, path = row["role"], row["path"]
    if role == "metadata":
        try:
            json.loads(data)
        except ValueError:
            yield "I10", f"{path} is not JSON"
    if case.truth is None:
        return
    if role in ORIGINAL_ROLES and row["quality"] == "original":
        if case.truth.sha256.get(row["source_url"]) != row["sha256"]:
            yield "I10", f"{path} is not the site's file {row['source_url']}"
    elif role == "text":
        text = case.truth.texts.get(row["work_id"], "\0")
        if text.strip() not in data.decode("utf-8", "replace"):
            yield "I10", f"{path} does not hold the novel's text"


def _secrets(case: Case, record: Record) -> Found:
    places: dict[str, Callable[[], str]] = {name: (lambda text=text: text) for name, text in case.outputs.items()}
    places["the ledger's events, rows and reasons"] = lambda: json.dumps(
        [record.jobs, record.cells, record.picks, record.events, record.deliveries, record.outbox, record.files],
        ensure_ascii=False,
        default=str,
    )
    if case.library is not None:
        for file in sorted(case.library.rglob("*")):
            if file.suffix in (".json", ".txt", ".md"):
                places[f"the file {file.name}"] = lambda file=file: file.read_text(encoding="utf-8", errors="replace")
    for name, text_of in places.items():
        text = text_of()
        if any(secret in text for secret in case.secrets):
            yield "I13", f"a secret stands in {name}"


def _work(row: Mapping[str, Any]) -> str:
    kind = row.get("work_type", row.get("type"))
    return f"{kind}:{row.get('work_id', row.get('id'))}"
