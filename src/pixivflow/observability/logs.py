"""Logs: structlog and the standard library's logging through one pipe to stderr.

One JSON object a line where a program reads, a short line where a person does. Every value passes the redaction before
it is written; a log that cannot be written never stops the work.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import IO, Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from pixivflow.observability.redact import redact, redact_text

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
QUIET = ("uvicorn", "aiohttp", "asyncio", "litestar", "PIL", "urllib3", "multipart")
"""Libraries whose ordinary chatter says nothing to an operator."""

_FIRST = ("ts", "level", "logger", "event")


def configure(
    level: str = "info", *, stream: IO[str] | None = None, human: bool | None = None, color: bool = True
) -> None:
    """Send all logging of this process to a stream. May be called again; the last call counts.

    Args:
        level: debug, info, warn or error; anything else means info.
        stream: stderr when None.
        human: lines for people instead of JSON; None asks whether the stream is a terminal.
        color: whether a person's lines may be coloured.
    """
    out = stream if stream is not None else sys.stderr
    for_people = out.isatty() if human is None else human
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    renderer: Processor = _line(color=color and out.isatty()) if for_people else structlog.processors.JSONRenderer()
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redaction, _ordered, renderer],
        )
    )
    root = logging.getLogger()
    for old in list(root.handlers):
        if getattr(old, "pixivflow", False):
            root.removeHandler(old)
    handler.pixivflow = True  # type: ignore[attr-defined]  # tells ours from a test runner's
    root.addHandler(handler)
    wanted = LEVELS.get(level, logging.INFO)
    root.setLevel(wanted)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(wanted, logging.WARNING))
    logging.raiseExceptions = False
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *before,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def redaction(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """The processor that takes secrets out of every value; the last before writing."""
    clean = redact(event)
    return clean if isinstance(clean, MutableMapping) else {"event": redact_text(str(event))}


def _ordered(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    return {**{key: event[key] for key in _FIRST if key in event}, **event}


def _line(*, color: bool) -> Processor:
    shades = {"warning": "33", "error": "31", "critical": "31;1", "debug": "2"}

    def render(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
        fields = dict(event)
        level = str(fields.pop("level", "info"))
        clock = str(fields.pop("ts", ""))[11:19]
        trace = fields.pop("exception", None) or fields.pop("stack", None)
        fields.pop("logger", None)
        text = _one_line(fields.pop("event", ""))
        rest = "".join(f" {key}={_one_line(value)}" for key, value in fields.items())
        shown = f"\x1b[{shades[level]}m{level:<8}\x1b[0m" if color and level in shades else f"{level:<8}"
        return f"{clock} {shown} {text}{rest}" + (f"\n{trace}" if trace else "")

    return render


def _one_line(value: Any) -> str:
    """A value that cannot forge a second line or move the cursor."""
    return "".join(char if char.isprintable() else " " for char in str(value))
