"""Novels: text, each picture once, and pictures that are not there are told apart from those that did not come."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pixivflow.collect.ports import KnownState
from pixivflow.collect.settings import CollectSettings
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import AssetRole
from pixivflow.sources.errors import Forbidden, NetworkFailed, Unavailable
from pixivflow.sources.ports import NovelImage, NovelText

URL = "https://i.pximg.net/novel/777.png"
OTHER = "https://i.pximg.net/img-original/img/2026/01/01/00/00/00/12_p1.jpg"


async def test_a_text_without_pictures_is_one_file_with_its_markers_as_written(world: Any) -> None:
    world.novel(31, NovelText("Once\n[newpage]\n[[rb:空>そら]] end", cover_url="https://i.pximg.net/c/cover.jpg"))
    outcome = await world.collect()
    assert outcome.ready == 1
    assert list(world.stored()) == ["31_Story 31.json", "31_Story 31.txt"]
    text = (world.root / "31_Story 31.txt").read_text()
    assert "Title: Story 31\n" in text
    assert "Author ID: 77\n" in text
    assert text.endswith("Once\n[newpage]\n[[rb:空>そら]] end\n")
    described = json.loads((world.root / "31_Story 31.json").read_text())
    assert described["cover_url"] == "https://i.pximg.net/c/cover.jpg"
    world.check_records()


async def test_a_picture_shown_twice_is_fetched_once_and_replaced_everywhere(world: Any, make_picture: Any) -> None:
    text = "A[uploadedimage:777]B[uploadedimage:777]C[pixivimage:12-2]"
    images = {
        "uploadedimage:777": NovelImage("uploadedimage:777", (URL,)),
        "pixivimage:12-2": NovelImage("pixivimage:12-2", (OTHER,)),
    }
    work = world.novel(31, NovelText(text, images))
    world.source.serve(URL, make_picture(7))
    world.source.serve(OTHER, make_picture(8, "JPEG"))
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.source.asked[URL] == 1
    markdown = (world.root / "31_Story 31.md").read_text()
    assert markdown.count("(images/31_uploadedimage_777.png)") == 2
    assert markdown.count("(images/31_pixivimage_12-2.jpg)") == 1
    assert (world.root / "31_Story 31.txt").read_text().count("[uploadedimage:777]") == 2
    assert world.stored()["images/31_uploadedimage_777.png"] == hashlib.sha256(make_picture(7)).hexdigest()
    roles = [asset.role for asset in world.archive.files[work.ref].values()]
    assert roles.count(AssetRole.EMBEDDED) == 2
    world.check_records()


async def test_a_picture_the_site_does_not_give_is_noted_and_no_failure(world: Any, answer: Any) -> None:
    text = "A[uploadedimage:1]B[uploadedimage:777]C[uploadedimage:3]"
    images = {
        "uploadedimage:1": NovelImage("uploadedimage:1", (), "removed by its author"),
        "uploadedimage:777": NovelImage("uploadedimage:777", (URL,)),
    }
    work = world.novel(31, NovelText(text, images))
    world.source.serve(URL, answer(error=Forbidden("media: HTTP 403")))
    outcome = await world.collect()
    assert outcome.ready == 1
    assert world.archive.states[work.ref] is KnownState.COMPLETE
    notes = json.loads((world.root / "31_Story 31.json").read_text())["novel_images"]
    assert [(note["ref"], note["status"]) for note in notes] == [
        ("uploadedimage:1", "unavailable"),
        ("uploadedimage:777", "unavailable"),
        ("uploadedimage:3", "unavailable"),
    ]
    assert not (world.root / "31_Story 31.md").exists()


async def test_a_picture_that_did_not_come_keeps_the_text_and_the_next_run_completes_it(
    world: Any, make_picture: Any, answer: Any
) -> None:
    images = {"uploadedimage:777": NovelImage("uploadedimage:777", (URL,))}
    work = world.novel(31, NovelText("A[uploadedimage:777]", images))
    world.source.serve(URL, answer(error=NetworkFailed("media: reset")))
    first = await world.collect()
    assert (first.ready, first.reason) == (0, Reason.NETWORK_ERROR)
    assert "picture uploadedimage:777" in first.message
    assert (world.root / "31_Story 31.txt").exists()
    assert world.archive.states[work.ref] is KnownState.INCOMPLETE
    world.source.serve(URL, make_picture(7))
    second = await world.collect()
    assert second.ready == 1
    assert "images/31_uploadedimage_777.png" in (world.root / "31_Story 31.md").read_text()
    world.check_records()


async def test_pictures_keep_their_files_when_the_text_is_reordered(world: Any, make_picture: Any) -> None:
    images = {
        "uploadedimage:777": NovelImage("uploadedimage:777", (URL,)),
        "uploadedimage:8": NovelImage("uploadedimage:8", (OTHER,)),
    }
    work = world.novel(31, NovelText("[uploadedimage:777][uploadedimage:8]", images))
    world.source.serve(URL, make_picture(7))
    world.source.serve(OTHER, make_picture(8))
    await world.collect()
    world.source.novels[work.ref] = NovelText("[uploadedimage:8][uploadedimage:777]", images)
    world.archive.states[work.ref] = KnownState.INCOMPLETE
    before = world.source.media_requests
    assert (await world.collect()).ready == 1
    assert world.source.media_requests == before
    numbers = {a.key: a.number for a in world.archive.files[work.ref].values() if a.role is AssetRole.EMBEDDED}
    assert numbers == {"uploadedimage:8": 0, "uploadedimage:777": 1}
    world.check_records()


async def test_an_empty_or_private_novel_is_released_and_its_neighbours_count(world: Any) -> None:
    world.novel(31, NovelText("[newpage]\n  "))
    private = world.novel(32, NovelText("x"))
    world.source.novels[private.ref] = Forbidden("32: the author made it private")
    world.novel(33, NovelText("A story"))
    run = world.run()
    outcome = await world.collect(run)
    assert (outcome.ready, outcome.failed) == (1, ())
    assert sorted(ref.id for ref, _, _ in run.released) == ["31", "32"]
    assert list(world.media_files()) == ["33_Story 33.txt"]


async def test_a_source_that_fails_on_a_text_is_an_outage(world: Any) -> None:
    work = world.novel(31, NovelText("x"))
    world.source.novels[work.ref] = Unavailable("31: HTTP 502")
    outcome = await world.collect()
    assert outcome.reason is Reason.REMOTE_HTTP_ERROR
    assert world.archive.states[work.ref] is KnownState.INCOMPLETE


async def test_a_text_beyond_the_limit_is_refused(world: Any) -> None:
    world.settings = CollectSettings(max_novel_chars=10)
    world.novel(31, NovelText("x" * 11))
    outcome = await world.collect()
    assert outcome.reason is Reason.DOWNLOAD_FAILED
    assert world.stored() == {}
