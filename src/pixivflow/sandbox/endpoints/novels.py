"""Novels in the app API, and the page their text stands in."""

from __future__ import annotations

import html as escaping
import json
from dataclasses import replace
from typing import Any, Final

from pixivflow.sandbox.endpoints import illusts
from pixivflow.sandbox.exchange import Answer, Call, html, next_url, no_such_endpoint, not_found
from pixivflow.sandbox.world import Work, World


def search(call: Call) -> Answer:
    """`/v1/search/novel`."""
    call.offset()
    return illusts.listed(call, illusts.run(call, "novel"), "novel", search_span_limit=31536000, show_ai=True)


def ranking(call: Call) -> Answer:
    """`/v1/novel/ranking`."""
    return illusts.ranked(call, "novel")


def detail(call: Call) -> Answer:
    """`/v2/novel/detail` and `/v1/novel/detail`."""
    work = call.world.novels.get(call.whole("novel_id"))
    return Answer(200, {"novel": work.record}) if work else not_found()


def text(call: Call) -> Answer:
    """`/v1/novel/text`: the site took it away; the refusal is what clients meet today."""
    call.whole("novel_id")
    return no_such_endpoint()


def series(call: Call) -> Answer:
    """`/v2/novel/series` and `/v1/novel/series`: in reading order.

    Paged by `last_order`, the number of parts already listed.
    """
    found = call.world.series.get(("novel", call.whole("series_id")))
    works = call.world.in_series("novel", found.id) if found else []
    if found is None or not works:
        return not_found()
    done = call.whole("last_order") if call.query.get("last_order") else 0
    page = works[done : done + call.options.page_size]
    more = done + len(page) < len(works)
    info = {
        "id": found.id,
        "title": found.title,
        "caption": found.caption,
        "is_original": True,
        "is_concluded": False,
        "content_count": len(works),
        "total_character_count": sum(work.record.get("text_length") or 0 for work in works),
        "user": call.world.authors[found.user_id].record,
        "display_text": found.title,
        "novel_ai_type": 1,
        "watchlist_added": False,
    }
    return Answer(
        200,
        {
            "novel_series_detail": info,
            "novel_series_first_novel": works[0].record,
            "novel_series_latest_novel": works[-1].record,
            "novels": [work.record for work in page],
            "next_url": next_url(call, last_order=done + len(page)) if more else None,
        },
    )


def follow(call: Call) -> Answer:
    """`/v1/novel/follow`."""
    return illusts.listed(call, illusts.followed_works(call, "novel"), "novel")


def recommended(call: Call) -> Answer:
    """`/v1/novel/recommended`."""
    return illusts.listed(call, illusts.advised(call, "novel"), "novel", ranking_novels=[], privacy_policy={})


def new(call: Call) -> Answer:
    """`/v1/novel/new`."""
    return illusts.new_works(call, "novel")


def comments(call: Call) -> Answer:
    """`/v1/novel/comments`."""
    return illusts.comment_list(call, "novel")


def _neighbour(work: Work | None, order: int) -> dict[str, Any] | None:
    if work is None:
        return None
    record = work.record
    return {
        "id": work.id,
        "viewable": True,
        "contentOrder": str(order),
        "title": record.get("title", ""),
        "coverUrl": record.get("image_urls", {}).get("medium"),
        "viewableMessage": None,
    }


def navigation(world: World, work: Work) -> dict[str, Any] | None:
    """The parts before and after this one in its series, None outside a series."""
    parts = world.in_series("novel", work.series_id) if work.series_id is not None else []
    if work not in parts:
        return None
    at = parts.index(work)
    after = parts[at + 1] if at + 1 < len(parts) else None
    before = parts[at - 1] if at else None
    return {"nextNovel": _neighbour(after, at + 2), "prevNovel": _neighbour(before, at)}


def viewer_object(world: World, work: Work) -> dict[str, Any]:
    """The object inside the viewer page. Maps without entries are lists there, a trait of the site's own backend."""
    record, inside = work.record, work.novel
    series = record.get("series") or {}
    return {
        "id": str(work.id),
        "title": record.get("title", ""),
        "seriesId": str(series["id"]) if series.get("id") else None,
        "seriesTitle": series.get("title"),
        "seriesIsWatched": False,
        "userId": str(work.user_id),
        "coverUrl": record.get("image_urls", {}).get("large"),
        "tags": [tag.get("name") for tag in record.get("tags") or ()],
        "caption": record.get("caption", ""),
        "cdate": record.get("create_date"),
        "rating": {"like": work.bookmarks // 2, "bookmark": work.bookmarks, "view": record.get("total_view", 0)},
        "text": inside.text if inside else "",
        "marker": None,
        "illusts": (inside.illusts if inside else None) or [],
        "images": (inside.images if inside else None) or [],
        "seriesNavigation": navigation(world, work),
        "glossaryItems": [],
        "replaceableItemIds": [],
        "aiType": work.ai_type,
        "isOriginal": record.get("is_original", False),
    }


# The object must stay on one line and be followed by the key readers look for; a `<` inside it must not end the script.
_PAGE: Final = """<!doctype html>
<html lang="ja"><head><meta charset="utf-8"><title>%(title)s</title></head>
<body><div id="app"></div>
<script>
Object.defineProperty(window, 'pixiv', {
  value: {
    viewerVersion: "20221031_ai",
    novel: %(novel)s,
    isOwnWork: false,
    authorDetails: %(author)s
  }
});
</script></body></html>
"""


def script_json(value: object) -> str:
    """JSON that is safe inside a script element."""
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
    )


def webview_page(viewer: dict[str, Any], author: dict[str, Any]) -> str:
    """The viewer page around its object."""
    shown = {"userId": str(author.get("id", "")), "userName": author.get("name", "")}
    parts = {"title": escaping.escape(str(viewer["title"])), "novel": script_json(viewer), "author": script_json(shown)}
    return _PAGE % parts


def webview(call: Call) -> Answer:
    """`/webview/v2/novel`: a page whose script holds the text."""
    work = call.world.novels.get(call.whole("id"))
    if work is None:
        return not_found()
    viewer, author = viewer_object(call.world, work), work.record.get("user") or {}
    return replace(html(webview_page(viewer, author)), viewer=(viewer, author, webview_page))
