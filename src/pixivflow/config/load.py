"""The one way to a configuration file: find it, read it, check it. No file is ever written."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixivflow.config.check import LoadResult, assemble, draft_of
from pixivflow.config.draft import Draft
from pixivflow.config.environment import Environment
from pixivflow.config.locate import Located, locate
from pixivflow.config.problems import Problem
from pixivflow.config.read import MAX_BYTES, parse


def load_config(
    path: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    cwd: Path | None = None,
) -> LoadResult:
    """Load and check the configuration.

    Args:
        path: the file; without it the usual places are looked at (`locate.locate`).
        env: environment variables; the process's own when None.
        overrides: dotted key to value, over everything else, e.g. `{"download.concurrency": 1}`.
        cwd: the working folder; the process's own when None.
    """
    variables = os.environ if env is None else env
    folder = (cwd or Path.cwd()).absolute()
    located = locate(Path(path) if path is not None else None, variables, folder)
    draft = _read(located)
    if draft.has_errors() and not draft.data:
        # Nothing could be read: findings about defaults would only hide the one that matters.
        return LoadResult(None, tuple(draft.problems), path=located.path, base=located.base)
    return assemble(draft, Environment(variables, located.base), located.base, overrides or {}, located.path)


def _read(located: Located) -> Draft:
    """The file as a draft; an empty one with a finding when there is none or it cannot be read."""
    if located.path is None:
        looked = ", ".join(str(place) for place in located.looked)
        reason = f"no configuration file found, defaults are used (looked for {looked})"
        hint = "name one with --config or PIXIV_DOWNLOADER_CONFIG"
        return Draft({}, problems=[Problem("warning", "", "no_file", reason, hint)])
    name = located.path.name
    raw, fault = _bytes(located.path)
    if raw is None:
        problem = Problem("error", "", "unreadable", f"{fault}: {located.path}", source=name)
        return Draft({}, name, problems=[problem])
    parsed = parse(name, raw)
    problems = [Problem(p.severity, p.path, p.code, p.reason, p.suggestion, name) for p in parsed.problems]
    if parsed.data is None:
        return Draft({}, name, problems=problems)
    return draft_of(parsed.data, name, problems)


def _bytes(path: Path) -> tuple[bytes | None, str]:
    try:
        if not path.exists():
            return None, "there is no such file"
        if not path.is_file():
            return None, "this is not a file"
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1), ""
    except OSError as error:
        return None, error.strerror or type(error).__name__
