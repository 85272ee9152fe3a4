"""WebP (RFC 9649): a RIFF container whose length field tells a cut file at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from pixivflow.media.formats.facts import Facts, Steps, corrupt, cut, exactly, sized


def inspect(stream: BinaryIO, size: int) -> Facts:
    """Canvas size, number of frames and total duration, or `DamagedError`. Bytes behind the container are ignored."""
    stream.seek(4)
    end = 8 + int.from_bytes(exactly(stream, 4, "the RIFF header"), "little")
    if end > size:
        raise cut("the RIFF container")
    canvas: tuple[int, int] | None = None
    frames = total_ms = stills = 0
    for name, length in _chunks(stream, end):
        start = stream.tell()
        if name == b"VP8X":
            body = exactly(stream, min(length, 10), "chunk VP8X")
            if len(body) < 10:
                raise corrupt("chunk VP8X is too short")
            canvas = 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
        elif name in {b"VP8 ", b"VP8L"}:
            stills += 1
            found = _bitstream_size(name, stream.read(min(length, 10)))
            canvas = canvas or found
        elif name == b"ANMF":
            if length < 24:
                raise corrupt("a frame is shorter than its header")
            frames += 1
            total_ms += int.from_bytes(exactly(stream, 16, "a frame")[12:15], "little")
        stream.seek(start)
    if canvas is None or not (frames or stills):
        raise corrupt("there is no picture in it")
    return sized(Facts(*canvas, frames or 1, total_ms))


def _chunks(stream: BinaryIO, end: int) -> Iterator[tuple[bytes, int]]:
    """Names and lengths of the chunks up to `end`, the stream standing at each one's body."""
    steps = Steps(end)
    position = 12
    while position + 8 <= end:
        steps.take()
        stream.seek(position)
        header = exactly(stream, 8, "a chunk header")
        length = int.from_bytes(header[4:], "little")
        if position + 8 + length > end:
            raise corrupt("a chunk is longer than the container")
        yield header[:4], length
        position += 8 + length + (length & 1)


def _bitstream_size(name: bytes, head: bytes) -> tuple[int, int]:
    if name == b"VP8 ":
        if len(head) < 10 or head[3:6] != b"\x9d\x01\x2a":
            raise corrupt("the VP8 data has no key frame header")
        return int.from_bytes(head[6:8], "little") & 0x3FFF, int.from_bytes(head[8:10], "little") & 0x3FFF
    if len(head) < 5 or head[0] != 0x2F:
        raise corrupt("the VP8L data has no signature")
    bits = int.from_bytes(head[1:5], "little")
    return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
