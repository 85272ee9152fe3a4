"""ZIP (APPNOTE.TXT 4.3.16): the end-of-central-directory record, which only a whole archive has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from pixivflow.media.formats.facts import corrupt, cut

_SIGNATURE = b"PK\x05\x06"
_ZIP64_LOCATOR = b"PK\x06\x07"
_RECORD_BYTES = 22
_LOCATOR_BYTES = 20
_COMMENT_MAX = 0xFFFF


@dataclass(frozen=True, slots=True)
class ZipEnd:
    """What the record says, checked against the file's length."""

    entries: int
    directory_bytes: int
    is_zip64: bool


def inspect(stream: BinaryIO, size: int) -> ZipEnd:
    """Find and check the record, or raise `DamagedError`. Reads at most the last 64 KiB."""
    window = min(size, _RECORD_BYTES + _COMMENT_MAX + _LOCATOR_BYTES)
    stream.seek(size - window)
    tail = stream.read(window)
    at = tail.rfind(_SIGNATURE)
    if at < 0 or len(tail) - at < _RECORD_BYTES:
        raise cut("the archive (no end of central directory)")
    record = tail[at : at + _RECORD_BYTES]
    entries = int.from_bytes(record[10:12], "little")
    directory_bytes = int.from_bytes(record[12:16], "little")
    is_zip64 = tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_ZIP64_LOCATOR)
    if not is_zip64 and int.from_bytes(record[16:20], "little") + directory_bytes > size - window + at:
        raise corrupt("the central directory does not lie inside the archive")
    if at + _RECORD_BYTES + int.from_bytes(record[20:22], "little") > len(tail):
        raise cut("the archive's comment")
    return ZipEnd(entries, directory_bytes, is_zip64)
