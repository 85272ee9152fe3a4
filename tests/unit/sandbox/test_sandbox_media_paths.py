"""Which media paths exist and what stands behind them."""

from __future__ import annotations

from datetime import date

import pytest

from pixivflow.sandbox import records
from pixivflow.sandbox.jst import start_of
from pixivflow.sandbox.media_paths import path_of
from pixivflow.sandbox.world import NovelText, World, original_urls, zip_url
from pixivflow.sandbox.worldgen import generate

AT = start_of(date(2026, 3, 10))
DIR = "img/2026/03/10/00/00/00"


def _world() -> World:
    author = records.user(11, "one")
    world = World.from_records(
        [
            records.illust(1, AT, author, exts=("jpg", "png"), pages=2),
            records.illust(2, AT, author, kind="ugoira"),
        ]
    )
    text = NovelText("[uploadedimage:777]", images={"777": records.uploaded_image("777", AT)})
    world.add_novel(records.novel(3, AT, author), text)
    return world


@pytest.mark.parametrize(
    ("path", "kind", "fmt"),
    [
        (f"/img-original/{DIR}/1_p0.jpg", "original", "jpg"),
        (f"/img-original/{DIR}/1_p1.png", "original", "png"),
        (f"/img-master/{DIR}/1_p1_master1200.jpg", "master", "jpg"),
        (f"/c/600x1200_90/img-master/{DIR}/1_p1_master1200.jpg", "master", "jpg"),
        (f"/c/540x540_10_webp/img-master/{DIR}/1_p1_master1200.jpg", "master", "webp"),
        (f"/c/360x360_70/img-master/{DIR}/1_p0_square1200.jpg", "square", "jpg"),
        (f"/img-zip-ugoira/{DIR}/2_ugoira600x600.zip", "zip", "zip"),
        (f"/img-zip-ugoira/{DIR}/2_ugoira1920x1080.zip", "zip", "zip"),
        (f"/img-original/{DIR}/2_ugoira5.jpg", "frame", "jpg"),
        (f"/c/540x540_70/img-master/{DIR}/2_master1200.jpg", "master", "jpg"),
        ("/common/images/limit_tomorrow_360.png", "placeholder", "png"),
    ],
)
def test_paths_that_exist(path: str, kind: str, fmt: str) -> None:
    spec = _world().media.find(path)
    assert spec is not None
    assert (spec.kind, spec.fmt) == (kind, fmt)


@pytest.mark.parametrize(
    "path",
    [
        f"/img-original/{DIR}/1_p0.png",
        f"/img-original/{DIR}/1_p2.jpg",
        "/img-original/img/2026/03/11/00/00/00/1_p0.jpg",
        f"/img-original/{DIR}/2_ugoira6.jpg",
        f"/c/600x600/img-zip-ugoira/{DIR}/2_ugoira600x600.zip",
        "/nothing",
        "/",
    ],
)
def test_paths_that_do_not(path: str) -> None:
    assert _world().media.find(path) is None


def test_every_url_of_a_generated_world_is_served() -> None:
    world = generate(works=40, anchor=date(2026, 3, 10))
    for work in world.newest("illust"):
        record = work.record
        urls = [*original_urls(record), *record["image_urls"].values(), *([zip_url(work)] if work.frames else [])]
        urls += [url for page in record["meta_pages"] for url in page["image_urls"].values()]
        for url in urls:
            assert world.media.find(path_of(url) or "") is not None, url
    for work in world.newest("novel"):
        inside = [url for image in work.novel.images.values() for url in image["urls"].values()] if work.novel else []
        for url in [*work.record["image_urls"].values(), *inside]:
            assert world.media.find(path_of(url) or "") is not None, url


def test_new_style_names_carry_a_hash() -> None:
    author = records.user(1, "one")
    record = records.illust(8, AT, author)
    url = f"https://i.pximg.net/img-original/{DIR}/8-{'a' * 32}_p0.jpg"
    record["meta_single_page"] = {"original_image_url": url}
    world = World.from_records([record])
    spec = world.media.find(path_of(url) or "")
    assert spec is not None
    assert spec.owner == 8
    assert world.media.find(f"/img-master/{DIR}/8-{'a' * 32}_p0_master1200.jpg") is not None


def test_only_media_hosts_have_paths() -> None:
    assert path_of("https://i.pximg.net/a/b.jpg?x=1") == "/a/b.jpg"
    assert path_of("https://s.pximg.net/common/images/x.png") == "/common/images/x.png"
    assert path_of("https://example.test/a.jpg") is None


def test_an_odd_url_of_a_raw_record_is_a_picture_too() -> None:
    world = World()
    images = {"777": {"urls": {"original": "https://i.pximg.net/novel/777.png"}}}
    world.add_novel(records.novel(3, AT, records.user(1, "one")), NovelText("x", images=images))
    spec = world.media.find("/novel/777.png")
    assert spec is not None
    assert (spec.kind, spec.fmt, spec.owner) == ("uploaded", "png", 3)
