"""File names that are safe on every platform and keep the work's id and the extension whatever the title. Pure.

Titles, tags and author names are anybody's input. What they may not do: leave their folder, hide a file, name a
device, turn the direction of the text so that an extension reads as another one, or grow past the file system's limit
of 255 bytes (bytes, not characters). What cannot stay becomes ``_`` rather than a full-width look-alike: the upstream
program did the same, so names of existing collections are found again, and ``_`` can be typed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from pixivflow.library.graphemes import ZWJ, cut, is_pictograph

SEGMENT_BYTES_MAX = 255
"""What common file systems allow for one part of a path."""
NAME_BYTES_MAX = 230
"""Default bound for a file name: room for what sync tools and the file system append."""
_ENDING_BYTES = 32  # what a stem leaves free: for "_ugoira.webp", and for "_2" once or twice where names collide
_ID_BYTES_MAX = 64
_KEY_BYTES_MAX = 80
_UNIQUE_TRIES = 1000

_FORBIDDEN = re.compile(r'[/\\?:*"<>|\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]')
_SPACES = re.compile(r"\s+")
_EDGES = ". "
# With and without an extension; Windows takes the superscript digits for digits here.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE)
_EXTENSION = re.compile(r"[a-z0-9]{1,8}", re.ASCII)


def safe_segment(value: str, max_bytes: int = NAME_BYTES_MAX, *, fallback: str = "untitled") -> str:
    """One part of a path made from `value`, at most `max_bytes` (and 255) bytes of UTF-8; never empty, never special.

    Composed form (NFC); runs of white space become one space; dots and spaces at both ends go; reserved device names
    get a leading ``_``; the cut falls between characters as a reader sees them. Applied twice it changes nothing more.
    """
    limit = min(max_bytes, SEGMENT_BYTES_MAX)
    text = _SPACES.sub(" ", unicodedata.normalize("NFC", value))
    text = _FORBIDDEN.sub("_", text)
    # Composed again, because a removed invisible character may have stood between a letter and its accent.
    text = unicodedata.normalize("NFC", _without_invisible(text))
    text = _trimmed(text, limit)
    if _DEVICE.fullmatch(text.split(".", 1)[0].rstrip(" ")):
        text = _trimmed("_" + text, limit)
    return text or fallback


def work_stem(work_id: str, title: str, *, max_bytes: int = NAME_BYTES_MAX) -> str:
    """``{id}_{title}``: what the names of all files of one work begin with.

    Short enough for every ending of this module to keep the whole name within `max_bytes`, so that all files of a work
    share one stem however long its title is.
    """
    number = safe_segment(work_id, _ID_BYTES_MAX, fallback="0")
    room = min(max_bytes, SEGMENT_BYTES_MAX) - _ENDING_BYTES - len(number.encode("utf-8")) - 1
    return f"{number}_{safe_segment(title, max(room, len('untitled')))}"


def page_name(stem: str, number: int, extension: str) -> str:
    """``{id}_{title}_{page}.ext``. `number` counts from 0 as the site does, the name from 1, also for single pages."""
    return f"{stem}_{number + 1}.{safe_extension(extension)}"


def text_name(stem: str, extension: str) -> str:
    """``{id}_{title}.txt`` or ``.md``, for a novel."""
    return f"{stem}.{safe_extension(extension)}"


def ugoira_name(stem: str, extension: str) -> str:
    """``{id}_{title}_ugoira.zip``, ``.gif`` or ``.webp``: an animation's archive and what is made from it."""
    return f"{stem}_ugoira.{safe_extension(extension)}"


def frames_name(stem: str) -> str:
    """``{id}_{title}_frames.json``: the delays of an animation."""
    return f"{stem}_frames.json"


def sidecar_name(stem: str) -> str:
    """``{id}_{title}.json``: the description of a work, beside its files."""
    return f"{stem}.json"


def embedded_name(work_id: str, key: str, extension: str) -> str:
    """``images/{id}_{key}.ext``: a picture inside a novel. With the id, since a flat library has one such folder."""
    number = safe_segment(work_id, _ID_BYTES_MAX, fallback="0")
    return f"images/{number}_{safe_segment(key, _KEY_BYTES_MAX, fallback='image')}.{safe_extension(extension)}"


def safe_extension(extension: str) -> str:
    """A plain lower-case extension without a dot; ``bin`` where `extension` is not one."""
    plain = extension.removeprefix(".").lower()
    return plain if _EXTENSION.fullmatch(plain) else "bin"


def unique_path(path: str, taken: Callable[[str], bool]) -> str:
    """`path`, or the first of ``name_2.ext``, ``name_3.ext`` … that is not `taken`.

    Raises:
        ValueError: a thousand names are taken, which no collection of works brings about.
    """
    if not taken(path):
        return path
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    for number in range(2, _UNIQUE_TRIES + 2):
        ending = f"_{number}{dot}{extension}"
        shown = cut(stem, SEGMENT_BYTES_MAX - len(ending.encode("utf-8")))
        candidate = f"{folder}{slash}{shown}{ending}"
        if not taken(candidate):
            return candidate
    raise ValueError(f"no free name after {_UNIQUE_TRIES} tries")


def _trimmed(text: str, limit: int) -> str:
    text = text.strip(_EDGES)
    return cut(text, limit).rstrip(_EDGES)


def _without_invisible(text: str) -> str:
    """Drop format characters (direction overrides, zero-width ones, soft hyphens) but keep emoji families together."""
    kept: list[str] = []
    for position, char in enumerate(text):
        if unicodedata.category(char) != "Cf" or (char == ZWJ and _joins_emoji(kept, text, position)):
            kept.append(char)
    return "".join(kept)


def _joins_emoji(kept: list[str], text: str, position: int) -> bool:
    # Between an emoji and its ZWJ may stand a variation selector; skin tones are pictographs themselves.
    before = next((char for char in reversed(kept) if char != "\ufe0f"), "")
    after = text[position + 1 : position + 2]
    return bool(before and after) and is_pictograph(before) and is_pictograph(after)
