"""The ledger as the rest of the program sees it: transactions over named statements.

A piece of ledger work is a plain function of a `Tx`. Writing functions are queued to the one writer, which commits many
of them together; each sits in its own savepoint, so that one that raises takes nothing of its neighbours with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = dict[str, Any]


class Signals(Protocol):
    """What a commit sets in motion: the port between the ledger, which decides, and whatever carries attempts to work.

    Each call is made inside the transaction and takes effect only if it commits.
    """

    def dispatch(self, tx: Tx, attempt_id: str) -> None:
        """An attempt was granted: carry it to a worker."""
        ...

    def forget(self, tx: Tx, attempt_id: str) -> None:
        """The attempt is lost, or its job has ended: its work must stop."""
        ...

    def outbox(self, tx: Tx) -> None:
        """Something is to be sent."""
        ...

    def moved(self, tx: Tx, job_id: str) -> None:
        """A job changed its state."""
        ...

    def told(self, tx: Tx) -> None:
        """The public stream has one event more."""
        ...


class NullSignals:
    """Sets nothing in motion: for tools and tests that only read and write records."""

    def dispatch(self, tx: Tx, attempt_id: str) -> None:
        """Nothing."""

    def forget(self, tx: Tx, attempt_id: str) -> None:
        """Nothing."""

    def outbox(self, tx: Tx) -> None:
        """Nothing."""

    def moved(self, tx: Tx, job_id: str) -> None:
        """Nothing."""

    def told(self, tx: Tx) -> None:
        """Nothing."""


class Tx(Protocol):
    """One transaction. Statements are named files of `ledger/sql`."""

    now: int
    """Epoch milliseconds at which this piece of work runs."""
    signals: Signals

    def all(self, name: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """Run a statement and return its rows."""
        ...

    def one(self, name: str, params: Mapping[str, Any] | None = None) -> Row | None:
        """Run a statement and return its first row."""
        ...

    def run(self, name: str, params: Mapping[str, Any] | None = None) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call on the event loop once this transaction is durable; dropped when it rolls back."""
        ...


class Ledger(Protocol):
    """Where everything that must survive is kept."""

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Run in a write transaction; returns after COMMIT. Raises what `work` raises, or OutcomeUnknown."""
        ...

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Run on a snapshot."""
        ...
