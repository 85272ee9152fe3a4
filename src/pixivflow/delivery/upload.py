"""A form as a stream of bytes from disk, in bounded memory, and only ever whole."""

from __future__ import annotations

import asyncio
import os
import stat
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
    """One sending of a form. `fault` is set when a file changed under way; the connection is then broken off."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.fault: FileChanged | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the form, exactly `form.length` of them or an exception."""
        yield self.form.opening
        for part in self.form.files:
            yield part.head
            try:
                async for chunk in _read(part):
                    yield chunk
            except FileChanged as fault:
                self.fault = fault
                raise
            yield b"\r\n"
        yield self.form.closing


async def _read(part: FilePart) -> AsyncIterator[bytes]:
    source = await asyncio.to_thread(_open, part)
    try:
        left = part.size
        while left:
            chunk = await asyncio.to_thread(_take, source, min(CHUNK, left))
            left -= len(chunk)
            yield chunk
    finally:
        source.close()


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


def _take(source: BinaryIO, size: int) -> bytes:
    try:
        chunk = source.read(size)
    except OSError as error:
        raise FileChanged("a file of the work cannot be read any more") from error
    if not chunk:
        raise FileChanged("a file of the work became shorter while it was sent")
    return chunk
