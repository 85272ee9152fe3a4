"""The outbox in memory: the same rules as the ledger's, for tests and for trying a route without a database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.backoff import backoff_ms
from pixivflow.domain.delivery import DELIVERY_ATTEMPTS, Answer, OutboxState, Settlement, settlement
from pixivflow.domain.job import JobRecord

LEASE_MS = 120_000


@dataclass(slots=True)
class MemoryRow:
    """One intent and what became of it. `attempt` counts the tries that were used."""

    id: int
    kind: str
    key: str
    route: str
    payload: Mapping[str, Any]
    due_ms: int
    job_id: str | None
    max_attempts: int
    state: OutboxState = OutboxState.PENDING
    attempt: int = 0
    token: str = ""
    lease_until: int = 0
    answers: list[Answer] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    settled: Settlement | None = None


class MemoryOutbox:
    """Rows in a list. `cancelled` holds the ids of jobs whose rows must not be sent any more."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        random: Callable[[], float] = lambda: 1.0,
        *,
        base_ms: int = 300_000,
        max_ms: int = 21_600_000,
    ) -> None:
        self.rows: list[MemoryRow] = []
        self.cancelled: set[str] = set()
        self._now_ms = now_ms
        self._random = random
        self._base_ms = base_ms
        self._max_ms = max_ms
        self._tokens = 0

    def add(
        self,
        route: str,
        payload: Mapping[str, Any],
        *,
        key: str,
        kind: str = "delivery",
        job: JobRecord | str | None = None,
        max_attempts: int = DELIVERY_ATTEMPTS,
    ) -> MemoryRow:
        """Queue an intent, due now. A key that is there already is the same intent."""
        for row in self.rows:
            if (row.kind, row.key) == (kind, key):
                return row
        job_id = job.id if isinstance(job, JobRecord) else job
        row = MemoryRow(len(self.rows) + 1, kind, key, route, payload, self._now_ms(), job_id, max_attempts)
        self.rows.append(row)
        return row

    async def claim(self, limit: int, *, skip_routes: Collection[str] = ()) -> Sequence[OutboxRow]:
        """See `ports.Outbox`."""
        claimed: list[OutboxRow] = []
        for row in sorted(self.rows, key=lambda row: (row.due_ms, row.id)):
            if len(claimed) >= limit:
                break
            if row.route in skip_routes or not self._claimable(row):
                continue
            if self._owner_gone(row):
                row.state = OutboxState.CANCELLED
                continue
            self._tokens += 1
            row.state = OutboxState.PROCESSING
            row.attempt += 1
            row.token = f"claim-{self._tokens}"
            row.lease_until = self._now_ms() + LEASE_MS
            claimed.append(
                OutboxRow(
                    id=row.id,
                    kind=row.kind,
                    key=row.key,
                    route=row.route,
                    attempt=row.attempt,
                    max_attempts=row.max_attempts,
                    payload=row.payload,
                    token=row.token,
                    job_id=row.job_id,
                )
            )
        return claimed

    async def renew(self, row: OutboxRow) -> bool:
        """See `ports.Outbox`."""
        held = self._held(row)
        if held is not None:
            held.lease_until = self._now_ms() + LEASE_MS
        return held is not None

    async def may_send(self, row: OutboxRow) -> bool:
        """See `ports.Outbox`."""
        held = self._held(row)
        if held is not None and self._owner_gone(held):
            held.state = OutboxState.CANCELLED
            return False
        return held is not None

    async def settle(self, row: OutboxRow, answer: Answer) -> None:
        """See `ports.Outbox`. An owner cancelled while bytes were on the wire gets no further try."""
        held = self._held(row)
        if held is None:
            return
        end = settlement(answer, attempt=held.attempt, max_attempts=held.max_attempts)
        held.answers.append(answer)
        held.settled = end
        held.state = end.outbox
        if end.outbox is OutboxState.RETRY_WAIT:
            if self._owner_gone(held):
                held.state = OutboxState.CANCELLED
            held.due_ms = self._now_ms() + backoff_ms(
                held.attempt,
                base_ms=self._base_ms,
                max_ms=self._max_ms,
                unit_random=self._random(),
                retry_after_ms=answer.retry_after_ms,
            )

    async def defer(self, row: OutboxRow, why: str, delay_ms: int) -> None:
        """See `ports.Outbox`."""
        held = self._held(row)
        if held is not None:
            held.state = OutboxState.RETRY_WAIT
            held.attempt -= 1
            held.due_ms = self._now_ms() + delay_ms
            held.deferred.append(why)

    async def next_due_ms(self, *, skip_routes: Collection[str] = ()) -> int | None:
        """See `ports.Outbox`."""
        times = [
            row.lease_until if row.state is OutboxState.PROCESSING else row.due_ms
            for row in self.rows
            if row.route not in skip_routes
            and row.state in (OutboxState.PENDING, OutboxState.RETRY_WAIT, OutboxState.PROCESSING)
        ]
        return min(times, default=None)

    def _claimable(self, row: MemoryRow) -> bool:
        if row.state is OutboxState.PROCESSING:
            return row.lease_until <= self._now_ms()
        return row.state in (OutboxState.PENDING, OutboxState.RETRY_WAIT) and row.due_ms <= self._now_ms()

    def _owner_gone(self, row: MemoryRow) -> bool:
        return row.kind == "delivery" and row.job_id in self.cancelled

    def _held(self, row: OutboxRow) -> MemoryRow | None:
        for held in self.rows:
            if held.id == row.id and held.token == row.token and held.state is OutboxState.PROCESSING:
                return held
        return None
