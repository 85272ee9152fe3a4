"""GIF89a: a list of blocks that must reach the trailer byte.

A look at the last byte alone would not do: one cut file in 256 ends in ``3B`` by chance.
"""

from __future__ import annotations

from typing import BinaryIO

from pixivflow.media.formats.facts import Facts, Steps, corrupt, exactly, sized

_EXTENSION, _IMAGE, _TRAILER, _GRAPHIC_CONTROL = 0x21, 0x2C, 0x3B, 0xF9
_PADDING = 0x00  # stray block terminators between blocks occur in the wild and decoders skip them


def inspect(stream: BinaryIO, size: int) -> Facts:
    """Canvas size, number of frames and total delay, or `DamagedError`."""
    steps = Steps(size)
    stream.seek(6)
    screen = exactly(stream, 7, "the screen descriptor")
    width, height = int.from_bytes(screen[:2], "little"), int.from_bytes(screen[2:4], "little")
    _skip_colors(stream, screen[4])
    frames = centiseconds = delay = 0
    while True:
        steps.take()
        block = exactly(stream, 1, "the block list (no trailer)")[0]
        if block == _TRAILER:
            break
        if block == _EXTENSION:
            label = exactly(stream, 1, "an extension")[0]
            if label == _GRAPHIC_CONTROL:
                control = exactly(stream, 5, "a graphic control extension")
                delay = int.from_bytes(control[2:4], "little")
            _skip_sub_blocks(stream, steps)
        elif block == _IMAGE:
            descriptor = exactly(stream, 9, "an image descriptor")
            _skip_colors(stream, descriptor[8])
            exactly(stream, 1, "an image")
            _skip_sub_blocks(stream, steps)
            frames, centiseconds, delay = frames + 1, centiseconds + delay, 0
        elif block != _PADDING:
            raise corrupt("an unknown block stands in the block list")
    if not frames:
        raise corrupt("there is no picture in it")
    return sized(Facts(width, height, frames, centiseconds * 10))


def _skip_colors(stream: BinaryIO, flags: int) -> None:
    if flags & 0x80:
        exactly(stream, 3 << ((flags & 0x07) + 1), "a colour table")


def _skip_sub_blocks(stream: BinaryIO, steps: Steps) -> None:
    while length := exactly(stream, 1, "image data")[0]:
        steps.take()
        exactly(stream, length, "image data")
