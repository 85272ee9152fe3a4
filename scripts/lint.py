"""Run every static check and say at the end which ones failed.

    python scripts/lint.py [NAME ...]

Names choose checks: ruff, format, types, rooms, files, sql, pins, and every scripts/gen_*.py by its name.
All checks run even when one fails: one run tells everything.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

CHECKS: dict[str, list[str]] = {
    "ruff": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "rooms": [str(BIN / "lint-imports"), "--no-logo"],
    "files": [sys.executable, "scripts/check_files.py"],
    "sql": [sys.executable, "scripts/check_sql.py"],
    "pins": [sys.executable, "scripts/check_pins.py"],
}
# Whatever is generated from the code is in step with it.
CHECKS |= {path.stem: [sys.executable, str(path), "--check"] for path in sorted(ROOT.glob("scripts/gen_*.py"))}


def main(names: list[str]) -> int:
    """Run the named checks, or all. Returns 1 when one of them failed."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"unknown check {unknown[0]!r}, expected some of: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or list(CHECKS):
        print(f"--- {name}", flush=True)
        started = time.monotonic()
        done = subprocess.run(CHECKS[name], cwd=ROOT, env=os.environ | {"PYTHONPATH": "src"}, check=False)
        if done.returncode:
            failed.append(name)
        print(f"    {'FAILED' if done.returncode else 'ok'} in {time.monotonic() - started:.1f} s", flush=True)
    if failed:
        print(f"lint: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print("lint: everything ok")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
