"""The sandbox as the benchmarks need it: one author with 50 works in 70 files, drawn before anything is measured.

    python site.py FOLDER LATENCY_MS ANIMATIONS

Runs until it is told to end, and writes `FOLDER/site.json` with its addresses once it listens. A process of its own so
that the measured program does not share an interpreter with the site. (They do share the cores.)
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from pixivflow.sandbox import Frame, Sandbox, SandboxOptions, World, records

AUTHOR = 1001
TAG = "benchmark"
WORKS = 50
FILES = 70
FRAMES = 8


def world(animations: int) -> World:
    """10 works of three pages, up to 5 animations, the rest single pictures; three jpg to two png."""
    author = records.user(AUTHOR, "bench author")
    made = World.from_records(authors=[author])
    newest = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for number in range(WORKS):
        moving = number % 10 == 9 and number // 10 < animations
        kind, pages, frames = ("ugoira", 1, _frames()) if moving else ("illust", 1, None)
        if number % 5 == 2:
            pages = 3
        record = records.illust(
            70_000_000 + number,
            newest - timedelta(hours=3 * number),
            author,
            title=f"work {number}",
            kind=kind,
            pages=pages,
            ext="jpg" if kind == "ugoira" or number % 5 < 3 else "png",
            tags=[TAG, f"series {number % 7}"],
            bookmarks=100 + number,
        )
        made.add_work(record, frames=frames)
    return made


def _frames() -> list[Frame]:
    return [Frame(f"{n:06d}.jpg", 80 + 10 * (n % 3)) for n in range(FRAMES)]


async def main(folder: Path, latency_ms: float, animations: int) -> None:
    """Serve until SIGTERM."""
    options = SandboxOptions(
        anchor=date(2026, 3, 1), latency_ms=latency_ms, picture_size=(600, 800), media_cache_mb=512, recent_requests=10
    )
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Sandbox(options, world=world(animations), tls_dir=folder / "tls", proxy=True) as sandbox:
        await sandbox.warm()
        about = asdict(sandbox.addresses) | {
            "base_url": sandbox.base_url,
            "endpoints": sandbox.endpoints(),
            "proxy_url": sandbox.addresses.proxy_url,
            "receiver": sandbox.receiver_url("bench"),
            "outcome": sandbox.receiver_url("bench", "outcome"),
        }
        draft = folder / "site.draft"
        draft.write_text(json.dumps(about), encoding="utf-8")
        draft.replace(folder / "site.json")
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
