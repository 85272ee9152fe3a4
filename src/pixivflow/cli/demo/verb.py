"""`pixivflow demo`: what `make demo` runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pixivflow.cli.command import application, command
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.loop import Interrupts, run_with_signals
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, say, show

app = application("Run the whole way once against the built-in sandbox.")


@command(app, "demo", with_config=False)
def demo(
    options: Options,
    *,
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="The demo's folder.")] = Path("demo"),  # noqa: A002 - the option's name
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep an earlier demo's folder; use the next free name.")
    ] = False,
) -> int:
    """Start a sandbox and a server, order three works through the Job API, and show what was collected and delivered.

    Needs no account and no network. The folder stays for looking; the next demo makes it anew.
    """
    from pixivflow.cli.demo.folder import prepare

    folder = prepare(dir, keep=keep)

    async def main(interrupts: Interrupts) -> int:
        from pixivflow.cli.demo import report
        from pixivflow.cli.demo.run import demo as run

        outcome = await interrupts.guard(run(folder))
        if outcome is None:
            return interrupts.code
        document = report.document(outcome, str(folder.root))
        folder.report.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if options.json:
            emit(document)
        else:
            show("\n" + report.text(outcome, str(folder.root)))
        faults = report.faults(outcome)
        for fault in faults:
            say(f"pixivflow: {clean(fault)}")
        return Exit.INCOMPLETE if faults else Exit.OK

    try:
        return run_with_signals(main, told="stopping both processes")
    except Stop:
        say(f"the demo's folder is {clean(folder.root)}")
        raise
