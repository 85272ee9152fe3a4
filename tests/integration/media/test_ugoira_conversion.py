"""Animations: every frame, the exact time, and a child process that can be stopped."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pixivflow.domain.work import Frame
from pixivflow.media.conversion import run_conversion
from pixivflow.media.convert import Converted, ConvertOptions, ConvertRequest, Format, convert, fitted
from pixivflow.media.convert_wire import decode_outcome, decode_request, encode_outcome, encode_request
from pixivflow.media.verdict import Broken, BrokenReason

MakeArchive = Callable[..., tuple[Path, tuple[Frame, ...]]]
FORMATS: list[Format] = ["gif", "webp"]
DELAYS = [16, 6, 125, 100, 2000, 0, 16]  # the site's usual ones, some below GIF's clock, a long last but one


def request(archive: Path, frames: tuple[Frame, ...], form: Format, **options: Any) -> ConvertRequest:
    out = archive.with_name(f"out.{form}")
    return ConvertRequest(archive, frames, out, ConvertOptions(form, **options))


def played(path: Path) -> tuple[int, int]:
    """Frames and milliseconds as Pillow, which did not write the container, plays them."""
    total = 0
    with Image.open(path) as image:
        count = getattr(image, "n_frames", 1)
        for number in range(count):
            image.seek(number)
            image.load()
            total += int(image.info.get("duration", 0))
    return count, total


@pytest.mark.parametrize(("form", "total"), [("gif", 2280), ("webp", 2277)])
@pytest.mark.parametrize("still", [False, True])
def test_frames_and_time_are_exact(make_archive: MakeArchive, form: Format, total: int, *, still: bool) -> None:
    """Equal neighbours keep their frames and their time too."""
    archive, frames = make_archive(DELAYS, still=still)
    outcome = convert(request(archive, frames, form))
    assert isinstance(outcome, Converted)
    assert (outcome.frames, outcome.total_ms, outcome.width, outcome.height) == (7, total, 40, 30)
    assert (outcome.short_frames, outcome.raised_frames) == (4, 2)
    assert outcome.bytes == outcome.path.stat().st_size
    assert played(outcome.path) == (7, total)
    assert not list(outcome.path.parent.glob("*.part"))


@pytest.mark.parametrize("form", FORMATS)
def test_one_frame_keeps_its_time(make_archive: MakeArchive, form: Format) -> None:
    archive, frames = make_archive([700])
    outcome = convert(request(archive, frames, form))
    assert isinstance(outcome, Converted)
    assert (outcome.frames, outcome.total_ms) == (1, 700)


@pytest.mark.parametrize("form", FORMATS)
def test_the_last_picture_is_the_last_frame(make_archive: MakeArchive, form: Format) -> None:
    """Only changed parts are written; put together they must still be the whole picture."""
    archive, frames = make_archive([100] * 6, form="PNG")
    outcome = convert(request(archive, frames, form, lossless=form == "webp"))
    assert isinstance(outcome, Converted)
    with Image.open(outcome.path) as image:
        image.seek(5)
        got = image.convert("RGB")
    assert got.getpixel((1, 1)) == (30, 60, 90)
    assert got.getpixel((1 + 15, 5)) == (250, 20, 5)
    assert got.getpixel((1 + 9, 5)) == (30, 60, 90)  # where the rectangle of an earlier frame was


@pytest.mark.parametrize("form", FORMATS)
def test_large_frames_are_scaled_to_the_longest_edge(make_archive: MakeArchive, form: Format) -> None:
    archive, frames = make_archive([100, 100], size=(400, 100))
    small = convert(request(archive, frames, form, max_edge=64))
    assert isinstance(small, Converted)
    assert (small.width, small.height) == (64, 16)
    whole = convert(request(archive, frames, form, max_edge=None))
    assert isinstance(whole, Converted)
    assert (whole.width, whole.height) == (400, 100)


def test_scaling_never_enlarges_and_never_loses_an_edge() -> None:
    assert fitted((30, 20), 640, 65_535) == (30, 20)
    assert fitted((10_000, 3), 640, 65_535) == (640, 1)
    assert fitted((20_000, 10_000), None, 16_383) == (16_383, 8192)


def test_transparency_survives_in_webp_and_is_white_in_gif(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100, 100], form="PNG", mode="RGBA")
    pixels = {}
    for form in FORMATS:
        outcome = convert(request(archive, frames, form, lossless=True, dither=False))
        assert isinstance(outcome, Converted)
        with Image.open(outcome.path) as image:
            pixels[form] = image.convert("RGBA").getpixel((1, 28))
    assert pixels["webp"] == (30, 60, 90, 128)
    red, green, blue, alpha = pixels["gif"]
    assert alpha == 255
    assert (red, green, blue) == (142, 157, 172)


def test_refusals_leave_nothing_behind(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100, 100])
    small = request(archive, frames, "gif", max_bytes=200)
    assert convert(small) == Broken(BrokenReason.OUTPUT_TOO_LARGE, "more than 200 bytes")
    short = convert(request(archive, frames[:1], "webp"))
    assert isinstance(short, Broken)
    assert short.reason is BrokenReason.FRAMES_UNLISTED
    nowhere = convert(ConvertRequest(archive, frames, archive.parent / "none" / "o.gif", ConvertOptions("gif")))
    assert isinstance(nowhere, Broken)
    assert nowhere.reason is BrokenReason.MISSING
    assert {path.name for path in archive.parent.iterdir()} == {archive.name}


def test_an_earlier_file_survives_a_failed_conversion(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100, 100])
    asked = request(archive, frames, "gif", max_bytes=200)
    asked.out_path.write_bytes(b"earlier")
    assert isinstance(convert(asked), Broken)
    assert asked.out_path.read_bytes() == b"earlier"


@pytest.mark.parametrize("form", FORMATS)
async def test_the_child_process_converts(make_archive: MakeArchive, form: Format) -> None:
    archive, frames = make_archive([100, 50])
    outcome = await run_conversion(request(archive, frames, form), timeout_s=60)
    assert isinstance(outcome, Converted)
    assert played(outcome.path) == (2, 150)


async def test_the_child_gets_no_secrets(make_archive: MakeArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, frames = make_archive([100])
    monkeypatch.setenv("PIXIV_REFRESH_TOKEN", "secret")
    given: dict[str, str] = {}
    start = asyncio.create_subprocess_exec

    async def look(*args: Any, env: dict[str, str], **options: Any) -> asyncio.subprocess.Process:
        given.update(env)
        return await start(*args, env=env, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", look)
    assert isinstance(await run_conversion(request(archive, frames, "gif"), timeout_s=60), Converted)
    assert "secret" not in given.values()
    assert "PIXIVFLOW_CONVERT_MEMORY_BYTES" in given


async def test_a_refusal_crosses_the_process_border(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100])
    archive.write_bytes(b"PK")
    outcome = await run_conversion(request(archive, frames, "gif"), timeout_s=60)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.CUT


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The child processes started during the test."""
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def record(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*args, **options))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record)
    return started


async def test_a_timeout_kills_the_child(make_archive: MakeArchive, children: list[asyncio.subprocess.Process]) -> None:
    archive, frames = make_archive([100] * 50, size=(300, 300))
    outcome = await run_conversion(request(archive, frames, "gif"), timeout_s=0.001)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.TIMEOUT
    assert [child.returncode for child in children] == [-9]
    assert {path.name for path in archive.parent.iterdir()} == {archive.name}


async def test_a_cancel_kills_the_child(make_archive: MakeArchive, children: list[asyncio.subprocess.Process]) -> None:
    archive, frames = make_archive([100] * 50, size=(300, 300))
    cancel = asyncio.Event()
    asyncio.get_running_loop().call_soon(cancel.set)
    outcome = await run_conversion(request(archive, frames, "webp"), timeout_s=60, cancel=cancel)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.CANCELLED
    assert [child.returncode for child in children] == [-9]
    again = await run_conversion(request(archive, frames, "webp"), timeout_s=60, cancel=cancel)
    assert isinstance(again, Broken)
    assert len(children) == 1


async def test_a_cancelled_task_kills_the_child_before_it_ends(
    make_archive: MakeArchive, children: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, frames = make_archive([100] * 50, size=(300, 300))
    waiting = asyncio.Event()
    wait = asyncio.wait

    async def tell(*args: Any, **options: Any) -> Any:
        waiting.set()
        return await wait(*args, **options)

    monkeypatch.setattr(asyncio, "wait", tell)
    task = asyncio.create_task(run_conversion(request(archive, frames, "gif"), timeout_s=60))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [child.returncode for child in children] == [-9]


async def test_too_little_memory_is_an_outcome(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100, 100], size=(4000, 4000))
    outcome = await run_conversion(
        request(archive, frames, "gif", max_edge=None), timeout_s=60, memory_bytes=160 * 1024 * 1024
    )
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.OUT_OF_MEMORY


def test_the_child_ends_when_its_parent_is_gone(make_archive: MakeArchive) -> None:
    archive, frames = make_archive([100] * 400, size=(600, 600))
    asked = request(archive, frames, "webp", lossless=True, method=6, quality=100)
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "pixivflow.media.convert_worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = child.communicate(encode_request(asked))  # closes the child's standard input, as a dying parent would
    assert (child.returncode, said) == (75, b"")


def test_the_wire_carries_everything(tmp_path: Path) -> None:
    asked = request(tmp_path / "ü.zip", (Frame("0.jpg", 10),), "webp", max_edge=None)
    assert decode_request(encode_request(asked)) == asked
    for outcome in (
        Converted(tmp_path / "x.gif", "gif", 1, 2, 3, 4, 5, 6, 7),
        Broken(BrokenReason.CUT, 'a "quoted" detail'),
    ):
        assert decode_outcome(encode_outcome(outcome)) == outcome
    for nonsense in (b"", b"{", b"[]", b'{"broken": {"reason": "new", "detail": ""}}', b'{"converted": {}}'):
        assert decode_outcome(nonsense) is None
