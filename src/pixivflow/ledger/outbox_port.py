"""`delivery.ports.Outbox` on the ledger, with the back-off the configuration asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pixivflow.delivery.ports import OutboxRow
from pixivflow.domain.backoff import backoff_ms
from pixivflow.domain.delivery import Answer, OutboxState
from pixivflow.ledger import outbox
from pixivflow.ledger.ports import Ledger


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between tries, in milliseconds."""

    base_ms: int
    max_ms: int


class LedgerOutbox:
    """The worker's queue. `backoff` is asked for each row anew, because kinds of rows are patient in different ways.

    `settled` is called after each row that came to its end: files may be free to go.
    """

    def __init__(
        self,
        ledger: Ledger,
        backoff: Callable[[OutboxRow], Backoff],
        unit_random: Callable[[], float],
        settled: Callable[[], None] = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._backoff = backoff
        self._random = unit_random
        self._settled = settled

    async def claim(self, limit: int, *, skip_routes: Collection[str] = ()) -> Sequence[OutboxRow]:
        """Claim due rows."""
        return await self._ledger.write(lambda tx: outbox.claim(tx, limit, skip_routes=skip_routes))

    async def renew(self, row: OutboxRow) -> bool:
        """Keep a row while a long upload runs."""
        return await self._ledger.write(lambda tx: outbox.renew(tx, row))

    async def may_send(self, row: OutboxRow) -> bool:
        """The last look before bytes leave."""
        return await self._ledger.write(lambda tx: outbox.may_send(tx, row))

    async def settle(self, row: OutboxRow, answer: Answer) -> None:
        """Record an answer and what follows from it."""
        pause = self._backoff(row)
        retry_in = backoff_ms(
            row.attempt,
            base_ms=pause.base_ms,
            max_ms=pause.max_ms,
            unit_random=self._random(),
            retry_after_ms=answer.retry_after_ms,
        )
        done = await self._ledger.write(lambda tx: outbox.settle(tx, row, answer, retry_in_ms=retry_in))
        if done.state in (OutboxState.DONE, OutboxState.DEAD):
            self._settled()

    async def defer(self, row: OutboxRow, why: str, delay_ms: int) -> None:
        """Put a row back without using a try."""
        await self._ledger.write(lambda tx: outbox.defer(tx, row, why, delay_ms))

    async def next_due_ms(self, *, skip_routes: Collection[str] = ()) -> int | None:
        """Epoch ms of the earliest row that waits."""
        return await self._ledger.read(lambda tx: outbox.next_due(tx, skip_routes=skip_routes))
