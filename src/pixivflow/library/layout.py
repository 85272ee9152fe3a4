"""Which folder a work goes to. Pure.

The twelve layouts and the order of their parts (date, type, author, tag) are the upstream's. Two things differ on
purpose: days are Japan's, like every date of the site, instead of the machine's zone, so that moving a collection does
not move its works; and an author's folder carries the author's id and keeps its first name, because authors rename
themselves before every event.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from enum import StrEnum

from pixivflow.domain.work import Author, Work, WorkType
from pixivflow.library.naming import SEGMENT_BYTES_MAX, safe_segment

JST = timezone(timedelta(hours=9), "JST")
"""The site's time. Japan has no daylight saving, so a fixed offset is exact."""

_FOLDER_BYTES_MAX = 120  # leaves room for several parts within the 260 characters of older Windows programs
_TYPE_FOLDERS = {WorkType.ILLUSTRATION: "illustrations", WorkType.NOVEL: "novels"}
_UNDATED, _UNKNOWN, _UNTAGGED = "undated", "unknown", "untagged"
_SEPARATORS = re.compile(r"[/\\]+")


class Layout(StrEnum):
    """How a library is organised; the values are those of the configuration."""

    FLAT = "flat"
    BY_AUTHOR = "byAuthor"
    BY_TAG = "byTag"
    BY_DATE = "byDate"
    BY_DAY = "byDay"
    BY_DOWNLOAD_DATE = "byDownloadDate"
    BY_DOWNLOAD_DAY = "byDownloadDay"
    BY_AUTHOR_AND_TAG = "byAuthorAndTag"
    BY_DATE_AND_AUTHOR = "byDateAndAuthor"
    BY_DAY_AND_AUTHOR = "byDayAndAuthor"
    BY_DOWNLOAD_DATE_AND_AUTHOR = "byDownloadDateAndAuthor"
    BY_DOWNLOAD_DAY_AND_AUTHOR = "byDownloadDayAndAuthor"


_BY_CREATION = {
    Layout.BY_DATE: "%Y-%m",
    Layout.BY_DATE_AND_AUTHOR: "%Y-%m",
    Layout.BY_DAY: "%Y-%m-%d",
    Layout.BY_DAY_AND_AUTHOR: "%Y-%m-%d",
}
_BY_DOWNLOAD = {
    Layout.BY_DOWNLOAD_DATE: "%Y-%m",
    Layout.BY_DOWNLOAD_DATE_AND_AUTHOR: "%Y-%m",
    Layout.BY_DOWNLOAD_DAY: "%Y-%m-%d",
    Layout.BY_DOWNLOAD_DAY_AND_AUTHOR: "%Y-%m-%d",
}
_WITH_AUTHOR = frozenset(layout for layout in Layout if "author" in layout.value.lower())
_WITH_TAG = frozenset({Layout.BY_TAG, Layout.BY_AUTHOR_AND_TAG})

KnownAuthorFolder = Callable[[str], str | None]
"""Gives the folder bound to an author by an earlier work, by the author's id."""


def plan_folder(
    work: Work,
    layout: Layout,
    *,
    downloaded_at: datetime,
    base: str = "",
    tag: str | None = None,
    known_author_folder: KnownAuthorFolder = lambda _: None,
) -> str:
    """The folder for `work`, relative to the library's root, with forward slashes; empty for the root itself.

    Args:
        work: its author, type, creation time and tags are looked at.
        layout: the organisation for its type.
        downloaded_at: the time of this download, aware; its day in Japan is used.
        base: a folder in front of the layout's own, from the configuration.
        tag: the tag the work was found by; without one its first own tag.
        known_author_folder: see `author_segment`.
    """
    parts = safe_parts(base)
    date = _date_part(work, layout, downloaded_at)
    if date is not None:
        type_folder = _TYPE_FOLDERS[work.type]
        # A base such as "novels" already says the type; saying it twice would only lengthen paths.
        parts += [date] if parts and parts[-1].lower() == type_folder else [date, type_folder]
    if layout in _WITH_AUTHOR:
        parts.append(author_segment(work.author, known_author_folder))
    if layout in _WITH_TAG:
        found_by = tag or (work.tags[0].name if work.tags else "")
        parts.append(safe_segment(found_by, _FOLDER_BYTES_MAX, fallback=_UNTAGGED))
    return "/".join(parts)


def author_segment(author: Author, known_author_folder: KnownAuthorFolder = lambda _: None) -> str:
    """The folder of `author`: the one already bound to the id, else ``{name}_{id}``.

    Withdrawn accounts all have the id 0 and share the folder ``unknown``. A known folder that is not a plain name is
    ignored, so that a damaged record cannot lead out of the library.
    """
    if author.id in {"", "0"}:
        return _UNKNOWN
    known = known_author_folder(author.id)
    if known and known == safe_segment(known, SEGMENT_BYTES_MAX):
        return known
    number = safe_segment(author.id, 32, fallback="0")
    name = safe_segment(author.name, _FOLDER_BYTES_MAX - len(number.encode("utf-8")) - 1, fallback=_UNKNOWN)
    return f"{name}_{number}"


def safe_parts(path: str) -> list[str]:
    """The parts of a relative folder path, each made safe; empty, ``.`` and ``..`` parts vanish."""
    return [
        safe
        for part in _SEPARATORS.split(path)
        if part.strip(". ") and (safe := safe_segment(part, _FOLDER_BYTES_MAX, fallback=""))
    ]


def _date_part(work: Work, layout: Layout, downloaded_at: datetime) -> str | None:
    if layout in _BY_DOWNLOAD:
        return downloaded_at.astimezone(JST).strftime(_BY_DOWNLOAD[layout])
    if layout in _BY_CREATION:
        return _UNDATED if work.created_at is None else work.created_at.astimezone(JST).strftime(_BY_CREATION[layout])
    return None
