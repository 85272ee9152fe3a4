"""Illustrations, manga and animations in the app API."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from pixivflow.sandbox import ranking, search
from pixivflow.sandbox.exchange import Answer, Call, next_url, not_found, paged
from pixivflow.sandbox.jst import day_of
from pixivflow.sandbox.seeded import number
from pixivflow.sandbox.world import Kind, Work, World, zip_url


def visible(call: Call, works: Iterable[Work]) -> list[Work]:
    """What a list shows: `filter=for_ios` takes age-restricted illustrations out."""
    if call.query.get("filter") != "for_ios":
        return list(works)
    return [work for work in works if work.kind == "novel" or work.x_restrict == 0]


def listed(call: Call, works: list[Work], kind: Kind, **more: Any) -> Answer:
    """A list answer by offset: `illusts` or `novels`, `next_url`, and what the endpoint adds."""
    page, following = paged(call, works)
    return Answer(200, {f"{kind}s": [work.record for work in page], "next_url": following, **more})


def run(call: Call, kind: Kind) -> list[Work]:
    """The works a search call asks for."""
    query = search.read_query(kind, call.query, now=call.now, premium=call.options.premium)
    return call.world.kept(query, lambda: search.run_search(call.world.newest(kind), query))


def search_illust(call: Call) -> Answer:
    """`/v1/search/illust`."""
    call.offset()
    return listed(call, run(call, "illust"), "illust", search_span_limit=31536000, show_ai=True)


def ranked(call: Call, kind: Kind) -> Answer:
    """A ranking call; a day that is not published yet has an empty list."""
    name = call.query.get("mode") or "day"
    mode = ranking.read_mode(kind, name)
    newest = ranking.newest_ranking_day(call.now)
    day = ranking.read_day(call.query.get("date"), newest=newest, today=day_of(call.now))
    works = _ranked(call.world, kind, name, mode, day) if day else []
    return listed(call, visible(call, works) if mode.ratings == {0} else works, kind)


def _ranked(world: World, kind: Kind, name: str, mode: ranking.Mode, day: date) -> list[Work]:
    return world.kept((kind, name, day), lambda: ranking.rank(world.newest(kind), name, mode, day))


def illust_ranking(call: Call) -> Answer:
    """`/v1/illust/ranking`."""
    return ranked(call, "illust")


def detail(call: Call) -> Answer:
    """`/v1/illust/detail`."""
    work = call.world.illusts.get(call.whole("illust_id"))
    if work is None:
        return not_found()
    return Answer(200, {"illust": {**work.record, "total_comments": _comment_count(work), "comment_access_control": 0}})


def ugoira_metadata(call: Call) -> Answer:
    """`/v1/ugoira/metadata`."""
    work = call.world.illusts.get(call.whole("illust_id"))
    if work is None or not work.frames:
        return not_found()
    frames = [{"file": frame.file, "delay": frame.delay_ms} for frame in work.frames]
    return Answer(200, {"ugoira_metadata": {"zip_urls": {"medium": zip_url(work)}, "frames": frames}})


def kin(work: Work, works: Iterable[Work]) -> list[Work]:
    """Other works by how many tags they share with this one, most first."""
    names = {name for name, _ in work.tags}
    scored = [
        (len(names.intersection(name for name, _ in other.tags)), other) for other in works if other.id != work.id
    ]
    return [other for shared, other in sorted(scored, key=lambda pair: pair[0], reverse=True) if shared]


def related(call: Call) -> Answer:
    """`/v2/illust/related`; works named by `viewed[...]` are left out."""
    work = call.world.illusts.get(call.whole("illust_id"))
    if work is None:
        return not_found()
    viewed = {value for key, value in call.pairs if key.startswith("viewed")}
    found = [other for other in kin(work, call.world.newest("illust")) if str(other.id) not in viewed]
    return listed(call, visible(call, found), "illust")


def advised(call: Call, kind: Kind) -> list[Work]:
    """Recommended works: by bookmarks with a lasting shuffle."""
    works = [work for work in call.world.newest(kind) if work.x_restrict == 0]
    wanted = call.query.get("content_type")
    if kind == "illust" and wanted in {"illust", "manga"}:
        works = [work for work in works if (work.type == "manga") == (wanted == "manga")]
    return sorted(
        works, key=lambda work: (work.bookmarks + 10) * (0.5 + number("advice", work.id) / 2**32), reverse=True
    )


def recommended(call: Call) -> Answer:
    """`/v1/illust/recommended` and its log-in-free twin."""
    works = advised(call, "illust")
    top = [work.record for work in works[:10]] if call.query.get("include_ranking_illusts") == "true" else []
    return listed(call, works, "illust", ranking_illusts=top, contest_exists=False, privacy_policy={})


def new_works(call: Call, kind: Kind) -> Answer:
    """`/v1/illust/new` and `/v1/novel/new`, paged by the highest id wanted."""
    name = f"max_{kind}_id"
    bound = call.whole(name) if call.query.get(name) else None
    works = visible(call, call.world.newest(kind))
    wanted = call.query.get("content_type")
    if kind == "illust" and wanted in {"illust", "manga"}:
        works = [work for work in works if (work.type == "manga") == (wanted == "manga")]
    works = sorted((work for work in works if bound is None or work.id < bound), key=lambda work: work.id, reverse=True)
    page = works[: call.options.page_size]
    following = next_url(call, **{name: page[-1].id}) if len(works) > len(page) else None
    return Answer(200, {f"{kind}s": [work.record for work in page], "next_url": following})


def illust_new(call: Call) -> Answer:
    """`/v1/illust/new`."""
    return new_works(call, "illust")


def followed_works(call: Call, kind: Kind) -> list[Work]:
    """Works of followed authors under `restrict`: public, private or all."""
    restrict = call.query.get("restrict") or "all"
    return [
        work
        for work in call.world.newest(kind)
        if (how := call.world.following.get(work.user_id)) and restrict in {"all", how}
    ]


def follow(call: Call) -> Answer:
    """`/v2/illust/follow`."""
    return listed(call, followed_works(call, "illust"), "illust")


def series(call: Call) -> Answer:
    """`/v1/illust/series`: newest first, as the site lists manga series."""
    found = call.world.series.get(("illust", call.whole("illust_series_id")))
    works = call.world.in_series("illust", found.id) if found else []
    if found is None or not works:
        return not_found()
    author = call.world.authors[found.user_id].record
    info = {
        "id": found.id,
        "title": found.title,
        "caption": found.caption,
        "cover_image_urls": {"medium": works[0].record["image_urls"]["medium"]},
        "series_work_count": len(works),
        "create_date": works[0].record["create_date"],
        "width": 1200,
        "height": 630,
        "user": author,
        "watchlist_added": False,
    }
    first = works[0].record
    return listed(call, works[::-1], "illust", illust_series_detail=info, illust_series_first_illust=first)


def bookmark_detail(call: Call) -> Answer:
    """`/v2/illust/bookmark/detail`."""
    work = call.world.illusts.get(call.whole("illust_id"))
    if work is None:
        return not_found()
    tags = [{"name": tag["name"], "is_registered": work.bookmarked} for tag in work.record.get("tags", ())]
    restrict = "private" if ("illust", work.id) in call.world.private_bookmarks else "public"
    return Answer(200, {"bookmark_detail": {"is_bookmarked": work.bookmarked, "tags": tags, "restrict": restrict}})


def _comment_count(work: Work) -> int:
    return number("comments", work.id) % 45


def comment_list(call: Call, kind: Kind) -> Answer:
    """Comments of a work: invented, the same on every call."""
    work = call.world.of(kind).get(call.whole(f"{kind}_id"))
    if work is None:
        return not_found()
    comments = [_comment(call.world, work, index) for index in range(_comment_count(work))]
    page, following = paged(call, comments)
    return Answer(200, {"total_comments": len(comments), "comments": page, "next_url": following})


def _comment(world: World, work: Work, index: int) -> dict[str, Any]:
    authors = list(world.authors.values())
    author = authors[(work.id + index) % len(authors)].record
    return {
        "id": work.id * 100 + index,
        "comment": ("きれい!", "Beautiful & calm", "続きが楽しみです", "🎨✨")[index % 4],
        "date": work.record.get("create_date"),
        "user": {key: author.get(key) for key in ("id", "name", "account", "profile_image_urls")},
        "parent_comment": {},
        "has_replies": False,
    }


def comments(call: Call) -> Answer:
    """`/v1/illust/comments` and `/v3/illust/comments`."""
    return comment_list(call, "illust")
