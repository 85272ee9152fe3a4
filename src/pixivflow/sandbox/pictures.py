"""Generated pictures and animation archives: small, quick to make, different for every page, equal on every call."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Final

from PIL import Image, ImageDraw

from pixivflow.sandbox.seeded import stream

_PILLOW_FORMAT: Final = {"jpg": "JPEG", "png": "PNG", "gif": "GIF", "webp": "WEBP"}
CONTENT_TYPES: Final = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "zip": "application/zip",
}
_ZIP_TIME: Final = (2024, 1, 1, 0, 0, 0)
"""A fixed member time: archives of equal content must be equal bytes."""


def fit(size: tuple[int, int], box: tuple[int, int] | None) -> tuple[int, int]:
    """`size` shrunk into `box` with its proportions kept; never enlarged, never below one pixel."""
    if box is None:
        return size
    scale = min(1.0, box[0] / size[0], box[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def draw(name: str, size: tuple[int, int], *, step: int = 0, steps: int = 1) -> Image.Image:
    """The picture called `name`: soft colour fields below, a mosaic above, and with `steps` > 1 a bar that moves."""
    rng = stream("picture", name)
    ground = Image.frombytes("RGB", (6, 8), rng.randbytes(6 * 8 * 3)).resize(size, Image.Resampling.BILINEAR)
    cells = (24, 32)
    mosaic = Image.frombytes("L", cells, rng.randbytes(cells[0] * cells[1])).resize(size, Image.Resampling.NEAREST)
    picture = Image.blend(ground, Image.merge("RGB", (mosaic, mosaic, mosaic)), 0.05)
    if steps > 1:
        top = size[1] * step // steps
        bar = (0, top, size[0], min(size[1], top + max(4, size[1] // (steps + 1))))
        ImageDraw.Draw(picture).rectangle(bar, fill=(250, 240, 80))
    return picture


def encode(picture: Image.Image, fmt: str, *, quality: int = 80) -> bytes:
    """File bytes. PNG and GIF go through a small palette so that they stay as light as the JPEG files."""
    out = io.BytesIO()
    if fmt in {"png", "gif"}:
        palette = picture.quantize(colors=32, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette.convert("RGB").save(out, "PNG", compress_level=6) if fmt == "png" else palette.save(out, "GIF")
    else:
        picture.save(out, _PILLOW_FORMAT[fmt], quality=quality)
    return out.getvalue()


def picture_bytes(name: str, fmt: str, size: tuple[int, int], *, box: tuple[int, int] | None = None) -> bytes:
    """One page in one size. A resized copy is compressed harder, so it never equals the original even at equal size."""
    return encode(draw(name, fit(size, box)), fmt, quality=80 if box is None else 60)


def square_bytes(name: str, size: tuple[int, int], box: tuple[int, int], fmt: str = "jpg") -> bytes:
    """The middle of a page as a square of the box's smaller side."""
    side = min(box)
    shown = draw(name, fit(size, (side * 2, side * 2)))
    edge = min(shown.size)
    left, top = (shown.width - edge) // 2, (shown.height - edge) // 2
    return encode(shown.crop((left, top, left + edge, top + edge)).resize((side, side)), fmt, quality=60)


def placeholder_bytes(name: str, fmt: str) -> bytes:
    """A grey card with the file's name, as stands in for a restricted work."""
    card = Image.new("RGB", (360, 360), (190, 190, 190))
    ImageDraw.Draw(card).text((20, 170), name[:50], fill=(90, 90, 90))
    return encode(card, fmt)


def frame_bytes(work: int, index: int, count: int, size: tuple[int, int], fmt: str = "jpg") -> bytes:
    """One frame of an animation; neighbours differ by the place of the bar."""
    return encode(draw(f"work/{work}/animation", size, step=index, steps=max(2, count)), fmt, quality=70)


def stored_zip(members: Sequence[tuple[str, bytes]]) -> bytes:
    """An uncompressed archive of exactly these members in this order; names are taken as they are, hostile ones too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), data)
    return out.getvalue()


def ugoira_zip(work: int, files: Sequence[str], size: tuple[int, int]) -> bytes:
    """The archive of an animation: its frames in order."""
    return stored_zip([(file, frame_bytes(work, n, len(files), size)) for n, file in enumerate(files)])
