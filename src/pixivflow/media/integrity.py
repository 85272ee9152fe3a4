"""Is a downloaded file what it claims to be, and whole? Answered from its structure, without decoding it.

Two cheap facts settle it for every file: the number of bytes received against the number promised, and the format's
own end. Pillow's ``Image.verify`` is not used because it accepts cut JPEGs. Full decoding (`decode_image`) is a policy
on top, for damage inside the data that no structure shows.

Both functions read the disk and, for `decode_image`, keep a core busy: call them in a thread.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from pixivflow.media.formats import gif, jpeg, png, webp, zip_end
from pixivflow.media.formats.facts import Facts
from pixivflow.media.kind import IMAGE_KINDS, SNIFF_BYTES, Kind, sniff
from pixivflow.media.verdict import Broken, BrokenReason, DamagedError, Ok, Verdict

__all__ = [
    "IMAGE_KINDS",
    "Broken",
    "BrokenReason",
    "Facts",
    "Kind",
    "Ok",
    "Verdict",
    "animation_info",
    "check_bytes",
    "check_file",
    "decode_image",
    "sniff",
]

PIXELS_MAX = 89_478_485
"""Most pixels decoded by default: 256 MiB of RGB, the bound above which Pillow itself warns of a decompression bomb."""

_WALKS = {Kind.JPEG: jpeg.inspect, Kind.PNG: png.inspect, Kind.GIF: gif.inspect, Kind.WEBP: webp.inspect}
_PAGES = {
    Kind.HTML: BrokenReason.HTML_INSTEAD,
    Kind.JSON: BrokenReason.JSON_INSTEAD,
    Kind.XML: BrokenReason.XML_INSTEAD,
}
_SHOWN = 60


def check_file(
    path: Path,
    *,
    expected_kinds: frozenset[Kind],
    declared_type: str | None = None,
    expected_bytes: int | None = None,
) -> Verdict:
    """Say whether the file at `path` is a whole file of one of `expected_kinds`.

    Args:
        path: the file as received, usually still under its temporary name.
        expected_kinds: what the caller can use; `IMAGE_KINDS` for pages.
        declared_type: the answer's ``Content-Type``. The bytes decide; it only sharpens the explanation.
        expected_bytes: the answer's ``Content-Length`` where the body was not compressed on the way.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            return _check(stream, size, expected_kinds, declared_type, expected_bytes)
    except FileNotFoundError:
        return Broken(BrokenReason.MISSING, "there is no such file")
    except OSError as error:
        return Broken(BrokenReason.UNREADABLE, error.strerror or type(error).__name__)


def check_bytes(data: bytes, *, expected_kinds: frozenset[Kind]) -> Verdict:
    """The same judgement on a file held in memory, such as one frame of an archive."""
    return _check(io.BytesIO(data), len(data), expected_kinds, None, None)


def _check(
    stream: BinaryIO, size: int, expected_kinds: frozenset[Kind], declared_type: str | None, expected_bytes: int | None
) -> Verdict:
    if size == 0:
        return Broken(BrokenReason.EMPTY, "the file has no bytes")
    head = stream.read(SNIFF_BYTES)
    kind = _kind(head, expected_kinds, _media_type(declared_type))
    wrong_length = _length_fault(size, expected_bytes)
    if isinstance(kind, Broken):
        # A few stray bytes are explained better by what is missing.
        return wrong_length if wrong_length and kind.reason is BrokenReason.UNKNOWN_KIND else kind
    if wrong_length is not None:
        return wrong_length
    try:
        facts = _walk(kind, stream, size)
    except DamagedError as damaged:
        return damaged.broken
    return Ok(kind, size) if facts is None else Ok(kind, size, facts.width, facts.height)


def _kind(head: bytes, expected_kinds: frozenset[Kind], declared: str) -> Kind | Broken:
    kind = sniff(head)
    if kind is None:
        if declared in {"text/html", "application/xhtml+xml"}:
            return Broken(BrokenReason.HTML_INSTEAD, "the answer is declared as a page and holds no file known here")
        return Broken(BrokenReason.UNKNOWN_KIND, f"starts with {head[:8].hex(' ')}{_as_declared(declared)}")
    if kind in expected_kinds:
        return kind
    if kind in _PAGES:
        return Broken(_PAGES[kind], f"a {kind} page came{_as_declared(declared)}")
    wanted = ", ".join(sorted(expected_kinds))
    return Broken(BrokenReason.WRONG_KIND, f"it is {kind}, wanted was {wanted}{_as_declared(declared)}")


def _walk(kind: Kind, stream: BinaryIO, size: int) -> Facts | None:
    if kind is Kind.ZIP:
        zip_end.inspect(stream, size)
        return None
    walk = _WALKS.get(kind)
    return None if walk is None else walk(stream, size)


def animation_info(path: Path) -> Facts | Broken:
    """Frames, whole playing time and size of a GIF or WebP file, read back from its structure.

    Other pictures count as one frame of no duration.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            kind = sniff(stream.read(SNIFF_BYTES))
            walk = None if kind is None else _WALKS.get(kind)
            if walk is None:
                return Broken(BrokenReason.WRONG_KIND, "it is not a picture")
            return walk(stream, size)
    except DamagedError as damaged:
        return damaged.broken
    except OSError as error:
        return Broken(BrokenReason.UNREADABLE, error.strerror or type(error).__name__)


def decode_image(path: Path, *, max_pixels: int = PIXELS_MAX) -> Verdict:
    """Decode the first picture in the file at `path` completely: the strictest check, at the price of the decoding.

    A picture of more than `max_pixels` is refused before any memory is taken for it.
    """
    checked = check_file(path, expected_kinds=IMAGE_KINDS)
    if isinstance(checked, Broken):
        return checked
    pixels = (checked.width or 0) * (checked.height or 0)
    if pixels > max_pixels:
        return Broken(BrokenReason.TOO_MANY_PIXELS, f"{pixels} pixels, allowed are {max_pixels}")
    return _decode(path, checked.kind, pixels) or checked


def _decode(path: Path, kind: Kind, pixels: int) -> Broken | None:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - keeps the import of this room cheap

    try:
        with Image.open(path, formats=[kind.upper()]) as image:
            image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return Broken(BrokenReason.TOO_MANY_PIXELS, f"{pixels} pixels are more than the decoder takes")
    except MemoryError:
        return Broken(BrokenReason.OUT_OF_MEMORY, f"no memory for {pixels} pixels")
    except UnidentifiedImageError:
        return Broken(BrokenReason.UNDECODABLE, "the decoder does not know it")
    except Exception as error:  # noqa: BLE001 - decoders answer damaged input with any kind of exception
        return Broken(BrokenReason.UNDECODABLE, type(error).__name__)
    return None


def _media_type(declared: str | None) -> str:
    return (declared or "").split(";", 1)[0].strip().lower()


def _as_declared(declared: str) -> str:
    shown = "".join(c for c in declared if c.isascii() and c.isprintable())[:_SHOWN]
    return f", declared as {shown}" if shown else ""


def _length_fault(size: int, expected: int | None) -> Broken | None:
    if expected is None or size == expected:
        return None
    reason = BrokenReason.TOO_SHORT if size < expected else BrokenReason.TOO_LONG
    return Broken(reason, f"{size} bytes came, {expected} were promised")
