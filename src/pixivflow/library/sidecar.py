"""The description of a work that is stored beside its files: the same bytes for the same facts. Pure.

It holds the upstream's keys under their names and meanings, and ours next to them. Paths are relative to the document,
so a folder that is moved or copied stays consistent in itself.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pixivflow.domain.work import AgeRating, Asset, AssetRole, Frame, Work, WorkType

SCHEMA = 1
"""Raised when a key changes its meaning; added keys leave it alone."""

_X_RESTRICT = {AgeRating.ALL: 0, AgeRating.R18: 1, AgeRating.R18G: 2}
_ROLE_ORDER = {role: position for position, role in enumerate(AssetRole)}
_INTEGER_DIGITS_MAX = 15  # every reader of JSON keeps integers of so many digits exactly


def build_sidecar(
    work: Work,
    assets: Sequence[Asset],
    *,
    path: str,
    fetched_at: datetime,
    download_tag: str | None = None,
    detected_language: str | None = None,
    frames: Sequence[Frame] = (),
    notes: Mapping[str, Any] | None = None,
) -> bytes:
    """The document as UTF-8.

    Args:
        work: as the site described it.
        assets: its stored files, in any order; a metadata asset is left out (it would be this document).
        path: where the document goes, relative to the library, to make the files' paths relative to it.
        fetched_at: aware time of the download.
        download_tag: the tag or word the work was found by.
        detected_language: of a novel's text, None when unknown.
        frames: an animation's frames with the site's own delays.
        notes: further facts of JSON's types, such as what became of each picture of a novel; kept under ``notes``.
    """
    files = sorted(
        (asset for asset in assets if asset.role is not AssetRole.METADATA),
        key=lambda asset: (_ROLE_ORDER[asset.role], asset.number, asset.key, asset.path),
    )
    folder = posixpath.dirname(path)
    document = {
        **_upstream_part(work, download_tag, detected_language),
        **_own_part(work, fetched_at, frames),
        "files": [_file(asset, folder) for asset in files],
        "notes": dict(notes or {}),
        "stored_pages": sum(asset.role is AssetRole.PAGE for asset in files),
    }
    text = json.dumps(_clean(document), ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def build_frames(frames: Sequence[Frame]) -> bytes:
    """An animation's timing as its own small document (``…_frames.json``), in the site's shape."""
    listed = [{"delay": frame.delay_ms, "file": frame.file} for frame in frames]
    return json.dumps(_clean({"frames": listed}), ensure_ascii=False, sort_keys=True, indent=2).encode("utf-8") + b"\n"


def _upstream_part(work: Work, download_tag: str | None, detected_language: str | None) -> dict[str, Any]:
    return {
        "pixiv_id": _number(work.id),
        "title": work.title,
        "author": {"id": work.author.id, "name": work.author.name, "account": work.author.account},
        "tags": [{"name": tag.name, "translated_name": tag.translated_name} for tag in work.tags],
        "original_url": work.url,
        "create_date": None if work.created_at is None else work.created_at.isoformat(),
        "download_tag": download_tag,
        "type": work.type.value,
        # The upstream wrote one document a page; ours covers the work, so the number is known for single pages only.
        "page_number": 1 if work.page_count == 1 else None,
        "total_pages": work.page_count,
        "total_bookmarks": work.bookmarks,
        "bookmark_count": work.bookmarks,
        "total_view": work.views,
        "view_count": work.views,
        "detected_language": detected_language,
    }


def _own_part(work: Work, fetched_at: datetime, frames: Sequence[Frame]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": None if work.kind is None else work.kind.value,
        "caption": work.caption,
        "ai_type": work.ai.value,
        "x_restrict": _X_RESTRICT[work.rating],
        "age_rating": work.rating.value,
        "series": None if work.series is None else {"id": work.series.id, "title": work.series.title},
        "width": work.width,
        "height": work.height,
        "fetched_at": fetched_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    if work.type is WorkType.NOVEL:
        document["text_length"] = work.text_length
    if frames:
        document["frames"] = [{"file": frame.file, "delay_ms": frame.delay_ms} for frame in frames]
    return document


def _file(asset: Asset, folder: str) -> dict[str, Any]:
    return {
        "path": posixpath.relpath(asset.path, folder or "."),
        "role": asset.role.value,
        "number": asset.number,
        "key": asset.key,
        "bytes": asset.bytes,
        "sha256": asset.sha256,
        "mime": asset.mime,
        "width": asset.width,
        "height": asset.height,
        "quality": asset.quality.value,
        "duration_ms": asset.duration_ms,
        "source_url": None if asset.source_url is None else _public_url(asset.source_url),
    }


def _public_url(url: str) -> str:
    """The address without credentials, query and fragment: whatever a configured mirror adds there may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _INTEGER_DIGITS_MAX else text


def _clean(value: Any) -> Any:
    """Replace halves of surrogate pairs, which JSON from outside can carry and UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
