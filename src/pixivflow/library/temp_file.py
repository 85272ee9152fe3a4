"""A file on its way into the library: received chunk by chunk, counted and hashed as it comes."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pixivflow.library.errors import from_os_error

_BUFFER_BYTES = 256 * 1024
_READ_BYTES = 1024 * 1024


class TempFile:
    """One file under its attempt's incoming folder. Leaving ``async with`` without a commit removes it.

    `write` runs on the event loop: a chunk from the network goes into the page cache in microseconds, a thread would
    cost more. What may really wait for the disk, the sync of a commit, runs in a thread.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path = path
        self._stream: BinaryIO | None = stream
        self._hash = hashlib.sha256()
        self._size = 0

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new, empty file, throwing away what an earlier try left there. Blocks; raises `OSError`."""
        with suppress(FileNotFoundError):
            path.unlink()
        # Exclusive, so that what stands there is what was made here and never what a link leads to.
        return cls(path, path.open("xb", buffering=_BUFFER_BYTES))

    @classmethod
    def adopt(cls, path: Path) -> Self:
        """A file that something else, such as a converter, finished; counted and hashed. Blocks; raises `OSError`."""
        if path.is_symlink():
            raise OSError(errno.ELOOP, "a link is not a finished file")
        temp = cls(path, path.open("rb+"))
        stream = temp._opened()
        try:
            while chunk := stream.read(_READ_BYTES):
                temp._hash.update(chunk)
                temp._size += len(chunk)
        except OSError:
            stream.close()
            raise
        return temp

    @property
    def path(self) -> Path:
        """Where it stands now, for checks and converters."""
        return self._path

    @property
    def size(self) -> int:
        """How many bytes have been written."""
        return self._size

    @property
    def sha256(self) -> str:
        """Lower-case hex digest of everything written so far."""
        return self._hash.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Append `chunk`; `LibraryError` when the disk refuses it."""
        try:
            self._opened().write(chunk)
        except OSError as error:
            raise from_os_error(error, f"write {self._path.name}") from error
        self._hash.update(chunk)
        self._size += len(chunk)

    async def flush(self) -> None:
        """Hand everything to the system, so that another reader (a check, a child process) sees the whole file."""
        if self._stream is not None:
            try:
                await asyncio.to_thread(self._stream.flush)
            except OSError as error:
                raise from_os_error(error, f"write {self._path.name}") from error

    def sync_and_close(self) -> None:
        """Put the content on the disk itself. Blocks, for the library's threads; raises `OSError`."""
        stream, self._stream = self._opened(), None
        with stream:
            stream.flush()
            os.fsync(stream.fileno())

    async def discard(self) -> None:
        """Close and remove the file; harmless after a commit and a second time."""
        stream, self._stream = self._stream, None
        with suppress(OSError):  # a full disk refuses the last buffer once more, and nobody wants it now
            if stream is not None:
                stream.close()
        with suppress(OSError):
            self._path.unlink()

    def _opened(self) -> BinaryIO:
        if self._stream is None:
            raise ValueError("the file is already closed")
        return self._stream

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.discard()
