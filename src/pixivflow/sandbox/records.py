"""Builders of raw records in the shapes of the app API.

Tests take them as the starting point of special worlds: build one, change or delete keys, hand it to `World.add_work`.
The keys and their meaning: the public field lists of the app API (illustration, novel, user).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pixivflow.sandbox.jst import path_stamp, stamp
from pixivflow.sandbox.seeded import digest

Record = dict[str, Any]

PXIMG = "https://i.pximg.net"
STATIC = "https://s.pximg.net"
DEFAULT_COVER = f"{STATIC}/common/images/novel_cover/default.jpg"
AVATAR_NONE = f"{STATIC}/common/images/no_profile.png"


def user(user_id: int, name: str, *, account: str | None = None, followed: bool = False) -> Record:
    """The short user object that stands inside works."""
    return {
        "id": user_id,
        "name": name,
        "account": account or f"user_{user_id}",
        "profile_image_urls": {
            "medium": f"{PXIMG}/user-profile/img/2024/01/01/00/00/00/{user_id}_{digest('avatar', user_id)}_170.jpg"
        },
        "is_followed": followed,
    }


def tag_list(tags: Sequence[str | tuple[str, str | None]]) -> list[Record]:
    """Tags as the API lists them; a bare string is a tag without a translation."""
    pairs = [(tag, None) if isinstance(tag, str) else tag for tag in tags]
    return [{"name": name, "translated_name": translated} for name, translated in pairs]


def placeholder_url(reason: str = "sanity_level") -> str:
    """URL of the picture shown instead of a restricted work.

    Reasons seen: sanity_level, unviewable, mypixiv, unknown.
    """
    return f"{STATIC}/common/images/limit_{reason}_360.png"


def picture_urls(work_id: int, created: datetime, page: int, ext: str, *, ugoira: bool = False) -> dict[str, str]:
    """All sizes of one page: square_medium, medium, large, original."""
    at = path_stamp(created)
    stem = f"{work_id}" if ugoira else f"{work_id}_p{page}"
    original = f"{work_id}_ugoira{page}.{ext}" if ugoira else f"{stem}.{ext}"
    return {
        "square_medium": f"{PXIMG}/c/360x360_70/img-master/img/{at}/{stem}_square1200.jpg",
        "medium": f"{PXIMG}/c/540x540_70/img-master/img/{at}/{stem}_master1200.jpg",
        "large": f"{PXIMG}/c/600x1200_90/img-master/img/{at}/{stem}_master1200.jpg",
        "original": f"{PXIMG}/img-original/img/{at}/{original}",
    }


def illust(
    work_id: int,
    created: datetime,
    author: Record,
    *,
    title: str = "untitled",
    kind: str = "illust",
    pages: int = 1,
    ext: str = "jpg",
    tags: Sequence[str | tuple[str, str | None]] = ("オリジナル",),
    caption: str = "",
    x_restrict: int = 0,
    sanity_level: int = 2,
    ai_type: int = 1,
    bookmarks: int = 10,
    views: int = 100,
    bookmarked: bool = False,
    series: Mapping[str, Any] | None = None,
    tools: Sequence[str] = (),
    size: tuple[int, int] = (600, 800),
    exts: Sequence[str] | None = None,
) -> Record:
    """One illustration, manga or ugoira. `exts` gives each page its own file type."""
    page_exts = list(exts) if exts is not None else [ext] * pages
    urls = [picture_urls(work_id, created, n, e, ugoira=kind == "ugoira") for n, e in enumerate(page_exts)]
    sizes = {key: urls[0][key] for key in ("square_medium", "medium", "large")}
    many = pages > 1
    return {
        "id": work_id,
        "title": title,
        "type": kind,
        "image_urls": sizes,
        "caption": caption,
        "restrict": 0,
        "user": author,
        "tags": tag_list(tags),
        "tools": list(tools),
        "create_date": stamp(created),
        "page_count": pages,
        "width": size[0],
        "height": size[1],
        "sanity_level": sanity_level,
        "x_restrict": x_restrict,
        "series": dict(series) if series else None,
        "meta_single_page": {} if many else {"original_image_url": urls[0]["original"]},
        "meta_pages": [{"image_urls": page} for page in urls] if many else [],
        "total_view": views,
        "total_bookmarks": bookmarks,
        "is_bookmarked": bookmarked,
        "visible": True,
        "is_muted": False,
        "illust_ai_type": ai_type,
        "illust_book_style": 0,
    }


def restricted(record: Mapping[str, Any], reason: str = "sanity_level") -> Record:
    """The same work as an account sees it that may not: placeholder pictures, no title, 100x100."""
    url = placeholder_url(reason)
    return {
        **record,
        "title": "",
        "visible": False,
        "page_count": 1,
        "width": 100,
        "height": 100,
        "image_urls": {"square_medium": url, "medium": url, "large": url},
        "meta_single_page": {"original_image_url": url},
        "meta_pages": [],
    }


def cover_urls(novel_id: int, created: datetime) -> dict[str, str]:
    """Cover sizes of a novel: square_medium, medium, large."""
    at = path_stamp(created)
    name = f"{novel_id}_{digest('cover', novel_id)}_master1200.jpg"
    return {
        "square_medium": f"{PXIMG}/c/128x128/novel-cover-master/img/{at}/{name.replace('master', 'square')}",
        "medium": f"{PXIMG}/c/176x352/novel-cover-master/img/{at}/{name}",
        "large": f"{PXIMG}/c/240x480_80/novel-cover-master/img/{at}/{name}",
    }


def novel(
    novel_id: int,
    created: datetime,
    author: Record,
    *,
    title: str = "untitled",
    text_length: int = 0,
    page_count: int = 1,
    tags: Sequence[str | tuple[str, str | None]] = ("小説",),
    caption: str = "",
    x_restrict: int = 0,
    ai_type: int = 1,
    bookmarks: int = 10,
    views: int = 100,
    bookmarked: bool = False,
    original: bool = True,
    series: Mapping[str, Any] | None = None,
    own_cover: bool = True,
) -> Record:
    """One novel as lists and the detail call show it (its text comes by another way)."""
    cover = cover_urls(novel_id, created) if own_cover else dict.fromkeys(
        ("square_medium", "medium", "large"), DEFAULT_COVER
    )  # fmt: skip
    return {
        "id": novel_id,
        "title": title,
        "caption": caption,
        "restrict": 0,
        "x_restrict": x_restrict,
        "is_original": original,
        "image_urls": cover,
        "create_date": stamp(created),
        "tags": [{**entry, "added_by_uploaded_user": True} for entry in tag_list(tags)],
        "page_count": page_count,
        "text_length": text_length,
        "user": author,
        # A novel outside any series carries an empty object here, where an illustration carries null.
        "series": dict(series) if series else {},
        "is_bookmarked": bookmarked,
        "total_bookmarks": bookmarks,
        "total_view": views,
        "visible": True,
        "total_comments": 0,
        "is_muted": False,
        "is_mypixiv_only": False,
        "is_x_restricted": False,
        "novel_ai_type": ai_type,
    }


def uploaded_image(key: str, created: datetime) -> Record:
    """A picture the author uploaded into a novel, as the viewer page lists it."""
    at = path_stamp(created)
    sized = f"/novel/img/{at}/{key}_{digest('uploaded', key)}_master1200.jpg"
    return {
        "novelImageId": key,
        "sl": "2",
        "urls": {
            "240mw": f"{PXIMG}/c/240x480_80{sized}",
            "480mw": f"{PXIMG}/c/480x960{sized}",
            "1200x1200": f"{PXIMG}/c/1200x1200{sized}",
            "128x128": f"{PXIMG}/c/128x128{sized}",
            "original": f"{PXIMG}/novel/img/{at}/{key}_{digest('uploaded', key)}.png",
        },
    }
