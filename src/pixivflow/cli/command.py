"""Running one verb: shared options on every command, and one clear line for every way it can end."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.failure import report_stop, report_unexpected
from pixivflow.cli.options import CURRENT, Options
from pixivflow.cli.output import say
from pixivflow.cli.table import Verb

Json = Annotated[bool, typer.Option("--json", "-j", help="One JSON document on stdout (lines while following).")]
Config = Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help="Configuration file.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug messages.")]

_SHARED: dict[str, Any] = {"json": Json, "no_color": NoColor, "debug": Debug}
_HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def application(help_text: str) -> typer.Typer:
    """The Typer application of one verb. Plain help: it is quick, and the same on every terminal."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_HELP_NAMES,
    )


def group(help_text: str) -> typer.Typer:
    """The application of a verb that is followed by a noun, even if there is only one."""
    app = application(help_text)

    @app.callback()
    def _group() -> None:
        pass

    return app


def command(
    app: typer.Typer, name: str | None = None, *, with_config: bool = True
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function of `(options, ...)` as a command that also takes the shared options.

    The function returns an exit status or raises Stop.
    """

    def register(fn: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(fn, include_extras=True)
        own = list(inspect.signature(fn).parameters.values())[1:]
        shared = {**({"config": Config} if with_config else {}), **_SHARED}

        @functools.wraps(fn)
        def run_command(**values: Any) -> int:
            options = _merged(values)
            CURRENT.set(options)
            return int(fn(options, **{key: value for key, value in values.items() if key not in _ALL_SHARED}))

        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        for key, annotation in shared.items():
            default = None if key == "config" else False
            parameters.append(
                inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )
        run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run_command.__wrapped__  # what is inside takes other parameters
        app.command(name, context_settings=_HELP_NAMES)(run_command)
        return fn

    return register


_ALL_SHARED = frozenset({"config", *_SHARED})


def _merged(values: dict[str, Any]) -> Options:
    before = CURRENT.get()
    return replace(
        before,
        config=values.get("config") or before.config,
        json=values["json"] or before.json,
        color=before.color and not values["no_color"],
        debug=values["debug"] or before.debug,
    )


def run(verb: Verb, args: list[str], given: list[str]) -> int:
    """Import the verb, run it, and say in one line how it ended if it did not end well.

    Args:
        verb: as the table has it.
        args: what follows the verb.
        given: options before it, already known to be right.
    """
    options = _options_of(given)
    CURRENT.set(replace(options, json=options.json or _has(args, "--json", "-j"), debug=_has(args, "--debug")))
    try:
        if verb.nouns and not args:
            _call(verb, ["--help"])
            return Exit.USAGE
        return _call(verb, args)
    except Stop as stop:
        return report_stop(stop, CURRENT.get())
    except KeyboardInterrupt:
        say("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return Exit.FAILURE
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user
        return report_unexpected(error, CURRENT.get())


def _call(verb: Verb, args: list[str]) -> int:
    app: typer.Typer = importlib.import_module(verb.module).app
    program = typer.main.get_command(app)
    try:
        status = program.main(args=args, prog_name=f"pixivflow {verb.name}", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        # What Typer has to say about a command line; its classes have moved between its versions.
        told = getattr(error, "format_message", None)
        if told is None:
            raise
        raise Stop(Exit.USAGE, _sentence(told()), hint=_help_of(error, verb)) from None
    return int(status or 0)


def _sentence(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line[:1].lower() + line[1:]


def _help_of(error: Exception, verb: Verb) -> str:
    context = getattr(error, "ctx", None)
    return f"`{getattr(context, 'command_path', f'pixivflow {verb.name}')} --help` shows what there is"


def _options_of(given: list[str]) -> Options:
    options = Options(color=not _colorless() and "--no-color" not in given, debug="--debug" in given)
    options = replace(options, json=_has(given, "--json", "-j"))
    for position, word in enumerate(given):
        if word in ("-c", "--config"):
            options = replace(options, config=Path(given[position + 1]))
        elif word.startswith("--config="):
            options = replace(options, config=Path(word.removeprefix("--config=")))
    return options


def _has(args: list[str], *names: str) -> bool:
    """Whether a flag is among the arguments, for failures that come before they are parsed."""
    upto = args.index("--") if "--" in args else len(args)
    return any(name in args[:upto] for name in names)


def _colorless() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
