"""Transactions: what is answered is kept, neighbours do not hurt each other, one process owns the ledger."""

from __future__ import annotations

import asyncio
import stat
import threading
from pathlib import Path

import apsw
import pytest

from pixivflow.ledger import events
from pixivflow.ledger.errors import LedgerClosed, LedgerInUse, LedgerNewer, LedgerUnusable
from pixivflow.ledger.lock import holder_of
from pixivflow.ledger.migrate import migrations
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger, open_connection
from pixivflow.ledger.statements import statement


def bump(tx: Tx) -> None:
    tx.run("counters_add", {"name": "n", "by": 1})


async def count(ledger: SqliteLedger) -> int:
    rows = await ledger.read(lambda tx: tx.all("counters_all"))
    return sum(row["value"] for row in rows)


async def test_one_that_fails_takes_nothing_of_its_neighbours_with_it(ledger: SqliteLedger) -> None:
    def bad(tx: Tx) -> None:
        bump(tx)
        raise RuntimeError("on purpose")

    works = [bad if n % 3 == 0 else bump for n in range(30)]
    results = await asyncio.gather(*(ledger.write(work) for work in works), return_exceptions=True)
    assert [isinstance(result, RuntimeError) for result in results] == [n % 3 == 0 for n in range(30)]
    assert await count(ledger) == 20


async def test_a_hook_runs_only_after_its_commit(ledger: SqliteLedger) -> None:
    seen: list[str] = []

    def good(tx: Tx) -> None:
        tx.after_commit(lambda: seen.append("good"))

    def bad(tx: Tx) -> None:
        tx.after_commit(lambda: seen.append("bad"))
        raise RuntimeError("on purpose")

    await asyncio.gather(ledger.write(good), ledger.write(bad), return_exceptions=True)
    assert seen == ["good"]


async def test_a_caller_that_goes_away_does_not_undo_its_write(ledger: SqliteLedger) -> None:
    task = asyncio.ensure_future(ledger.write(bump))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ledger.write(lambda tx: None)
    assert await count(ledger) == 1


async def test_what_was_answered_is_there_after_opening_again(ledger: SqliteLedger, ledger_path: Path) -> None:
    await asyncio.gather(*(ledger.write(bump) for _ in range(50)))
    await ledger.aclose()
    again = SqliteLedger(ledger_path, now_ms=lambda: 1)
    assert again.open() == []
    assert await count(again) == 50
    await again.aclose()
    with pytest.raises(LedgerClosed):
        await ledger.write(bump)


async def test_a_second_owner_is_refused_and_told_who_has_it(ledger: SqliteLedger, ledger_path: Path) -> None:
    second = SqliteLedger(ledger_path, now_ms=lambda: 1)
    with pytest.raises(LedgerInUse, match=r"in use by a test \(process \d+\)"):
        second.open()
    ledger.lock.annotate(url="http://127.0.0.1:1")
    holder = holder_of(ledger_path)
    assert holder is not None
    assert holder["url"] == "http://127.0.0.1:1"
    await ledger.aclose()
    assert holder_of(ledger_path) is None
    second.open()
    await second.aclose()


async def test_nobody_else_may_read_the_tokens_in_it(ledger: SqliteLedger, ledger_path: Path) -> None:
    await ledger.write(bump)
    for path in ledger_path.parent.glob("ledger.db*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


async def test_a_writer_waits_for_another_program_and_loses_nothing(ledger: SqliteLedger, ledger_path: Path) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        other = open_connection(ledger_path)
        other.execute("BEGIN IMMEDIATE")
        held.set()
        release.wait(20)
        other.execute("ROLLBACK")
        other.close()

    thread = threading.Thread(target=hold)
    thread.start()
    await asyncio.to_thread(held.wait, 20)
    writes = [asyncio.ensure_future(ledger.write(bump)) for _ in range(50)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*writes)
    await asyncio.to_thread(thread.join)
    assert await count(ledger) == 50


async def test_a_newer_ledger_is_refused(ledger: SqliteLedger, ledger_path: Path) -> None:
    await ledger.aclose()
    connection = apsw.Connection(str(ledger_path))
    connection.execute("INSERT INTO migrations VALUES (9999, 'later', 0)")
    connection.close()
    with pytest.raises(LedgerNewer, match="newer version"):
        SqliteLedger(ledger_path, now_ms=lambda: 1).open()
    assert holder_of(ledger_path) is None


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerUnusable, match="another program"):
        SqliteLedger(path, now_ms=lambda: 1).open()
    connection = apsw.Connection(str(path))
    assert list(connection.execute("SELECT name FROM sqlite_schema")) == [("theirs",)]
    connection.close()
    assert len(before) == path.stat().st_size


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("not a database, but long enough to be looked at " * 40)
    with pytest.raises(LedgerUnusable, match=r"text\.db"):
        SqliteLedger(path, now_ms=lambda: 1).open()
    assert path.read_text().startswith("not a database")


def test_a_migration_that_stops_half_way_leaves_nothing_of_itself(tmp_path: Path) -> None:
    connection = open_connection(tmp_path / "half.db")
    number, name, text = migrations()[0]
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.SQLError):
        connection.execute(text + "; CREATE TABLE jobs (again)")
    connection.execute("ROLLBACK")
    assert list(connection.execute("SELECT name FROM sqlite_schema")) == []
    connection.close()
    assert (number, name) == (1, "initial")


def test_a_name_that_is_no_file_is_an_error() -> None:
    with pytest.raises(KeyError):
        statement("no_such_statement")
    assert "INSERT INTO events" in statement("events_insert")


async def test_the_ledger_is_durable_by_its_settings(ledger_path: Path, ledger: SqliteLedger) -> None:
    connection = open_connection(ledger_path)
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2  # FULL
    connection.close()
    await ledger.write(lambda tx: events.append(tx, "j", events.EventKind.REQUESTED))
