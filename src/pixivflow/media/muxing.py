"""Writers of animated GIF and WebP containers around frames that Pillow has encoded one at a time.

Pillow can write both itself, but it keeps all frames in memory until the end, truncates GIF delays to 10 ms, and drops
frames that equal their predecessor, which for a single frame loses the duration altogether. Here every frame is written
when it is known, with its own delay, so memory does not grow with the number of frames and the count stays true.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Protocol

from pixivflow.media.formats.facts import corrupt

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[int, int, int, int]
"""Left, upper, right, lower: the part of the canvas a frame replaces."""

_U16_MAX = 0xFFFF


class Muxer(Protocol):
    """Takes frames in order. `image` covers exactly `box`; `delay` is in the format's own unit."""

    def add(self, image: Image, box: Box, delay: int) -> None: ...

    def finish(self) -> None: ...


class GifMuxer:
    """GIF89a, looping for ever, one palette a frame. Delays are in centiseconds."""

    def __init__(self, out: BinaryIO, size: tuple[int, int]) -> None:
        self._out = out
        width, height = size
        out.write(b"GIF89a" + _le(width, 2) + _le(height, 2) + b"\x00\x00\x00")
        out.write(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")

    def add(self, image: Image, box: Box, delay: int) -> None:
        """Append one frame; `image` must be in mode P."""
        encoded = io.BytesIO()
        image.save(encoded, "GIF", optimize=False, interlace=False)
        colors, depth, data = _gif_parts(encoded.getvalue())
        left, upper, right, lower = box
        # Disposal 1: the next frame is painted over this one.
        self._out.write(b"\x21\xf9\x04\x04" + _le(min(delay, _U16_MAX), 2) + b"\x00\x00")
        self._out.write(b"\x2c" + _le(left, 2) + _le(upper, 2) + _le(right - left, 2) + _le(lower - upper, 2))
        self._out.write(bytes([0x80 | depth]) + colors + data)

    def finish(self) -> None:
        """Write the trailer."""
        self._out.write(b"\x3b")


def _gif_parts(still: bytes) -> tuple[bytes, int, bytes]:
    """Colour table, its size exponent, and the image data of a GIF with one picture."""
    flags = still[10]
    position = 13
    depth, colors = flags & 0x07, b""
    if flags & 0x80:
        colors = still[position : position + (3 << depth + 1)]
        position += len(colors)
    while still[position] == 0x21:
        position = _after_sub_blocks(still, position + 2)
    if still[position] != 0x2C:
        raise corrupt("the encoder gave no picture")
    own = still[position + 9]
    position += 10
    if own & 0x80:
        depth = own & 0x07
        colors = still[position : position + (3 << depth + 1)]
        position += len(colors)
    return colors, depth, still[position : _after_sub_blocks(still, position + 1)]


def _after_sub_blocks(data: bytes, position: int) -> int:
    while data[position]:
        position += 1 + data[position]
    return position + 1


class WebpMuxer:
    """Animated WebP, looping for ever. Delays are in milliseconds; frames must start at even coordinates."""

    def __init__(self, out: BinaryIO, size: tuple[int, int], *, quality: int, method: int, lossless: bool) -> None:
        self._out = out
        self._options = {"quality": quality, "method": method, "lossless": lossless}
        self._has_alpha = False
        width, height = size
        canvas = _le(width - 1, 3) + _le(height - 1, 3)
        # The container's length and the alpha flag are known at the end only; `finish` fills them in.
        out.write(b"RIFF\x00\x00\x00\x00WEBPVP8X" + _le(10, 4) + b"\x00\x00\x00\x00" + canvas)
        out.write(b"ANIM" + _le(6, 4) + b"\x00\x00\x00\x00" + b"\x00\x00")

    def add(self, image: Image, box: Box, delay: int) -> None:
        """Append one frame; `image` must be in mode RGB or RGBA."""
        encoded = io.BytesIO()
        image.save(encoded, "WEBP", **self._options)
        data = _webp_bitstream(encoded.getvalue())
        self._has_alpha = self._has_alpha or image.mode == "RGBA"
        left, upper, right, lower = box
        header = _le(left // 2, 3) + _le(upper // 2, 3) + _le(right - left - 1, 3) + _le(lower - upper - 1, 3)
        # Flag 2: replace the pixels below instead of blending, so that transparent parts stay right.
        self._out.write(b"ANMF" + _le(16 + len(data), 4) + header + _le(delay, 3) + b"\x02" + data)

    def finish(self) -> None:
        """Fill in what was not known at the start."""
        end = self._out.tell()
        self._out.seek(4)
        self._out.write(_le(end - 8, 4))
        self._out.seek(20)
        self._out.write(bytes([0x02 | (0x10 if self._has_alpha else 0)]))
        self._out.seek(end)


def _webp_bitstream(still: bytes) -> bytes:
    """The chunks of a still WebP that belong into a frame: pixels and alpha, without metadata."""
    kept, position = b"", 12
    while position + 8 <= len(still):
        length = int.from_bytes(still[position + 4 : position + 8], "little")
        after = position + 8 + length + (length & 1)
        if still[position : position + 4] in {b"ALPH", b"VP8 ", b"VP8L"}:
            kept += still[position:after]
        position = after
    if not kept:
        raise corrupt("the encoder gave no picture")
    return kept


def _le(value: int, count: int) -> bytes:
    return value.to_bytes(count, "little")
