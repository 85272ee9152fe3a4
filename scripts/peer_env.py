"""Install stock gallery-dl and pixivpy3 into an environment of their own, and print its folder; standard library only.

    python scripts/peer_env.py

They never share an environment with us: what we compare with must be what their users have. The folder is named after
the digest of the pinned versions, so a change of pins makes a new one and a second run only prints.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "tests" / "peers" / "requirements.txt"
CACHE = ROOT / ".cache" / "peers"


def folder() -> Path:
    """Where the environment for these pins and this Python belongs."""
    content = PINS.read_bytes() + sys.version.encode() + str(CACHE).encode()
    return CACHE / hashlib.sha256(content).hexdigest()[:16]


def main() -> int:
    """Make the environment unless it is there. Messages go to stderr, the folder to stdout."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        target = folder()
        if not (target / "complete").is_file():
            print(f"installing stock gallery-dl and pixivpy3 into {target}", file=sys.stderr)
            shutil.rmtree(target, ignore_errors=True)
            venv.EnvBuilder(with_pip=True, symlinks=True).create(target)
            command = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*command, "--requirement", str(PINS)], check=False, stdout=sys.stderr)
            if done.returncode:
                return done.returncode
            (target / "complete").touch()
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
