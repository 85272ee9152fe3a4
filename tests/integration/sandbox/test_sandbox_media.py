"""Media hosts over a real socket."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any

import pytest
from PIL import Image

from pixivflow.sandbox import Sandbox
from pixivflow.sandbox.world import original_urls, zip_url

REFERER = {"Referer": "https://app-api.pixiv.net/"}


async def test_originals_are_pictures_of_the_promised_type_and_length(client: Any, sandbox: Sandbox) -> None:
    kinds = {}
    for work in sandbox.world.newest("illust")[:20]:
        for url in original_urls(work.record):
            answer, body = await client.media(url)
            assert answer.status == 200
            assert int(answer.headers["Content-Length"]) == len(body)
            picture = Image.open(io.BytesIO(body))
            picture.load()
            kinds[url.rsplit(".", 1)[1]] = (answer.content_type, picture.format)
    assert kinds == {"jpg": ("image/jpeg", "JPEG"), "png": ("image/png", "PNG"), "gif": ("image/gif", "GIF")}


async def test_pages_differ_and_stay_the_same(client: Any, sandbox: Sandbox) -> None:
    urls = original_urls(sandbox.world.first_multi_page().record)
    bodies = [(await client.media(url))[1] for url in urls]
    assert len(set(bodies)) == len(urls) == 3
    assert bodies == [(await client.media(url))[1] for url in urls]
    assert bodies[1] == await sandbox.original(sandbox.world.first_multi_page().id, 1)


async def test_archives_hold_the_frames_the_metadata_names(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first("ugoira")
    for size in ("600x600", "1920x1080"):
        answer, body = await client.media(zip_url(work, size))
        assert answer.content_type == "application/zip"
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            assert archive.namelist() == [frame.file for frame in work.frames]
            assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
            frames = [archive.read(name) for name in archive.namelist()]
        assert len(set(frames)) == len(frames)
        assert Image.open(io.BytesIO(frames[0])).format == "JPEG"
    frame_url = original_urls(work.record)[0].replace("_ugoira0", "_ugoira3")
    assert (await client.media(frame_url))[0].status == 200


@pytest.mark.parametrize("headers", [{}, {"Referer": "https://example.test/"}])
async def test_a_foreign_referer_is_403(client: Any, sandbox: Sandbox, headers: dict[str, str]) -> None:
    url = original_urls(sandbox.world.first_single_page().record)[0]
    assert (await client.media(url, headers))[0].status == 403
    placeholder = "https://s.pximg.net/common/images/limit_mypixiv_360.png"
    assert (await client.media(placeholder, headers))[0].status == 200


async def test_wrong_names_are_404(client: Any, sandbox: Sandbox) -> None:
    url = original_urls(sandbox.world.first_single_page().record)[0]
    for wrong in (url.replace(".jpg", ".png"), url.replace("/2026/", "/2025/"), url.replace("_p0", "_p1")):
        assert (await client.media(wrong))[0].status == 404


async def test_ranges_and_versions(client: Any, sandbox: Sandbox) -> None:
    url = original_urls(sandbox.world.first_single_page().record)[0]
    whole, body = await client.media(url)
    part, rest = await client.media(url, REFERER | {"Range": "bytes=100-"})
    assert (part.status, rest) == (206, body[100:])
    assert part.headers["Content-Range"] == f"bytes 100-{len(body) - 1}/{len(body)}"
    beyond, _ = await client.media(url, REFERER | {"Range": f"bytes={len(body)}-"})
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{len(body)}")
    same, nothing = await client.media(url, REFERER | {"If-None-Match": whole.headers["ETag"]})
    assert (same.status, nothing) == (304, b"")
    stale, all_of_it = await client.media(url, REFERER | {"Range": "bytes=5-", "If-Range": '"old"'})
    assert (stale.status, all_of_it) == (200, body)
    assert whole.headers["Last-Modified"].endswith("GMT")


async def test_head_has_the_length_and_no_body(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    path = original_urls(work.record)[0].removeprefix("https://i.pximg.net")
    async with client.session.head(sandbox.endpoints()["media"] + path, headers=REFERER) as answer:
        assert answer.status == 200
        assert int(answer.headers["Content-Length"]) == len(await sandbox.original(work.id))
        assert await answer.read() == b""


async def test_reduced_sizes_covers_avatars_and_uploaded_pictures(client: Any, sandbox: Sandbox) -> None:
    work, novel = sandbox.world.first_single_page(), sandbox.world.first_novel()
    assert novel.novel is not None
    original = await sandbox.original(work.id)
    urls = [*work.record["image_urls"].values(), *novel.record["image_urls"].values()]
    urls += [url for image in novel.novel.images.values() for url in image["urls"].values()]
    urls.append(work.record["user"]["profile_image_urls"]["medium"])
    for url in urls:
        answer, body = await client.media(url)
        assert answer.status == 200, url
        assert body != original
        with Image.open(io.BytesIO(body)) as picture:
            picture.load()
    square, body = await client.media(work.record["image_urls"]["square_medium"])
    with Image.open(io.BytesIO(body)) as picture:
        assert picture.width == picture.height
    assert square.content_type == "image/jpeg"
    webp, _ = await client.media(work.record["image_urls"]["large"].replace("600x1200_90", "600x1200_90_webp"))
    assert webp.content_type == "image/webp"


async def test_changed_files_are_other_bytes(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    url = original_urls(work.record)[0]
    before = (await client.media(url))[1]
    sandbox.world.revise(work.id)
    after = (await client.media(url))[1]
    assert after != before
    sandbox.world.set_media(url, b"GIF89a", "image/gif")
    answer, body = await client.media(url)
    assert (answer.content_type, body) == ("image/gif", b"GIF89a")
    sandbox.world.remove("illust", work.id)
    sandbox.world.overrides.clear()
    assert (await client.media(url))[0].status == 404


async def test_warming_makes_every_file(client: Any, sandbox: Sandbox) -> None:
    count = await sandbox.warm()
    assert count > 100
    path = original_urls(sandbox.world.first_single_page().record)[0].removeprefix("https://i.pximg.net")
    assert sandbox.site.media.cached(path) is not None


async def test_a_small_cache_forgets_but_files_stay_the_same(open_client: Any) -> None:
    async with open_client(media_cache_mb=0) as client:
        urls = original_urls(client.sandbox.world.first_multi_page().record)
        first = [hashlib.sha256((await client.media(url))[1]).hexdigest() for url in urls]
        again = [hashlib.sha256((await client.media(url))[1]).hexdigest() for url in urls]
        assert first == again
        paths = [url.removeprefix("https://i.pximg.net") for url in urls]
        assert [client.sandbox.site.media.cached(path) is not None for path in paths] == [False, False, True]
