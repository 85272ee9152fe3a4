"""Promises about the files themselves: no package registry is named, and no file grows beyond reading.

The project must install from whatever registry a machine is set up for, so a tracked file names packages and versions
only. A file over the limit needs a line `Long file: <reason>` among its first forty. JSON is exempt: it is data, mostly
generated, and could not hold a reason.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tracked import ROOT, tracked_texts

LINES_MAX = 600
REASON = "Long file:"
# Put together from pieces so that this file does not name what it looks for.
REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pypi", "python", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("conda", "anaconda", "org"),
    )
)
OPTIONS = tuple("--" + "-".join(parts) for parts in (("index", "url"), ("extra", "index", "url"), ("find", "links")))


def problems_of(path: Path, text: str) -> list[str]:
    """What is wrong with one file, as `path:line: message`."""
    name = path.relative_to(ROOT)
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        lowered = line.lower()
        found += [f"{name}:{number}: names the package registry {host}" for host in REGISTRIES if host in lowered]
        found += [f"{name}:{number}: chooses a package registry ({option})" for option in OPTIONS if option in lowered]
    if path.suffix != ".json" and len(lines) > LINES_MAX and not any(REASON in line for line in lines[:40]):
        found.append(
            f"{name}: {len(lines)} lines, more than {LINES_MAX}; split it or write `{REASON} <reason>` at its top"
        )
    return found


def main() -> int:
    """Check every tracked text file."""
    found = [problem for path, text in tracked_texts() for problem in problems_of(path, text)]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
