"""JPEG (ITU-T T.81): walk the segments to the first scan, then look for the end-of-image marker.

The marker counts only behind the start of a scan: an embedded thumbnail carries one of its own, so a file cut inside
its EXIF block would otherwise look whole. Inside a scan ``FF D9`` cannot occur by chance, because entropy-coded
``FF`` bytes are stuffed with a zero.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from pixivflow.media.formats.facts import Facts, Steps, corrupt, cut, exactly, sized

_SOS = 0xDA
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG and DAC
_STANDALONE = frozenset({0x00, 0x01, *range(0xD0, 0xDA)})  # have no length, and no place before the first scan
_FILL_BYTES_MAX = 1024
_PADDING = b"\x00\xff\r\n\t "
_TAIL_BYTES = 4096
_CHUNK_BYTES = 256 * 1024
_EOI_MARKER = re.compile(rb"\xff\xd9")


def inspect(stream: BinaryIO, size: int) -> Facts:
    """Size of the picture, or `DamagedError`. Whatever follows the end marker is ignored, as decoders do."""
    steps = Steps(size)
    stream.seek(2)
    facts: Facts | None = None
    while True:
        steps.take()
        marker = _next_marker(stream)
        if marker in _STANDALONE:
            raise corrupt("a marker stands where none may stand before the picture data")
        length = int.from_bytes(exactly(stream, 2, "a segment"), "big")
        if length < 2:
            raise corrupt("a segment is shorter than its own length field")
        if marker == _SOS:
            break
        following = stream.tell() + length - 2
        if following > size:
            raise cut("a segment")
        if marker in _FRAME_HEADERS:
            header = exactly(stream, 5, "the frame header")
            facts = Facts(int.from_bytes(header[3:5], "big"), int.from_bytes(header[1:3], "big"))
        stream.seek(following)
    if facts is None:
        raise corrupt("a scan comes before the frame header")
    scan_start = stream.tell()
    if not _ends_with_marker(stream, scan_start, size) and not _has_end(stream, scan_start):
        raise cut("the picture data (no end-of-image marker)")
    return sized(facts)


def _next_marker(stream: BinaryIO) -> int:
    prefix = exactly(stream, 1, "the headers")[0]
    if prefix != 0xFF:
        raise corrupt("a marker is expected where other bytes stand")
    for _ in range(_FILL_BYTES_MAX):  # fill bytes before a marker are allowed
        code = exactly(stream, 1, "the headers")[0]
        if code != 0xFF:
            return code
    raise corrupt("there are too many fill bytes")


def _ends_with_marker(stream: BinaryIO, scan_start: int, size: int) -> bool:
    """The usual case, answered from the last few bytes; padding behind the marker is tolerated."""
    stream.seek(max(scan_start, size - _TAIL_BYTES))
    return stream.read(_TAIL_BYTES).rstrip(_PADDING).endswith(b"\xff\xd9")


def _has_end(stream: BinaryIO, scan_start: int) -> bool:
    """The rare case: something longer than padding was appended, so look through the whole scan."""
    stream.seek(scan_start)
    carry = b""
    while chunk := stream.read(_CHUNK_BYTES):
        if _EOI_MARKER.search(carry + chunk):
            return True
        carry = chunk[-1:]
    return False
