"""`pixivflow config validate | show | schema`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pixivflow.cli.command import command, group
from pixivflow.cli.exits import Exit
from pixivflow.cli.loading import load
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, plural, say, show, table

app = group("Check, show and describe the configuration. The file is never changed.")


@command(app)
def validate(options: Options) -> int:
    """Print every problem of the configuration; exit 2 when one of them is an error."""
    from pixivflow.config import load_config, render_problems

    result = load_config(options.config)
    ok = not result.errors
    if options.json:
        file = str(result.path) if result.path else None
        emit({"valid": ok, "file": file, "problems": [asdict(problem) for problem in result.problems]})
    else:
        if result.problems:
            for line in render_problems(result.problems).splitlines():
                say(clean(line))
        verdict = "valid" if ok else "not valid"
        counts = f"{plural(len(result.errors), 'error')}, {plural(len(result.warnings), 'warning')}"
        show(f"{result.path or 'defaults'}: {verdict} ({counts})")
    return Exit.OK if ok else Exit.USAGE


@command(app, "show")
def show_values(
    options: Options,
    changed: Annotated[bool, typer.Option("--changed", help="Leave out what has its default.")] = False,
) -> int:
    """Print every value in force and where it comes from; secrets are masked."""
    from pixivflow.config.show import show as rows_of

    result = load(options)
    rows = [row for row in rows_of(result) if not changed or row.origin != "default"]
    if options.json:
        file = str(result.path) if result.path else None
        emit({"file": file, "base": str(result.base), "values": [row._asdict() for row in rows]})
    else:
        show(table(("KEY", "VALUE", "ORIGIN"), ((row.path, _value(row.value), row.origin) for row in rows)))
    return Exit.OK


@command(app)
def schema(options: Options) -> int:
    """Print the JSON Schema of the file, for editors."""
    import json

    from pixivflow.config.schema import json_schema

    document = json_schema()
    if options.json:
        emit(document)
    else:
        show(json.dumps(document, indent=2, ensure_ascii=False))
    return Exit.OK


def _value(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
