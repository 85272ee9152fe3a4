"""Looking into a ledger while somebody else may be writing to it: no lock, no migration, nothing created."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

import apsw

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean
from pixivflow.ledger.migrate import APPLICATION_ID, migrations
from pixivflow.ledger.ports import NullSignals, Tx
from pixivflow.ledger.sqlite import Tx as SqliteTx
from pixivflow.ledger.sqlite import open_connection

T = TypeVar("T")


class LedgerReader:
    """The reading half of a ledger.

    Raises:
        Stop: NOT_FOUND without a file, REFUSED for a file this version cannot read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise Stop(Exit.NOT_FOUND, f"there is no ledger yet at {clean(path)}", hint="nothing has run so far")
        try:
            self._connection = open_connection(path, read_only=True)
        except apsw.Error as error:
            raise Stop(Exit.REFUSED, f"cannot open the ledger {clean(path)}: {clean(error)}") from None
        try:
            self._check()
        except apsw.Error as error:
            self.close()
            raise Stop(Exit.REFUSED, f"cannot read {clean(path)}: {clean(error)}") from None
        except Stop:
            self.close()
            raise

    def _check(self) -> None:
        if self._connection.pragma("application_id") != APPLICATION_ID:
            raise Stop(Exit.REFUSED, f"{clean(self._path)} is a database of another program")
        done = {row[0] for row in self._connection.execute("SELECT number FROM migrations")}
        known = {number for number, _, _ in migrations()}
        if done - known:
            raise Stop(Exit.REFUSED, "the ledger was written by a newer version of pixivflow", hint="use that version")
        if known - done:
            hint = "it is brought forward by the next `pixivflow serve` or `pixivflow download`"
            raise Stop(Exit.REFUSED, "the ledger was written by an older version of pixivflow", hint=hint)

    def look(self, work: Callable[[Tx], T]) -> T:
        """Run on one snapshot."""
        self._connection.execute("BEGIN")
        try:
            return work(SqliteTx(self._connection, int(time.time() * 1000), NullSignals()))
        finally:
            self._connection.execute("ROLLBACK")

    async def read(self, work: Callable[[Tx], T]) -> T:
        """The same for callers that wait."""
        return self.look(work)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
