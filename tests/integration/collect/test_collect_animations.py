"""Animations: the archive is judged before anything is made of it, and what failed is finished by the next run."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pixivflow.collect import animation
from pixivflow.collect.ports import KnownState
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import AssetRole
from pixivflow.media.integrity import animation_info
from pixivflow.media.verdict import Broken, BrokenReason
from pixivflow.sources.errors import NotFound


def zip_url(number: int, size: str = "600x600") -> str:
    return f"https://i.pximg.net/img-zip-ugoira/img/2026/03/01/00/00/00/{number}_ugoira{size}.zip"


async def test_archive_timing_and_both_formats_are_stored(world: Any, make_archive: Any) -> None:
    work = world.ugoira(21, delays=(100, 50, 2000))
    run = world.run()
    outcome = await world.collect(run)
    assert (outcome.ready, outcome.message) == (1, "")
    assert list(world.stored()) == [
        "21_Moving 21.json",
        "21_Moving 21_frames.json",
        "21_Moving 21_ugoira.gif",
        "21_Moving 21_ugoira.webp",
        "21_Moving 21_ugoira.zip",
    ]
    assert world.stored()["21_Moving 21_ugoira.zip"] == hashlib.sha256(make_archive(3)).hexdigest()
    assets = {(asset.role, asset.key): asset for asset in run.picks[work.ref].assets}
    for target in ("gif", "webp"):
        assert assets[AssetRole.ANIMATION, target].duration_ms == 2150
        facts = animation_info(world.root / f"21_Moving 21_ugoira.{target}")
        assert (facts.frames, facts.total_ms) == (3, 2150)
    frames = json.loads((world.root / "21_Moving 21_frames.json").read_text())
    assert [frame["delay"] for frame in frames["frames"]] == [100, 50, 2000]
    assert world.source.asked[zip_url(21, "1920x1080")] == 1, "the larger archive is asked for first"
    world.check_records()


async def test_the_larger_archive_is_taken_where_it_exists(world: Any, make_archive: Any, answer: Any) -> None:
    work = world.ugoira(21)
    world.source.serve(zip_url(21, "1920x1080"), answer(make_archive(3), content_type="application/zip"))
    assert (await world.collect()).ready == 1
    assert world.source.asked[zip_url(21)] == 0
    archive = next(a for a in world.archive.files[work.ref].values() if a.role is AssetRole.ARCHIVE)
    assert archive.source_url == zip_url(21, "1920x1080")


@pytest.mark.parametrize("fault", ["cut", "a frame too few", "a damaged frame"])
async def test_a_bad_archive_is_fetched_again_within_bounds(
    world: Any, make_archive: Any, answer: Any, fault: str
) -> None:
    work = world.ugoira(21)
    good = make_archive(3)
    middle = len(good) // 2
    bad = {
        "cut": good[:-30],
        "a frame too few": make_archive(2),
        "a damaged frame": good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1 :],
    }[fault]
    world.source.serve(zip_url(21), answer(bad, content_type="application/zip"))
    first = await world.collect()
    assert (first.ready, first.reason) == (0, Reason.DOWNLOAD_FAILED)
    assert world.stored() == {}
    assert world.source.asked[zip_url(21)] == 4
    assert world.archive.states[work.ref] is KnownState.INCOMPLETE

    world.source.serve(zip_url(21), answer(bad), answer(good, content_type="application/zip"))
    second = await world.collect()
    assert second.ready == 1
    assert world.stored()["21_Moving 21_ugoira.zip"] == hashlib.sha256(good).hexdigest()
    world.check_records()


async def test_an_archive_damaged_on_the_disk_is_replaced(world: Any) -> None:
    work = world.ugoira(21)
    await world.collect()
    path = world.root / "21_Moving 21_ugoira.zip"
    path.write_bytes(path.read_bytes()[:500])
    world.archive.states[work.ref] = KnownState.INCOMPLETE
    before = world.source.asked[zip_url(21)]
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.source.asked[zip_url(21)] == before + 1
    world.check_records()


async def test_a_failed_conversion_keeps_the_archive_and_is_repeated_without_a_download(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = world.ugoira(21)
    real = animation.run_conversion

    async def slow(*_args: object, **_options: object) -> Broken:
        return Broken(BrokenReason.TIMEOUT, "not finished after 270 s")

    monkeypatch.setattr(animation, "run_conversion", slow)
    first = await world.collect()
    assert (first.ready, first.reason) == (0, Reason.INTERNAL_ERROR)
    assert "gif file: not finished" in first.message
    assert "21_Moving 21_ugoira.zip" in world.stored()
    assert world.archive.states[work.ref] is KnownState.INCOMPLETE

    monkeypatch.setattr(animation, "run_conversion", real)
    asked = world.source.media_requests
    second = await world.collect()
    assert second.ready == 1
    assert world.source.media_requests == asked
    world.check_records()


async def test_a_result_over_the_limit_is_made_again_smaller(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.ugoira(21)
    real, edges = animation.run_conversion, []

    async def limited(request: Any, **options: Any) -> Any:
        edges.append((request.options.format, request.options.max_edge))
        if request.options.max_edge > 320:
            return Broken(BrokenReason.OUTPUT_TOO_LARGE, "too large")
        return await real(request, **options)

    monkeypatch.setattr(animation, "run_conversion", limited)
    assert (await world.collect()).ready == 1
    assert edges == [("gif", 640), ("gif", 320), ("webp", 640), ("webp", 320)]


async def test_a_new_archive_makes_new_animations(world: Any, make_archive: Any, answer: Any) -> None:
    work = world.ugoira(21)
    await world.collect()
    gif = world.stored()["21_Moving 21_ugoira.gif"]
    world.source.works.clear()
    world.ugoira(21, delays=(400, 500))
    world.source.serve(zip_url(21), answer(make_archive(2), content_type="application/zip"))
    world.archive.states[work.ref] = KnownState.INCOMPLETE
    assert (await world.collect()).ready == 1
    assert world.stored()["21_Moving 21_ugoira.gif"] != gif
    assert animation_info(world.root / "21_Moving 21_ugoira.gif").total_ms == 900
    world.check_records()


async def test_new_timing_alone_makes_new_animations(world: Any) -> None:
    work = world.ugoira(21, delays=(100, 100, 100))
    await world.collect()
    world.source.works.clear()
    world.ugoira(21, delays=(100, 100, 700))
    world.archive.states[work.ref] = KnownState.INCOMPLETE
    assert (await world.collect()).ready == 1
    assert animation_info(world.root / "21_Moving 21_ugoira.webp").total_ms == 900


async def test_an_animation_whose_archive_is_gone_is_released(world: Any) -> None:
    work = world.ugoira(21)
    world.source.files.clear()
    world.source.details[work.ref] = NotFound("21: HTTP 404", status=404)
    run = world.run()
    outcome = await world.collect(run)
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert [ref for ref, _, _ in run.released] == [work.ref]


async def test_an_animation_the_site_no_longer_knows_is_released(world: Any) -> None:
    work = world.ugoira(21)
    world.source.ugoiras[work.ref] = NotFound("21: HTTP 404", status=404)
    run = world.run()
    outcome = await world.collect(run)
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert run.picks == {}


async def test_a_hostile_frame_list_is_refused(world: Any) -> None:
    world.ugoira(21, delays=(100, 9_999_999))
    outcome = await world.collect()
    assert outcome.reason is Reason.METADATA_FAILED
    assert world.stored() == {}
