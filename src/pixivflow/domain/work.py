"""What is collected: works, their pages, and the assets they become on disk.

Facts about the fields come from the app API's records (illustration and novel shapes); only `id`, the kind and the
media URLs are needed to collect a work, every other field has a neutral default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class WorkType(StrEnum):
    """The two kinds of work the site numbers separately."""

    ILLUSTRATION = "illustration"
    NOVEL = "novel"


class IllustKind(StrEnum):
    """The site's `type` of an illustration record."""

    ILLUST = "illust"
    MANGA = "manga"
    UGOIRA = "ugoira"


class AiType(StrEnum):
    """`illust_ai_type` / `novel_ai_type`: 0 unknown, 1 made by a person, 2 made by a generator."""

    UNKNOWN = "unknown"
    NO = "no"
    YES = "yes"


class AgeRating(StrEnum):
    """`x_restrict`: 0 all ages, 1 R-18, 2 R-18G."""

    ALL = "all-ages"
    R18 = "R-18"
    R18G = "R-18G"


class Restriction(StrEnum):
    """Why the site shows a placeholder, or nothing, instead of the work."""

    SANITY = "sanity"
    FRIENDS_ONLY = "mypixiv"
    UNVIEWABLE = "unviewable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WorkRef:
    """The identity of a work: its kind and number. Illustrations and novels are numbered apart."""

    type: WorkType
    id: str

    def __str__(self) -> str:
        return f"{self.type.value}:{self.id}"


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a work. `id` is "0" for withdrawn accounts."""

    id: str
    name: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as the author wrote it, and its translation where the site has one."""

    name: str
    translated_name: str | None = None


@dataclass(frozen=True, slots=True)
class SeriesRef:
    """The series a work is a part of."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One picture of an illustration. `number` counts from 0 as the site does; `original_url` is the full file."""

    number: int
    original_url: str
    reduced_url: str | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of an animation and how long it is shown, in milliseconds."""

    file: str
    delay_ms: int


@dataclass(frozen=True, slots=True)
class Work:
    """A work as a list or detail record describes it.

    Attributes:
        pages: the original files, in order; empty for novels and for ugoira (whose file is the frame archive).
        page_count: what the site says; `pages` is complete only when the two agree.
        restriction: set when the record carries a placeholder instead of the work.
        complete_record: False when a detail call is needed before the work can be fetched.
        text_length: characters of a novel as the site counts them, None when it does not say.
    """

    ref: WorkRef
    title: str = ""
    author: Author = field(default_factory=lambda: Author("0"))
    kind: IllustKind | None = None
    caption: str = ""
    tags: tuple[Tag, ...] = ()
    created_at: datetime | None = None
    pages: tuple[Page, ...] = ()
    page_count: int = 1
    width: int | None = None
    height: int | None = None
    bookmarks: int | None = None
    views: int | None = None
    ai: AiType = AiType.UNKNOWN
    rating: AgeRating = AgeRating.ALL
    series: SeriesRef | None = None
    cover_url: str | None = None
    text_length: int | None = None
    visible: bool = True
    muted: bool = False
    restriction: Restriction | None = None
    complete_record: bool = True

    @property
    def id(self) -> str:
        """The site's number of the work."""
        return self.ref.id

    @property
    def type(self) -> WorkType:
        """Illustration or novel."""
        return self.ref.type

    @property
    def is_ugoira(self) -> bool:
        """Whether the work is an animation."""
        return self.kind is IllustKind.UGOIRA

    @property
    def url(self) -> str:
        """The page a person would open."""
        if self.type is WorkType.NOVEL:
            return f"https://www.pixiv.net/novel/show.php?id={self.id}"
        return f"https://www.pixiv.net/artworks/{self.id}"


class AssetRole(StrEnum):
    """What a file is to its work."""

    PAGE = "page"
    ARCHIVE = "archive"  # the frames of an animation, as the site packs them
    ANIMATION = "animation"  # a playable file made from the frames
    FRAMES = "frames"  # the timing of the frames
    TEXT = "text"
    MARKDOWN = "markdown"
    COVER = "cover"
    EMBEDDED = "embedded"  # a picture inside a novel
    METADATA = "metadata"


class AssetQuality(StrEnum):
    """Whether the file is the author's original, a reduced stand-in, or made by us from the original."""

    ORIGINAL = "original"
    REDUCED = "reduced"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Asset:
    """One verified file of a work in the library.

    Attributes:
        path: relative to the library's root, with forward slashes.
        number: page, frame or picture number within its role, from 0.
        sha256: lower-case hex.
        duration_ms: whole playing time for animations.
        key: what tells assets of one role apart when numbers do not, such as `uploadedimage:777` or `gif`.
    """

    role: AssetRole
    number: int
    path: str
    bytes: int
    sha256: str
    mime: str
    width: int | None = None
    height: int | None = None
    quality: AssetQuality = AssetQuality.ORIGINAL
    source_url: str | None = None
    duration_ms: int | None = None
    key: str = ""
