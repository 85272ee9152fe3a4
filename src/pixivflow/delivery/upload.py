"""A form as a stream of bytes from disk, in bounded memory, and only ever whole."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pixivflow.delivery.form import FilePart, Form
from pixivflow.domain.work import Asset

CHUNK = 256 * 1024


class FileChanged(Exception):
    """A file is gone, is no plain file, or has not the recorded size. The text holds no path."""


def check_files(files: Sequence[tuple[Path, Asset]]) -> str | None:
    """Why the files cannot be sent as recorded, None when they can. Blocking; call it in a thread."""
    for path, asset in files:
        try:
            found = path.stat()
        except OSError:
            return f"the {asset.role.value} file {asset.number} of the work is gone"
        if not stat.S_ISREG(found.st_mode) or found.st_size != asset.bytes:
            return f"the {asset.role.value} file {asset.number} of the work is not what was recorded"
    return None


class Upload:
    """One sending of a form. `fault` is set when a file changed under way; the connection is then broken off.

    `close` must be called when the exchange is over, however it ended: a generator that is dropped half way closes
    nothing in time.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.fault: FileChanged | None = None
        self._source: _Source | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the form, exactly `form.length` of them or an exception."""
        yield self.form.opening
        for part in self.form.files:
            yield part.head
            try:
                # Opening is quick and done here: in a thread, a cancel could lose the open file on its way back.
                self._source = source = _Source(part)
                left = part.size
                while left:
                    chunk = await asyncio.to_thread(source.take, min(CHUNK, left))
                    left -= len(chunk)
                    yield chunk
            except FileChanged as fault:
                self.fault = fault
                raise
            finally:
                self.close()
            yield b"\r\n"
        yield self.form.closing

    def close(self) -> None:
        """Close the file that was being sent, if any."""
        if self._source is not None:
            self._source.close()
            self._source = None


class _Source:
    """An open file of the work. The lock keeps a cancelled read, which goes on in its thread, off a closed file."""

    def __init__(self, part: FilePart) -> None:
        self._file = _open(part)
        self._lock = threading.Lock()

    def take(self, size: int) -> bytes:
        """The next bytes, at most `size` and at least one."""
        with self._lock:
            try:
                chunk = self._file.read(size)
            except (OSError, ValueError) as error:
                raise FileChanged("a file of the work cannot be read any more") from error
        if not chunk:
            raise FileChanged("a file of the work became shorter while it was sent")
        return chunk

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            self._file.close()


def _open(part: FilePart) -> BinaryIO:
    try:
        # The path was resolved before; a link that has taken its place since is not the file that was recorded.
        source = os.open(part.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise FileChanged("a file of the work cannot be opened any more") from error
    found = os.fstat(source)
    if not stat.S_ISREG(found.st_mode) or found.st_size != part.size:
        os.close(source)
        raise FileChanged("a file of the work is not what was recorded")
    return os.fdopen(source, "rb", buffering=0)
