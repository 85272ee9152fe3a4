"""One process per embedded ledger, held by an advisory lock on a file beside it.

The lock dies with its process, so a ledger that can be locked has no live owner: everything that was running when it
was last written is known to be dead (this is what lets recovery take attempts over at once).
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

from pixivflow.ledger.errors import LedgerInUse, LedgerUnusable

_TRIES = 8
_PAUSE_S = 0.025


class LedgerLock:
    """The lock of one ledger file."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + ".lock")
        self._fd: int | None = None

    def acquire(self, *, purpose: str) -> None:
        """Take the lock or say who has it.

        Raises:
            LedgerInUse: another process holds it.
            LedgerUnusable: the lock file cannot be made.
        """
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerUnusable(f"cannot create {self.path}: {error.strerror}") from None
        if not _take(fd):
            holder = _read_holder(fd)
            os.close(fd)
            raise LedgerInUse(f"the ledger {self.path.with_suffix('')} is in use by {holder}") from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps({"pid": os.getpid(), "purpose": purpose}).encode(), 0)
        self._fd = fd

    def annotate(self, **facts: object) -> None:
        """Add facts for other processes to read, such as the address a server listens on."""
        if self._fd is None:
            return
        known = _read(self._fd) or {}
        text = json.dumps({**known, **facts}).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def release(self) -> None:
        """Give the lock back. The file stays: removing it would race with the next owner."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def holder_of(ledger: Path) -> dict[str, object] | None:
    """Facts about the process that holds a ledger, None when nobody does."""
    path = ledger.with_name(ledger.name + ".lock")
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return _read(fd) or {"pid": None, "purpose": "another process"}
    else:
        return None
    finally:
        os.close(fd)


def _take(fd: int) -> bool:
    """Take the lock. Whoever only asks who holds it (`holder_of`) has it for a moment; that must not refuse a start."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_PAUSE_S)
        else:
            return True
    return False


def _read(fd: int) -> dict[str, object] | None:
    try:
        value = json.loads(os.pread(fd, 4096, 0) or b"null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _read_holder(fd: int) -> str:
    facts = _read(fd)
    if not facts:
        return "another process"
    return f"{facts.get('purpose', 'another process')} (process {facts.get('pid')})"
