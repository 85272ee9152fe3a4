"""Every form of address that people paste."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.sources.pixiv.urls import (
    BookmarksLink,
    FollowingLink,
    Problem,
    RankingLink,
    SeriesLink,
    TagLink,
    UserRef,
    parse_url,
    why_unsupported,
)

ILLUST, NOVEL = WorkType.ILLUSTRATION, WorkType.NOVEL

PAGES = {
    "artworks/123": WorkRef(ILLUST, "123"),
    "en/artworks/123": WorkRef(ILLUST, "123"),
    "zh-tw/artworks/123": WorkRef(ILLUST, "123"),
    "artworks/123/": WorkRef(ILLUST, "123"),
    "artworks/123#2": WorkRef(ILLUST, "123"),
    "artworks/123?utm=1": WorkRef(ILLUST, "123"),
    "i/123": WorkRef(ILLUST, "123"),
    "member_illust.php?illust_id=123": WorkRef(ILLUST, "123"),
    "member_illust.php?mode=medium&illust_id=123": WorkRef(ILLUST, "123"),
    "novel/show.php?id=9": WorkRef(NOVEL, "9"),
    "en/novel/show.php?id=9#3": WorkRef(NOVEL, "9"),
    "n/9": WorkRef(NOVEL, "9"),
    "users/7/artworks/123": WorkRef(ILLUST, "123"),
    "users/7/novels/9": WorkRef(NOVEL, "9"),
    "users/7": UserRef("7"),
    "en/users/7": UserRef("7"),
    "u/7": UserRef("7"),
    "users/7/artworks": UserRef("7", ILLUST),
    "users/7/illustrations": UserRef("7", ILLUST),
    "users/7/manga": UserRef("7", ILLUST),
    "users/7/illustrations/%E7%A9%BA": UserRef("7", ILLUST),
    "users/7/novels": UserRef("7", NOVEL),
    "users/7/request": UserRef("7"),
    "member.php?id=7": UserRef("7"),
    "member_illust.php?id=7": UserRef("7", ILLUST),
    "novel/member.php?id=7": UserRef("7", NOVEL),
    "novel/series/31": SeriesLink("31", NOVEL),
    "user/7/series/31": SeriesLink("31", ILLUST, "7"),
    "users/7/series/31": SeriesLink("31", ILLUST, "7"),
    "tags/%E7%A9%BA": TagLink("空"),
    "en/tags/空/artworks": TagLink("空", ILLUST),
    "tags/%E7%A9%BA%20%E6%B5%B7/novels?order=date": TagLink("空 海", NOVEL),
    "tags.php?tag=sky": TagLink("sky"),
    "search.php?s_mode=s_tag&word=a+b": TagLink("a b"),
    "ranking.php": RankingLink(),
    "ranking.php?mode=weekly&date=20250203": RankingLink("week", date(2025, 2, 3)),
    "novel/ranking.php?mode=daily_r18": RankingLink("day_r18", None, NOVEL),
    "users/7/bookmarks/artworks": BookmarksLink("7"),
    "users/7/bookmarks/novels": BookmarksLink("7", NOVEL),
    "bookmark.php?id=7": BookmarksLink("7"),
    "users/7/following": FollowingLink("7"),
    "bookmark.php?type=user&id=7": FollowingLink("7"),
}


@pytest.mark.parametrize(
    "host", ["https://www.pixiv.net", "http://pixiv.net", "www.pixiv.net", "pixiv.net", "//pixiv.net"]
)
@pytest.mark.parametrize(("page", "meant"), PAGES.items())
def test_pages_on_every_spelling_of_the_host(host: Any, page: Any, meant: Any) -> None:
    assert parse_url(f"{host}/{page}") == meant


@pytest.mark.parametrize(
    "text",
    [
        "123",
        " 123 ",
        "<https://www.pixiv.net/artworks/123>",
        "HTTPS://WWW.PIXIV.NET/artworks/0123",
        "touch.pixiv.net/i/123",
    ],
)
def test_other_spellings_of_a_work(text: Any) -> None:
    assert parse_url(text) == WorkRef(ILLUST, "123")


def test_a_picture_tells_its_work() -> None:
    base = "https://i.pximg.net/img-original/img/2025/02/03/00/03/17"
    assert parse_url(f"{base}/123_p4.png") == WorkRef(ILLUST, "123")
    assert parse_url(f"{base}/123-{'0a' * 16}_p0.jpg") == WorkRef(ILLUST, "123")
    assert isinstance(parse_url("https://i.pximg.net/user-profile/img/5_170.jpg"), Problem)


@pytest.mark.parametrize(
    "text",
    [
        "https://pixiv.net.evil.example/artworks/1",
        "https://evilpixiv.net/artworks/1",
        "https://www.pixiv.net@evil.example/artworks/1",
        "https://user@www.pixiv.net/artworks/1",
        "https://www.pixiv.net:8443/artworks/1",
        "https://evil.example/www.pixiv.net/artworks/1",
        "https://www.pixiv.net\\@evil.example/artworks/1",
        "https://sub.www.pixiv.net/artworks/1",
        "https://www.pixiv.net./artworks/1",
        "https://www.pix\u0131v.net/artworks/1",
        "https://www.phixiv.net/artworks/1",
        "https://twitter.com/a/status/1",
        "ftp://www.pixiv.net/artworks/1",
        "javascript:alert(1)",
        "file:///artworks/1",
        "",
        "   ",
        "0",
        "٣",
        "1" * 40,
        "-5",
        "pixiv.net",
        "https://www.pixiv.net/artworks/",
        "https://www.pixiv.net/artworks/abc",
        "https://www.pixiv.net/artworks/0",
        "https://www.pixiv.net/novel/show.php",
        "https://www.pixiv.net/en/",
        "https://www.pixiv.net/ranking.php?mode=nonsense",
        "https://www.pixiv.net/ranking.php?date=20251301",
        "https://[bad/artworks/1",
        "https://www.pixiv.net/artworks/1 https://www.pixiv.net/artworks/2",
        "https://www.pixiv.net/" + "a" * 5000,
    ],
)
def test_everything_else_is_a_problem_in_words(text: Any) -> None:
    problem = parse_url(text)
    assert isinstance(problem, Problem)
    assert 5 < len(problem.text) < 300


def test_the_problem_names_the_other_site() -> None:
    assert "twitter.com" in parse_url("https://twitter.com/a/status/1").text
    assert "pixiv.net.evil.example" in parse_url("https://pixiv.net.evil.example/artworks/1").text
    assert "pixiv.net" in parse_url("https://www.phixiv.net/artworks/1").text


def test_what_this_version_cannot_collect_says_so() -> None:
    unsupported = (SeriesLink("1", NOVEL), BookmarksLink("1"), FollowingLink("1"))
    assert all(why_unsupported(link) for link in unsupported)
    supported = (WorkRef(ILLUST, "1"), UserRef("1"), TagLink("a"), RankingLink())
    assert not any(why_unsupported(link) for link in supported)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: Any) -> None:
    parse_url(text)
    parse_url(f"https://www.pixiv.net/{text}")
    parse_url(f"https://{text}/artworks/1")
