"""The few calls on which durability rests: sync of files and folders, and names given in one step. All block."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from pathlib import Path

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def sync_folder(folder: Path) -> None:
    """Put a folder's list of names on the disk; Windows does that by itself and has no call for it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems do not know the call; they order renames themselves.
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make `folder` and its parents, each recorded on the disk before anything is put into it."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        with suppress(FileExistsError):
            made.mkdir()
        sync_folder(made.parent)


def name_if_free(source: Path, target: Path) -> bool:
    """Move `source` to `target` unless something stands there (then False), in a step no other writer can split."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # Some file systems (FAT, some network shares) have no hard links. Looking first is the best they offer.
        if target.exists() or target.is_symlink():
            return False
        source.replace(target)
        return True
    source.unlink()
    return True


def same_content(one: Path, other: Path) -> bool:
    """Whether two plain files are equal byte for byte."""
    if other.is_symlink() or not other.is_file() or one.stat().st_size != other.stat().st_size:
        return False
    return _digest(one) == _digest(other)


def _digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
