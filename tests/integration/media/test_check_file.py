"""Files on disk: the same judgement with the promised length, and what the disk itself may answer."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from PIL import Image

from pixivflow.media.integrity import (
    IMAGE_KINDS,
    Broken,
    BrokenReason,
    Facts,
    Ok,
    Verdict,
    animation_info,
    check_file,
    decode_image,
)


@pytest.fixture
def jpeg(tmp_path: Path) -> Path:
    path = tmp_path / "page.jpg"
    Image.effect_noise((64, 48), 80).convert("RGB").save(path, "JPEG")
    return path


def reason(verdict: Verdict) -> BrokenReason | None:
    return verdict.reason if isinstance(verdict, Broken) else None


def test_the_promised_length_is_held_against_the_file(jpeg: Path) -> None:
    size = jpeg.stat().st_size
    verdict = check_file(jpeg, expected_kinds=IMAGE_KINDS, declared_type="image/jpeg", expected_bytes=size)
    assert isinstance(verdict, Ok)
    assert (verdict.bytes, verdict.width, verdict.height) == (size, 64, 48)
    for promised, expected in ((size + 1, BrokenReason.TOO_SHORT), (size - 1, BrokenReason.TOO_LONG)):
        assert reason(check_file(jpeg, expected_kinds=IMAGE_KINDS, expected_bytes=promised)) is expected


def test_a_cut_with_an_honest_length_is_named(jpeg: Path) -> None:
    data = jpeg.read_bytes()
    jpeg.write_bytes(data[: len(data) // 2])
    verdict = check_file(jpeg, expected_kinds=IMAGE_KINDS, expected_bytes=len(data) // 2)
    assert reason(verdict) is BrokenReason.CUT


def test_a_page_declared_as_a_picture_is_a_page(jpeg: Path) -> None:
    jpeg.write_bytes(b"<!doctype html><title>403</title>")
    verdict = check_file(jpeg, expected_kinds=IMAGE_KINDS, declared_type="image/jpeg", expected_bytes=5)
    assert isinstance(verdict, Broken)
    assert verdict.reason is BrokenReason.HTML_INSTEAD
    assert "image/jpeg" in verdict.detail


def test_the_declared_type_explains_but_does_not_decide(jpeg: Path) -> None:
    assert reason(check_file(jpeg, expected_kinds=IMAGE_KINDS, declared_type="text/html; charset=utf-8")) is None
    jpeg.write_bytes(b"Sorry")
    declared = check_file(jpeg, expected_kinds=IMAGE_KINDS, declared_type="text/html; charset=utf-8")
    assert reason(declared) is BrokenReason.HTML_INSTEAD
    assert reason(check_file(jpeg, expected_kinds=IMAGE_KINDS)) is BrokenReason.UNKNOWN_KIND
    assert reason(check_file(jpeg, expected_kinds=IMAGE_KINDS, expected_bytes=900)) is BrokenReason.TOO_SHORT


def test_a_missing_file_and_a_folder_are_outcomes(tmp_path: Path) -> None:
    assert reason(check_file(tmp_path / "none", expected_kinds=IMAGE_KINDS)) is BrokenReason.MISSING
    assert reason(check_file(tmp_path, expected_kinds=IMAGE_KINDS)) is BrokenReason.UNREADABLE
    assert isinstance(animation_info(tmp_path), Broken)


def png_chunk(name: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


def test_decoding_finds_damage_that_no_structure_shows(tmp_path: Path) -> None:
    """Right checksums over data that is not a picture."""
    path = tmp_path / "p.png"
    head = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", (8).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0")
    for data, expected in ((zlib.compress(b"\0" * 72), None), (b"not deflated", BrokenReason.UNDECODABLE)):
        path.write_bytes(head + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b""))
        assert reason(check_file(path, expected_kinds=IMAGE_KINDS)) is None
        assert reason(decode_image(path)) is expected


def test_a_picture_of_too_many_pixels_is_refused_before_decoding(jpeg: Path, tmp_path: Path) -> None:
    assert reason(decode_image(jpeg, max_pixels=64 * 48 - 1)) is BrokenReason.TOO_MANY_PIXELS
    bomb = bytearray()
    # A GIF of a few bytes that claims the largest canvas there is.
    bomb += b"GIF89a\xff\xff\xff\xff\x80\0\0" + b"\0" * 6
    bomb += b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b"
    path = tmp_path / "bomb.gif"
    path.write_bytes(bomb)
    assert reason(decode_image(path)) is BrokenReason.TOO_MANY_PIXELS
    # Even a caller without a bound of its own gets an outcome.
    assert reason(decode_image(path, max_pixels=2**40)) is BrokenReason.TOO_MANY_PIXELS


def test_animation_info_reads_what_pillow_wrote(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (20, 10), (n * 60, 0, 0)) for n in range(3)]
    for form in ("gif", "webp"):
        path = tmp_path / f"a.{form}"
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=[100, 200, 50], loop=0)
        assert animation_info(path) == Facts(20, 10, 3, 350)
