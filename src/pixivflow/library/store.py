"""The one place that writes into the library: temporary file, sync, rename, sync of the folder.

A name of the library therefore only ever stands for a whole file, also after a power cut. Nothing is written outside
the root: paths are checked part by part, and a symbolic link below the root is refused, not followed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pixivflow.library import durable
from pixivflow.library.errors import LibraryCode, LibraryError, from_os_error
from pixivflow.library.naming import SEGMENT_BYTES_MAX
from pixivflow.library.temp_file import TempFile

__all__ = ["Library", "LibraryCode", "LibraryError", "Stored", "TempFile"]

INCOMING = ".incoming"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}", re.ASCII)
_NEVER_IN_A_PART = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is in the library for good. `path` is relative with forward slashes, `sha256` lower-case hex."""

    path: str
    bytes: int
    sha256: str


class Library:
    """A folder of works.

    Paths are relative to the root, with forward slashes. Every method may raise `LibraryError`, and no other error of
    the disk.
    """

    def __init__(self, root: Path) -> None:
        # The root itself may be a link: where the library lies is the operator's choice.
        self.root = root.resolve()

    async def check_writable(self) -> int:
        """Prove that files can be made, synced, renamed and removed here; gives the free bytes. For start-up."""
        return await _in_thread(self._probe, f"use the library folder {self.root}")

    async def incoming(self, attempt_id: str) -> Path:
        """The folder for the unfinished files of one attempt, made if needed. On the library's own file system."""
        return await _in_thread(lambda: self._incoming(attempt_id), "make the folder for incoming files")

    async def open_temp(self, attempt_id: str, name: str) -> TempFile:
        """A new file to write to. An unfinished file of that name from an earlier try is thrown away."""
        return await _in_thread(
            lambda: TempFile.create(self._incoming(attempt_id) / _plain_name(name)), f"make the temporary file {name!a}"
        )

    async def adopt(self, attempt_id: str, name: str) -> TempFile:
        """A file that something else, such as a converter, finished in the attempt's incoming folder."""
        return await _in_thread(
            lambda: TempFile.adopt(self._incoming(attempt_id) / _plain_name(name)), f"read the temporary file {name!a}"
        )

    async def commit(self, temp: TempFile, path: str, *, overwrite: bool = False) -> Stored:
        """Give a finished temporary file its name. When this returns, it survives a power cut.

        Args:
            temp: what was received; closed by this call and gone from the incoming folder afterwards.
            path: the name.
            overwrite: True when the caller knows that a file already there is its own to replace. Otherwise a
                different file is left alone and the error's code is ``exists``; an equal one counts as stored.
        """
        return await _in_thread(lambda: self._commit(temp, path, overwrite=overwrite), f"store {path}")

    def locate(self, path: str) -> Path:
        """Where `path` lies on this machine, checked to be inside the root and free of links."""
        parts = _checked_parts(path)
        if parts[0].casefold() == INCOMING:
            raise LibraryError(LibraryCode.OUTSIDE, f"{path!a} is inside the folder for incoming files")
        return self._walk(parts)

    async def exists(self, path: str, size: int | None = None) -> bool:
        """Whether a plain file stands at `path`, of `size` bytes if that is given."""
        return await _in_thread(lambda: self._exists(path, size), f"look at {path}")

    async def remove_work_files(self, paths: Iterable[str]) -> int:
        """Remove the files of a work and the folders that are empty then; how many files there were."""
        listed = tuple(paths)
        return await _in_thread(lambda: sum(self._remove(path) for path in listed), "remove the files of a work")

    async def clear_incoming(self, keep: Collection[str]) -> int:
        """Remove what attempts other than `keep` have left behind; how many attempts that were. For recovery."""
        return await _in_thread(lambda: self._clear_incoming(frozenset(keep)), "remove incoming files")

    async def discard(self, attempt_id: str) -> None:
        """Remove the unfinished files of one attempt."""
        await _in_thread(lambda: self._discard(attempt_id), "remove incoming files")

    def _discard(self, attempt_id: str) -> None:
        folder = self._walk([INCOMING, _plain_name(attempt_id)])
        if folder.is_dir():
            shutil.rmtree(folder)

    def _walk(self, parts: list[str]) -> Path:
        place = self.root
        for part in parts:
            place /= part
            try:
                is_link = stat.S_ISLNK(place.lstat().st_mode)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise from_os_error(error, f"look at {'/'.join(parts)}") from error
            if is_link:
                shown = place.relative_to(self.root).as_posix()
                raise LibraryError(LibraryCode.OUTSIDE, f"{shown!a} is a symbolic link")
        return place

    def _incoming(self, attempt_id: str) -> Path:
        folder = self._walk([INCOMING, _plain_name(attempt_id)])
        # Not synced: after a power cut these files are thrown away in any case.
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _commit(self, temp: TempFile, path: str, *, overwrite: bool) -> Stored:
        target = self.locate(path)
        temp.sync_and_close()
        durable.make_folder(target.parent)
        if overwrite:
            temp.path.replace(target)
        elif not durable.name_if_free(temp.path, target):
            if not durable.same_content(temp.path, target):
                raise LibraryError(LibraryCode.EXISTS, f"could not store {path}: another file has that name")
            temp.path.unlink()
        durable.sync_folder(target.parent)
        return Stored(path, temp.size, temp.sha256)

    def _exists(self, path: str, size: int | None) -> bool:
        try:
            found = self.locate(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return stat.S_ISREG(found.st_mode) and size in {None, found.st_size}

    def _remove(self, path: str) -> int:
        place = self.locate(path)
        try:
            place.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return 0
        folder = place.parent
        with suppress(OSError):  # the first folder that still holds something ends the way up
            while folder != self.root:
                folder.rmdir()
                folder = folder.parent
        return 1

    def _clear_incoming(self, keep: frozenset[str]) -> int:
        folder = self._walk([INCOMING])
        if not folder.is_dir():
            return 0
        over = [entry for entry in folder.iterdir() if entry.name not in keep]
        for entry in over:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        return len(over)

    def _probe(self) -> int:
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self._walk([INCOMING])
        durable.make_folder(folder)
        descriptor, name = tempfile.mkstemp(prefix="probe-", dir=folder)
        probe = Path(name)
        renamed = self.root / f".{probe.name}"
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(b"pixivflow\n")
                stream.flush()
                os.fsync(stream.fileno())
            probe.replace(renamed)
            durable.sync_folder(self.root)
        finally:
            probe.unlink(missing_ok=True)
            renamed.unlink(missing_ok=True)
        return shutil.disk_usage(self.root).free


async def _in_thread(work: Callable[[], T], doing: str) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise from_os_error(error, doing) from error


def _checked_parts(path: str) -> list[str]:
    """The parts of a relative path as this program makes them; anything else is a mistake or an attack."""
    parts = path.split("/")
    for part in parts:
        if part in {"", ".", ".."} or _NEVER_IN_A_PART.search(part):
            raise LibraryError(LibraryCode.OUTSIDE, f"{path!a} is not a path inside the library")
        if len(part.encode("utf-8")) > SEGMENT_BYTES_MAX:
            raise LibraryError(LibraryCode.NAME_TOO_LONG, f"a part of {path!a} is longer than 255 bytes")
    return parts


def _plain_name(name: str) -> str:
    if not _PLAIN_NAME.fullmatch(name):
        raise LibraryError(LibraryCode.OUTSIDE, f"{name!a} is not a plain name")
    return name
