"""Facts about the machine and the software, without which no figure means anything."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("aiohttp", "apsw", "litestar", "msgspec", "pillow", "pydantic", "typer", "uvicorn", "uvloop")
SYNCS = 300


def facts(folder: Path) -> dict[str, Any]:
    """Processor, kernel, file system of `folder` with the price of one sync, and versions."""
    p50, p99 = fdatasync_ms(folder)
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000,
        "kernel": platform.release(),
        "filesystem": _filesystem(folder),
        "load_average_before": round(os.getloadavg()[0], 2),
        "fdatasync_ms": {"p50": p50, "p99": p99, "samples": SYNCS, "doubtful": p50 < 0.05},
        "python": sys.version.split()[0],
        "sqlite": _sqlite(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
    }


def fdatasync_ms(folder: Path) -> tuple[float, float]:
    """p50 and p99 of `fdatasync` after appending 4 KB. Below 0.05 ms a disk without protected cache is doubtful."""
    path = folder / "fdatasync"
    times = []
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for _ in range(SYNCS):
            os.write(handle, b"x" * 4096)
            begun = time.perf_counter()
            os.fdatasync(handle)
            times.append((time.perf_counter() - begun) * 1000)
    finally:
        os.close(handle)
        path.unlink()
    cuts = statistics.quantiles(times, n=100)
    return round(cuts[49], 3), round(cuts[98], 3)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _filesystem(folder: Path) -> str:
    """Type of the file system: of the mounts above the folder the innermost."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    for line in mounts:
        _, place, this, *_ = line.split()
        if folder.resolve().is_relative_to(place) and len(place) >= len(best):
            best, kind = place, this
    return kind


def _sqlite() -> str:
    import apsw

    return apsw.sqlite_lib_version()
