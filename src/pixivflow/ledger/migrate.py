"""Bringing a ledger's schema forward. Numbered, recorded, never backward; a newer schema is refused."""

from __future__ import annotations

from importlib import resources

import apsw

from pixivflow.ledger.errors import LedgerNewer, LedgerUnusable

APPLICATION_ID = 0x50495846  # "PIXF": tells our files from other people's databases


def migrations() -> list[tuple[int, str, str]]:
    """All known migrations as (number, name, SQL), in order."""
    folder = resources.files("pixivflow.ledger") / "migrations"
    found = []
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            number, _, rest = file.name.removesuffix(".sql").partition("_")
            found.append((int(number), rest, file.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(connection: apsw.Connection, *, now_ms: int) -> list[int]:
    """Apply what is missing, each migration in a transaction of its own. Returns the numbers applied.

    Raises:
        LedgerNewer: the ledger has a migration this version does not know.
        LedgerUnusable: the file is another program's database.
    """
    application = connection.pragma("application_id")
    tables = list(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1"))
    if application not in (0, APPLICATION_ID) or (application == 0 and tables):
        raise LedgerUnusable("the file is a database of another program; choose another storage.databasePath")
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"
        )
        done = {row[0] for row in connection.execute("SELECT number FROM migrations")}
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    known = migrations()
    unknown = done - {number for number, _, _ in known}
    if unknown:
        raise LedgerNewer(
            f"the ledger was written by a newer version of pixivflow (migration {max(unknown)}; "
            f"this version knows up to {known[-1][0]})"
        )
    applied = []
    for number, name, text in known:
        if number in done:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(text)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, name, now_ms))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        applied.append(number)
    return applied
