"""The site's animations: a ZIP archive of stills and, apart from it, a list of delays.

An archive is judged before anything is made from it, reading no more than the limits allow: names, sizes and counts
come from outside and may be an attack on the file system or on memory.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pixivflow.domain.work import Frame
from pixivflow.media.formats import zip_end
from pixivflow.media.integrity import IMAGE_KINDS, check_bytes
from pixivflow.media.kind import Kind
from pixivflow.media.timing import DELAY_MS_MAX, PLAY_MS_MAX, effective_delay
from pixivflow.media.verdict import Broken, BrokenReason, DamagedError, Ok, Verdict

__all__ = ["Frame", "UgoiraLimits", "check_archive", "check_frames", "open_frames", "read_frame"]

_MIB = 1024 * 1024
FRAME_KINDS = IMAGE_KINDS - {Kind.WEBP}
_FRAME_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}\.(?:jpe?g|png|gif)", re.IGNORECASE | re.ASCII)
_DIRECTORY_BYTES_PER_FRAME = 1024  # a plain entry takes about 60; a generous bound keeps the list itself small
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # the others cost memory the archive can choose
_ENCRYPTED_FLAG = 0x1
_CHUNK_BYTES = _MIB


@dataclass(frozen=True, slots=True)
class UgoiraLimits:
    """How large an animation may be. The defaults are the upstream's; bytes are after decompression."""

    frames_max: int = 10_000
    delay_ms_max: int = DELAY_MS_MAX
    play_ms_max: int = PLAY_MS_MAX
    frame_bytes_max: int = 64 * _MIB
    total_bytes_max: int = 512 * _MIB
    frame_pixels_max: int = 89_478_485


DEFAULT_LIMITS = UgoiraLimits()


def check_frames(frames: Sequence[Frame], limits: UgoiraLimits = DEFAULT_LIMITS) -> Broken | None:
    """Say what is wrong with a frame list as the site's metadata gives it, or None."""
    if not frames:
        return Broken(BrokenReason.NO_FRAMES, "the frame list is empty")
    if len(frames) > limits.frames_max:
        return Broken(BrokenReason.TOO_MANY_FRAMES, f"{len(frames)} frames, allowed are {limits.frames_max}")
    for number, frame in enumerate(frames):
        if not _FRAME_NAME.fullmatch(frame.file):
            return Broken(BrokenReason.FRAME_NAME, f"frame {number} has no plain picture name")
        if not 0 <= frame.delay_ms <= limits.delay_ms_max:
            return Broken(BrokenReason.FRAME_DELAY, f"frame {number} has a delay of {frame.delay_ms} ms")
    return _whole_list_fault(frames, limits)


def _whole_list_fault(frames: Sequence[Frame], limits: UgoiraLimits) -> Broken | None:
    if len({frame.file for frame in frames}) < len(frames):
        return Broken(BrokenReason.DUPLICATE_NAME, "the list names a file twice")
    total = sum(effective_delay(frame.delay_ms) for frame in frames)
    if total > limits.play_ms_max:
        return Broken(BrokenReason.TOO_LONG_PLAY, f"it plays {total} ms, allowed are {limits.play_ms_max}")
    return None


def check_archive(path: Path, frames: Sequence[Frame], limits: UgoiraLimits = DEFAULT_LIMITS) -> Verdict:
    """Say whether the archive at `path` holds exactly `frames`, each a whole picture.

    `Ok` carries the size of the first frame. Reads every byte once and holds one frame in memory; call it in a thread.
    """
    broken = check_frames(frames, limits)
    if broken is not None:
        return broken
    first: Ok | None = None
    try:
        with path.open("rb") as file, open_frames(file, frames, limits) as archive:
            for frame in frames:
                _, picture = read_frame(archive, frame.file, limits)
                first = first or picture
        size = path.stat().st_size
    except DamagedError as damaged:
        return damaged.broken
    except FileNotFoundError:
        return Broken(BrokenReason.MISSING, "there is no such file")
    except OSError as error:
        return Broken(BrokenReason.UNREADABLE, error.strerror or type(error).__name__)
    return Ok(Kind.ZIP, size, first.width if first else None, first.height if first else None)


def open_frames(file: IO[bytes], frames: Sequence[Frame], limits: UgoiraLimits) -> zipfile.ZipFile:
    """Open an archive whose directory has passed every check that needs no decompression, or raise `DamagedError`."""
    _check_whole(file, limits)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise DamagedError(BrokenReason.CORRUPT, f"the archive's directory is unreadable: {error}") from error
    try:
        _check_directory(archive.infolist(), frames, limits)
    except DamagedError:
        archive.close()
        raise
    return archive


def read_frame(archive: zipfile.ZipFile, name: str, limits: UgoiraLimits) -> tuple[bytes, Ok]:
    """One frame's bytes, checked by the archive's CRC and by the picture's own structure, or raise `DamagedError`."""
    data = bytearray()
    try:
        with archive.open(name) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                data += chunk
                # The directory's size was checked, but what inflates is what counts.
                if len(data) > limits.frame_bytes_max:
                    raise DamagedError(BrokenReason.FRAME_TOO_LARGE, f"{name} inflates beyond its limit")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DamagedError(BrokenReason.CORRUPT, f"{name} does not unpack: {error}") from error
    verdict = check_bytes(bytes(data), expected_kinds=FRAME_KINDS)
    if isinstance(verdict, Broken):
        raise DamagedError(verdict.reason, f"{name}: {verdict.detail}")
    pixels = (verdict.width or 0) * (verdict.height or 0)
    if pixels > limits.frame_pixels_max:
        raise DamagedError(BrokenReason.TOO_MANY_PIXELS, f"{name} has {pixels} pixels")
    return bytes(data), verdict


def _check_whole(file: IO[bytes], limits: UgoiraLimits) -> None:
    """Everything that can be known before the directory is loaded into memory."""
    head = file.read(4)
    size = file.seek(0, 2)
    if not size:
        raise DamagedError(BrokenReason.EMPTY, "the archive has no bytes")
    if not head.startswith(b"PK"):
        raise DamagedError(BrokenReason.WRONG_KIND, "it is not a ZIP archive")
    end = zip_end.inspect(file, size)  # type: ignore[arg-type]  # IO[bytes] and BinaryIO are one thing at run time
    # Sizes within our limits never need ZIP64, but its records could announce a directory of any size.
    if end.is_zip64 or end.entries > limits.frames_max:
        raise DamagedError(BrokenReason.TOO_MANY_FRAMES, f"the archive announces more than {limits.frames_max} files")
    if end.directory_bytes > _DIRECTORY_BYTES_PER_FRAME * max(1, end.entries):
        raise DamagedError(BrokenReason.CORRUPT, "the archive's directory is far too large for its files")
    file.seek(0)


def _check_directory(entries: Sequence[zipfile.ZipInfo], frames: Sequence[Frame], limits: UgoiraLimits) -> None:
    for entry in entries:
        # `orig_filename` is what the archive says; `filename` is already cut at a NUL and has its slashes turned.
        if not _FRAME_NAME.fullmatch(entry.orig_filename):
            raise DamagedError(BrokenReason.UNSAFE_NAME, f"the archive holds {entry.orig_filename[:64]!a}")
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise DamagedError(BrokenReason.ENCRYPTED, f"{entry.filename} is encrypted")
        if entry.compress_type not in _METHODS:
            raise DamagedError(BrokenReason.COMPRESSION, f"{entry.filename} uses method {entry.compress_type}")
        if entry.file_size > limits.frame_bytes_max:
            raise DamagedError(BrokenReason.FRAME_TOO_LARGE, f"{entry.filename} has {entry.file_size} bytes")
    names = Counter(entry.filename for entry in entries)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise DamagedError(BrokenReason.DUPLICATE_NAME, f"the archive holds {twice} more than once")
    total = sum(entry.file_size for entry in entries)
    if total > limits.total_bytes_max:
        raise DamagedError(BrokenReason.ARCHIVE_TOO_LARGE, f"{total} bytes, allowed are {limits.total_bytes_max}")
    listed = {frame.file for frame in frames}
    missing, unlisted = sorted(listed - names.keys()), sorted(names.keys() - listed)
    if missing:
        raise DamagedError(BrokenReason.FRAMES_MISSING, f"{len(missing)} listed frames are absent, first {missing[0]}")
    if unlisted:
        raise DamagedError(BrokenReason.FRAMES_UNLISTED, f"{len(unlisted)} files are not listed, first {unlisted[0]}")
