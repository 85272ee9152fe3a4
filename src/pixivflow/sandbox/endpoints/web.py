"""The web site's own JSON (`www.pixiv.net/ajax`) and minimal work pages."""

from __future__ import annotations

import html as escaping
from typing import Any

from pixivflow.sandbox.endpoints.novels import navigation
from pixivflow.sandbox.exchange import Answer, Call, html, read_whole
from pixivflow.sandbox.world import Kind, Work, original_urls, zip_url


def found(body: Any) -> Answer:
    """The web envelope of a good answer."""
    return Answer(200, {"error": False, "message": "", "body": body})


def missing(message: str = "該当するページは存在しません。") -> Answer:
    """The web envelope of a work that is not there."""
    return Answer(404, {"error": True, "message": message, "body": []})


def _work(call: Call, kind: Kind) -> Work | None:
    return call.world.of(kind).get(read_whole("id", call.params.get("id")))


_TYPES = {"illust": 0, "manga": 1, "ugoira": 2}


def _tags(record: dict[str, Any]) -> dict[str, Any]:
    tags = [
        {"tag": tag.get("name"), "translation": {"en": tag["translated_name"]} if tag.get("translated_name") else None}
        for tag in record.get("tags") or ()
    ]
    return {"authorId": "0", "isLocked": False, "tags": tags, "writable": False}


def _urls(record: dict[str, Any], page: int) -> dict[str, Any]:
    pages = record.get("meta_pages") or []
    sizes = pages[page]["image_urls"] if pages else record.get("image_urls", {})
    originals = original_urls(record)
    return {
        "mini": sizes.get("square_medium"),
        "thumb": sizes.get("square_medium"),
        "small": sizes.get("medium"),
        "regular": sizes.get("large"),
        "original": originals[page] if page < len(originals) else None,
    }


def illust(call: Call) -> Answer:
    """`/ajax/illust/{id}`."""
    work = _work(call, "illust")
    if work is None:
        return missing()
    record, author = work.record, work.record.get("user") or {}
    body = {
        "illustId": str(work.id),
        "id": str(work.id),
        "illustTitle": record.get("title", ""),
        "title": record.get("title", ""),
        "description": record.get("caption", ""),
        "illustType": _TYPES.get(work.type, 0),
        "createDate": record.get("create_date"),
        "uploadDate": record.get("create_date"),
        "restrict": record.get("restrict", 0),
        "xRestrict": work.x_restrict,
        "sl": record.get("sanity_level", 2),
        "urls": _urls(record, 0),
        "tags": _tags(record),
        "userId": str(work.user_id),
        "userName": author.get("name", ""),
        "userAccount": author.get("account", ""),
        "width": record.get("width"),
        "height": record.get("height"),
        "pageCount": record.get("page_count", 1),
        "bookmarkCount": work.bookmarks,
        "likeCount": work.bookmarks // 2,
        "viewCount": record.get("total_view", 0),
        "aiType": work.ai_type,
        "seriesNavData": None,
    }
    return found(body)


def illust_pages(call: Call) -> Answer:
    """`/ajax/illust/{id}/pages`."""
    work = _work(call, "illust")
    if work is None:
        return missing()
    count = max(1, len(original_urls(work.record)))
    size = {"width": work.record.get("width"), "height": work.record.get("height")}
    return found([{"urls": _urls(work.record, page), **size} for page in range(count)])


def ugoira_meta(call: Call) -> Answer:
    """`/ajax/illust/{id}/ugoira_meta`: the small archive as `src`, the large one as `originalSrc`."""
    work = _work(call, "illust")
    if work is None or not work.frames:
        return missing()
    frames = [{"file": frame.file, "delay": frame.delay_ms} for frame in work.frames]
    return found(
        {
            "src": zip_url(work),
            "originalSrc": zip_url(work, "1920x1080"),
            "mime_type": "image/jpeg",
            "frames": frames,
        }
    )


def novel(call: Call) -> Answer:
    """`/ajax/novel/{id}`; a novel without uploaded pictures has null instead of a map."""
    work = _work(call, "novel")
    if work is None or work.novel is None:
        return missing()
    record, author = work.record, work.record.get("user") or {}
    series = record.get("series") or {}
    around = navigation(call.world, work) or {}
    body = {
        "id": str(work.id),
        "title": record.get("title", ""),
        "description": record.get("caption", ""),
        "content": work.novel.text,
        "coverUrl": record.get("image_urls", {}).get("large"),
        "textEmbeddedImages": work.novel.images or None,
        "seriesNavData": {
            "seriesId": series["id"],
            "title": series.get("title"),
            "next": around.get("nextNovel"),
            "prev": around.get("prevNovel"),
        }
        if series.get("id")
        else None,
        "userId": str(work.user_id),
        "userName": author.get("name", ""),
        "createDate": record.get("create_date"),
        "uploadDate": record.get("create_date"),
        "tags": _tags(record),
        "xRestrict": work.x_restrict,
        "restrict": record.get("restrict", 0),
        "bookmarkCount": work.bookmarks,
        "viewCount": record.get("total_view", 0),
        "pageCount": record.get("page_count", 1),
        "characterCount": record.get("text_length", 0),
        "isOriginal": record.get("is_original", False),
        "aiType": work.ai_type,
        "language": "ja",
    }
    return found(body)


def user(call: Call) -> Answer:
    """`/ajax/user/{id}`."""
    author = call.world.authors.get(read_whole("id", call.params.get("id")))
    if author is None:
        return missing()
    image = author.record.get("profile_image_urls", {}).get("medium")
    return found(
        {
            "userId": str(author.id),
            "name": author.record.get("name"),
            "image": image,
            "imageBig": image,
            "comment": author.comment,
            "isFollowed": author.record.get("is_followed", False),
            "premium": False,
        }
    )


def user_works(call: Call) -> Answer:
    """`/ajax/user/{id}/profile/all`: ids only; a map without entries is a list."""
    author = call.world.authors.get(read_whole("id", call.params.get("id")))
    if author is None:
        return missing()
    works = call.world.works_of(author.id, "illust")
    manga = {str(work.id): None for work in works if work.type == "manga"}
    others = {str(work.id): None for work in works if work.type != "manga"}
    novels = {str(work.id): None for work in call.world.works_of(author.id, "novel")}
    return found(
        {"illusts": others or [], "manga": manga or [], "novels": novels or [], "mangaSeries": [], "novelSeries": []}
    )


def unlisted(_call: Call) -> Answer:
    """`/ajax/illust/unlisted/{token}`: this world has no unlisted works."""
    return missing()


def page(call: Call) -> Answer:
    """`/artworks/{id}`, `/users/{id}`, `/novel/show.php?id=`: a title and nothing else."""
    text = call.params.get("id") or call.query.get("id")
    wanted = read_whole("id", text)
    record = None
    if call.route == "web.artwork":
        record = call.world.illusts[wanted].record if wanted in call.world.illusts else None
    elif call.route == "web.novel_page":
        record = call.world.novels[wanted].record if wanted in call.world.novels else None
    elif wanted in call.world.authors:
        record = call.world.authors[wanted].record
    if record is None:
        return html("<!doctype html><title>Not found</title>", 404)
    return html(f"<!doctype html><title>{escaping.escape(str(record.get('title') or record.get('name')))}</title>")
