"""`pixivflow serve`: the server, until it is told to stop."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pixivflow.cli.command import application, command
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.loading import check_folders, config_of, load
from pixivflow.cli.loop import Interrupts, run_with_signals
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, say, show
from pixivflow.config import LoadResult

app = application("Run the server: Job API, collecting, delivery.")

TOLD = "stopping: running work may finish; once more stops at once"


@command(app, "serve")
def serve(
    options: Options,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; the configuration's when not given.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port, likewise; 0 takes a free one.")] = None,
    grace: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Time to finish work at a stop.")] = 25.0,
) -> int:
    """Run the server until SIGTERM or Ctrl-C; a second one stops it at once."""
    result = load(options)
    config = config_of(result)
    check_folders(config)
    from pixivflow.observability import logs

    logs.configure("debug" if options.debug else config.log_level, color=options.color)
    return run_with_signals(
        lambda interrupts: _serve(options, result, interrupts, host=host, port=port, grace_s=grace), told=TOLD
    )


async def _serve(
    options: Options,
    result: LoadResult,
    interrupts: Interrupts,
    *,
    host: str | None,
    port: int | None,
    grace_s: float,
) -> int:
    from pixivflow.bootstrap import serve as run
    from pixivflow.wiring import StartupError

    def ready(url: str) -> None:
        if result.tokens.manual is None:
            say("the Job API is closed: set PIXIVFLOW_REFETCH_TOKEN to open /jobs and /capabilities")
        _ready(options, url)

    try:
        status = await run(
            result, host=host, port=port, ready=ready, stop=interrupts.stop, hurry=interrupts.hurry, grace_s=grace_s
        )
    except StartupError as error:
        raise Stop(Exit(error.exit_code), clean(error)) from None
    if options.json:
        emit({"event": "stopped", "exit_code": status})
    return interrupts.code if interrupts.hurry.is_set() else status


def _ready(options: Options, url: str) -> None:
    from pixivflow._version import __version__

    if options.json:
        emit({"event": "ready", "url": url, "pid": os.getpid(), "version": __version__})
    else:
        show(f"pixivflow {__version__} is ready at {url}")
