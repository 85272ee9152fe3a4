"""Stock gallery-dl, pointed at the sandbox, gets exactly the bytes the invented site holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from typing import Any

from pixivflow.sandbox import Sandbox, Work
from pixivflow.sandbox.world import original_urls

GalleryDl = Callable[..., Awaitable[Any]]


async def expected(site: Sandbox, works: Iterable[Work]) -> dict[str, str]:
    """The files of the works by the name gallery-dl is told to give them, each with its digest."""
    found = {}
    for work in works:
        if work.type == "ugoira":
            found[f"files/{work.id}_p0.zip"] = await digest(site.archive(work.id))
            continue
        for number, url in enumerate(original_urls(work.record)):
            extension = url.rsplit(".", 1)[1]
            found[f"files/{work.id}_p{number}.{extension}"] = await digest(site.original(work.id, number))
    return found


async def digest(body: Awaitable[bytes]) -> str:
    return sha256(await body).hexdigest()


def digests(finished: Any) -> dict[str, str]:
    return {name: sha256(body).hexdigest() for name, body in finished.files.items()}


async def test_an_authors_works(site: Sandbox, gallery_dl: GalleryDl) -> None:
    author = site.world.first("ugoira").user_id
    finished = await gallery_dl(f"https://www.pixiv.net/users/{author}/artworks")
    assert finished.code == 0, finished.output
    works = site.world.works_of(author, "illust")
    assert len(works) > 5
    assert digests(finished) == await expected(site, works)


async def test_a_single_work_of_several_pages(site: Sandbox, gallery_dl: GalleryDl) -> None:
    work = site.world.first_multi_page()
    finished = await gallery_dl(f"https://www.pixiv.net/artworks/{work.id}")
    assert finished.code == 0, finished.output
    assert len(finished.files) == work.record["page_count"] > 1
    assert digests(finished) == await expected(site, [work])


async def test_an_animation(site: Sandbox, gallery_dl: GalleryDl) -> None:
    work = site.world.first("ugoira")
    finished = await gallery_dl(f"https://www.pixiv.net/artworks/{work.id}")
    assert finished.code == 0, finished.output
    assert digests(finished) == await expected(site, [work])
    assert next(iter(finished.files.values())).startswith(b"PK")


async def test_a_tag_search(site: Sandbox, gallery_dl: GalleryDl) -> None:
    tag = site.world.first_single_page().record["tags"][0]["name"]
    finished = await gallery_dl(f"https://www.pixiv.net/tags/{tag}/artworks?s_mode=s_tag_full")
    assert finished.code == 0, finished.output
    named = {int(name.removeprefix("files/").split("_")[0]) for name in finished.files}
    assert named
    assert all(any(t["name"] == tag for t in site.world.illusts[i].record["tags"]) for i in named)
    assert digests(finished) == await expected(site, [site.world.illusts[i] for i in named])


async def test_a_days_ranking(site: Sandbox, gallery_dl: GalleryDl) -> None:
    finished = await gallery_dl("https://www.pixiv.net/ranking.php?mode=daily&date=20260227")
    assert finished.code == 0, finished.output
    named = {int(name.removeprefix("files/").split("_")[0]) for name in finished.files}
    assert named
    assert digests(finished) == await expected(site, [site.world.illusts[i] for i in named])


async def test_a_novel_with_its_pictures(site: Sandbox, gallery_dl: GalleryDl) -> None:
    work = site.world.first_novel()
    assert work.novel is not None
    finished = await gallery_dl(f"https://www.pixiv.net/novel/show.php?id={work.id}")
    assert finished.code == 0, finished.output
    texts = [body.decode() for name, body in finished.files.items() if name.endswith(".txt")]
    assert texts == [work.novel.text]
    pictures = [body for name, body in finished.files.items() if not name.endswith(".txt")]
    assert len(pictures) > len(work.novel.images) > 0
    assert all(body[:3] == b"\xff\xd8\xff" or body[:4] == b"\x89PNG" for body in pictures)


async def test_a_work_that_is_gone_is_an_error(site: Sandbox, gallery_dl: GalleryDl) -> None:
    work = site.world.first_single_page()
    site.world.remove("illust", work.id)
    finished = await gallery_dl(f"https://www.pixiv.net/artworks/{work.id}")
    assert finished.code != 0
    assert not finished.files
