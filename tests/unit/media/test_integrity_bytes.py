"""A whole file is accepted, and every way of being not whole is named."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pixivflow.media.integrity import IMAGE_KINDS, Broken, BrokenReason, Kind, Ok, check_bytes, sniff

Encode = Callable[..., bytes]
FORMATS = ["JPEG", "PNG", "GIF", "WEBP"]


def reason(data: bytes, kinds: frozenset[Kind] = IMAGE_KINDS) -> BrokenReason | None:
    verdict = check_bytes(data, expected_kinds=kinds)
    return verdict.reason if isinstance(verdict, Broken) else None


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("size", [(1, 1), (33, 24), (640, 3)])
def test_a_whole_picture_is_ok_with_its_size_from_the_header(encode: Encode, form: str, size: tuple[int, int]) -> None:
    data = encode(form, size)
    assert check_bytes(data, expected_kinds=IMAGE_KINDS) == Ok(Kind(form.lower()), len(data), *size)


@pytest.mark.parametrize("options", [{"progressive": True}, {"exif": b"Exif\0\0" + b"x" * 60_000}, {"quality": 100}])
def test_jpeg_variants_are_whole(encode: Encode, options: dict[str, object]) -> None:
    assert reason(encode("JPEG", (200, 100), **options)) is None


def test_a_lossless_and_an_extended_webp_tell_their_size() -> None:
    picture = Image.new("RGBA", (21, 13), (1, 2, 3, 4))
    for options in ({"lossless": True}, {"lossless": False}, {"lossless": True, "icc_profile": b"p" * 128}):
        out = io.BytesIO()
        picture.save(out, "WEBP", **options)
        verdict = check_bytes(out.getvalue(), expected_kinds=IMAGE_KINDS)
        assert isinstance(verdict, Ok)
        assert (verdict.width, verdict.height) == (21, 13)


@pytest.mark.parametrize("form", FORMATS)
def test_no_cut_is_taken_for_whole(encode: Encode, form: str) -> None:
    """Every proper prefix is refused, none of them by an exception: the length may be honest, the end is missing."""
    data = encode(form, (16, 9))
    for length in range(len(data)):
        assert reason(data[:length]) is not None, f"{length} of {len(data)} bytes"
    for length in range(20, len(data), 7):
        assert reason(data[:length]) in {BrokenReason.CUT, BrokenReason.CORRUPT}


@pytest.mark.parametrize("form", FORMATS)
def test_bytes_behind_the_end_do_not_matter(encode: Encode, form: str) -> None:
    data = encode(form)
    for padding in (b"\0", b"\0" * 9000, b"\r\n", b"appended by some tool" * 5):
        assert reason(data + padding) is None


@pytest.mark.parametrize("form", FORMATS)
def test_a_cut_hidden_by_zeros_is_still_a_cut(encode: Encode, form: str) -> None:
    """What a preallocated file looks like after a crash: right length, no tail."""
    data = encode(form, (64, 64))
    half = data[: len(data) // 2]
    found = reason(half + b"\0" * (len(data) - len(half)))
    # WebP has neither an end mark nor a checksum: only its length can tell, and that is right here.
    assert found is None if form == "WEBP" else found in {BrokenReason.CUT, BrokenReason.CORRUPT}


def test_the_end_mark_of_an_embedded_thumbnail_does_not_count(encode: Encode) -> None:
    thumbnail = encode("JPEG", (8, 8))
    data = encode("JPEG", (64, 64), exif=b"Exif\0\0" + thumbnail)
    behind_thumbnail = data.index(thumbnail) + len(thumbnail)
    assert reason(data) is None
    assert data[:behind_thumbnail].endswith(b"\xff\xd9")
    assert reason(data[:behind_thumbnail]) is BrokenReason.CUT


def test_damage_inside_a_png_is_found_by_its_checksums(encode: Encode) -> None:
    data = bytearray(encode("PNG", (64, 64)))
    data[len(data) // 2] ^= 0x10
    assert reason(bytes(data)) is BrokenReason.CORRUPT


def test_a_png_without_picture_data_is_corrupt() -> None:
    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    header = chunk(b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0")
    assert reason(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IEND", b"")) is BrokenReason.CORRUPT


def test_pictures_without_an_area_are_corrupt(encode: Encode) -> None:
    data = bytearray(encode("GIF"))
    data[6:8] = b"\0\0"
    assert reason(bytes(data)) is BrokenReason.CORRUPT


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", BrokenReason.EMPTY),
        (b"<!DOCTYPE html><html></html>", BrokenReason.HTML_INSTEAD),
        (b"\xef\xbb\xbf \r\n<HTML lang=ja>", BrokenReason.HTML_INSTEAD),
        (b"<?xml version='1.0'?><html xmlns='x'/>", BrokenReason.HTML_INSTEAD),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", BrokenReason.XML_INSTEAD),
        (b'{"error": true}', BrokenReason.JSON_INSTEAD),
        (b"[1]", BrokenReason.JSON_INSTEAD),
        (b"PK\x05\x06" + b"\0" * 18, BrokenReason.WRONG_KIND),
        (b"Not found", BrokenReason.UNKNOWN_KIND),
        (b"\xff\xd8\xff", BrokenReason.CUT),
        (b"\xff\xd8\xff\xd9", BrokenReason.CORRUPT),
    ],
)
def test_what_came_instead_is_named(data: bytes, expected: BrokenReason) -> None:
    assert reason(data) is expected


@pytest.mark.parametrize(
    "data",
    [
        b"GIF89a\1\0\1\0\0\0\0" + b"\0" * 400_000 + b"\x3b",
        b"GIF89a\1\0\1\0\0\0\0\x2c" + b"\0" * 9 + b"\2" + b"\1x" * 200_000 + b"\0\x3b",
        b"\xff\xd8" + b"\xff\xe0\0\2" * 200_000,
        b"\xff\xd8" + b"\xff" * 5000,
        b"\x89PNG\r\n\x1a\n"
        + (b"\0\0\0\x0dIHDR" + b"\0\0\0\1" * 2 + b"\x08\0\0\0\0" + b"\x3a\x7e\x9b\x55")
        + (b"\0\0\0\0tEXt" + zlib.crc32(b"tEXt").to_bytes(4, "big")) * 200_000,
        b"RIFF" + (4 + 8 * 200_000).to_bytes(4, "little") + b"WEBP" + b"JUNK\0\0\0\0" * 200_000,
    ],
    ids=["gif-padding", "gif-sub-blocks", "jpeg-segments", "jpeg-fill", "png-chunks", "webp-chunks"],
)
def test_a_file_of_endless_small_pieces_is_given_up(data: bytes) -> None:
    verdict = check_bytes(data, expected_kinds=IMAGE_KINDS)
    assert isinstance(verdict, Broken)
    assert verdict.reason is BrokenReason.CORRUPT
    assert "many" in verdict.detail


def test_a_page_is_fine_where_a_page_is_wanted() -> None:
    assert check_bytes(b"<html>", expected_kinds=frozenset({Kind.HTML})) == Ok(Kind.HTML, 6)


@given(st.binary(max_size=600), st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"PK\3\4"]))
def test_no_bytes_make_the_check_fail_in_another_way(data: bytes, prefix: bytes) -> None:
    kinds = IMAGE_KINDS | {Kind.ZIP}
    assert isinstance(check_bytes(prefix + data, expected_kinds=kinds), Ok | Broken)
    riff = b"RIFF" + len(data).to_bytes(4, "little") + b"WEBP" + data
    assert isinstance(check_bytes(riff, expected_kinds=kinds), Ok | Broken)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_media_type_and_an_extension(kind: Kind) -> None:
    assert "/" in kind.mime
    assert kind.extension.isalnum()


def test_sniff_needs_more_than_a_likeness() -> None:
    assert sniff(b"RIFF\0\0\0\0WAVE") is None
    assert sniff(b"{not json") is None
    assert sniff(b"<3 art") is None
