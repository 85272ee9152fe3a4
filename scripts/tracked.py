"""The text files that belong to the project."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SKIPPED = {".git", ".venv", ".cache", "__pycache__", "build", "dist", "demo"}


def tracked_files() -> list[Path]:
    """Every file git knows or would take; without git, every file outside build and cache folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        found = (p for p in ROOT.rglob("*") if not _SKIPPED.intersection(p.relative_to(ROOT).parts))
    else:
        found = (ROOT / name for name in done.stdout.decode().split("\0") if name)
    return sorted(path for path in found if path.is_file())


def tracked_texts() -> Iterator[tuple[Path, str]]:
    """Path and text of each tracked file that is text."""
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" in content[:8192]:
            continue
        try:
            yield path, content.decode("utf-8")
        except UnicodeDecodeError:
            continue
