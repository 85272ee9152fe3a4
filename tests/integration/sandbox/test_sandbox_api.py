"""The app API and the web JSON over a real socket."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

import pytest

from pixivflow.sandbox import VIEWER_ID, Sandbox, World, records
from pixivflow.sandbox.jst import start_of
from pixivflow.sandbox.worldgen import dense_records

ANCHOR = date(2026, 3, 10)


async def test_search_pages_through_everything_once(client: Any, sandbox: Sandbox) -> None:
    found = await client.every("/v1/search/illust", "illusts", word="風景", sort="date_desc")
    expected = [w.id for w in sandbox.world.newest("illust") if any(name == "風景" for name, _ in w.tags)]
    assert [record["id"] for record in found] == expected
    assert len(found) > 30


async def test_next_url_keeps_every_parameter(client: Any) -> None:
    query = {"word": "風景", "search_target": "partial_match_for_tags", "sort": "date_asc", "start_date": "2025-01-01"}
    document = await client.good("/v1/search/illust", **query)
    assert document["next_url"].startswith("https://app-api.pixiv.net/v1/search/illust?word=%E9%A2%A8%E6%99%AF&")
    assert "sort=date_asc" in document["next_url"]
    assert "start_date=2025-01-01" in document["next_url"]
    assert document["next_url"].endswith("offset=30")
    assert len(document["illusts"]) == 30


async def test_the_offset_wall(open_client: Any) -> None:
    world = World.from_records(dense_records(5400, 3, start_of(ANCHOR)))
    async with open_client(world=world) as client:
        last = await client.good("/v1/search/illust", word="オリジナル", offset=4980)
        assert last["next_url"].endswith("offset=5010")
        assert len(last["illusts"]) == 30
        assert (await client.call("/v1/search/illust", word="オリジナル", offset=5000))[0] == 200
        status, document = await client.call("/v1/search/illust", word="オリジナル", offset=5001)
        assert status == 400
        assert json.loads(document["error"]["message"]) == {"offset": ["offset must be no more than 5000"]}
        older = await client.good("/v1/search/illust", word="オリジナル", end_date="2026-01-01")
        assert older["illusts"][0]["create_date"].startswith("2026-01-01T")


async def test_bad_parameters_are_400(client: Any) -> None:
    for path, query in (
        ("/v1/search/illust", {}),
        ("/v1/search/illust", {"word": "a", "offset": "x"}),
        ("/v1/illust/detail", {}),
        ("/v1/illust/ranking", {"mode": "century"}),
        ("/v1/illust/ranking", {"date": "2026-03-11"}),
        ("/v1/user/bookmarks/illust", {"user_id": VIEWER_ID, "restrict": "secret"}),
    ):
        status, document = await client.call(path, **query)
        assert status == 400, (path, query)
        assert set(document["error"]) == {"user_message", "message", "reason", "user_message_details"}


async def test_gone_works_and_unknown_routes_are_404(client: Any) -> None:
    for path, query in (
        ("/v1/illust/detail", {"illust_id": 1}),
        ("/v2/novel/detail", {"novel_id": 1}),
        ("/v1/user/detail", {"user_id": 1}),
        ("/v1/ugoira/metadata", {"illust_id": 1}),
        ("/v1/illust/series", {"illust_series_id": 1}),
        ("/v2/novel/series", {"series_id": 1}),
        ("/webview/v2/novel", {"id": 1}),
        ("/v1/novel/text", {"novel_id": 1}),
        ("/v1/illust/bookmark/add", {}),
    ):
        status, document = await client.call(path, **query)
        assert status == 404, path
        assert document["error"]["user_message"] or "end-point" in document["error"]["message"]


async def test_details_and_metadata(client: Any, sandbox: Sandbox) -> None:
    many = sandbox.world.first_multi_page()
    document = await client.good("/v1/illust/detail", illust_id=many.id)
    assert document["illust"]["meta_single_page"] == {}
    assert len(document["illust"]["meta_pages"]) == document["illust"]["page_count"] == 3
    assert "total_comments" in document["illust"]
    moving = sandbox.world.first("ugoira")
    meta = (await client.good("/v1/ugoira/metadata", illust_id=moving.id))["ugoira_metadata"]
    assert [frame["file"] for frame in meta["frames"]] == [f"{n:06d}.jpg" for n in range(6)]
    assert meta["frames"][-1]["delay"] == 2000
    assert meta["zip_urls"]["medium"].endswith(f"{moving.id}_ugoira600x600.zip")


async def test_rankings_follow_the_clock(client: Any) -> None:
    newest = await client.good("/v1/illust/ranking", mode="day")
    yesterday = await client.good("/v1/illust/ranking", mode="day", date="2026-03-09")
    assert newest["illusts"] == yesterday["illusts"] != []
    today = await client.good("/v1/illust/ranking", mode="day", date="2026-03-10")
    assert today == {"illusts": [], "next_url": None}
    assert (await client.good("/v1/novel/ranking", mode="day"))["novels"]
    adult = await client.every("/v1/illust/ranking", "illusts", mode="day_r18", filter="for_ios")
    assert {record["x_restrict"] for record in adult} == {1}


async def test_authors_and_their_works(client: Any, sandbox: Sandbox) -> None:
    detail = await client.good("/v1/user/detail", user_id=1001)
    works = await client.every("/v1/user/illusts", "illusts", user_id=1001)
    manga = await client.every("/v1/user/illusts", "illusts", user_id=1001, type="manga")
    assert len(works) == detail["profile"]["total_illusts"] + detail["profile"]["total_manga"]
    assert {record["type"] for record in manga} == {"manga"}
    assert len(manga) == detail["profile"]["total_manga"]
    assert {record["user"]["id"] for record in works} == {1001}
    safe = await client.every("/v1/user/illusts", "illusts", user_id=1001, filter="for_ios")
    assert len(safe) < len(works)
    assert (await client.good("/v1/user/novels", user_id=1001))["user"]["id"] == 1001
    gone = await client.good("/v1/user/illusts", user_id=4)
    assert gone == {"user": {"id": None}, "illusts": [], "next_url": None}
    assert (await client.good("/v1/user/detail", user_id=VIEWER_ID))["user"]["account"] == "sandbox"


async def test_bookmarks_page_by_bookmark_id(open_client: Any) -> None:
    author = records.user(5, "a")
    made = [records.illust(100 + n, start_of(ANCHOR), author, bookmarked=True, tags=[f"t{n % 2}"]) for n in range(70)]
    made += [records.illust(1100, start_of(ANCHOR), author)]
    world = World.from_records(made)
    world.bookmark("illust", 1100, private=True)
    async with open_client(world=world) as client:
        first = await client.good("/v1/user/bookmarks/illust", user_id=VIEWER_ID, restrict="public")
        assert "max_bookmark_id=" in first["next_url"]
        every = await client.every("/v1/user/bookmarks/illust", "illusts", user_id=VIEWER_ID, restrict="public")
        assert sorted(record["id"] for record in every) == list(range(100, 170))
        tagged = await client.every("/v1/user/bookmarks/illust", "illusts", user_id=VIEWER_ID, tag="t1")
        assert len(tagged) == 35
        private = await client.every("/v1/user/bookmarks/illust", "illusts", user_id=VIEWER_ID, restrict="private")
        assert [record["id"] for record in private] == [1100]
        tags = await client.good("/v1/user/bookmark-tags/illust", user_id=VIEWER_ID)
        assert {(tag["name"], tag["count"]) for tag in tags["bookmark_tags"]} == {("t0", 35), ("t1", 35)}


async def test_followings_and_their_feed(client: Any) -> None:
    public = await client.every("/v1/user/following", "user_previews", user_id=VIEWER_ID, restrict="public")
    private = await client.every("/v1/user/following", "user_previews", user_id=VIEWER_ID, restrict="private")
    names = {preview["user"]["id"] for preview in public}
    hidden = {preview["user"]["id"] for preview in private}
    assert names
    assert hidden
    assert not names & hidden
    feed = await client.every("/v2/illust/follow", "illusts", restrict="all")
    assert {record["user"]["id"] for record in feed} <= names | hidden
    assert {r["user"]["id"] for r in await client.every("/v2/illust/follow", "illusts", restrict="private")} <= hidden
    assert (await client.good("/v1/novel/follow", restrict="all"))["novels"]


@pytest.mark.parametrize(
    ("path", "query", "key"),
    [
        ("/v1/illust/recommended", {}, "illusts"),
        ("/v1/novel/recommended", {}, "novels"),
        ("/v1/illust/new", {"content_type": "illust"}, "illusts"),
        ("/v1/novel/new", {}, "novels"),
        ("/v1/trending-tags/illust", {}, "trend_tags"),
        ("/v1/trending-tags/novel", {}, "trend_tags"),
        ("/v1/search/user", {"word": "a"}, "user_previews"),
        ("/v1/user/recommended", {}, "user_previews"),
        ("/v1/user/follower", {"user_id": 1001}, "user_previews"),
        ("/v2/search/autocomplete", {"word": "sce"}, "tags"),
        ("/v1/search/autocomplete", {"word": "風"}, "search_auto_complete_keywords"),
        ("/v1/search/novel", {"word": "小説"}, "novels"),
        ("/v1/illust/series", {"illust_series_id": 7001}, "illusts"),
        ("/v2/novel/series", {"series_id": 8001}, "novels"),
        ("/v1/novel/series", {"series_id": 8001}, "novels"),
        ("/v1/user/bookmarks/novel", {"user_id": VIEWER_ID}, "novels"),
    ],
)
async def test_lists_that_hold_something(client: Any, path: str, query: dict[str, object], key: str) -> None:
    assert (await client.good(path, **query))[key]


async def test_works_around_a_work(client: Any, sandbox: Sandbox) -> None:
    work = sandbox.world.first_single_page()
    related = (await client.good("/v2/illust/related", illust_id=work.id))["illusts"]
    assert related
    assert work.id not in {record["id"] for record in related}
    seen = related[0]["id"]
    fewer = await client.good("/v2/illust/related", **{"illust_id": work.id, "viewed[0]": seen})
    assert seen not in {record["id"] for record in fewer["illusts"]}
    mark = (await client.good("/v2/illust/bookmark/detail", illust_id=work.id))["bookmark_detail"]
    assert mark["is_bookmarked"] is work.bookmarked
    for path in ("/v1/illust/comments", "/v3/illust/comments"):
        assert "total_comments" in await client.good(path, illust_id=work.id)
    assert await client.good("/v1/user/mypixiv", user_id=VIEWER_ID) == {"user_previews": [], "next_url": None}


async def test_new_works_page_by_id(client: Any, sandbox: Sandbox) -> None:
    every = await client.every("/v1/illust/new", "illusts", content_type="illust")
    expected = [work.id for work in sandbox.world.newest("illust") if work.type != "manga"]
    assert [record["id"] for record in every] == sorted(expected, reverse=True)


async def test_the_viewer_page_can_be_read_the_way_clients_do(client: Any, sandbox: Sandbox) -> None:
    novel = sandbox.world.first_novel()
    url = f"{sandbox.endpoints()['api']}/webview/v2/novel"
    async with client.session.get(url, params={"id": str(novel.id)}, headers=client.headers) as answer:
        assert answer.content_type == "text/html"
        page = await answer.text()
    up_to_next_key = re.search(r"novel:\s*(\{.+\}),\s*isOwnWork", page, re.DOTALL)
    up_to_line_end = page.partition("novel: ")[2].partition(",\n")[0]
    assert up_to_next_key is not None
    found = json.loads(up_to_next_key[1])
    assert found == json.loads(up_to_line_end)
    assert novel.novel is not None
    assert found["text"] == novel.novel.text
    assert found["title"] == "花 & 穹 <1>"
    assert set(found["images"]) == {"3000000", "3000777"}
    assert found["seriesNavigation"]["nextNovel"] is None
    assert found["seriesNavigation"]["prevNovel"]["viewable"] is True
    assert "</script>" not in up_to_line_end


async def test_empty_maps_of_the_viewer_are_lists(client: Any, sandbox: Sandbox) -> None:
    sandbox.world.add_novel(records.novel(77, start_of(ANCHOR), records.user(5, "a")), "text")
    url = f"{sandbox.endpoints()['api']}/webview/v2/novel?id=77"
    async with client.session.get(url, headers=client.headers) as answer:
        found = json.loads((await answer.text()).partition("novel: ")[2].partition(",\n")[0])
    assert (found["illusts"], found["images"], found["seriesNavigation"]) == ([], [], None)
    assert (await client.good("/v2/novel/detail", novel_id=77))["novel"]["series"] == {}


async def test_web_json(stranger: Any, sandbox: Sandbox) -> None:
    many, moving, novel = sandbox.world.first_multi_page(), sandbox.world.first("ugoira"), sandbox.world.first_novel()
    body = (await stranger.good(f"/ajax/illust/{many.id}", "web"))["body"]
    assert body["urls"]["original"] == many.record["meta_pages"][0]["image_urls"]["original"]
    pages = (await stranger.good(f"/ajax/illust/{many.id}/pages", "web"))["body"]
    assert [page["urls"]["original"] for page in pages] == [
        page["image_urls"]["original"] for page in many.record["meta_pages"]
    ]
    meta = (await stranger.good(f"/ajax/illust/{moving.id}/ugoira_meta", "web"))["body"]
    assert meta["originalSrc"].endswith("_ugoira1920x1080.zip")
    text = (await stranger.good(f"/ajax/novel/{novel.id}", "web"))["body"]
    assert novel.novel is not None
    assert text["content"] == novel.novel.text
    assert text["textEmbeddedImages"] == novel.novel.images
    every = (await stranger.good("/ajax/user/1001/profile/all", "web"))["body"]
    assert str(sandbox.world.works_of(1001, "illust")[0].id) in every["illusts"] | every["manga"]
    assert (await stranger.good("/ajax/user/1001", "web"))["body"]["userId"] == "1001"
    for path in ("/ajax/illust/1", "/ajax/novel/1", "/ajax/user/1", "/ajax/illust/unlisted/abc"):
        status, document = await stranger.call(path, "web")
        assert (status, document["error"]) == (404, True)


async def test_work_pages_have_titles(stranger: Any, sandbox: Sandbox) -> None:
    novel = sandbox.world.first_novel()
    async with stranger.session.get(f"{sandbox.base_url}/novel/show.php?id={novel.id}") as answer:
        assert "花 &amp; 穹 &lt;1&gt;" in await answer.text()
    async with stranger.session.get(f"{sandbox.base_url}/artworks/1") as answer:
        assert answer.status == 404
