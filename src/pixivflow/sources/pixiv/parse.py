"""Records of the app API become works. Pure: bytes in, values out.

Only an id, the type and the media addresses are needed to collect a work, so only those are required; everything else
may be missing, null, `{}` or `[]` (the site sends all of them). A page is split into raw records first, so that one
that cannot be read is set aside alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pixivflow.domain.work import Author, Frame, IllustKind, Restriction, Work, WorkRef, WorkType
from pixivflow.sources.errors import ShapeChanged
from pixivflow.sources.pixiv import fields
from pixivflow.sources.ports import Quarantined, UgoiraInfo

_NOTHING = msgspec.Raw(b"null")
# One escape at a time, a proper pair of surrogates as one; the group is a lone one.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_KINDS = {kind.value: kind for kind in IllustKind}


class BadRecord(ValueError):
    """A record lacks what is needed. The text says what."""


class _Record(msgspec.Struct):
    id: Any = None
    title: Any = None
    image_urls: Any = None
    caption: Any = None
    user: Any = None
    tags: Any = None
    create_date: Any = None
    page_count: Any = None
    x_restrict: Any = None
    series: Any = None
    total_view: Any = None
    total_bookmarks: Any = None
    visible: Any = None
    is_muted: Any = None


class _Illust(_Record):
    type: Any = None
    width: Any = None
    height: Any = None
    meta_single_page: Any = None
    meta_pages: Any = None
    illust_ai_type: Any = None


class _Novel(_Record):
    text_length: Any = None
    is_mypixiv_only: Any = None
    novel_ai_type: Any = None


class _Listing(msgspec.Struct):
    illusts: list[msgspec.Raw] | None = None
    novels: list[msgspec.Raw] | None = None
    next_url: Any = None
    user: Any = msgspec.UNSET


class _Detail(msgspec.Struct):
    illust: msgspec.Raw = _NOTHING
    novel: msgspec.Raw = _NOTHING
    user: Any = None


class _Ugoira(msgspec.Struct):
    ugoira_metadata: dict[str, Any]


_listing = msgspec.json.Decoder(_Listing)
_detail = msgspec.json.Decoder(_Detail)
_ugoira = msgspec.json.Decoder(_Ugoira)
_illust = msgspec.json.Decoder(_Illust)
_novel = msgspec.json.Decoder(_Novel)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoder raises; nesting deeper than it allows is one more way to be unreadable."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a listing as the site sent it.

    Attributes:
        next_url: the address of the next page, exactly as sent; not to be trusted with a host.
        owner_missing: a user's listing whose `user` is empty: nobody there, or somebody with nothing to show.
    """

    works: tuple[Work, ...]
    quarantined: tuple[Quarantined, ...]
    next_url: str | None
    owner_missing: bool


def parse_listing(body: bytes, work_type: WorkType) -> Listing:
    """Read a page of search, ranking or user works. Raises ShapeChanged when there is no list in it."""
    try:
        page = _decoded(_listing, body)
    except UNREADABLE as error:
        raise ShapeChanged(f"the list cannot be read: {error}") from None
    records = page.illusts if work_type is WorkType.ILLUSTRATION else page.novels
    if records is None:
        raise ShapeChanged(f"the answer holds no list of {work_type.value}s")
    read = read_illust if work_type is WorkType.ILLUSTRATION else read_novel
    works: list[Work] = []
    aside: list[Quarantined] = []
    for raw in records:
        try:
            works.append(read(raw))
        except BadRecord as error:
            aside.append(Quarantined(_salvaged_id(raw), str(error)))
    next_url = page.next_url if isinstance(page.next_url, str) and page.next_url else None
    owner_missing = page.user is not msgspec.UNSET and fields.author(page.user).id == "0"
    return Listing(tuple(works), tuple(aside), next_url, owner_missing)


def parse_work(body: bytes, ref: WorkRef) -> Work:
    """Read a detail answer. Raises ShapeChanged when it is not the record of `ref`."""
    try:
        detail = _decoded(_detail, body)
        raw = detail.illust if ref.type is WorkType.ILLUSTRATION else detail.novel
        if bytes(raw) == b"null":
            raise ShapeChanged(f"the answer holds no record of {ref}")
        work = read_illust(raw) if ref.type is WorkType.ILLUSTRATION else read_novel(raw)
    except (BadRecord, *UNREADABLE) as error:
        raise ShapeChanged(f"the record of {ref} cannot be read: {error}") from None
    if work.ref != ref:
        raise ShapeChanged(f"asked for {ref}, got {work.ref}")
    return work


def parse_user(body: bytes) -> Author:
    """Read a user's detail answer. Raises ShapeChanged when nobody is in it."""
    try:
        author = fields.author(_decoded(_detail, body).user)
    except UNREADABLE as error:
        raise ShapeChanged(f"the user's record cannot be read: {error}") from None
    if author.id == "0":
        raise ShapeChanged("the answer holds no user")
    return author


def parse_ugoira(body: bytes) -> UgoiraInfo:
    """Read an animation's metadata. Raises ShapeChanged when archive or timing are missing.

    Only the 600x600 archive is announced. The 1920x1080 one lies beside it under the same name with the other size
    (known from other clients, not announced, so a 404 on it is normal) and is put first.
    """
    try:
        metadata = _decoded(_ugoira, body).ugoira_metadata
    except UNREADABLE as error:
        raise ShapeChanged(f"the animation's metadata cannot be read: {error}") from None
    medium = fields.mapping(metadata.get("zip_urls")).get("medium")
    if not isinstance(medium, str) or not medium:
        raise ShapeChanged("the animation's metadata names no archive")
    frames: list[Frame] = []
    for entry in fields.sequence(metadata.get("frames")):
        record = fields.mapping(entry)
        file, delay = record.get("file"), fields.count(record.get("delay"))
        if not isinstance(file, str) or not file or delay is None:
            raise ShapeChanged(f"frame {len(frames)} of the animation cannot be read")
        frames.append(Frame(file, delay))
    if not frames:
        raise ShapeChanged("the animation's metadata lists no frames")
    larger = medium.replace("_ugoira600x600", "_ugoira1920x1080")
    return UgoiraInfo((larger, medium) if larger != medium else (medium,), tuple(frames))


def read_illust(raw: bytes | msgspec.Raw) -> Work:
    """Read one illustration record. Raises BadRecord."""
    try:
        record = _decoded(_illust, bytes(raw))
    except UNREADABLE as error:
        raise BadRecord(f"not a readable record: {error}") from None
    ident = _required_id(record)
    kind = _KINDS.get(record.type) if isinstance(record.type, str) else None
    if kind is None:
        raise BadRecord("no known type")
    images = fields.mapping(record.image_urls)
    single = fields.mapping(record.meta_single_page).get("original_image_url")
    pages = fields.pages(record.meta_pages, single, images)
    urls = (single, *images.values(), *(page.original_url for page in pages))
    restriction = fields.restriction(urls, visible=record.visible, user=record.user)
    if restriction is None and not any(isinstance(url, str) and url for url in urls):
        raise BadRecord("no media addresses")
    page_count = fields.count(record.page_count) or len(pages) or 1
    whole = restriction is not None or kind is IllustKind.UGOIRA
    return Work(
        ref=WorkRef(WorkType.ILLUSTRATION, ident),
        title=fields.text(record.title),
        author=fields.author(record.user),
        kind=kind,
        caption=fields.text(record.caption),
        tags=fields.tags(record.tags),
        created_at=fields.moment(record.create_date),
        # A placeholder's address must not look like a page, nor an animation's first frame like the animation.
        pages=() if whole else pages,
        page_count=page_count,
        width=fields.count(record.width),
        height=fields.count(record.height),
        bookmarks=fields.count(record.total_bookmarks),
        views=fields.count(record.total_view),
        ai=fields.ai(record.illust_ai_type),
        rating=fields.rating(record.x_restrict),
        series=fields.series(record.series),
        visible=record.visible is not False,
        muted=record.is_muted is True,
        restriction=restriction,
        complete_record=whole or len(pages) == page_count,
    )


def read_novel(raw: bytes | msgspec.Raw) -> Work:
    """Read one novel record. Raises BadRecord."""
    try:
        record = _decoded(_novel, bytes(raw))
    except UNREADABLE as error:
        raise BadRecord(f"not a readable record: {error}") from None
    ident = _required_id(record)
    images = fields.mapping(record.image_urls)
    restriction = fields.restriction(images.values(), visible=record.visible, user=record.user)
    if restriction is Restriction.UNVIEWABLE and record.is_mypixiv_only is True:
        restriction = Restriction.FRIENDS_ONLY
    covers = (fields.text(images.get(size)) for size in ("large", "medium", "square_medium"))
    cover = next((url for url in covers if url), None)
    return Work(
        ref=WorkRef(WorkType.NOVEL, ident),
        title=fields.text(record.title),
        author=fields.author(record.user),
        caption=fields.text(record.caption),
        tags=fields.tags(record.tags),
        created_at=fields.moment(record.create_date),
        page_count=fields.count(record.page_count) or 1,
        bookmarks=fields.count(record.total_bookmarks),
        views=fields.count(record.total_view),
        ai=fields.ai(record.novel_ai_type),
        rating=fields.rating(record.x_restrict),
        series=fields.series(record.series),
        cover_url=None if fields.placeholder_of(cover) else cover,
        text_length=fields.count(record.text_length),
        visible=record.visible is not False,
        muted=record.is_muted is True,
        restriction=restriction,
    )


def _decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Decode; one half character in one title must not cost the whole page, so those are replaced and tried again."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        repaired = body.decode("utf-8", "replace").encode()
        repaired = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], repaired)
        if repaired == body:
            raise
        return decoder.decode(repaired)


def _required_id(record: _Record) -> str:
    ident = fields.identity(record.id)
    if ident is None or ident == "0":
        raise BadRecord("no id")
    return ident


def _salvaged_id(raw: msgspec.Raw) -> str | None:
    """The id of a record that is broken elsewhere, so that the report can name it."""
    try:
        return fields.identity(fields.mapping(msgspec.json.decode(raw)).get("id"))
    except UNREADABLE:
        return None
