"""Animations as the site packs them, made on the spot."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pixivflow.domain.work import Frame

Archive = tuple[Path, tuple[Frame, ...]]
MakeArchive = Callable[..., Archive]


def picture(number: int, size: tuple[int, int], form: str, *, mode: str = "RGB") -> bytes:
    image = Image.new(mode, size, (30, 60, 90) if mode == "RGB" else (30, 60, 90, 128))
    left = 3 * number % max(1, size[0] - 4)
    ImageDraw.Draw(image).rectangle((left, 2, left + 5, 9), fill=(250, 20, number % 256))
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


@pytest.fixture
def make_archive(tmp_path: Path) -> MakeArchive:
    """``make_archive(delays, size=…, form=…, still=…)`` writes an archive and gives its path and frame list."""

    def make(
        delays: Sequence[int],
        *,
        size: tuple[int, int] = (40, 30),
        form: str = "JPEG",
        mode: str = "RGB",
        still: bool = False,
    ) -> Archive:
        extension = {"JPEG": "jpg"}.get(form, form.lower())
        path = tmp_path / "1_ugoira.zip"
        frames = tuple(Frame(f"{number:06d}.{extension}", delay) for number, delay in enumerate(delays))
        with zipfile.ZipFile(path, "w") as archive:
            for number, frame in enumerate(frames):
                archive.writestr(frame.file, picture(0 if still else number, size, form, mode=mode))
        return path, frames

    return make
