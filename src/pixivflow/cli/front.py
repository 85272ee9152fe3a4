"""The first look at a command line: what can be answered without importing anything, and which verb is meant."""

from __future__ import annotations

import os
import sys

from pixivflow.cli import table

_FLAGS = frozenset({"-j", "--json", "--no-color", "--debug"})
_CONFIG = ("-c", "--config")
_NOT_FOUND = 2


def main(args: list[str]) -> int:  # noqa: PLR0911 - a row of answers
    """Answer `--help` and `--version` from the table, else import the one verb and run it."""
    given: list[str] = []  # options before the verb
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word in ("-h", "--help"):
            return _print(table.help_text())
        if word in ("-V", "--version"):
            return _version(as_json="--json" in [*given, *args] or "-j" in [*given, *args])
        if word in _FLAGS or word.startswith("--config="):
            given.append(word)
        elif word in _CONFIG:
            if not args:
                return _wrong(f"{word} needs the name of a file")
            given += [word, args.pop(0)]
        else:
            return _wrong(f"no such option: {_shown(word)}")
    if not args:
        print(table.help_text(), file=sys.stderr)
        return _NOT_FOUND
    word = args.pop(0)
    if word in ("help", "version"):
        return main(["--help"]) if word == "help" and not args else _word(word, args, given)
    verb = table.find(word)
    if verb is None:
        return _unknown(word)
    from pixivflow.cli.command import run

    return run(verb, args, given)


def _word(word: str, args: list[str], given: list[str]) -> int:
    """`help VERB` and `version`, as words."""
    if word == "version":
        return main([*given, *args, "--version"])
    return main([*args, "--help"])


def _version(*, as_json: bool) -> int:
    from pixivflow._version import __version__

    return _print(f'{{"name": "pixivflow", "version": "{__version__}"}}' if as_json else f"pixivflow {__version__}")


def _print(text: str) -> int:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has seen enough. What Python still holds must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), table.words(), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `pixivflow --help` lists them"
    return _wrong(f"no such command: {_shown(word)}{hint}")


def _wrong(text: str) -> int:
    print(f"pixivflow: {text}", file=sys.stderr)
    return 2


def _shown(text: str) -> str:
    cut = text if len(text) <= 60 else text[:60] + "…"
    return cut if cut.isprintable() else ascii(cut)
