"""The embedded ledger: SQLite through APSW, one writer thread with group commit, readers beside it.

Every writing function that waits when the writer wakes goes into one `BEGIN IMMEDIATE … COMMIT`; there is no timer:
the batch is whatever arrived while the last commit was being made durable. `synchronous=FULL` and WAL: a caller that
has its answer has it on disk. A COMMIT that raises has an unknown outcome, so the ledger refuses all further work; the
process must stop and open the file again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from pixivflow.ledger.errors import LedgerBusy, LedgerClosed, LedgerError, LedgerUnusable, OutcomeUnknown
from pixivflow.ledger.lock import LedgerLock
from pixivflow.ledger.migrate import migrate
from pixivflow.ledger.ports import NullSignals, Row, Signals
from pixivflow.ledger.ports import Tx as TxPort
from pixivflow.ledger.statements import statement

T = TypeVar("T")

BUSY_TIMEOUT_MS = 30_000
MAX_BATCH = 512
READERS = 2


class Tx:
    """A transaction on one connection (see ports.Tx)."""

    def __init__(self, connection: apsw.Connection, now: int, signals: Signals) -> None:
        self._connection = connection
        self.now = now
        self.signals = signals
        self.hooks: list[Callable[[], None]] = []

    def all(self, name: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self._connection.execute(statement(name), dict(params or {}))
        first = cursor.fetchone()
        if first is None:
            return []
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in [first, *cursor.fetchall()]]

    def one(self, name: str, params: Mapping[str, Any] | None = None) -> Row | None:
        """Run a statement and return its first row."""
        rows = self.all(name, params)
        return rows[0] if rows else None

    def run(self, name: str, params: Mapping[str, Any] | None = None) -> int:
        """Run a statement and return how many rows it changed."""
        before = self._connection.total_changes()
        self._connection.execute(statement(name), dict(params or {})).fetchall()
        return self._connection.total_changes() - before

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call on the event loop once durable."""
        self.hooks.append(call)


@dataclass(slots=True)
class _Item:
    work: Callable[[TxPort], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    hooks: list[Callable[[], None]] = field(default_factory=list)


def open_connection(path: Path, *, read_only: bool = False, vfs: str | None = None) -> apsw.Connection:
    """A connection with the ledger's settings."""
    flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.pragma("foreign_keys", True)
    if read_only:
        connection.pragma("query_only", True)
    else:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "FULL")
        connection.pragma("wal_autocheckpoint", 1000)
    connection.pragma("cache_size", -8192)
    return connection


class SqliteLedger:
    """The ledger of one machine."""

    def __init__(
        self,
        path: Path,
        *,
        purpose: str = "a pixivflow process",
        now_ms: Callable[[], int],
        signals: Signals | None = None,
        vfs: str | None = None,
    ) -> None:
        self.path = path
        self.lock = LedgerLock(path)
        self.broken: BaseException | None = None
        self.on_broken: Callable[[BaseException], None] | None = None
        self._purpose = purpose
        self.signals: Signals = signals or NullSignals()
        self._now_ms = now_ms
        self._vfs = vfs
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._closing = False

    def open(self) -> list[int]:
        """Lock, migrate and start the writer. Returns the migrations applied.

        Raises:
            LedgerInUse, LedgerNewer, LedgerUnusable: see errors; nothing is left open.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerUnusable(f"cannot create the folder {self.path.parent}: {error.strerror}") from None
        self.lock.acquire(purpose=self._purpose)
        try:
            self._create_private()
            writer = open_connection(self.path, vfs=self._vfs)
            try:
                applied = migrate(writer, now_ms=self._now_ms())
            except BaseException:
                writer.close()
                raise
        except apsw.Error as error:
            self.lock.release()
            raise LedgerUnusable(f"cannot open the ledger {self.path}: {error}") from None
        except BaseException:
            self.lock.release()
            raise
        self._opened.append(writer)
        self._thread = threading.Thread(target=self._write_loop, args=(writer,), name="ledger-writer", daemon=True)
        self._thread.start()
        self._readers = ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="ledger-reader")
        return applied

    def _create_private(self) -> None:
        """The ledger holds an account's tokens: nobody else on the machine may read it."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise LedgerUnusable(f"cannot open the ledger {self.path}: {error.strerror}") from None

    async def write(self, work: Callable[[TxPort], T]) -> T:
        """Run in a write transaction; returns after COMMIT."""
        if self._closing or self._thread is None:
            raise LedgerClosed("the ledger is closed")
        if self.broken is not None:
            raise OutcomeUnknown("an earlier commit failed; the process must restart") from self.broken
        loop = asyncio.get_running_loop()
        item = _Item(work, loop, loop.create_future())
        self._queue.put(item)
        # The work happens whether or not the caller waits for it; a cancelled caller must not see it half done.
        item.future.add_done_callback(_seen)
        return cast("T", await asyncio.shield(item.future))

    async def read(self, work: Callable[[TxPort], T]) -> T:
        """Run on a snapshot."""
        if self._closing or self._readers is None:
            raise LedgerClosed("the ledger is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def aclose(self) -> None:
        """Finish what is queued, fold the log back into the file, release the lock."""
        if self._closing or self._thread is None:
            return
        self._closing = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._readers is not None:
            await asyncio.to_thread(self._readers.shutdown)
        for connection in reversed(self._opened):
            connection.close()
        self.lock.release()

    def _read(self, work: Callable[[TxPort], T]) -> T:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_connection(self.path, read_only=True, vfs=self._vfs)
            self._local.connection = connection
            self._opened.append(connection)
        connection.execute("BEGIN")
        try:
            return work(Tx(connection, self._now_ms(), self.signals))
        finally:
            connection.execute("ROLLBACK")

    def _write_loop(self, connection: apsw.Connection) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            batch = [first]
            stop = False
            while len(batch) < MAX_BATCH:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    stop = True
                    break
                batch.append(more)
            self._commit(connection, batch)
            if stop:
                return

    def _commit(self, connection: apsw.Connection, batch: list[_Item]) -> None:
        if self.broken is not None:
            _spoil(batch, OutcomeUnknown("an earlier commit failed; the process must restart"), self.broken)
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            _spoil(batch, LedgerBusy(f"the ledger {self.path} is locked by another program"), error)
            return
        try:
            for item in batch:
                self._run_in_savepoint(connection, item)
            connection.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - the writer must outlive every failure to report it
            self.broken = error
            if connection.in_transaction:
                with contextlib.suppress(apsw.Error):
                    connection.execute("ROLLBACK")
            if self.on_broken is not None:
                batch[0].loop.call_soon_threadsafe(self.on_broken, error)
            _spoil(batch, OutcomeUnknown(f"a commit failed: {error}"), error)
        else:
            _resolve(batch)

    def _run_in_savepoint(self, connection: apsw.Connection, item: _Item) -> None:
        tx = Tx(connection, self._now_ms(), self.signals)
        connection.execute("SAVEPOINT item")
        try:
            item.result = item.work(tx)
            item.hooks = tx.hooks
        except (apsw.IOError, apsw.FullError, apsw.CorruptError, apsw.NoMemError):
            raise  # the whole transaction is in doubt, not this piece alone
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whose error it is
            connection.execute("ROLLBACK TO item")
            item.error = error
        connection.execute("RELEASE item")


def _spoil(batch: list[_Item], why: LedgerError, cause: BaseException) -> None:
    """Nothing of the batch may be taken as written."""
    why.__cause__ = cause
    for item in batch:
        item.hooks.clear()
        item.error = item.error or why
    _resolve(batch)


def _resolve(batch: list[_Item]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
    for item in batch:
        loops.setdefault(item.loop, []).append(item)
    for loop, items in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set_results, items)


def _seen(future: asyncio.Future[Any]) -> None:
    """Mark an error as looked at: its caller may be gone, and the writer has no one else to tell."""
    if not future.cancelled():
        future.exception()


def _set_results(items: list[_Item]) -> None:
    for item in items:
        for hook in item.hooks:
            hook()
        if item.future.done():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
