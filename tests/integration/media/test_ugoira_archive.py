"""Frame archives: exactly the listed frames, each whole, within the limits; everything else has a name."""

from __future__ import annotations

import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pixivflow.domain.work import Frame
from pixivflow.media.ugoira import UgoiraLimits, check_archive, check_frames
from pixivflow.media.verdict import Broken, BrokenReason, Ok

MakeArchive = Callable[..., tuple[Path, tuple[Frame, ...]]]
LIMITS = UgoiraLimits()


def refusal(path: Path, frames: tuple[Frame, ...], limits: UgoiraLimits = LIMITS) -> BrokenReason | None:
    verdict = check_archive(path, frames, limits)
    return verdict.reason if isinstance(verdict, Broken) else None


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF"])
def test_a_good_archive_is_ok(make_archive: MakeArchive, form: str) -> None:
    path, frames = make_archive([100, 2000, 0], form=form)
    verdict = check_archive(path, frames)
    assert isinstance(verdict, Ok)
    assert (verdict.width, verdict.height, verdict.bytes) == (40, 30, path.stat().st_size)


def test_a_cut_archive_is_named_wherever_it_was_cut(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100, 100])
    data = path.read_bytes()
    for length in (len(data) - 1, len(data) // 2, 40):
        path.write_bytes(data[:length])
        assert refusal(path, frames) is BrokenReason.CUT
    path.write_bytes(b"")
    assert refusal(path, frames) is BrokenReason.EMPTY
    path.write_bytes(b"<html>")
    assert refusal(path, frames) is BrokenReason.WRONG_KIND
    path.unlink()
    assert refusal(path, frames) is BrokenReason.MISSING


def test_damage_in_a_frame_is_found_by_its_checksum(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100, 100])
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)
    assert refusal(path, frames) is BrokenReason.CORRUPT


def test_a_frame_cut_before_it_was_packed_is_found(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100, 100])
    with zipfile.ZipFile(path) as archive:
        first, second = (archive.read(frame.file) for frame in frames)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(frames[0].file, first)
        archive.writestr(frames[1].file, second[:-40])
    assert refusal(path, frames) is BrokenReason.CUT


def test_the_names_must_be_the_listed_ones(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100, 100, 100])
    assert refusal(path, (*frames, Frame("000003.jpg", 10))) is BrokenReason.FRAMES_MISSING
    assert refusal(path, frames[:2]) is BrokenReason.FRAMES_UNLISTED


@pytest.mark.parametrize(
    "name", ["../x.jpg", "/etc/x.jpg", "a/b.jpg", "..\\x.jpg", "C:x.jpg", "x.exe", "d/", "a\0.jpg"]
)
def test_no_name_leads_out_of_a_folder(make_archive: MakeArchive, name: str) -> None:
    path, frames = make_archive([100])
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        archive.writestr(info, b"x")
    assert refusal(path, frames) is BrokenReason.UNSAFE_NAME


def test_a_name_held_twice_is_refused(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100])
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(frames[0].file, b"other")
    assert refusal(path, frames) is BrokenReason.DUPLICATE_NAME


def test_encrypted_and_unusual_compression_are_refused(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100])
    with zipfile.ZipFile(path) as archive:
        content = archive.read(frames[0].file)
    data = bytearray(path.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    data[central + 8] |= 1
    data[6] |= 1
    path.write_bytes(data)
    assert refusal(path, frames) is BrokenReason.ENCRYPTED
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(frames[0].file, content)
    assert refusal(path, frames) is BrokenReason.COMPRESSION


def test_declared_sizes_are_bounded(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100, 100])
    assert refusal(path, frames, replace(LIMITS, frame_bytes_max=100)) is BrokenReason.FRAME_TOO_LARGE
    assert refusal(path, frames, replace(LIMITS, total_bytes_max=700)) is BrokenReason.ARCHIVE_TOO_LARGE
    assert refusal(path, frames, replace(LIMITS, frame_pixels_max=40 * 30 - 1)) is BrokenReason.TOO_MANY_PIXELS


def test_a_lie_about_the_size_does_not_inflate_beyond_it(make_archive: MakeArchive) -> None:
    """A frame of 32 MiB of zeros whose directory claims 1,000 bytes."""
    path, frames = make_archive([100])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(frames[0].file, b"\xff\xd8\xff" + b"\0" * (32 * 1024 * 1024))
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, 1000)
    path.write_bytes(data)
    assert refusal(path, frames) is BrokenReason.CORRUPT
    assert refusal(path, frames, replace(LIMITS, frame_bytes_max=999)) is BrokenReason.FRAME_TOO_LARGE


def test_an_announced_flood_of_files_is_refused_unread(make_archive: MakeArchive) -> None:
    path, frames = make_archive([100])
    data = bytearray(path.read_bytes())
    struct.pack_into("<HH", data, len(data) - 14, 10_001, 10_001)
    path.write_bytes(data)
    assert refusal(path, frames) is BrokenReason.TOO_MANY_FRAMES


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ((), BrokenReason.NO_FRAMES),
        ((Frame("../0.jpg", 10),), BrokenReason.FRAME_NAME),
        ((Frame("0.webp", 10),), BrokenReason.FRAME_NAME),
        ((Frame("0.jpg", -1),), BrokenReason.FRAME_DELAY),
        ((Frame("0.jpg", 60_001),), BrokenReason.FRAME_DELAY),
        ((Frame("0.jpg", 10), Frame("0.jpg", 10)), BrokenReason.DUPLICATE_NAME),
        (tuple(Frame(f"{n}.jpg", 60_000) for n in range(11)), BrokenReason.TOO_LONG_PLAY),
        (tuple(Frame(f"{n}.jpg", 10) for n in range(10_001)), BrokenReason.TOO_MANY_FRAMES),
    ],
)
def test_a_bad_frame_list_is_named(frames: tuple[Frame, ...], expected: BrokenReason) -> None:
    found = check_frames(frames)
    assert found is not None
    assert found.reason is expected


def test_the_largest_allowed_list_passes() -> None:
    assert check_frames([Frame(f"{n}.jpg", 0) for n in range(10_000)]) is None
    assert check_frames([Frame(f"{n}.png", 60_000) for n in range(10)]) is None
