"""Single fields of the site's records, read leniently: what is not usable becomes the neutral value, never an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from pixivflow.domain.work import AgeRating, AiType, Author, Page, Restriction, SeriesRef, Tag

JST = timezone(timedelta(hours=9), "JST")
"""The site's clock. Japan keeps no summer time."""

_LARGEST = 2**53
_DIGITS = re.compile(r"[0-9]{1,16}", re.ASCII)
_PLACEHOLDER = re.compile(r"/common/images/limit_([A-Za-z0-9_-]*)")
_LIMITS = (
    ("sanity_level", Restriction.SANITY),
    ("mypixiv", Restriction.FRIENDS_ONLY),
    ("unviewable", Restriction.UNVIEWABLE),
)
_AI = {1: AiType.NO, 2: AiType.YES}


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> Sequence[Any]:
    """A JSON array, or an empty one."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """A string, or the empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """A number that is not negative; digits in a string count as well, a boolean does not."""
    if type(value) is int:
        return value if 0 <= value < _LARGEST else None
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return None


def identity(value: object) -> str | None:
    """A number that names something, in its one spelling; 0 stays "0"."""
    number = count(value)
    return None if number is None else str(number)


def moment(value: object) -> datetime | None:
    """An ISO time; one without a zone is the site's own (JST)."""
    if not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
        return read if read.tzinfo is not None else read.replace(tzinfo=JST)
    except (ValueError, OverflowError):
        return None


def author(value: object) -> Author:
    """The `user` of a record."""
    if not isinstance(value, dict):
        return Author("0")
    return Author(identity(value.get("id")) or "0", text(value.get("name")), text(value.get("account")))


def tags(value: object) -> tuple[Tag, ...]:
    """The tags with a name, in order."""
    found: list[Tag] = []
    for entry in sequence(value):
        if isinstance(entry, dict):
            name, translated = entry.get("name"), entry.get("translated_name")
            if isinstance(name, str) and name:
                found.append(Tag(name, translated if isinstance(translated, str) and translated else None))
    return tuple(found)


def series(value: object) -> SeriesRef | None:
    """The series, which the site leaves out as null, `{}` or `[]`."""
    record = mapping(value)
    ident = identity(record.get("id"))
    return SeriesRef(ident, text(record.get("title"))) if ident not in (None, "0") and ident else None


def ai(value: object) -> AiType:
    """0 is unknown, 1 is *not* a generator's work, 2 is."""
    return _AI.get(value, AiType.UNKNOWN) if type(value) is int else AiType.UNKNOWN


def rating(value: object) -> AgeRating:
    """0 all ages, 1 R-18, 2 R-18G. A level above those is read as the strictest known one."""
    level = count(value) or 0
    return (AgeRating.ALL, AgeRating.R18, AgeRating.R18G)[min(level, 2)]


def pages(several: object, single: object, images: Mapping[str, Any]) -> tuple[Page, ...]:
    """The original files with their numbers. An entry without an original leaves a gap, it does not shift the rest."""
    found: list[Page] = []
    for number, entry in enumerate(sequence(several)):
        urls = mapping(mapping(entry).get("image_urls"))
        original = urls.get("original")
        if isinstance(original, str) and original:
            found.append(Page(number, original, text(urls.get("large")) or None))
    if not found and isinstance(single, str) and single:
        found.append(Page(0, single, text(images.get("large")) or None))
    return tuple(found)


def placeholder_of(url: object) -> Restriction | None:
    """Which restriction a placeholder's address tells, or None for the address of a real file.

    New suffixes appear without notice, so every `limit_*` picture is a placeholder, known or not.
    """
    if not isinstance(url, str) or "limit_" not in url:  # the plain test first: this runs for every address of a page
        return None
    found = _PLACEHOLDER.search(url)
    if found is None:
        return None
    suffix = found[1]
    return next((kind for name, kind in _LIMITS if suffix.startswith(name)), Restriction.UNKNOWN)


def restriction(urls: Iterable[object], *, visible: object, user: object) -> Restriction | None:
    """Why the work itself cannot be seen: a placeholder among its addresses, the site's own word, or no author."""
    for url in urls:
        kind = placeholder_of(url)
        if kind is not None:
            return kind
    # The author's number is 0 once the account is withdrawn; its works are shells.
    withdrawn = isinstance(user, dict) and identity(user.get("id")) == "0"
    return Restriction.UNVIEWABLE if visible is False or withdrawn else None
