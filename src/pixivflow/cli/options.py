"""What every command can be told, and the standing answer to it for the running command."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """Options that are there before and after the verb.

    Attributes:
        config: the configuration file, None for the usual places.
        json: one document on stdout (JSON lines while following) instead of text.
        color: False when colours are not wanted.
        debug: tracebacks and debug messages.
    """

    config: Path | None = None
    json: bool = False
    color: bool = True
    debug: bool = False


CURRENT: ContextVar[Options] = ContextVar("pixivflow_options", default=Options())  # noqa: B039 - the default is frozen
"""The options of the command that runs, for whoever reports how it ended."""
