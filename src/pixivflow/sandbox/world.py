"""The invented site: authors, works, novels, what the account bookmarked and whom it follows.

Records are kept raw, as the API would send them, so that a test can put in anything: a work without `type`, a
placeholder instead of pictures, 5,400 works at three an hour. What the sandbox needs to sort and search is read out
of a record once, with a default for whatever is missing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pixivflow.sandbox import records
from pixivflow.sandbox.jst import parse_stamp, path_stamp
from pixivflow.sandbox.media_paths import MediaIndex
from pixivflow.sandbox.records import Record

Kind = Literal["illust", "novel"]
_KEPT_MAX = 64
VIEWER_ID = 900
"""The account every token belongs to."""


def fold(text: str) -> str:
    """The form in which words are compared: compatibility-normalised, without case."""
    return unicodedata.normalize("NFKC", text).casefold()


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an animation; `delay_ms` as the metadata states it."""

    file: str
    delay_ms: int


@dataclass(slots=True)
class NovelText:
    """What only the viewer page of a novel knows."""

    text: str | None = ""
    images: Record = field(default_factory=dict)
    """Uploaded pictures by marker key."""
    illusts: Record = field(default_factory=dict)
    """Linked works by marker key."""


@dataclass(slots=True)
class Work:
    """A record and what searching and sorting read out of it."""

    id: int
    kind: Kind
    record: Record
    created: datetime
    user_id: int
    type: str
    x_restrict: int
    ai_type: int
    bookmarks: int
    tags: tuple[tuple[str, str], ...]
    """Folded tag names with their folded translations (empty when there is none)."""
    prose: str
    """Folded title and caption."""
    bookmarked: bool
    series_id: int | None
    frames: tuple[Frame, ...] = ()
    novel: NovelText | None = None
    revision: int = 0


@dataclass(slots=True)
class Author:
    """An author; `record` is the very object that stands inside the works, so a rename shows everywhere."""

    id: int
    record: Record
    comment: str = ""
    profile: Record = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    """A series of manga or of novels; its works are those that name it, oldest first."""

    id: int
    kind: Kind
    title: str
    user_id: int
    caption: str = ""


def _whole(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def read_work(record: Record, kind: Kind, work_id: int) -> Work:
    """Index one raw record; every key is optional."""
    tags = [_mapping(tag) for tag in record.get("tags") or ()]
    series = _mapping(record.get("series")).get("id")
    return Work(
        id=work_id,
        kind=kind,
        record=record,
        created=parse_stamp(record.get("create_date")) or datetime(2024, 1, 1, tzinfo=UTC),
        user_id=_whole(_mapping(record.get("user")).get("id")),
        type=_text(record.get("type")) or kind,
        x_restrict=_whole(record.get("x_restrict")),
        ai_type=_whole(record.get("illust_ai_type" if kind == "illust" else "novel_ai_type")),
        bookmarks=_whole(record.get("total_bookmarks")),
        tags=tuple((fold(_text(tag.get("name"))), fold(_text(tag.get("translated_name")))) for tag in tags),
        prose=fold(f"{_text(record.get('title'))}\n{_text(record.get('caption'))}"),
        bookmarked=record.get("is_bookmarked") is True,
        series_id=series if isinstance(series, int) else None,
    )


class World:
    """All data of one sandbox. Changes take effect for the next request; `version` counts them."""

    def __init__(self) -> None:
        self.version = 0
        self.illusts: dict[int, Work] = {}
        self.novels: dict[int, Work] = {}
        self.authors: dict[int, Author] = {}
        self.series: dict[tuple[Kind, int], Series] = {}
        self.following: dict[int, str] = {}
        """Authors the account follows, each with `public` or `private`."""
        self.private_bookmarks: set[tuple[Kind, int]] = set()
        """Bookmarked works whose bookmark the account keeps to itself."""
        self.media = MediaIndex()
        self.overrides: dict[str, tuple[bytes, str]] = {}
        """Media paths with bytes and content type set by a test."""
        self._kept: dict[Hashable, list[Work]] = {}

    @classmethod
    def from_records(
        cls, illusts: Iterable[Record] = (), novels: Iterable[Record] = (), authors: Iterable[Record] = ()
    ) -> World:
        """A world of exactly these raw records; authors are also taken from the works."""
        world = cls()
        for author in authors:
            world.add_author(author)
        for record in illusts:
            world.add_work(record)
        for record in novels:
            world.add_novel(record)
        return world

    # -- changing it ---------------------------------------------------------------------------------------------------

    def add_author(self, record: Record, *, comment: str = "", profile: Mapping[str, Any] | None = None) -> Author:
        """Add or replace an author. `record` is the short user object."""
        author = Author(_whole(record.get("id")), record, comment, dict(profile or {}))
        self.authors[author.id] = author
        self.media.add("user", author.id, record)
        self._changed()
        return author

    def add_work(self, record: Record, *, frames: Sequence[Frame] | None = None) -> Work:
        """Add an illustration, manga or ugoira, or replace the one with the same id.

        A record without an id gets a free one.
        """
        work_id = record["id"] if isinstance(record.get("id"), int) else max(self.illusts, default=0) + 1
        before = self.illusts.get(work_id)
        work = read_work(record, "illust", work_id)
        if frames is not None:
            work.frames = tuple(frames)
        elif work.type == "ugoira":
            work.frames = before.frames if before and before.frames else default_frames(work_id)
        work.revision = before.revision if before else 0
        self.illusts[work_id] = work
        urls = [zip_url(work)] if work.frames else []
        urls += frame_urls(work)
        self.media.add("illust", work_id, record, urls)
        self._adopt(record)
        return work

    def add_novel(self, record: Record, text: NovelText | str | None = "") -> Work:
        """Add a novel, or replace the one with the same id."""
        work_id = record["id"] if isinstance(record.get("id"), int) else max(self.novels, default=0) + 1
        work = read_work(record, "novel", work_id)
        work.novel = text if isinstance(text, NovelText) else NovelText(text)
        self.novels[work_id] = work
        self.media.add("novel", work_id, record, work.novel.images)
        self._adopt(record)
        return work

    def add_series(self, series: Series) -> None:
        """Add or replace a series."""
        self.series[series.kind, series.id] = series
        self._changed()

    def remove(self, kind: Kind, work_id: int) -> None:
        """Delete a work as its author would; its detail is 404 and its files are gone."""
        del self.of(kind)[work_id]
        self.media.remove(kind, work_id)
        self._changed()

    def revise(self, work_id: int, **changes: Any) -> Work:
        """Change keys of an illustration and its pixels, as an author who replaces the files does."""
        before = self.illusts[work_id]
        work = self.add_work({**before.record, **changes}, frames=before.frames or None)
        work.revision = before.revision + 1
        return work

    def rename_author(self, user_id: int, name: str) -> None:
        """Give an author another display name, everywhere at once."""
        self.authors[user_id].record["name"] = name
        self._changed()

    def bookmark(self, kind: Kind, work_id: int, *, private: bool = False) -> None:
        """Bookmark a work in the account's name."""
        work = self.of(kind)[work_id]
        work.bookmarked = True
        work.record["is_bookmarked"] = True
        (self.private_bookmarks.add if private else self.private_bookmarks.discard)((kind, work_id))
        self._changed()

    def set_media(self, url: str, body: bytes, content_type: str) -> None:
        """Serve these bytes for a media URL (or path), whatever the index says."""
        path = url if url.startswith("/") else "/" + url.split("://", 1)[-1].split("/", 1)[-1]
        self.overrides[path] = (body, content_type)
        self._changed()

    # -- asking it -----------------------------------------------------------------------------------------------------

    def of(self, kind: Kind) -> dict[int, Work]:
        """Works of one kind by id."""
        return self.illusts if kind == "illust" else self.novels

    def newest(self, kind: Kind) -> list[Work]:
        """Works of one kind, newest first; of works of the same second the higher id first. Not to be changed."""
        return self.kept(
            ("newest", kind),
            lambda: sorted(self.of(kind).values(), key=lambda work: (work.created, work.id), reverse=True),
        )

    def kept(self, key: Hashable, make: Callable[[], list[Work]]) -> list[Work]:
        """A list worked out once and kept until the world changes: paging must not search anew for every page."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT_MAX:
                self._kept.clear()
            found = self._kept[key] = make()
        return found

    def works_of(self, user_id: int, kind: Kind) -> list[Work]:
        """An author's works of one kind, newest first."""
        return [work for work in self.newest(kind) if work.user_id == user_id]

    def in_series(self, kind: Kind, series_id: int) -> list[Work]:
        """Works of a series in reading order."""
        return [work for work in reversed(self.newest(kind)) if work.series_id == series_id]

    def first(self, kind: str) -> Work:
        """Newest public all-ages work of a type: `illust`, `manga`, `ugoira` or `novel`.

        Raises LookupError if there is none.
        """
        works = self.newest("novel" if kind == "novel" else "illust")
        for work in works:
            if work.type == kind and work.x_restrict == 0 and work.record.get("visible") is not False:
                return work
        raise LookupError(f"this world has no {kind}")

    def first_single_page(self) -> Work:
        """Newest all-ages illustration of one page."""
        return self._first_with(lambda pages: pages == 1)

    def first_multi_page(self) -> Work:
        """Newest all-ages illustration of several pages."""
        return self._first_with(lambda pages: pages > 1)

    def first_novel(self) -> Work:
        """Newest all-ages novel; in a generated world its text has every kind of marker."""
        return self.first("novel")

    def _first_with(self, wanted: Any) -> Work:
        for work in self.newest("illust"):
            if work.type == "illust" and work.x_restrict == 0 and wanted(_whole(work.record.get("page_count"), 1)):
                return work
        raise LookupError("this world has no such illustration")

    def _adopt(self, record: Record) -> None:
        author = record.get("user")
        if isinstance(author, dict) and _whole(author.get("id")) > 0 and author["id"] not in self.authors:
            self.add_author(author)
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._kept.clear()


def default_frames(work_id: int, count: int = 6) -> tuple[Frame, ...]:
    """Frames with varied delays, the last one held longest (it is the one converters lose)."""
    delays = (80, 120, 60, 200, 100, 40)
    frames = [Frame(f"{n:06d}.jpg", delays[(n + work_id) % len(delays)]) for n in range(count)]
    return (*frames[:-1], Frame(frames[-1].file, 1000)) if frames else ()


def original_urls(record: Mapping[str, Any]) -> list[str]:
    """Original URLs of a record, page by page, as far as it names them."""
    single = _mapping(record.get("meta_single_page")).get("original_image_url")
    if isinstance(single, str):
        return [single]
    pages = record.get("meta_pages")
    urls = (
        [_mapping(_mapping(page).get("image_urls")).get("original") for page in pages]
        if isinstance(pages, list)
        else []
    )
    return [url for url in urls if isinstance(url, str)]


def zip_url(work: Work, size: str = "600x600") -> str:
    """Archive of an animation."""
    at = path_stamp(work.created)
    return f"{records.PXIMG}/img-zip-ugoira/img/{at}/{work.id}_ugoira{size}.zip"


def frame_urls(work: Work) -> list[str]:
    """Original frames of an animation, one URL each, with the file type of the first."""
    first = next(iter(original_urls(work.record)), "")
    stem, mark, rest = first.rpartition("_ugoira0.")
    return [f"{stem}_ugoira{n}.{rest}" for n in range(len(work.frames))] if mark else []
