"""Measure PixivFlow and print one JSON document; progress goes to stderr.

    python scripts/bench.py [--runs N] [--only PART ...] [--keep]

Parts: startup, collecting, accepts, due, memory, history. Nothing here fails for being slow: the aims stand beside the
figures. Everything runs on loopback against the built-in sandbox; gallery-dl comes from the package registry, in an
environment of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks import collecting, history, machine, serving, startup  # noqa: E402 - the folder is put on the path above

PARTS = ("startup", "collecting", "accepts", "due", "memory", "history")
AIMS = {
    "collecting_50ms_gallery_dl_over_pixivflow": ">= 3",
    "collecting_50ms_pixivflow_over_bare_loop": "<= 1.5",
    "memory_peak_while_collecting_mb": "<= 106",
    "help_pixivflow_over_gallery_dl": "<= 1",
    "list_and_detail_per_10_works": "<= 1.1",
    "accepts_per_second": ">= 4000 with p99 <= 30 ms",
    "due_to_started_ms": "p50 <= 5, p99 <= 25",
    "history_worst_ratio": "<= 1.5 between 10,000 and 1,000,000 events",
}


def say(text: str) -> None:
    """Progress, for the person who waits."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Measure what was asked for."""
    arguments = _arguments()
    wanted = set(arguments.only or PARTS)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=_scratch()))
    begun = time.monotonic()
    try:
        report = _measure(folder, wanted, arguments.runs)
    finally:
        if arguments.keep:
            say(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    report["seconds"] = round(time.monotonic() - begun)
    json.dump(report, sys.stdout, indent=2)
    print()
    return 1 if report["failed"] else 0


def _measure(folder: Path, wanted: set[str], runs: int) -> dict[str, Any]:
    peers = _peers() if wanted & {"startup", "collecting"} else None
    environment = _environment(folder)
    os.environ.clear()
    os.environ.update(environment)
    report: dict[str, Any] = {"commit": _commit(), "machine": machine.facts(folder), "aims": AIMS, "failed": {}}

    def part(name: str, measure: Callable[[], Any]) -> None:
        """One part. A part that cannot run is named; the others still count."""
        if name.split("_", maxsplit=1)[0] not in wanted:
            return
        try:
            report[name] = measure()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            report["failed"][name] = str(error)
            say(f"{name} failed: {error}")

    if peers is not None:
        report["machine"]["gallery_dl"] = _gallery_dl_version(peers)
        part("startup", lambda: startup.measure(folder, peers, runs=max(runs, 10), say=say))
        for latency, animations in itertools.product((0, 50), (0, collecting.ANIMATIONS)):
            part(
                f"collecting_{latency}ms" + ("_with_animations" if animations else ""),
                lambda at=latency, moving=animations: collecting.measure(
                    folder, peers, latency_ms=at, animations=moving, runs=runs, say=say
                ),
            )
    part("accepts", lambda: serving.accepts(folder, environment, runs=runs, seconds=5, say=say))
    part("due", lambda: serving.due_to_started(folder, environment, jobs=100, say=say))
    part("memory", lambda: serving.memory(folder, environment, runs=runs, say=say))
    part("history", lambda: history.measure(folder, say=say))
    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure PixivFlow and print one JSON document.")
    parser.add_argument("--runs", type=int, default=3, help="runs of each measurement, the median counts (default 3)")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="measure only these parts")
    parser.add_argument("--keep", action="store_true", help="leave the working folder for looking")
    return parser.parse_args()


def _scratch() -> Path:
    """A folder on the disk of the checkout: a RAM disk would make syncs look free."""
    folder = ROOT / ".cache" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _environment(folder: Path) -> dict[str, str]:
    """The environment of every measured program: no settings, proxies or home of the person who runs this."""
    foreign = ("PIXIVFLOW_", "PIXIV_", "SCHEDULER_", "XDG_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and not k.lower().endswith("_proxy")}
    home = folder / "home"
    home.mkdir()
    return kept | {"HOME": str(home)}


def _peers() -> Path:
    command = [sys.executable, str(ROOT / "scripts" / "peer_env.py")]
    return Path(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


def _gallery_dl_version(peers: Path) -> str:
    command = [str(peers / "bin" / "gallery-dl"), "--version"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
