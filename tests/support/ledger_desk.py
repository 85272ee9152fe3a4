"""What ledger tests share: a clock they move, signals that remember, and the few steps most cases begin with."""

from __future__ import annotations

from pixivflow.ledger import attempts, cells, jobs
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger


class Now:
    """A clock the test moves, in epoch milliseconds."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.ms += int(seconds * 1000)


class Motions:
    """Signals that remember what a commit set in motion."""

    def __init__(self) -> None:
        self.dispatched: list[str] = []
        self.forgotten: list[str] = []
        self.moved_jobs: list[str] = []
        self.sends = 0
        self.tellings = 0

    def dispatch(self, tx: Tx, attempt_id: str) -> None:
        tx.after_commit(lambda: self.dispatched.append(attempt_id))

    def forget(self, tx: Tx, attempt_id: str) -> None:
        tx.after_commit(lambda: self.forgotten.append(attempt_id))

    def outbox(self, tx: Tx) -> None:
        tx.after_commit(self._send)

    def moved(self, tx: Tx, job_id: str) -> None:
        tx.after_commit(lambda: self.moved_jobs.append(job_id))

    def told(self, tx: Tx) -> None:
        tx.after_commit(self._tell)

    def _send(self) -> None:
        self.sends += 1

    def _tell(self) -> None:
        self.tellings += 1


class Desk:
    """The few steps most cases begin with."""

    def __init__(self, ledger: SqliteLedger, now: Now) -> None:
        self.ledger = ledger
        self.now = now
        self.count = 0

    async def admit(
        self, *, account: str = "default", target: str = "t", deadline_s: float = 3600, key: str = ""
    ) -> str:
        """A new job, granted when its account is free."""
        self.count += 1
        job_id = f"p@manual-{key or self.count}"
        new = jobs.NewJob(
            id=job_id,
            type="candidate_search",
            plan_id="p",
            account=account,
            trigger="manual",
            cells=[(target, "illustration")],
            snapshot={"targets": []},
            key=key or f"key-{self.count}",
            deadline_at=self.now() + int(deadline_s * 1000),
        )

        def work(tx: Tx) -> None:
            jobs.insert(tx, new)
            attempts.grant(tx, account, places=1)

        await self.ledger.write(work)
        return job_id

    async def begin(self, attempt_id: str, owner: str = "worker") -> attempts.Started | None:
        """Start an attempt."""
        return await self.ledger.write(lambda tx: cells.begin(tx, attempt_id, owner))

    async def job(self, job_id: str) -> jobs.JobRecord:
        """The job as it stands."""
        found = await self.ledger.read(lambda tx: jobs.get(tx, job_id))
        assert found is not None
        return found

    async def live(self) -> list[str]:
        """Ids of live attempts."""
        return [row["id"] for row in await self.ledger.read(lambda tx: tx.all("attempts_live"))]
