"""The configuration for a command: every problem is told, and with an error nothing else happens."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, plural, say
from pixivflow.config import Config, LoadResult, load_config, render_problem
from pixivflow.observability.redact import add_secret


def load(options: Options, overrides: Mapping[str, Any] | None = None, *, warn: bool = True) -> LoadResult:
    """Load the configuration and tell its warnings on stderr.

    Raises:
        Stop: USAGE with all errors, one line each.
    """
    result = load_config(options.config, overrides=overrides)
    if result.config is None or result.errors:
        raise refused(result)
    if warn:
        for problem in result.warnings:
            say(clean(render_problem(problem)))
    _protect(result)
    return result


def config_of(result: LoadResult) -> Config:
    """The configuration of a result without errors."""
    if result.config is None:
        raise refused(result)
    return result.config


def check_folders(config: Config) -> None:
    """Look whether the library and the ledger can be written, without writing anything.

    Raises:
        Stop: FAILURE for the first place that cannot. What this look cannot see is found when it is used.
    """
    for what, folder in (("library", config.library_dir), ("ledger's folder", config.database_path.parent)):
        nearest = folder
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if not nearest.is_dir():
            raise Stop(Exit.FAILURE, f"the {what} {clean(folder)} cannot be used: {clean(nearest)} is not a folder")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise Stop(Exit.FAILURE, f"the {what} {clean(folder)} cannot be used: {clean(nearest)} is not writable")


def refused(result: LoadResult) -> Stop:
    """Why the configuration cannot be used: one line each, and all of them."""
    lines = [clean(render_problem(problem)) for problem in result.errors]
    head = lines[0] if len(lines) == 1 else f"the configuration has {plural(len(lines), 'error')}"
    text = head if len(lines) == 1 else "\n  ".join([head, *lines])
    return Stop(Exit.USAGE, text, detail={"problems": [asdict(problem) for problem in result.problems]})


def _protect(result: LoadResult) -> None:
    """Make the secrets of the configuration known to the redaction."""
    config = config_of(result)
    pixiv = config.pixiv
    secrets = [pixiv.refresh_token, pixiv.client_secret, result.tokens.manual, result.tokens.trigger]
    for route in config.delivery.targets.values():
        secrets.extend(route.headers.values())
    secrets.extend(config.callbacks.secrets)
    add_secret(*(secret.get_secret_value() for secret in secrets if secret is not None))
