"""PNG (ISO/IEC 15948): every chunk carries a CRC, so a whole walk finds any damage, not only a cut."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from pixivflow.media.formats.facts import Facts, Steps, corrupt, cut, exactly, sized

_CHUNK_BYTES = 256 * 1024
_LENGTH_MAX = 2**31 - 1


def inspect(stream: BinaryIO, size: int) -> Facts:
    """Size of the picture, or `DamagedError`. Bytes behind ``IEND`` are ignored, as decoders do."""
    steps = Steps(size)
    stream.seek(8)
    facts: Facts | None = None
    has_data = False
    while True:
        steps.take()
        header = exactly(stream, 8, "the chunk list (no IEND)")
        length, name = int.from_bytes(header[:4], "big"), header[4:]
        if length > _LENGTH_MAX or not name.isalpha():
            raise corrupt("a chunk header is not one")
        label = name.decode("ascii")
        if stream.tell() + length + 4 > size:
            raise cut(f"chunk {label}")
        if facts is None:
            if name != b"IHDR" or length != 13:
                raise corrupt("the first chunk is not IHDR")
            body = exactly(stream, 13, "chunk IHDR")
            facts = Facts(int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"))
            crc = zlib.crc32(body, zlib.crc32(name))
        else:
            crc = _crc_of_body(stream, length, zlib.crc32(name), label)
        if int.from_bytes(exactly(stream, 4, f"chunk {label}"), "big") != crc:
            raise corrupt(f"the checksum of chunk {label} is wrong")
        has_data = has_data or name == b"IDAT"
        if name == b"IEND":
            break
    if not has_data:
        raise corrupt("there is no picture data")
    return sized(facts)


def _crc_of_body(stream: BinaryIO, length: int, crc: int, label: str) -> int:
    while length:
        data = exactly(stream, min(length, _CHUNK_BYTES), f"chunk {label}")
        crc = zlib.crc32(data, crc)
        length -= len(data)
    return crc
