"""The verbs: name, module and one line of help. `pixivflow --help` is answered from here and imports none of them."""

from __future__ import annotations


class Verb:
    """One first word of the command line. A plain class: `typing` and `dataclasses` would double the time of `--help`.

    Attributes:
        module: where its Typer application is, imported when the verb is used.
        nouns: the words that may follow, for a group; empty for a command.
        aliases: other names of it, also the upstream's.
    """

    __slots__ = ("aliases", "help", "module", "name", "nouns")

    def __init__(
        self, name: str, module: str, help_line: str, nouns: tuple[str, ...] = (), aliases: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.module = module
        self.help = help_line
        self.nouns = nouns
        self.aliases = aliases


VERBS: tuple[Verb, ...] = (
    Verb("demo", "pixivflow.cli.demo.verb", "Run the whole way once against the built-in sandbox"),
    Verb("serve", "pixivflow.cli.serve", "Run the server: Job API, collecting, delivery", aliases=("scheduler",)),
    Verb("download", "pixivflow.cli.download.verb", "Collect works by address or by target, here and now"),
    Verb(
        "job",
        "pixivflow.cli.job.verb",
        "Order works from a running server and follow the jobs",
        ("submit", "list", "show", "wait", "cancel", "events"),
    ),
    Verb("outbox", "pixivflow.cli.outbox", "What waits to be delivered", ("list", "inspect", "retry", "cancel")),
    Verb("status", "pixivflow.cli.status", "Counts of jobs, deliveries, works and files", aliases=("stats",)),
    Verb(
        "config", "pixivflow.cli.config", "Check, show and describe the configuration", ("validate", "show", "schema")
    ),
    Verb("protocol", "pixivflow.cli.protocol", "Check any producer of Workflow Protocol v1", ("verify",)),
    Verb("sandbox", "pixivflow.cli.sandbox", "An invented Pixiv to try things with", ("serve",)),
)

GLOBAL_OPTIONS: tuple[tuple[str, str], ...] = (
    ("-c, --config FILE", "configuration file (also PIXIV_DOWNLOADER_CONFIG)"),
    ("-j, --json", "one JSON document on stdout, JSON lines while following"),
    ("--no-color", "no colours (also NO_COLOR)"),
    ("--debug", "show tracebacks and debug messages"),
    ("-V, --version", "show the version and exit"),
    ("-h, --help", "show this and exit; `pixivflow COMMAND --help` for one command"),
)

EXAMPLES: tuple[str, ...] = (
    "pixivflow demo",
    "pixivflow download --url https://www.pixiv.net/artworks/12345",
    "pixivflow serve --config config.json",
    "pixivflow job submit --target morning --wait",
)


def find(word: str) -> Verb | None:
    """The verb of a name or alias."""
    return next((verb for verb in VERBS if word == verb.name or word in verb.aliases), None)


def words() -> list[str]:
    """Every first word there is."""
    return [word for verb in VERBS for word in (verb.name, *verb.aliases)]


def help_text() -> str:
    """The answer to `pixivflow --help`."""
    rows = [(verb.name, verb.help) for verb in VERBS]
    lines = [
        "Usage: pixivflow [OPTIONS] COMMAND [ARGS]...",
        "",
        "Collects works from Pixiv, unattended.",
        "",
        "Commands:",
    ]
    lines += [f"  {name:<10} {text}" for name, text in rows]
    lines += ["", "Options:", *(f"  {name:<18} {text}" for name, text in GLOBAL_OPTIONS)]
    lines += ["", "Examples:", *(f"  {example}" for example in EXAMPLES)]
    return "\n".join(lines)
