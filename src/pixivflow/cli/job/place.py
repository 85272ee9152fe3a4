"""Which server is meant, and with which token."""

from __future__ import annotations

import os
from pathlib import Path

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean
from pixivflow.observability.redact import add_secret

URL_VARIABLE = "PIXIVFLOW_URL"
TOKEN_VARIABLE = "PIXIVFLOW_REFETCH_TOKEN"  # noqa: S105 - the name of a variable


def server_url(options: Options, given: str | None) -> str:
    """The server's address: as given, from PIXIVFLOW_URL, or of the process that holds the configured ledger."""
    named = given or os.environ.get(URL_VARIABLE, "").strip()
    if named:
        return named if "://" in named else f"http://{named}"
    from pixivflow.cli.loading import config_of, load
    from pixivflow.ledger.lock import holder_of

    path = config_of(load(options, warn=False)).database_path
    holder = holder_of(path)
    if holder is None:
        hint = f"start `pixivflow serve`, or name a server with --server or {URL_VARIABLE}"
        raise Stop(Exit.UNAVAILABLE, f"no server runs on the ledger {clean(path)}", hint=hint)
    if not isinstance(holder.get("url"), str):
        who = f"{clean(holder.get('purpose'))} (process {clean(holder.get('pid'))})"
        raise Stop(Exit.UNAVAILABLE, f"the ledger is held by {who}, which has no address yet", hint="try again shortly")
    return str(holder["url"])


def token(file: Path | None) -> str | None:
    """The bearer token: of a file, or of the environment."""
    if file is None and not os.environ.get(f"{TOKEN_VARIABLE}_FILE"):
        found = os.environ.get(TOKEN_VARIABLE, "").strip() or None
    elif file is None and os.environ.get(TOKEN_VARIABLE, "").strip():
        found = os.environ[TOKEN_VARIABLE].strip()
    else:
        found = _read(file or Path(os.environ[f"{TOKEN_VARIABLE}_FILE"]))
    if found is not None and not (found.isascii() and found.isprintable() and " " not in found):
        raise Stop(Exit.USAGE, "the token has characters that no header may hold")
    add_secret(found)
    return found


def _read(path: Path) -> str | None:
    from pixivflow.config.environment import SecretFileError, read_secret_file

    try:
        return read_secret_file(path.expanduser()).strip() or None
    except SecretFileError as error:
        raise Stop(Exit.USAGE, f"the token file {clean(path)} {error}") from None
