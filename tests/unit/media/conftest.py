"""Small whole pictures, encoded in memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

Encode = Callable[..., bytes]


@pytest.fixture(scope="session")
def encode() -> Encode:
    """``encode("JPEG", (w, h), **options)`` gives the bytes of a noisy picture of that size."""

    def make(form: str, size: tuple[int, int] = (32, 24), **options: Any) -> bytes:
        out = io.BytesIO()
        Image.effect_noise(size, 90).convert("P" if form == "GIF" else "RGB").save(out, form, **options)
        return out.getvalue()

    return make
