"""Make a playable GIF or WebP from an animation's archive, one frame in memory at a time.

This is the work itself, synchronous and heavy; `conversion.run_conversion` runs it in a process that can be killed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from pixivflow.domain.work import Frame
from pixivflow.media import muxing, timing, ugoira
from pixivflow.media.formats.facts import Facts
from pixivflow.media.integrity import animation_info
from pixivflow.media.verdict import Broken, BrokenReason, DamagedError

if TYPE_CHECKING:
    from PIL.Image import Image

Format = Literal["gif", "webp"]
_GIF_COLORS = 256
_EDGE_MAX = {"gif": 65_535, "webp": 16_383}  # what each format's size fields hold


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What to make.

    Attributes:
        max_edge: the longest edge in pixels, larger frames are scaled down; None keeps the original size.
        quality: of lossy WebP, 0 to 100; for lossless WebP the effort instead.
        method: WebP's trade of time against size, 0 (quick) to 6.
        dither: spread GIF's colour error, so that gradients do not band; about twice the bytes.
        max_bytes: a larger result is refused; 49 MiB is what the usual bot APIs still take.
    """

    format: Format
    max_edge: int | None = 640
    quality: int = 85
    method: int = 2
    lossless: bool = False
    dither: bool = True
    max_bytes: int = 49 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ConvertRequest:
    """One conversion: the archive, its frame list, and where the result goes. `out_path` is replaced at the end."""

    archive: Path
    frames: tuple[Frame, ...]
    out_path: Path
    options: ConvertOptions
    limits: ugoira.UgoiraLimits = field(default_factory=ugoira.UgoiraLimits)


@dataclass(frozen=True, slots=True)
class Converted:
    """A finished animation, read back from the file.

    Attributes:
        total_ms: playing time; the exact sum of the effective delays, for GIF to the nearest 10 ms.
        short_frames: frames under `timing.BROWSER_FLOOR_MS`, worth a warning for GIF.
        raised_frames: frames whose delay was below the shortest possible one and was raised to it.
    """

    path: Path
    format: Format
    frames: int
    total_ms: int
    width: int
    height: int
    bytes: int
    short_frames: int = 0
    raised_frames: int = 0


def convert(request: ConvertRequest) -> Converted | Broken:
    """Carry out `request`. Nothing but a complete, read-back file ever stands at `out_path`."""
    broken = ugoira.check_frames(request.frames, request.limits)
    if broken is not None:
        return broken
    part = request.out_path.with_name(request.out_path.name + ".part")
    try:
        with request.archive.open("rb") as source, part.open("w+b") as out:
            _write(request, source, out)
        outcome = _read_back(request, part)
        if isinstance(outcome, Converted):
            part.replace(request.out_path)
    except DamagedError as damaged:
        outcome = damaged.broken
    except MemoryError:
        outcome = Broken(BrokenReason.OUT_OF_MEMORY, "the frames need more memory than is allowed")
    except FileNotFoundError:
        outcome = Broken(BrokenReason.MISSING, "the archive or the folder of the result does not exist")
    except OSError as error:
        outcome = Broken(BrokenReason.NOT_WRITABLE, error.strerror or type(error).__name__)
    if isinstance(outcome, Broken):
        with suppress(OSError):
            part.unlink()
    return outcome


def _write(request: ConvertRequest, source: BinaryIO, out: BinaryIO) -> None:
    options, limits = request.options, request.limits
    delays = _delays(request.frames, options.format)
    with ugoira.open_frames(source, request.frames, limits) as archive:
        canvas: tuple[int, int] | None = None
        muxer: muxing.Muxer | None = None
        before: Image | None = None
        for frame, delay in zip(request.frames, delays, strict=True):
            data, verdict = ugoira.read_frame(archive, frame.file, limits)
            if canvas is None or muxer is None:
                canvas = fitted((verdict.width or 1, verdict.height or 1), options.max_edge, _EDGE_MAX[options.format])
                muxer = _muxer(options, out, canvas)
            image = _decoded(data, frame.file, canvas, keep_alpha=options.format == "webp")
            box = _changed_box(before, image)
            muxer.add(_encodable(image.crop(box), options), box, delay)
            before = image
            if out.tell() > options.max_bytes:
                raise DamagedError(BrokenReason.OUTPUT_TOO_LARGE, f"more than {options.max_bytes} bytes")
        if muxer is not None:
            muxer.finish()


def _delays(frames: Sequence[Frame], target: Format) -> list[int]:
    effective = [timing.effective_delay(frame.delay_ms) for frame in frames]
    return timing.centiseconds(effective) if target == "gif" else effective


def _muxer(options: ConvertOptions, out: BinaryIO, canvas: tuple[int, int]) -> muxing.Muxer:
    if options.format == "gif":
        return muxing.GifMuxer(out, canvas)
    return muxing.WebpMuxer(out, canvas, quality=options.quality, method=options.method, lossless=options.lossless)


def fitted(size: tuple[int, int], max_edge: int | None, format_max: int) -> tuple[int, int]:
    """`size` scaled down, never up, so that its longest edge is at most `max_edge`; each edge stays at least 1."""
    longest = max(size)
    edge = min(max_edge or longest, format_max)
    if longest <= edge:
        return size
    width, height = (max(1, round(side * edge / longest)) for side in size)
    return width, height


def _decoded(data: bytes, name: str, canvas: tuple[int, int], *, keep_alpha: bool) -> Image:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - keeps the import of this room cheap

    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "GIF")) as opened:
            opened.draft("RGB", canvas)  # a JPEG may decode at a half or a quarter of its size, if that is enough
            has_alpha = opened.mode in {"RGBA", "LA", "PA"} or "transparency" in opened.info
            image = opened.convert("RGBA" if has_alpha else "RGB")
    except UnidentifiedImageError as error:
        raise DamagedError(BrokenReason.UNDECODABLE, f"{name} is not a picture to the decoder") from error
    except MemoryError:
        raise
    except Exception as error:  # decoders answer damaged input with any kind of exception
        raise DamagedError(BrokenReason.UNDECODABLE, f"{name} does not decode: {type(error).__name__}") from error
    if image.size != canvas:
        image = image.resize(canvas, Image.Resampling.LANCZOS, reducing_gap=2.0)
    if has_alpha and not keep_alpha:
        # GIF knows only on and off; the site shows its works on white.
        paper = Image.new("RGBA", canvas, (255, 255, 255, 255))
        paper.alpha_composite(image)
        image = paper.convert("RGB")
    return image


def _changed_box(before: Image | None, now: Image) -> muxing.Box:
    """The part of the canvas that differs from the frame before, with even corners; one pixel when nothing does."""
    width, height = now.size
    if before is None or before.mode != now.mode:
        return 0, 0, width, height
    from PIL import ImageChops  # noqa: PLC0415 - keeps the import of this room cheap

    difference = ImageChops.difference(before, now)
    # `alpha_only` would overlook pixels that change colour and keep their opacity.
    box = difference.getbbox(alpha_only=False)
    if box is None:
        return 0, 0, 1, 1
    left, upper, right, lower = box
    return left & ~1, upper & ~1, right, lower


def _encodable(image: Image, options: ConvertOptions) -> Image:
    if options.format == "webp":
        return image
    from PIL import Image as Images  # noqa: PLC0415 - keeps the import of this room cheap

    # Measured on a noisy 600x600 frame: median cut takes 530 ms for the error that the octree reaches in 14 ms.
    palette = image.quantize(_GIF_COLORS, method=Images.Quantize.FASTOCTREE)
    return image.quantize(palette=palette, dither=Images.Dither.FLOYDSTEINBERG) if options.dither else palette


def _read_back(request: ConvertRequest, path: Path) -> Converted | Broken:
    facts = animation_info(path)
    if isinstance(facts, Broken):
        return Broken(BrokenReason.OUTPUT_MISMATCH, f"the result does not read back: {facts.detail}")
    total = sum(_delays(request.frames, request.options.format)) * (10 if request.options.format == "gif" else 1)
    if (facts.frames, facts.total_ms) != (len(request.frames), total):
        return Broken(BrokenReason.OUTPUT_MISMATCH, _mismatch(facts, len(request.frames), total))
    size = path.stat().st_size
    if size > request.options.max_bytes:
        return Broken(BrokenReason.OUTPUT_TOO_LARGE, f"{size} bytes, allowed are {request.options.max_bytes}")
    return Converted(
        path=request.out_path,
        format=request.options.format,
        frames=facts.frames,
        total_ms=facts.total_ms,
        width=facts.width,
        height=facts.height,
        bytes=size,
        short_frames=sum(frame.delay_ms < timing.BROWSER_FLOOR_MS for frame in request.frames),
        raised_frames=sum(timing.effective_delay(frame.delay_ms) != frame.delay_ms for frame in request.frames),
    )


def _mismatch(facts: Facts, frames: int, total_ms: int) -> str:
    return f"{facts.frames} frames and {facts.total_ms} ms came out, {frames} and {total_ms} went in"
