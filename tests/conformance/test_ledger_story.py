"""Random stories against the ledger: whatever happens in whatever order, the books stay true.

A story is a list of steps drawn by hypothesis: jobs come, attempts start, lock works, hand them over, lose their
leases, are cancelled, swept, restarted; receivers answer. After every step the invariants are read from the tables, not
from the code that wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from ledger_desk import Now

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.cell import CELL_TRANSITIONS, CLOSED, CellState
from pixivflow.domain.delivery import Answer, AnswerClass
from pixivflow.domain.job import TERMINAL, TRANSITIONS, JobRecord, JobState, Signal
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.ledger import attempts, cells, jobs, outbox, sweep
from pixivflow.ledger.migrate import migrate
from pixivflow.ledger.ports import NullSignals, Tx
from pixivflow.ledger.sqlite import Tx as SqliteTx
from pixivflow.ledger.sqlite import open_connection

LEGAL = {(state, to) for (state, _), to in TRANSITIONS.items()} | {(state, state) for state in JobState}


@dataclass
class Carried(NullSignals):
    """What the ledger asked to be carried."""

    waiting: list[str] = field(default_factory=list)

    def dispatch(self, tx: Tx, attempt_id: str) -> None:
        self.waiting.append(attempt_id)


class Story(RuleBasedStateMachine):
    """One story."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.now = Now()
        self.carried = Carried()
        self.connection: apsw.Connection = open_connection(Path(self.folder.name) / "story.db")
        self.running: list[attempts.Started] = []
        self.rows: list[OutboxRow] = []
        self.seen: dict[str, JobRecord] = {}
        self.works = 0

    def teardown(self) -> None:
        self.connection.close()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        migrate(self.connection, now_ms=self.now())

    def do(self, work: Any) -> Any:
        """One transaction, as the writer makes it."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(SqliteTx(self.connection, self.now(), self.carried))
        except cells.Fenced:
            self.connection.execute("ROLLBACK")
            return None
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        return result

    @rule(account=st.sampled_from("ab"), deadline=st.integers(60, 5000))
    def admit(self, account: str, deadline: int) -> None:
        number = len(self.seen)
        new = jobs.NewJob(
            id=f"p@manual-{number}",
            type="candidate_search",
            plan_id="p",
            account=account,
            trigger="manual",
            cells=[("t", "illustration")],
            snapshot={},
            key=f"key-{number}",
            deadline_at=self.now() + deadline * 1000,
        )
        self.do(lambda tx: (jobs.insert(tx, new), attempts.grant(tx, account, places=1)))

    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        if self.carried.waiting:
            attempt = data.draw(st.sampled_from(self.carried.waiting))  # also twice, also too late
            started = self.do(lambda tx: cells.begin(tx, attempt, "me"))
            if started is not None:
                self.running.append(started)

    @rule(data=st.data(), routes=st.integers(0, 2), fail=st.booleans())
    def work(self, data: st.DataObject, routes: int, fail: bool) -> None:
        """An attempt, live or long lost, binds a work and brings it to an end."""
        if not self.running:
            return
        started = data.draw(st.sampled_from(self.running))
        self.works += 1
        ref = WorkRef(WorkType.ILLUSTRATION, str(self.works))
        hold = cells.Hold(started.attempt_id, started.job_id, "t")
        if not self.do(lambda tx: cells.lock(tx, hold, ref, "title")):
            return
        if fail:
            self.do(lambda tx: cells.failed(tx, hold, ref, cells.Verdict(Reason.DOWNLOAD_FAILED, "cut")))
            return
        payload = {"target_id": "t", "work": {"type": "illustration", "id": ref.id}}
        intents = [cells.Intent(f"r{n}", f"r{n}:{started.job_id}:{ref.id}", payload, "cache", 2) for n in range(routes)]
        self.do(lambda tx: cells.ready(tx, hold, ref, intents))

    @rule(data=st.data(), reason=st.sampled_from([None, Reason.FILTER_EXHAUSTED, Reason.AUTH_FAILED]))
    def finish(self, data: st.DataObject, reason: Reason | None) -> None:
        if self.running:
            started = data.draw(st.sampled_from(self.running))
            end = cells.CellEnd("t", reason, "said")
            self.do(
                lambda tx: (
                    cells.finish(tx, started.attempt_id, started.job_id, [end]),
                    attempts.end(tx, started.attempt_id, started.account, places=1),
                )
            )

    @rule(data=st.data(), signal=st.sampled_from([Signal.CANCEL, Signal.EXPIRE]))
    def end_from_outside(self, data: st.DataObject, signal: Signal) -> None:
        if self.seen:
            job_id = data.draw(st.sampled_from(sorted(self.seen)))
            reason = Reason.CANCELLED if signal is Signal.CANCEL else Reason.EXECUTION_TIMEOUT
            self.do(lambda tx: jobs.apply(tx, job_id, signal, reason=reason))

    @rule(seconds=st.sampled_from([1, 100, 200, 2000]))
    def time_passes(self, seconds: int) -> None:
        self.now.forward(seconds)

    @rule()
    def swept(self) -> None:
        self.do(lambda tx: sweep.sweep(tx, queued_ms=1_800_000, stall_ms=900_000, places=1))

    @rule()
    def restart(self) -> None:
        self.do(lambda tx: (sweep.take_over(tx), sweep.grant_all(tx, places=1)))

    @rule()
    def claim(self) -> None:
        self.rows += self.do(lambda tx: outbox.claim(tx, 2))

    @rule(data=st.data(), answer=st.sampled_from(AnswerClass))
    def answered(self, data: st.DataObject, answer: AnswerClass) -> None:
        if self.rows:
            row = data.draw(st.sampled_from(self.rows))  # also one whose token is no longer good
            self.do(lambda tx: outbox.settle(tx, row, Answer(answer, detail="said"), retry_in_ms=1000))

    # --- what must always hold --------------------------------------------------------------------------------

    @invariant()
    def the_books_are_true(self) -> None:
        if self.connection.table_exists(None, "jobs"):
            self.jobs_move_only_along_the_table_and_ended_ones_not_at_all()
            self.every_end_has_one_event_and_every_story_one_order()
            self.one_live_attempt_per_place_and_none_for_an_ended_job_that_never_ran()
            self.what_is_confirmed_stays_confirmed_and_nothing_waits_for_a_job_ended_from_outside()

    def jobs_move_only_along_the_table_and_ended_ones_not_at_all(self) -> None:
        tx = SqliteTx(self.connection, self.now(), self.carried)
        for row in self.connection.execute("SELECT id FROM jobs").fetchall():
            job = jobs.get(tx, row[0])
            assert job is not None
            before = self.seen.get(job.id)
            if before is not None:
                assert (before.state, job.state) in LEGAL
                if before.state in TERMINAL:
                    assert job == before, "nothing about an ended job changes"
                for old, new in zip(before.cells, job.cells, strict=True):
                    assert new.state is old.state or new.state in CELL_TRANSITIONS[old.state]
            self.seen[job.id] = job
            if job.state is JobState.SUCCEEDED:
                assert any(cell.state in (CellState.SUBMITTED, CellState.STORED) for cell in job.cells)
            if job.terminal:
                assert all(cell.state in CLOSED for cell in job.cells)
                assert all(pick.state in CLOSED for cell in job.cells for pick in cell.picks)
                assert (job.reason is None) == (job.state is JobState.SUCCEEDED)

    def every_end_has_one_event_and_every_story_one_order(self) -> None:
        ends = dict(self.connection.execute("SELECT job_id, count(*) FROM events WHERE terminal = 1 GROUP BY job_id"))
        for job in self.seen.values():
            assert ends.get(job.id, 0) == int(job.terminal)
        for job_id in self.seen:
            story = self.connection.execute(
                "SELECT at, terminal FROM events WHERE job_id = ? AND visible = 1 ORDER BY seq", (job_id,)
            ).fetchall()
            assert story == sorted(story, key=lambda event: event[0])
            assert all(terminal == 0 for _, terminal in story[:-1]), "nothing is told after the end"

    def one_live_attempt_per_place_and_none_for_an_ended_job_that_never_ran(self) -> None:
        live = self.connection.execute("SELECT account, slot, state, job_id FROM attempts WHERE live = 1").fetchall()
        assert len({(account, slot) for account, slot, _, _ in live}) == len(live)
        for _, _, state, job_id in live:
            if state == "granted":
                assert not self.seen[job_id].terminal

    def what_is_confirmed_stays_confirmed_and_nothing_waits_for_a_job_ended_from_outside(self) -> None:
        for job_id, state in self.connection.execute("SELECT job_id, state FROM outbox"):
            if self.seen[job_id].state in (JobState.CANCELLED, JobState.EXPIRED):
                assert state not in ("pending", "retry_wait")


Story.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestStory = Story.TestCase
