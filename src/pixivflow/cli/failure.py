"""Saying how a command failed: one line for people, one document for programs, a traceback only in a file."""

from __future__ import annotations

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.options import Options
from pixivflow.cli.output import emit, say

_LOG_NAME = "errors.log"
_LOG_MAX = 1_000_000


def report_stop(stop: Stop, options: Options) -> int:
    """Tell an expected end."""
    if options.json:
        error = {"code": stop.code.word, "exit_code": int(stop.code), "message": stop.text}
        emit({"error": {**error, **({"hint": stop.hint} if stop.hint else {}), **stop.detail}})
    say(f"pixivflow: {stop.text}" + (f"; {stop.hint}" if stop.hint else ""))
    return stop.code


def report_unexpected(error: Exception, options: Options) -> int:
    """Tell a fault of ours: its name and where the details are. Secrets are taken out of both."""
    from pixivflow.observability.redact import redact_text

    details = redact_text("".join(traceback.format_exception(error)))
    name = redact_text(f"{type(error).__name__}: {error}".splitlines()[0][:200])
    if options.debug:
        sys.stderr.write(details)
        where = ""
    else:
        path = _keep(details)
        where = f"details are in {path}" if path else "run it again with --debug for details"
    return report_stop(Stop(Exit.FAILURE, f"unexpected error: {name}", hint=where), options)


def state_folder() -> Path | None:
    """Where this user's programs keep logs, None when there is no home."""
    configured = os.environ.get("XDG_STATE_HOME", "")
    if configured and Path(configured).is_absolute():
        return Path(configured) / "pixivflow"
    home = os.environ.get("HOME", "")
    return Path(home) / ".local" / "state" / "pixivflow" if home else None


def _keep(details: str) -> Path | None:
    """Append to the error log; it is begun anew when it has grown large."""
    folder = state_folder()
    if folder is None:
        return None
    path = folder / _LOG_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = "w" if path.exists() and path.stat().st_size > _LOG_MAX else "a"
        with path.open(mode, encoding="utf-8") as log:
            log.write(f"--- {datetime.now(UTC).isoformat(timespec='seconds')}\n{details}\n")
    except OSError:
        return None
    return path
