"""`pixivflow status`: what the ledger holds, who works on it, and whether the account can be used."""

from __future__ import annotations

import time
from typing import Any

from pixivflow.cli import loop
from pixivflow.cli.command import application, command
from pixivflow.cli.exits import Exit
from pixivflow.cli.loading import config_of, load
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, moment, plural, show, size
from pixivflow.config import Config
from pixivflow.ledger.lock import holder_of
from pixivflow.ledger.ports import Tx

app = application("Counts of jobs, deliveries, works and files; the server; the account.")


@command(app, "status")
def status(options: Options) -> int:
    """Show counts of jobs, deliveries, works and files, the server and the account. Only reads."""
    result = load(options, warn=False)
    config = config_of(result)
    document: dict[str, Any] = {
        "config": str(result.path) if result.path else None,
        "ledger": str(config.database_path),
        "library": str(config.library_dir),
        "server": _server(config),
        **_counted(config),
    }
    document["account"] = {"name": config.pixiv.account, **document["account"]}
    if options.json:
        emit(document)
    else:
        show(_text(document))
    return Exit.OK


def _counted(config: Config) -> dict[str, Any]:
    configured = config.pixiv.usable_refresh_token is not None
    if not config.database_path.is_file():
        nothing: dict[str, Any] = {"jobs": {}, "outbox": {}, "works": {}, "files": {"count": 0, "bytes": 0}}
        return {**nothing, "account": {"state": "configured" if configured else "missing"}}
    from pixivflow.cli.reader import LedgerReader

    found: dict[str, Any] = {}
    with LedgerReader(config.database_path) as reader:
        found.update(reader.look(_counts))

        async def account() -> int:
            found["account"] = await _account(reader, config.pixiv.account, configured=configured)
            return Exit.OK

        loop.run(account)
    return found


def _counts(tx: Tx) -> dict[str, Any]:
    works: dict[str, dict[str, int]] = {}
    for row in tx.all("works_counts"):
        works.setdefault(row["type"], {})[row["state"]] = row["count"]
    return {
        "jobs": {row["state"]: row["count"] for row in tx.all("jobs_counts")},
        "outbox": {row["state"]: row["count"] for row in tx.all("outbox_counts")},
        "works": works,
        "files": tx.one("files_counts") or {"count": 0, "bytes": 0},
    }


async def _account(ledger: Any, name: str, *, configured: bool) -> dict[str, Any]:
    """Whether the account can be used, without showing anything of its tokens."""
    from pixivflow.ledger.state import LedgerAccountStore

    store = LedgerAccountStore(ledger, name)
    tokens, gate = await store.load_tokens(), await store.load_gate()
    now = time.time()
    if tokens.refresh_token:
        state = "logged_in" if tokens.access_expires_at > now else "stored"
    else:
        state = "configured" if configured else "missing"
    account: dict[str, Any] = {"state": state}
    if tokens.access_token:
        account["access_expires_at"] = int(tokens.access_expires_at * 1000)
    if gate.cooldown_until > now:
        account["cooldown_until"] = int(gate.cooldown_until * 1000)
    if gate.circuit_open:
        account["circuit_open"] = True
    return account


def _server(config: Config) -> dict[str, Any]:
    holder = holder_of(config.database_path)
    if holder is None:
        return {"running": False}
    return {"running": True, **{key: holder[key] for key in ("pid", "purpose", "url") if key in holder}}


_ACCOUNT = {
    "logged_in": "logged in",
    "stored": "a refresh token is stored",
    "configured": "a refresh token is configured, not used yet",
    "missing": "no refresh token; set PIXIV_REFRESH_TOKEN",
}


def _text(document: dict[str, Any]) -> str:
    server, account, files = document["server"], document["account"], document["files"]
    who = f"{server.get('purpose')} (process {server.get('pid')}) {server.get('url', '')}" if server["running"] else ""
    works = [f"{plural(n, kind)} {state}" for kind, states in document["works"].items() for state, n in states.items()]
    state = _ACCOUNT[account["state"]]
    if "cooldown_until" in account:
        state += f"; the site asked for a pause until {moment(account['cooldown_until'])}"
    if account.get("circuit_open"):
        state += "; stopped after repeated refusals"
    rows = [
        ("ledger", document["ledger"]),
        ("library", document["library"]),
        ("server", who.strip() or "not running"),
        ("account", f"{account['name']}: {state}"),
        ("jobs", _listed(document["jobs"])),
        ("outbox", _listed(document["outbox"])),
        ("works", ", ".join(works) or "none"),
        ("files", f"{files['count']} ({size(files['bytes'])})"),
    ]
    return "\n".join(f"{name:<8} {clean(text)}" for name, text in rows)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items()) or "none"
