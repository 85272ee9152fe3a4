"""How long a person waits for `--help`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import ratio, spread
from benchmarks.processes import python, timed


def measure(folder: Path, peers: Path, *, runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """The programs in turn, `runs` times each after one run that warms the file cache."""
    commands = {
        "pixivflow_help": python("-m", "pixivflow", "--help"),
        "pixivflow_version": python("-m", "pixivflow", "--version"),
        "gallery_dl_help": [str(peers / "bin" / "gallery-dl"), "--help"],
        "gallery_dl_version": [str(peers / "bin" / "gallery-dl"), "--version"],
        "bare_python": python("-c", "pass"),
    }
    seen: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            run = timed(command, cwd=folder)
            if run.code != 0:
                raise RuntimeError(f"{name} ended with {run.code}")
            if turn:
                seen[name].append(run.wall_s * 1000)
    report: dict[str, Any] = {name: spread(samples, 1) for name, samples in seen.items()}
    report["pixivflow_over_gallery_dl"] = ratio(report["pixivflow_help"]["median"], report["gallery_dl_help"]["median"])
    say(f"--help: {report['pixivflow_help']['median']} ms, gallery-dl {report['gallery_dl_help']['median']} ms")
    return {"unit": "ms", **report}
