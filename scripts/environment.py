"""Bring the virtual environment in step with pyproject.toml and constraints.txt; standard library only.

    python scripts/environment.py VENV runtime|full

A stamp inside the environment says what was installed there. It is a digest of contents, not of file times, so a fresh
clone, a touched file or a moved folder are each treated as what they are. A lock keeps parallel runs apart.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {"runtime": "", "full": "[test,lint,tls,fuzz]"}
RANK = {"runtime": 0, "full": 1}
STAMP = ".pixivflow-stamp.json"


def main(folder: str, level: str) -> int:
    """Install what is missing. Returns the exit code of the step that failed, else 0."""
    if level not in EXTRAS:
        print(f"unknown level {level!r}, expected one of {', '.join(EXTRAS)}", file=sys.stderr)
        return 2
    target = (ROOT / folder).absolute()
    if target.is_dir() and any(target.iterdir()) and not (target / "pyvenv.cfg").is_file():
        print(f"{target} holds something that is not a virtual environment; it is left alone", file=sys.stderr)
        return 2
    with locked(ROOT / ".cache" / "environment.lock"):
        return bring_up_to_date(target, level)


def bring_up_to_date(target: Path, level: str) -> int:
    """Make or repair the environment in `target` and install the level's packages unless the stamp says they are."""
    interpreter = target / "bin" / "python"
    version = version_of(interpreter)
    if version is None:
        print(f"making the virtual environment {target} with Python {sys.version.split()[0]}")
        # Cleared, because a link to a Python that has gone would not be replaced.
        venv.EnvBuilder(with_pip=True, symlinks=True, clear=True).create(target)
        version = version_of(interpreter)
        if version is None:
            print(f"the new environment's {interpreter} does not run", file=sys.stderr)
            return 1
    wanted = digest(version)
    stamp = read_stamp(target / STAMP)
    if stamp.get("digest") == wanted and RANK.get(stamp.get("level", ""), -1) >= RANK[level]:
        return 0
    print(f"installing PixivFlow and its {level} packages into {target}")
    started = time.monotonic()
    command = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    # Without a home the package cache would land in the root folder.
    if not os.environ.get("HOME"):
        command.append("--no-cache-dir")
    command += ["--constraint", "constraints.txt", "--editable", f".{EXTRAS[level]}"]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), check=False)
    if done.returncode:
        print("installing failed; the messages above are pip's", file=sys.stderr)
        return done.returncode
    write_stamp(target / STAMP, {"digest": wanted, "level": level})
    print(f"installed in {time.monotonic() - started:.0f} s")
    return 0


def version_of(interpreter: Path) -> str | None:
    """The version of an environment's Python, None when it is missing, broken, too old or has no pip."""
    probe = "import sys, pip; assert sys.version_info >= (3, 11); print(sys.version.split()[0], sys.prefix)"
    try:
        done = subprocess.run(
            [str(interpreter), "-c", probe], capture_output=True, text=True, check=False, env=clean_environment()
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def digest(version: str) -> str:
    """What decides whether an installation is current: the two files, the interpreter, and where the checkout lies."""
    parts = [version.encode(), str(ROOT).encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def clean_environment() -> dict[str, str]:
    """The environment without what would send packages or imports elsewhere."""
    foreign = {"PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "__PYVENV_LAUNCHER__"}
    return {name: value for name, value in os.environ.items() if name not in foreign}


def read_stamp(path: Path) -> dict[str, str]:
    """The stamp, empty when there is none or it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_stamp(path: Path, content: dict[str, str]) -> None:
    """Write whole or not at all."""
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file; a second run waits and then finds the work done."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: environment.py VENV runtime|full")
    sys.exit(main(*sys.argv[1:]))
