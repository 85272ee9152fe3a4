"""Measure what importing each direct dependency costs, as a table for ADR 0006.

    python scripts/measure_imports.py

Processor time of a whole fresh interpreter minus that of an empty one, the least of several runs: wall time would
measure the neighbours too. Weight is the package's own files without compiled caches and without what it depends on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

RUNS = 15
MODULES = {
    "aiohttp": "aiohttp",
    "apsw": "apsw",
    "cronsim": "cronsim",
    "httptools": "httptools",
    "litestar": "litestar",
    "msgspec": "msgspec",
    "pillow": "PIL.Image",
    "pydantic": "pydantic",
    "rich": "rich.console, rich.table, rich.progress",
    "structlog": "structlog",
    "typer": "typer",
    "tzdata": "tzdata",
    "uvicorn": "uvicorn",
    "uvloop": "uvloop",
    "trustme": "trustme",
}


def cpu_ms(code: str) -> float:
    """Least processor time of running `code` in a fresh interpreter."""
    times = []
    for _ in range(RUNS):
        process = subprocess.Popen([sys.executable, "-c", code])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{code!r} ended with {process.returncode}")
        times.append(1000 * (usage.ru_utime + usage.ru_stime))
    return min(times)


def weight_mb(name: str) -> float:
    """Size of the package's own files."""
    files = [file.locate() for file in metadata.files(name) or () if file.suffix != ".pyc"]
    return sum(os.stat(file).st_size for file in files if os.path.exists(file)) / 1e6  # noqa: PTH110, PTH116 - see locate


def licence(name: str) -> str:
    """What the package says, in its shortest form."""
    about = metadata.metadata(name)
    return about.get("License-Expression") or (about.get("License") or "see its files").splitlines()[0]


def main() -> int:
    """Print the table."""
    empty = cpu_ms("pass")
    print("| package | version | licence | MB | import, ms |\n|---|---|---|---|---|")
    print(f"| (empty interpreter) | | | | {empty:.0f} |")
    for name, modules in MODULES.items():
        cost = max(0.0, cpu_ms(f"import {modules}") - empty)
        print(
            f"| {name} | {metadata.version(name)} | {licence(name)} | {weight_mb(name):.1f} | {cost:.0f} |", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
