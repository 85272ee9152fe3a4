"""A novel's text out of the pages that carry it. Pure.

The app shows novels in a web page whose script holds one JSON object under `novel:`. Which key follows it changes with
the layout, so nothing is cut out by its end: one JSON value is decoded where it begins, and accepted when it is an
object about the right novel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pixivflow.sources.errors import ShapeChanged, WorkUnavailable
from pixivflow.sources.pixiv import fields
from pixivflow.sources.ports import NovelImage, NovelText

_BEGIN = re.compile(r"""(?:\bnovel|["']novel["'])\s*:\s*(?=\{)""")
_MARKER = re.compile(r"\[(uploadedimage|pixivimage):\s*([0-9A-Za-z_-]{1,64})\s*\]")
_FIRST_PAGE = re.compile(r"_p0(?=[._])")
_MOST_CANDIDATES = 50
_UPLOADED_SIZES = ("original", "1200x1200", "480mw", "240mw", "128x128")
_LINKED_SIZES = ("original", "medium", "small")


def read_webview(html: str, novel_id: str) -> NovelText:
    """The text from the app's page. Raises ShapeChanged for another layout, WorkUnavailable for an empty novel."""
    novel = _find_novel(html, novel_id)
    images = fields.mapping(novel.get("images"))
    linked = fields.mapping(novel.get("illusts"))
    return _novel_text(novel.get("text"), images, linked, novel.get("coverUrl"), novel_id)


def read_ajax(body: bytes, novel_id: str) -> NovelText:
    """The text from the web site's JSON. It tells nothing about works that the text refers to."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ShapeChanged(f"the web answer about novel {novel_id} is not JSON") from None
    record = fields.mapping(answer)
    if record.get("error") is True:
        raise WorkUnavailable(f"the web site gives no text of novel {novel_id}")
    novel = record.get("body")
    if not isinstance(novel, dict) or "content" not in novel:
        raise ShapeChanged(f"the web answer about novel {novel_id} holds no text")
    images = fields.mapping(novel.get("textEmbeddedImages"))
    return _novel_text(novel.get("content"), images, {}, novel.get("coverUrl"), novel_id)


def _find_novel(html: str, novel_id: str) -> Mapping[str, Any]:
    decoder = json.JSONDecoder()
    for attempt, begin in enumerate(_BEGIN.finditer(html)):
        if attempt >= _MOST_CANDIDATES:
            break
        try:
            value, _ = decoder.raw_decode(html, begin.end())
        except (ValueError, RecursionError):
            continue
        # Captions and titles are in the page too: what looks like the object must be about this novel.
        if isinstance(value, dict) and "text" in value and fields.identity(value.get("id")) in (None, novel_id):
            return value
    raise ShapeChanged(f"the page of novel {novel_id} has another layout: no text found in it")


def _novel_text(
    value: object, images: Mapping[str, Any], linked: Mapping[str, Any], cover: object, novel_id: str
) -> NovelText:
    text = _scrubbed(fields.text(value))
    if not text.strip():
        raise WorkUnavailable(f"novel {novel_id} has no text")
    found: dict[str, NovelImage] = {}
    for marker in _MARKER.finditer(text):
        ref = f"{marker[1]}:{marker[2]}"
        if ref not in found:
            found[ref] = (
                _uploaded(ref, images.get(marker[2]))
                if marker[1] == "uploadedimage"
                else _linked(ref, marker[2], linked)
            )
    cover_url = fields.text(cover)
    return NovelText(text, found, None if not cover_url or fields.placeholder_of(cover_url) else cover_url)


def _uploaded(ref: str, entry: object) -> NovelImage:
    urls = _best_first(fields.mapping(entry).get("urls"), _UPLOADED_SIZES)
    return NovelImage(ref, urls) if urls else NovelImage(ref, problem="the site does not give this picture")


def _linked(ref: str, key: str, linked: Mapping[str, Any]) -> NovelImage:
    work_id, _, page = key.partition("-")
    entry = linked.get(key)
    exact = entry is not None
    record = fields.mapping(entry if exact else linked.get(work_id))
    if not record:
        return NovelImage(ref, problem="the page tells nothing about this work")
    if record.get("visible") is False:
        reason = " ".join(fields.text(record.get("availableMessage")).split())[:200]
        return NovelImage(ref, problem=reason or "this work is not visible to the account")
    urls = _best_first(fields.mapping(fields.mapping(record.get("illust")).get("images")), _LINKED_SIZES)
    number = fields.count(page) if page else None
    if not exact and number is not None and number > 1:
        # The entry is about the first page; the files of the others differ in their number only.
        urls = tuple(_FIRST_PAGE.sub(f"_p{number - 1}", url) for url in urls if _FIRST_PAGE.search(url) is not None)
    return NovelImage(ref, urls) if urls else NovelImage(ref, problem="the site does not give this picture")


def _best_first(value: object, sizes: tuple[str, ...]) -> tuple[str, ...]:
    urls = fields.mapping(value)
    found = (fields.text(urls.get(size)) for size in sizes)
    return tuple(dict.fromkeys(url for url in found if url and fields.placeholder_of(url) is None))


def _scrubbed(text: str) -> str:
    """The text without lone surrogates, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
