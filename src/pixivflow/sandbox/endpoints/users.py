"""Authors, their lists, bookmarks and followings in the app API."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pixivflow.sandbox.endpoints.illusts import listed, visible
from pixivflow.sandbox.exchange import Answer, Call, next_url, not_found, paged
from pixivflow.sandbox.search import BadParameterError
from pixivflow.sandbox.seeded import number
from pixivflow.sandbox.world import VIEWER_ID, Author, Kind, Work, World, fold

_BOOKMARK_EPOCH = 1_400_000_000
"""Seconds taken off a work's time so that the id stays under 19 digits."""


def detail(call: Call) -> Answer:
    """`/v1/user/detail`."""
    user_id = call.whole("user_id")
    author = call.world.authors.get(user_id) or (_viewer() if user_id == VIEWER_ID else None)
    if author is None:
        return not_found()
    short = {key: author.record.get(key) for key in ("id", "name", "account", "profile_image_urls", "is_followed")}
    user = {**short, "comment": author.comment, "is_access_blocking_user": False}
    publicity = {"gender": "public", "region": "public", "birth_day": "public", "birth_year": "public", "job": "public"}
    workspace = dict.fromkeys(
        (
            "pc",
            "monitor",
            "tool",
            "scanner",
            "tablet",
            "mouse",
            "printer",
            "desktop",
            "music",
            "desk",
            "chair",
            "comment",
        ),
        "",
    )
    return Answer(
        200,
        {
            "user": user,
            "profile": profile(call.world, author),
            "profile_publicity": {**publicity, "pawoo": True},
            "workspace": {**workspace, "workspace_image_url": None},
        },
    )


def _viewer() -> Author:
    image = {"medium": "https://s.pximg.net/common/images/no_profile.png"}
    record = {
        "id": VIEWER_ID,
        "name": "sandbox",
        "account": "sandbox",
        "profile_image_urls": image,
        "is_followed": False,
    }
    return Author(VIEWER_ID, record)


def profile(world: World, author: Author) -> dict[str, Any]:
    """The profile part of a user's detail, with counts taken from the world."""
    works = Counter("manga" if work.type == "manga" else "illust" for work in world.works_of(author.id, "illust"))
    series = Counter(kind for (kind, number_), known in world.series.items()
                     if known.user_id == author.id and world.in_series(kind, number_))  # fmt: skip
    return {
        "webpage": None,
        "gender": "unknown",
        "birth": "",
        "birth_day": "",
        "birth_year": 0,
        "region": "",
        "address_id": 0,
        "country_code": "",
        "job": "",
        "job_id": 0,
        "total_follow_users": len(world.following) if author.id == VIEWER_ID else number("follows", author.id) % 90,
        "total_mypixiv_users": 0,
        "total_illusts": works["illust"],
        "total_manga": works["manga"],
        "total_novels": len(world.works_of(author.id, "novel")),
        "total_illust_bookmarks_public": len(bookmarked_by(world, author.id, "illust", "public")),
        "total_illust_series": series["illust"],
        "total_novel_series": series["novel"],
        "background_image_url": None,
        "twitter_account": "",
        "twitter_url": None,
        "pawoo_url": None,
        "is_premium": False,
        "is_using_custom_profile_image": True,
        **author.profile,
    }


def _works(call: Call, kind: Kind) -> Answer:
    author = call.world.authors.get(call.whole("user_id"))
    if author is None:
        # The site answers a listing of a gone user with an empty user object, not with an error.
        return Answer(200, {"user": {"id": None}, f"{kind}s": [], "next_url": None})
    works = visible(call, call.world.works_of(author.id, kind))
    wanted = call.query.get("type")
    if kind == "illust" and wanted:
        works = [work for work in works if (work.type == "manga") == (wanted == "manga")]
    return listed(call, works, kind, user=author.record)


def illusts(call: Call) -> Answer:
    """`/v1/user/illusts`: with `type` only manga, or everything that is not manga."""
    return _works(call, "illust")


def novels(call: Call) -> Answer:
    """`/v1/user/novels`."""
    return _works(call, "novel")


def _restrict(call: Call) -> str:
    restrict = call.query.get("restrict") or "public"
    if restrict not in {"public", "private"}:
        raise BadParameterError("restrict", "must be public or private")
    return restrict


def bookmarked_by(world: World, user_id: int, kind: Kind, restrict: str) -> list[Work]:
    """Works a user bookmarked, newest first.

    The account's own bookmarks are the works marked so; another user's are drawn by lot.
    """
    if user_id == VIEWER_ID:
        private = restrict == "private"
        return [
            work
            for work in world.newest(kind)
            if work.bookmarked and ((kind, work.id) in world.private_bookmarks) is private
        ]
    if restrict == "private":
        return []
    return [work for work in world.newest(kind) if number("bookmark", user_id, work.id) % 4 == 0]


def _bookmarks(call: Call, kind: Kind) -> Answer:
    user_id, restrict = call.whole("user_id"), _restrict(call)
    if user_id != VIEWER_ID and user_id not in call.world.authors:
        return not_found()
    works = visible(call, bookmarked_by(call.world, user_id, kind, restrict))
    if tag := call.query.get("tag"):
        works = [work for work in works if any(name == fold(tag) for name, _ in work.tags)]
    bound = call.whole("max_bookmark_id") if call.query.get("max_bookmark_id") else None
    numbered = sorted(((bookmark_id(work), work) for work in works), key=lambda pair: pair[0], reverse=True)
    rest = [pair for pair in numbered if bound is None or pair[0] < bound]
    page = rest[: call.options.page_size]
    following = next_url(call, max_bookmark_id=page[-1][0]) if len(rest) > len(page) else None
    return Answer(200, {f"{kind}s": [work.record for _, work in page], "next_url": following})


def bookmark_id(work: Work) -> int:
    """Id of a bookmark: higher for newer works, so that newest first means highest first, and never the same twice."""
    return max(0, int(work.created.timestamp()) - _BOOKMARK_EPOCH) * 10**9 + work.id % 10**9


def bookmarks_illust(call: Call) -> Answer:
    """`/v1/user/bookmarks/illust`, paged by bookmark id."""
    return _bookmarks(call, "illust")


def bookmarks_novel(call: Call) -> Answer:
    """`/v1/user/bookmarks/novel`, paged by bookmark id."""
    return _bookmarks(call, "novel")


def _bookmark_tags(call: Call, kind: Kind) -> Answer:
    user_id = call.whole("user_id") if call.query.get("user_id") else VIEWER_ID
    works = bookmarked_by(call.world, user_id, kind, _restrict(call))
    counts = Counter(tag["name"] for work in works for tag in work.record.get("tags") or () if "name" in tag)
    page, following = paged(call, counts.most_common())
    return Answer(
        200, {"bookmark_tags": [{"name": name, "count": count} for name, count in page], "next_url": following}
    )


def bookmark_tags_illust(call: Call) -> Answer:
    """`/v1/user/bookmark-tags/illust`."""
    return _bookmark_tags(call, "illust")


def bookmark_tags_novel(call: Call) -> Answer:
    """`/v1/user/bookmark-tags/novel`."""
    return _bookmark_tags(call, "novel")


def _previews(call: Call, authors: list[Author]) -> Answer:
    page, following = paged(call, authors)
    previews = [
        {
            "user": author.record,
            "illusts": [work.record for work in call.world.works_of(author.id, "illust")[:3]],
            "novels": [work.record for work in call.world.works_of(author.id, "novel")[:3]],
            "is_muted": False,
        }
        for author in page
    ]
    return Answer(200, {"user_previews": previews, "next_url": following})


def following(call: Call) -> Answer:
    """`/v1/user/following`; what others follow is drawn by lot."""
    user_id, restrict = call.whole("user_id"), _restrict(call)
    authors = call.world.authors.values()
    if user_id == VIEWER_ID:
        return _previews(call, [author for author in authors if call.world.following.get(author.id) == restrict])
    return _previews(call, [author for author in authors if number("follow", user_id, author.id) % 3 == 0])


def follower(call: Call) -> Answer:
    """`/v1/user/follower`."""
    user_id = call.whole("user_id")
    return _previews(call, [one for one in call.world.authors.values() if number("follow", one.id, user_id) % 3 == 0])


def mypixiv(call: Call) -> Answer:
    """`/v1/user/mypixiv`: nobody has friends here."""
    call.whole("user_id")
    return _previews(call, [])


def search(call: Call) -> Answer:
    """`/v1/search/user`: by name or account."""
    word = fold(call.query.get("word", "").strip())
    if not word:
        raise BadParameterError("word", "is required")
    return _previews(
        call,
        [
            author
            for author in call.world.authors.values()
            if word in fold(str(author.record.get("name", ""))) or word in fold(str(author.record.get("account", "")))
        ],
    )


def recommended(call: Call) -> Answer:
    """`/v1/user/recommended`."""
    return _previews(call, list(call.world.authors.values()))
