"""Running whole programs and measuring them from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """One finished program. `peak_rss_mb` is the largest of it and its children."""

    wall_s: float
    cpu_s: float
    peak_rss_mb: float
    code: int


def timed(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, quiet: bool = True) -> Run:
    """Run to the end. Output goes to `<cwd>/output.txt`, so that a failure can be looked at."""
    with (cwd / "output.txt").open("wb") as log:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=log if quiet else None, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


def said(cwd: Path, last: int = 15) -> str:
    """The last lines of what the program printed."""
    return "\n".join((cwd / "output.txt").read_text(encoding="utf-8", errors="replace").splitlines()[-last:])


@contextmanager
def running(
    command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server for the length of a block; asked to end, then made to."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent)
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask politely, ask to hurry, then insist."""
    for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(3)
    process.wait()


def until(what: str, probe: Any, process: subprocess.Popen[bytes], log: Path, *, seconds: float = 30) -> Any:
    """Ask `probe` until it gives something. Raises RuntimeError with what the program said when it does not."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit and process.poll() is None:
        found = probe()
        if found is not None:
            return found
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not happen:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")


def get_json(url: str, token: str | None = None) -> Any:
    """The JSON document behind a local URL, None while nobody answers."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310 - local
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - local
            return json.load(answer)
    except OSError:
        return None


def post_json(url: str, document: Any, token: str | None = None) -> Any:
    """Post a JSON document to a local URL and read the answer's."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)  # noqa: S310 - local
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - local
        return json.load(answer)


def peak_rss_mb(pid: int) -> float:
    """The most memory a living process ever held (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} does not say how much memory it holds")


def cpu_seconds(pid: int) -> float:
    """Processor time a living process has used, all threads, user and system (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def python(*arguments: str) -> list[str]:
    """A command for our own interpreter."""
    return [sys.executable, *arguments]
