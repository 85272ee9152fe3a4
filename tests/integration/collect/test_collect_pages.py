"""Illustrations: every fault of a media host leads to the right outcome, and nothing broken is ever recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pixivflow.collect.ports import KnownState
from pixivflow.collect.settings import CollectSettings
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import AssetQuality, AssetRole, Page, Restriction
from pixivflow.sources.errors import Forbidden, NetworkFailed, NotFound, RateLimited, TimedOut, Unavailable

HTML = b"<!DOCTYPE html><html><body>Sorry</body></html>"
BASE = "https://i.pximg.net/img-original/img/2026/03/01/00/00/00"
MASTER = "https://i.pximg.net/img-master/img/2026/03/01/00/00/00"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_all_pages_of_all_works_are_stored_byte_for_byte(world: Any, make_picture: Any) -> None:
    for number in (11, 12, 13):
        world.illust(number, pages=3)
    run = world.run()
    outcome = await world.collect(run)
    assert (outcome.ready, outcome.failed, outcome.reason, outcome.message) == (3, (), None, "")
    assert sorted(world.media_files().values()) == sorted(
        digest(make_picture(n + page)) for n in (11, 12, 13) for page in range(3)
    )
    assert "11_Title 11_1.png" in world.stored()
    assert "11_Title 11.json" in world.stored()
    assert outcome.funnel.as_json()["fetched"] == 3
    assert (outcome.funnel.selected, outcome.funnel.requests_saved) == (3, 3)
    assert world.source.asked["work illustration:11"] == 0
    assets = run.picks[world.source.works[0].ref].assets
    assert [asset.role for asset in assets] == [AssetRole.PAGE] * 3 + [AssetRole.METADATA]
    world.check_records()


async def test_a_second_run_asks_for_no_file(world: Any) -> None:
    world.illust(11, pages=2)
    await world.collect()
    before = world.source.media_requests
    outcome = await world.collect()
    assert outcome.reason is Reason.DUPLICATE_EXHAUSTED
    assert "already_downloaded" in outcome.message
    assert world.source.media_requests == before


# What the media host answers instead of the good bytes, and the reason stored when it goes on doing so.
BROKEN: dict[str, tuple[Callable[[bytes], dict[str, Any]], Reason]] = {
    "half sent and dropped": (lambda good: {"body": good, "breaks_at": 50}, Reason.NETWORK_ERROR),
    "cut with an honest length": (lambda good: {"body": good[:-20]}, Reason.DOWNLOAD_FAILED),
    "html said to be html": (lambda _: {"body": HTML, "content_type": "text/html"}, Reason.DOWNLOAD_FAILED),
    "html said to be jpeg": (lambda _: {"body": HTML, "content_type": "image/jpeg"}, Reason.DOWNLOAD_FAILED),
    "empty body": (lambda _: {"body": b""}, Reason.DOWNLOAD_FAILED),
    "json instead": (lambda _: {"body": b'{"error":1}'}, Reason.DOWNLOAD_FAILED),
    "short of its length": (lambda good: {"body": good[:40], "declares": len(good)}, Reason.DOWNLOAD_FAILED),
    "500": (lambda _: {"error": Unavailable("media: HTTP 500", status=500)}, Reason.REMOTE_HTTP_ERROR),
    "429": (lambda _: {"error": RateLimited("media: slow down", retry_after_s=7)}, Reason.RATE_LIMITED),
    "no answer": (lambda _: {"error": NetworkFailed("media: reset")}, Reason.NETWORK_ERROR),
    "timeout": (lambda _: {"error": TimedOut("media: no answer in time")}, Reason.DOWNLOAD_TIMEOUT),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_fault_that_passes_costs_a_retry_and_never_the_original(
    world: Any, make_picture: Any, answer: Any, fault: str
) -> None:
    world.illust(11)
    good = make_picture(11)
    world.source.serve(f"{BASE}/11_p0.png", answer(**BROKEN[fault][0](good)), answer(good))
    outcome = await world.collect()
    assert outcome.ready == 1
    assert list(world.media_files().values()) == [digest(good)]
    assert world.source.asked[f"{BASE}/11_p0.png"] == 2
    assert sum(world.clock.slept) >= (7 if fault == "429" else 0.5)
    world.check_records()


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_fault_that_stays_is_named_and_the_next_run_repairs_it(
    world: Any, make_picture: Any, answer: Any, fault: str
) -> None:
    make, reason = BROKEN[fault]
    broken, sound = world.illust(11), world.illust(12)
    good = make_picture(11)
    # A reduced version is there, and must not be taken for an original that is only out of reach now.
    world.source.serve(f"{MASTER}/11_p0_master1200.jpg", make_picture(99, "JPEG"))
    world.source.serve(f"{BASE}/11_p0.png", answer(**make(good)))
    first = await world.collect()
    assert first.ready == 1
    assert [(pick.ref, pick.reason) for pick in first.failed] == [(broken.ref, reason)]
    assert first.failed[0].message.startswith("page 1: ")
    assert "1 failed" in first.message
    assert list(world.media_files()) == ["12_Title 12_1.png"]
    assert world.archive.states == {broken.ref: KnownState.INCOMPLETE, sound.ref: KnownState.COMPLETE}
    assert world.source.asked[f"{BASE}/11_p0.png"] == 4
    world.check_records()

    world.source.serve(f"{BASE}/11_p0.png", answer(good))
    second = await world.collect()
    assert (second.ready, second.failed) == (1, ())
    assert world.media_files()["11_Title 11_1.png"] == digest(good)
    assert world.archive.states[broken.ref] is KnownState.COMPLETE


async def test_nothing_ready_because_of_an_outage_is_not_called_no_candidate(world: Any, answer: Any) -> None:
    world.illust(11)
    world.source.serve(f"{BASE}/11_p0.png", answer(error=Unavailable("media: HTTP 503")))
    outcome = await world.collect()
    assert (outcome.ready, outcome.reason) == (0, Reason.REMOTE_HTTP_ERROR)
    assert "503" in outcome.message
    assert "next run" in outcome.message


async def test_an_original_under_another_extension_is_found(world: Any, make_picture: Any) -> None:
    work = world.illust(11)
    world.source.files.clear()
    world.source.serve(f"{BASE}/11_p0.jpg", make_picture(11, "JPEG"))
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.media_files() == {"11_Title 11_1.jpg": digest(make_picture(11, "JPEG"))}
    assert world.archive.states[work.ref] is KnownState.COMPLETE


async def test_a_reduced_version_is_stored_as_such_and_the_original_is_tried_again(
    world: Any, make_picture: Any
) -> None:
    work = world.illust(11)
    world.source.files.clear()
    world.source.serve(f"{MASTER}/11_p0_master1200.jpg", make_picture(50, "JPEG"))
    first = await world.collect()
    assert (first.ready, first.reason) == (0, Reason.DOWNLOAD_FAILED)
    assert "reduced version is stored" in first.message
    assert world.archive.states[work.ref] is KnownState.REDUCED
    (asset, _) = world.archive.files[work.ref].values()
    assert asset.quality is AssetQuality.REDUCED
    assert [world.source.asked[f"{BASE}/11_p0.{ext}"] for ext in ("png", "jpg", "gif")] == [1, 1, 1]

    second = await world.collect()
    assert second.failed[0].reason is Reason.DOWNLOAD_FAILED
    assert world.source.asked[f"{MASTER}/11_p0_master1200.jpg"] == 1, "the stand-in is stored already"

    world.source.serve(f"{BASE}/11_p0.png", make_picture(11))
    third = await world.collect()
    assert third.ready == 1
    assert world.media_files() == {"11_Title 11_1.png": digest(make_picture(11))}, "the stand-in is gone"
    assert world.archive.states[work.ref] is KnownState.COMPLETE
    world.check_records()


MEDIA_VERDICTS = {
    "404": (NotFound("media: HTTP 404"), Reason.DOWNLOAD_FAILED),
    "403": (Forbidden("media: HTTP 403"), Reason.REMOTE_HTTP_ERROR),
}


@pytest.mark.parametrize("fault", MEDIA_VERDICTS)
async def test_a_work_that_is_gone_is_released_and_the_next_one_is_taken(world: Any, answer: Any, fault: str) -> None:
    gone = world.illust(12)
    world.illust(11)
    world.source.serve(f"{BASE}/12_p0.png", answer(error=MEDIA_VERDICTS[fault][0]))
    world.source.details[gone.ref] = NotFound("12: HTTP 404")
    run = world.run()
    outcome = await world.collect(run, limit=1)
    assert (outcome.ready, outcome.failed) == (1, ())
    assert run.released == [(gone.ref, Reason.WORK_UNAVAILABLE, "12: HTTP 404")]
    assert outcome.funnel.named == [("12", "unavailable")]
    assert world.source.asked[f"{BASE}/12_p0.png"] == 1
    assert gone.ref not in world.archive.states


@pytest.mark.parametrize("fault", MEDIA_VERDICTS)
async def test_a_media_host_that_has_nothing_is_not_the_verdict_on_a_work(world: Any, answer: Any, fault: str) -> None:
    error, reason = MEDIA_VERDICTS[fault]
    works = [world.illust(12), world.illust(11)]
    for number in (12, 11):
        world.source.serve(f"{BASE}/{number}_p0.png", answer(error=error))
    outcome = await world.collect(limit=1)
    assert (outcome.ready, outcome.reason) == (0, reason)
    assert [pick.ref for pick in outcome.failed] == [work.ref for work in works], "the second had its chance"
    assert "still lists the work" in outcome.message


async def test_a_work_that_was_changed_after_it_was_listed_is_fetched_as_it_is_now(world: Any) -> None:
    now = world.illust(12, pages=2)
    old = f"{BASE.replace('/03/01', '/02/01')}/12_p0.png"
    world.source.works[0] = replace(now, pages=(Page(0, old),), page_count=1)
    world.source.details[now.ref] = now
    run = world.run()
    outcome = await world.collect(run)
    assert outcome.ready == 1
    assert len(world.media_files()) == 2
    assert world.archive.works[now.ref].page_count == 2
    world.check_records()


@pytest.mark.parametrize(
    "how",
    ["by its address", "by where it leads", "by its picture"],
)
async def test_a_placeholder_is_never_stored(world: Any, make_picture: Any, answer: Any, how: str) -> None:
    work = world.illust(11)
    placeholder = "https://s.pximg.net/common/images/limit_tomorrow_360.png"
    edge = make_picture(1, size=(360, 360))
    if how == "by its address":
        world.source.works[0] = replace(work, pages=(Page(0, placeholder),))
        world.source.serve(placeholder, edge)
    elif how == "by where it leads":
        world.source.serve(f"{BASE}/11_p0.png", answer(edge, led_to=placeholder))
    else:
        world.source.works[0] = replace(work, width=1200, height=800)
        world.source.serve(f"{BASE}/11_p0.png", answer(edge))
    outcome = await world.collect()
    assert (outcome.ready, outcome.reason) == (0, Reason.WORK_UNAVAILABLE)
    assert world.stored() == {}
    assert dict(outcome.funnel.rejected) == {"restricted_unknown": 1}


async def test_a_restricted_record_is_never_opened(world: Any) -> None:
    world.illust(11, restriction=Restriction.SANITY)
    outcome = await world.collect()
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert outcome.funnel.named == [("11", "restricted_sanity")]
    assert world.source.media_requests == 0


async def test_one_missing_page_keeps_the_others_and_is_all_that_the_next_run_fetches(
    world: Any, make_picture: Any, answer: Any
) -> None:
    work = world.illust(11, pages=3)
    world.source.serve(f"{BASE}/11_p1.png", answer(error=NetworkFailed("media: reset")))
    first = await world.collect()
    assert first.failed[0].message == "page 2: media: reset"
    assert list(world.media_files()) == ["11_Title 11_1.png", "11_Title 11_3.png"]
    world.source.serve(f"{BASE}/11_p1.png", make_picture(12))
    world.source.asked.clear()
    second = await world.collect()
    assert second.ready == 1
    assert world.source.media_requests == 1
    assert world.archive.states[work.ref] is KnownState.COMPLETE
    world.check_records()


async def test_a_page_that_is_gone_for_good_leaves_the_work_incomplete(world: Any, answer: Any) -> None:
    world.illust(11, pages=2)
    world.source.serve(f"{BASE}/11_p1.png", answer(error=NotFound("media: HTTP 404")))
    outcome = await world.collect()
    assert (outcome.ready, outcome.reason) == (0, Reason.DOWNLOAD_FAILED)


async def test_pages_the_author_added_or_changed_are_fetched(world: Any, make_picture: Any) -> None:
    work = world.illust(11, pages=3)
    await world.collect()
    world.source.works.clear()
    grown = world.illust(11, pages=5)
    changed = f"{BASE.replace('/03/01', '/03/09')}/11_p0.png"
    world.source.serve(changed, make_picture(200))
    world.source.works[0] = replace(grown, pages=(Page(0, changed), *grown.pages[1:]))
    world.source.asked.clear()
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.source.media_requests == 5, "an author who adds pages may have changed the others"
    assert world.media_files()["11_Title 11_1.png"] == digest(make_picture(200))
    assert world.archive.works[work.ref].page_count == 5
    world.check_records()


async def test_a_file_that_was_damaged_or_deleted_on_the_disk_is_fetched_again(world: Any, make_picture: Any) -> None:
    work = world.illust(11, pages=3)
    await world.collect()
    (world.root / "11_Title 11_1.png").unlink()
    (world.root / "11_Title 11_2.png").write_bytes(b"x" * len(make_picture(12)))
    world.archive.states[work.ref] = KnownState.INCOMPLETE
    world.source.asked.clear()
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.source.media_requests == 2
    world.check_records()


async def test_a_record_that_hides_pages_does_not_make_a_complete_work(world: Any) -> None:
    world.illust(11, pages=2, page_count=3)
    outcome = await world.collect()
    assert outcome.reason is Reason.METADATA_FAILED
    assert "3 pages" in outcome.message


@pytest.mark.parametrize("declared", [True, False])
async def test_a_file_beyond_the_limit_is_refused(world: Any, make_picture: Any, answer: Any, declared: bool) -> None:
    world.settings = CollectSettings(max_file_bytes=60)
    world.illust(11)
    world.source.serve(f"{BASE}/11_p0.png", answer(make_picture(11), declares=-1 if declared else None))
    outcome = await world.collect()
    assert outcome.reason is Reason.DOWNLOAD_FAILED
    assert "60" in outcome.message
    assert world.source.asked[f"{BASE}/11_p0.png"] == 1
    world.check_records()


async def test_a_pause_longer_than_bearable_ends_the_file_at_once(world: Any, answer: Any) -> None:
    world.illust(11)
    world.source.serve(f"{BASE}/11_p0.png", answer(error=RateLimited("media: slow down", retry_after_s=3600)))
    outcome = await world.collect()
    assert outcome.reason is Reason.RATE_LIMITED
    assert world.clock.slept == []


async def test_two_works_that_would_share_a_name_do_not(world: Any) -> None:
    first, second = world.illust(11), world.illust(12)
    await world.archive.reserve(first.ref, ["12_Title 12_1.png"])
    await world.collect()
    paths = {asset.path for asset in world.archive.files[second.ref].values()}
    assert paths == {"12_Title 12_2_1.png", "12_Title 12_2.json"}
    world.check_records()
