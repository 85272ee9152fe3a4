"""The judge is only worth what it catches: each deliberate fault below must be found, and a good run must be clean.

A real run is recorded once (a delivery that needed two tries, a novel that was refused, a cancelled order). Every case
copies it, breaks one thing in rows, files, the receiver's log or the client's memory, and names the invariant.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import judge
import pytest
import scene
from place import open_local

GOOD, REFUSED, CANCELLED = "orders@manual-good", "orders@manual-refused", "orders@manual-cancelled"
_NAMES = {"good": GOOD, "refused": REFUSED, "cancelled": CANCELLED, "token": scene.API_TOKEN}


@dataclass(slots=True)
class Recording:
    """A run as it was left behind, free to be spoilt."""

    folder: Path
    case: judge.Case

    def sql(self, *statements: str, **values: object) -> None:
        """Change rows in ways no program of ours could: every guard of the schema is taken off first."""
        connection = apsw.Connection(str(self.case.ledger))
        connection.pragma("foreign_keys", False)
        connection.pragma("ignore_check_constraints", True)
        for index in ("events_one_end", "events_once", "attempts_live_slot", "attempts_live_job"):
            connection.execute(f"DROP INDEX IF EXISTS {index}")
        for statement in statements:
            before = connection.total_changes()
            connection.execute(statement, {**_NAMES, **values}).fetchall()
            assert connection.total_changes() > before, f"nothing was changed by {statement}"
        connection.close()

    @property
    def library(self) -> Path:
        """The library's root."""
        assert self.case.library is not None
        return self.case.library

    def file(self, suffix: str) -> Path:
        """The first file with a suffix."""
        return min(self.library.rglob(f"*{suffix}"))

    def rewrite(self, suffix: str, data: bytes) -> None:
        """Replace a file and its record together, as a program would that believes what it stored."""
        file = self.file(suffix)
        file.write_bytes(data)
        path = file.relative_to(self.library).as_posix()
        sha = hashlib.sha256(data).hexdigest()
        self.sql("UPDATE files SET sha256 = :sha, bytes = :size WHERE path = :path", sha=sha, size=len(data), path=path)

    @property
    def items(self) -> list[dict[str, Any]]:
        """What the receiver shows."""
        items = self.case.receivers["main"].items
        assert isinstance(items, list)
        return items

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the receiver was sent."""
        requests = self.case.receivers["main"].requests
        assert isinstance(requests, list)
        return requests

    @property
    def history(self) -> judge.History:
        """What the client was told."""
        return self.case.history


async def _record(folder: Path) -> judge.Case:
    async with open_local(folder, ["pages", "novel", "single", "ugoira"]) as place:
        pages, novel, single, ugoira = place.subjects
        place.receiver().script(["drop_after"])
        good = await place.client.order(scene.task(pages, "good"))
        await place.client.events(good)
        await place.client.wait_until_terminal(good)
        place.receiver().script([{"answer": "status", "status": 400}])
        refused = await place.client.order(scene.task(novel, "refused"))
        await place.client.wait_until_terminal(refused)
        place.receiver().script([])
        place.sandbox.set_faults([{"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}])
        cancelled = await place.client.order(scene.task(single, "cancelled"))
        await place.client.cancel(cancelled)
        moving = await place.client.order(scene.task(ugoira, "animation"))
        await place.client.wait_until_terminal(moving)
        for job_id in (good, refused, cancelled, moving):
            await place.client.job(job_id)
            await place.client.events(job_id)
        assert (good, refused, cancelled) == (GOOD, REFUSED, CANCELLED)
        await place.server.stop(20)
        case = place.case()
        shown = judge.Shown(copy.deepcopy(list(place.receiver().items)), copy.deepcopy(list(place.receiver().requests)))
        return replace(case, receivers={"main": shown})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> judge.Case:
    return asyncio.run(_record(tmp_path_factory.mktemp("recorded")))


@pytest.fixture
def recording(recorded: judge.Case, tmp_path: Path) -> Recording:
    folder = tmp_path / "copy"
    shutil.copytree(recorded.ledger.parent.parent, folder)
    assert recorded.library is not None
    case = replace(
        recorded,
        ledger=folder / "data" / "ledger.db",
        library=folder / "library",
        receivers=copy.deepcopy(dict(recorded.receivers)),
        history=copy.deepcopy(recorded.history),
        outputs=dict(recorded.outputs),
    )
    return Recording(folder, case)


def test_a_good_run_is_clean(recording: Recording) -> None:
    assert judge.judge(recording.case) == []
    assert len(recording.items) == 2
    assert len(recording.requests) == 4


Spoil = Callable[[Recording], Any]


def _seen(job_id: str, **changes: Any) -> Spoil:
    """The client is shown a job once more, changed."""
    return lambda r: r.history.jobs[job_id].append({**r.history.jobs[job_id][-1], **changes})


def _shown_before(job_id: str, **changes: Any) -> Spoil:
    return lambda r: r.history.jobs[job_id].insert(0, {**r.history.jobs[job_id][0], **changes})


def _sql(*statements: str) -> Spoil:
    return lambda r: r.sql(*statements)


def _event(kind: str, terminal: int) -> Spoil:
    statement = (
        "INSERT INTO events (job_id, kind, at, visible, terminal) "
        "SELECT job_id, :kind, max(at), 1, :terminal FROM events WHERE job_id = :good"
    )
    return lambda r: r.sql(statement, kind=kind, terminal=terminal)


FAULTS: dict[str, tuple[str, Spoil]] = {
    # what a client was told
    "an acknowledged job is gone": ("I1", _sql("DELETE FROM jobs WHERE id = :cancelled")),
    "an acknowledged job has another key": ("I1", _sql("UPDATE jobs SET idempotency_key = 'x' WHERE id = :good")),
    "a job goes back to running": ("I2", _seen(GOOD, status="running")),
    "an ended job changes": ("I2", _seen(GOOD, updated_at=1)),
    "a job is created again": ("I2", _seen(GOOD, created_at=1)),
    "a success without a result": ("I2", lambda r: [job.pop("result", None) for job in r.history.jobs[GOOD]]),
    "shown succeeded, stored cancelled": (
        "I2",
        _sql("UPDATE jobs SET state = 'cancelled', reason = 'cancelled_by_consumer' WHERE id = :good"),
    ),
    "the attempt falls": ("I3", _shown_before(GOOD, attempt=7, status="queued")),
    "two jobs for one key": (
        "I9",
        lambda r: r.history.submissions.append(("good", 200, {**r.history.jobs[REFUSED][-1]})),
    ),
    "one key is new twice": ("I9", lambda r: r.history.submissions.append(r.history.submissions[0])),
    "more found than looked at": (
        "I12",
        lambda r: [job["result"].update(scanned=0) for job in r.history.jobs[GOOD] if "result" in job],
    ),
    "a stream is read in another order": ("I5", lambda r: r.history.streams[GOOD][-1].reverse()),
    "a stream has a hole": ("I5", lambda r: r.history.streams[GOOD][-1].pop(0)),
    "an event changes": ("I5", lambda r: r.history.streams[GOOD].append([
        {**event, "payload": {}} for event in r.history.streams[GOOD][-1]])),
    # the ledger
    "an attempt is not counted": ("I3", _sql("UPDATE jobs SET attempts = attempts + 1 WHERE id = :good")),
    "an attempt is missing": ("I3", _sql("DELETE FROM attempts WHERE job_id = :good")),
    "an attempt lives on": ("I4", _sql("UPDATE attempts SET state = 'running', live = 1 WHERE job_id = :good")),
    "no admission": ("I5", _sql("DELETE FROM events WHERE job_id = :good AND kind = 'job.requested'")),
    "no terminal event": ("I5", _sql("DELETE FROM events WHERE job_id = :good AND terminal = 1")),
    "two terminal events": ("I5", _event("job.outcome_succeeded", 1)),
    "another terminal event than the state": ("I5", _sql(
        "UPDATE events SET kind = 'job.outcome_failed' WHERE job_id = :good AND terminal = 1")),
    "an event after the end": ("I5", _event("job.execution_started", 0)),
    "time runs backward": ("I5", _sql("UPDATE events SET at = 1 WHERE job_id = :good AND terminal = 1")),
    "started without saying so": (
        "I5", _sql("DELETE FROM events WHERE job_id = :good AND kind = 'job.execution_started'")),
    "an intent is lost": ("I6", _sql("DELETE FROM outbox WHERE job_id = :good")),
    "a delivery is lost": ("I6", _sql("DELETE FROM deliveries WHERE job_id = :good")),
    "delivery and intent disagree": ("I6", _sql("UPDATE outbox SET state = 'dead' WHERE job_id = :good")),
    "a delivery is left open": (
        "I6",
        _sql(
            "UPDATE deliveries SET state = 'pending' WHERE job_id = :good",
            "UPDATE outbox SET state = 'pending' WHERE job_id = :good",
        ),
    ),
    "one work goes to one route twice": (
        "I6",
        _sql(
            "INSERT INTO deliveries SELECT key || '-2', route, job_id, target_id, work_type, work_id, storage, state, "
            "remote_id, error_class, detail, created_at, updated_at FROM deliveries WHERE job_id = :good",
            "INSERT INTO outbox (kind, key, route, job_id, payload, state, max_attempts, due_at, created_at, "
            "updated_at) SELECT kind, key || '-2', route, job_id, payload, state, max_attempts, due_at, created_at, "
            "updated_at FROM outbox WHERE job_id = :good",
        ),
    ),
    "a word the schema does not know": ("I11", _sql("UPDATE jobs SET phase = 'someday' WHERE id = :good")),
    "a cell without a job": ("I11", _sql(
        "INSERT INTO cells (job_id, target_id, ordinal, work_type, state, updated_at) VALUES ('no', 't', 0, 'n', "
        "'failed', 1)")),
    "a job that never ends": ("I12", _sql(
        "UPDATE jobs SET state = 'running', finished_at = NULL, phase = 'deliver' WHERE id = :good")),
    "a success with a reason": ("I12", _sql("UPDATE jobs SET reason = 'no_candidate' WHERE id = :good")),
    "a failure without a reason": ("I12", _sql("UPDATE jobs SET reason = NULL WHERE id = :refused")),
    "a success without a work": ("I12", _sql("DELETE FROM picks WHERE job_id = :good")),
    "an open cell in an ended job": ("I12", _sql("UPDATE cells SET state = 'selected' WHERE job_id = :good")),
    "submitted and not delivered": ("I12", _sql(
        "UPDATE deliveries SET state = 'failed' WHERE job_id = :good",
        "UPDATE outbox SET state = 'dead' WHERE job_id = :good")),
    "a job without a cell": ("I12", _sql("DELETE FROM cells WHERE job_id = :good")),
    # the receiver
    "a new key for the second try": ("I7", lambda r: r.requests[1].update(idempotency_key="new-key")),
    "another file in the second try": (
        "I7", lambda r: r.requests[1].update(files=r.requests[1]["files"][:1])),
    "a file that is not the work's": (
        "I7", lambda r: r.requests[0]["files"][0].update(sha256="0" * 64)),
    "no file at all": ("I7", lambda r: [request.update(files=[]) for request in r.requests[:2]]),
    "confirmed and not shown": ("I8", lambda r: r.items.pop(0)),
    "shown twice": ("I8", lambda r: r.items.append(r.items[0])),
    "shown without a delivery": ("I8", lambda r: r.items.append({"idempotency_key": "from nowhere"})),
    # files
    "a recorded file is gone": ("I10", lambda r: r.file("_1.png").unlink()),
    "a recorded file is changed": ("I10", lambda r: r.file("_1.png").write_bytes(b"changed")),
    "a recorded file is cut": ("I10", lambda r: r.file("_1.png").write_bytes(r.file("_1.png").read_bytes()[:-9])),
    "a placeholder counts as the work": ("I10", lambda r: r.rewrite("_1.png", b"a placeholder")),
    "a cut archive counts as the work": ("I10", lambda r: r.rewrite(".zip", b"PK")),
    "an empty novel counts as the work": ("I10", lambda r: r.rewrite(".txt", b"")),
    "the description is broken": ("I10", lambda r: r.rewrite(".json", b"{")),
    "a whole work without a file": ("I10", _sql("UPDATE files SET state = 'removed' WHERE work_type = 'novel'")),
    "an unfinished file stays": ("I10", lambda r: _touch(r.library / ".incoming" / "a1" / "000001.part")),
    "a file nobody knows": ("I10", lambda r: _touch(r.library / "illustrations" / "stray.png")),
    # secrets
    "a secret in the log": ("I13", lambda r: _set_output(r, f"token={scene.REFRESH_TOKEN}")),
    "a secret in a row": ("I13", _sql("UPDATE outbox SET detail = 'Bearer ' || :token WHERE job_id = :good")),
    "a secret in a description": ("I13", lambda r: r.rewrite(".json", f'{{"a": "{scene.API_TOKEN}"}}'.encode())),
}  # fmt: skip


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")


def _set_output(recording: Recording, text: str) -> None:
    outputs = recording.case.outputs
    assert isinstance(outputs, dict)
    outputs["the server's output"] = text


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_caught(recording: Recording, name: str) -> None:
    invariant, spoil = FAULTS[name]
    spoil(recording)
    found = judge.judge(recording.case)
    assert invariant in {violation.invariant for violation in found}, [str(violation) for violation in found]


def test_a_run_that_still_works_is_not_accused_of_being_unfinished(recording: Recording) -> None:
    """Half-way, open jobs, live attempts, unfinished files and open deliveries are in order."""
    recording.sql(
        "DELETE FROM events WHERE job_id = :good AND terminal = 1",
        "UPDATE jobs SET state = 'running', finished_at = NULL, phase = 'collect' WHERE id = :good",
        "UPDATE attempts SET state = 'running', live = 1 WHERE job_id = :good",
        "UPDATE picks SET state = 'delivery_pending' WHERE job_id = :good",
        "UPDATE cells SET state = 'selected' WHERE job_id = :good",
        "UPDATE deliveries SET state = 'pending' WHERE job_id = :good",
        "UPDATE outbox SET state = 'retry_wait' WHERE job_id = :good",
    )
    recording.history.jobs[GOOD] = recording.history.jobs[GOOD][:1]
    recording.history.streams[GOOD] = [[e for e in s if e["type"] != "job.succeeded"] for s in
                                       recording.history.streams[GOOD]]  # fmt: skip
    _touch(recording.library / ".incoming" / "a1" / "000001.part")
    assert judge.judge(replace(recording.case, at_rest=False)) == []
    assert {violation.invariant for violation in judge.judge(recording.case)} == {"I4", "I6", "I10", "I12"}


def test_the_message_names_every_violation(recording: Recording) -> None:
    recording.items.clear()
    _touch(recording.library / "stray.png")
    with pytest.raises(AssertionError, match=r"(?s)I8: .*I10: .*what the server said"):
        judge.assert_clean(recording.case, "what the server said")
