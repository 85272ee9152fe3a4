"""Addresses people paste, told apart. Pure; nothing is fetched.

Every form of the site's own pages is known here, also of things this version cannot collect yet, so that a user is
told "not in this version" instead of "not an address".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import parse_qs, unquote, urlsplit

from pixivflow.domain.work import WorkRef, WorkType

_HOSTS = frozenset({"pixiv.net", "www.pixiv.net", "touch.pixiv.net"})
_MEDIA_HOSTS = frozenset({"i.pximg.net"})
_MIRRORS = frozenset({"phixiv.net", "www.phixiv.net", "ppxiv.net"})
_LANGUAGE = re.compile(r"[a-z]{2}(-[a-z]{2,4})?")
_NUMBER = re.compile(r"[0-9]{1,16}", re.ASCII)
_MEDIA_FILE = re.compile(r"([0-9]{1,16})(?:-[0-9a-f]{32})?_(?:p[0-9]+|ugoira|master1200|square1200)", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#]|$))")
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class UserRef:
    """All works of an author; `type` is None for both kinds."""

    id: str
    type: WorkType | None = None


@dataclass(frozen=True, slots=True)
class SeriesLink:
    """A series; manga series are of illustrations."""

    id: str
    type: WorkType
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class TagLink:
    """A tag's page. `word` holds the words as a search takes them."""

    word: str
    type: WorkType | None = None


@dataclass(frozen=True, slots=True)
class RankingLink:
    """A ranking, of a JST day or the newest."""

    mode: str = "day"
    day: date | None = None
    type: WorkType = WorkType.ILLUSTRATION


@dataclass(frozen=True, slots=True)
class BookmarksLink:
    """What a user has bookmarked."""

    user_id: str
    type: WorkType = WorkType.ILLUSTRATION


@dataclass(frozen=True, slots=True)
class FollowingLink:
    """The users a user follows."""

    user_id: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text is not an address of the site, for people."""

    text: str


Link = WorkRef | UserRef | SeriesLink | TagLink | RankingLink | BookmarksLink | FollowingLink


def why_unsupported(link: Link) -> str | None:
    """Why this version does not collect what the address means; None when it does."""
    if isinstance(link, SeriesLink):
        return "series cannot be collected in this version"
    if isinstance(link, BookmarksLink):
        return "bookmarks cannot be collected in this version"
    if isinstance(link, FollowingLink):
        return "followed users cannot be collected in this version"
    return None


def parse_url(text: str) -> Link | Problem:  # noqa: C901, PLR0911 - a row of independent refusals
    """Tell what an address, with or without scheme, or a bare number (an illustration) means."""
    text = text.strip().strip("<>\"'").strip()
    if not text:
        return Problem("nothing was given")
    if len(text) > _LONGEST or any(char.isspace() or not char.isprintable() or char == "\\" for char in text):
        return Problem("not an address: it is too long, or has blanks or control characters in it")
    if text.isdigit():
        return _work(WorkType.ILLUSTRATION, text) or Problem(f"not the number of a work: {text[:20]}")
    if _SCHEME.match(text) is None:
        text = "https://" + text.removeprefix("//")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        query = parse_qs(parts.query, max_num_fields=50)
    except ValueError:
        return Problem("not a readable address")
    if parts.scheme not in ("http", "https"):
        return Problem(f"not a web address: it begins with {parts.scheme[:20]}:")
    if "@" in parts.netloc or port not in (None, 80, 443):
        return Problem("an address with a user name or a port is not one of the site's pages")
    if host in _MEDIA_HOSTS:
        return _media_file(parts.path)
    if host not in _HOSTS:
        hint = "; give the pixiv.net address it shows" if host in _MIRRORS else ""
        return Problem(f"not an address of pixiv.net: {host[:100] or 'no host'}{hint}")
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    if len(segments) > 1 and _LANGUAGE.fullmatch(segments[0].lower()):
        segments = segments[1:]
    first = {key: values[0] for key, values in query.items()}
    return _page(segments, first) or Problem(f"a page of the site, but none that shows works: {parts.path[:100]}")


def _page(segments: list[str], query: dict[str, str]) -> Link | None:  # noqa: C901, PLR0911, PLR0912 - a table
    match segments:
        case ["artworks" | "i", number, *_]:
            return _work(WorkType.ILLUSTRATION, number)
        case ["n", number, *_]:
            return _work(WorkType.NOVEL, number)
        case ["novel", "show.php"]:
            return _work(WorkType.NOVEL, query.get("id", ""))
        case ["novel", "series", number, *_]:
            return _series(number, WorkType.NOVEL)
        case ["novel", "member.php" | "member_novel.php"]:
            return _user(query.get("id", ""), WorkType.NOVEL)
        case ["novel", "ranking.php"]:
            return _ranking(query, WorkType.NOVEL)
        case ["novel", "bookmark.php"]:
            return _bookmarks(query.get("id", ""), WorkType.NOVEL)
        case ["member_illust.php"]:
            if "illust_id" in query:
                return _work(WorkType.ILLUSTRATION, query["illust_id"])
            return _user(query.get("id", ""), WorkType.ILLUSTRATION)
        case ["member.php"]:
            return _user(query.get("id", ""), None)
        case ["bookmark.php"]:
            if query.get("type") == "user":
                return FollowingLink(query["id"]) if _is_number(query.get("id", "")) else None
            return _bookmarks(query.get("id", ""), WorkType.ILLUSTRATION)
        case ["ranking.php"]:
            return _ranking(query, WorkType.ILLUSTRATION)
        case ["search.php"]:
            return _tag(query.get("word", ""), query.get("s_mode", ""))
        case ["tags.php"]:
            return _tag(query.get("tag", ""), "")
        case ["tags", word, *kind]:
            return _tag(word, kind[0] if kind else "")
        case ["users" | "user" | "u", number, *rest]:
            return _of_user(number, rest)
    return None


def _of_user(number: str, rest: list[str]) -> Link | None:  # noqa: PLR0911 - a table
    match rest:
        case ["artworks", work] if _is_number(work):
            return _work(WorkType.ILLUSTRATION, work)
        case ["novels", work] if _is_number(work):
            return _work(WorkType.NOVEL, work)
        case ["series", series, *_]:
            return _series(series, WorkType.ILLUSTRATION, number)
        case ["bookmarks", "novels", *_]:
            return _bookmarks(number, WorkType.NOVEL)
        case ["bookmarks", *_]:
            return _bookmarks(number, WorkType.ILLUSTRATION)
        case ["following", *_]:
            return FollowingLink(str(int(number))) if _is_number(number) else None
        case ["novels", *_]:
            return _user(number, WorkType.NOVEL)
        case ["artworks" | "illustrations" | "manga", *_]:
            return _user(number, WorkType.ILLUSTRATION)
    return _user(number, None)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and int(text) > 0


def _work(kind: WorkType, number: str) -> WorkRef | None:
    return WorkRef(kind, str(int(number))) if _is_number(number) else None


def _user(number: str, kind: WorkType | None) -> UserRef | None:
    return UserRef(str(int(number)), kind) if _is_number(number) else None


def _series(number: str, kind: WorkType, user: str | None = None) -> SeriesLink | None:
    owner = str(int(user)) if user is not None and _is_number(user) else None
    return SeriesLink(str(int(number)), kind, owner) if _is_number(number) else None


def _bookmarks(number: str, kind: WorkType) -> BookmarksLink | None:
    return BookmarksLink(str(int(number)), kind) if _is_number(number) else None


def _tag(word: str, kind: str) -> TagLink | None:
    words = " ".join(word.split())
    if not words:
        return None
    if kind in ("novels", "novel"):
        return TagLink(words, WorkType.NOVEL)
    if kind in ("artworks", "illustrations", "manga", "ugoira"):
        return TagLink(words, WorkType.ILLUSTRATION)
    return TagLink(words)


# The web site's names of the rankings and the app's.
_RANKING_MODES = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "rookie": "week_rookie",
    "original": "week_original",
    "male": "day_male",
    "female": "day_female",
    "daily_ai": "day_ai",
    "daily_r18": "day_r18",
    "weekly_r18": "week_r18",
    "male_r18": "day_male_r18",
    "female_r18": "day_female_r18",
    "daily_r18_ai": "day_r18_ai",
    "r18g": "week_r18g",
}


def _ranking(query: dict[str, str], kind: WorkType) -> RankingLink | None:
    mode = _RANKING_MODES.get(query.get("mode", "daily"))
    if mode is None:
        return None
    stamp = query.get("date", "")
    try:
        day = datetime.strptime(stamp, "%Y%m%d").date() if stamp else None  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return None
    return RankingLink(mode, day, kind)


def _media_file(path: str) -> WorkRef | Problem:
    found = _MEDIA_FILE.search(path.rsplit("/", 1)[-1])
    work = _work(WorkType.ILLUSTRATION, found[1]) if found and "/img/" in path and "novel" not in path else None
    return work or Problem("a file of the media host, but none that tells its work")
