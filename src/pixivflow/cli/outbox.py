"""`pixivflow outbox list | inspect | retry | cancel`: what waits to be delivered.

Looking needs no lock and works beside a running server. Changing takes the ledger's lock: there is one writer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pixivflow.cli.command import command, group
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.loading import config_of, load
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, moment, plural, say, show, table
from pixivflow.domain.delivery import OutboxState
from pixivflow.ledger import outbox
from pixivflow.ledger.ports import Row, Tx
from pixivflow.observability.redact import redact

app = group("What waits to be delivered, and what could not be.")

State = StrEnum("State", [(state.name, state.value) for state in OutboxState])  # type: ignore[misc]  # for the choices
RowId = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number of the row.")]
_MOST = 1000


@command(app, "list")
def list_rows(
    options: Options,
    *,
    status: Annotated[State | None, typer.Option(help="Only rows in this state.")] = None,
    job: Annotated[str | None, typer.Option(metavar="JOB", help="Only rows of this job.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many, newest first.")] = 100,
) -> int:
    """List rows, newest first."""
    state = str(status.value) if status else None
    rows = _look(options, lambda tx: outbox.listing(tx, state=state, job_id=job, limit=limit), [])
    if options.json:
        emit({"rows": [_document(row, whole=False) for row in rows]})
        return Exit.OK
    head = ("ID", "STATE", "ROUTE", "TRY", "DUE", "JOB", "DETAIL")
    show(table(head, [_cells(row) for row in rows]))
    return Exit.OK


@command(app)
def inspect(options: Options, *, row_id: RowId) -> int:
    """Show one row with everything that would be sent."""
    row = _look(options, lambda tx: tx.one("outbox_get", {"id": row_id}), None)
    if row is None:
        raise _unknown(row_id)
    document = _document(row, whole=True)
    if options.json:
        emit(document)
    else:
        show(json.dumps(document, indent=2, ensure_ascii=False))
    return Exit.OK


@command(app)
def retry(
    options: Options,
    *,
    row_ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Numbers of rows.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="All rows that were given up.")] = False,
) -> int:
    """Make rows due at once, with a fresh set of tries under the same key."""
    if not row_ids and not dead:
        raise Stop(Exit.USAGE, "which rows? give their numbers, or --dead")

    def change(tx: Tx) -> dict[int, bool]:
        wanted = list(row_ids or [])
        if dead:
            wanted += [row["id"] for row in outbox.listing(tx, state=OutboxState.DEAD.value, limit=_MOST)]
        return {row_id: outbox.replay(tx, row_id) for row_id in dict.fromkeys(wanted)}

    return _changed(options, _write(options, change), "due again", "a row that was delivered or cancelled stays so")


@command(app)
def cancel(
    options: Options, *, row_ids: Annotated[list[int], typer.Argument(metavar="ID...", help="Numbers of rows.")]
) -> int:
    """Give rows up; their works count as not delivered."""
    done = _write(options, lambda tx: {row_id: outbox.cancel(tx, row_id) for row_id in dict.fromkeys(row_ids)})
    return _changed(options, done, "cancelled", "only a row that waits can be cancelled")


def _changed(options: Options, done: dict[int, bool], word: str, why_not: str) -> int:
    missed = [row_id for row_id, changed in done.items() if not changed]
    if options.json:
        emit({"changed": [row_id for row_id, changed in done.items() if changed], "unchanged": missed})
    else:
        show(f"{plural(len(done) - len(missed), 'row')} {word}")
    if missed:
        say(f"not changed: {', '.join(map(str, missed))}; {why_not}")
        return Exit.REFUSED
    return Exit.OK


def _look(options: Options, ask: Callable[[Tx], Any], nothing: Any) -> Any:
    from pixivflow.cli.reader import LedgerReader

    path = config_of(load(options, warn=False)).database_path
    if not path.exists():
        return nothing
    with LedgerReader(path) as reader:
        return reader.look(ask)


def _write(options: Options, change: Callable[[Tx], dict[int, bool]]) -> dict[int, bool]:
    from pixivflow.cli import loop

    path = config_of(load(options, warn=False)).database_path
    if not path.exists():
        raise Stop(Exit.NOT_FOUND, f"there is no ledger yet at {clean(path)}", hint="nothing has run so far")
    result: dict[int, bool] = {}

    async def main() -> int:
        result.update(await _under_lock(path, change))
        return Exit.OK

    loop.run(main)
    return result


async def _under_lock(path: Path, change: Callable[[Tx], dict[int, bool]]) -> dict[int, bool]:
    from pixivflow.ledger.errors import LedgerError, LedgerInUse
    from pixivflow.ledger.sqlite import SqliteLedger

    ledger = SqliteLedger(path, purpose="pixivflow outbox", now_ms=lambda: int(time.time() * 1000))
    try:
        ledger.open()
    except LedgerInUse as error:
        raise Stop(Exit.REFUSED, clean(error), hint="stop it first: it alone may write there") from None
    except LedgerError as error:
        raise Stop(Exit.REFUSED, clean(error)) from None
    try:
        return await ledger.write(change)
    except LedgerError as error:
        raise Stop(Exit.TRY_AGAIN, clean(error)) from None
    finally:
        await ledger.aclose()


def _document(row: Row, *, whole: bool) -> dict[str, Any]:
    """A row without its lease's secret, and with its payload as data."""
    shown = {name: value for name, value in row.items() if name not in ("token", "payload")}
    if whole:
        shown["payload"] = json.loads(row["payload"])
    document: dict[str, Any] = redact(shown)
    return document


def _cells(row: Row) -> tuple[object, ...]:
    tries = f"{row['attempt']}/{row['max_attempts']}"
    due = moment(row["due_at"]) if row["state"] in ("pending", "retry_wait") else ""
    detail = clean(redact(row["detail"] or row["error_class"] or ""))
    return (row["id"], row["state"], clean(redact(row["route"])), tries, due, row["job_id"] or "", detail)


def _unknown(row_id: int) -> Stop:
    return Stop(Exit.NOT_FOUND, f"there is no row {row_id} in the outbox")
