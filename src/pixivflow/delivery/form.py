"""The multipart form of a delivery: its fields, its part headers and its exact length. Pure.

Part headers follow RFC 7578 as browsers send it: names are UTF-8 in plain quotes, with the quote and line breaks
percent-encoded, and no `filename*` (section 4.2 forbids it). A title can therefore never end a header or start one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pixivflow.delivery.ports import DeliveryItem
from pixivflow.domain.template import render, request_id_fault
from pixivflow.domain.work import Asset, AssetQuality, AssetRole

ArrayFormat = Literal["comma", "repeat", "json"]
KEY_FIELD = "idempotency_key"
ASSETS_FIELD = "media_assets"
FILE_NAME_BYTES = 200

_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\Z")
_UNSAFE_IN_NAME = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"\\/:*?<>|;]+')
_QUOTED = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}
_KINDS = {
    AssetRole.PAGE: "image",
    AssetRole.EMBEDDED: "image",
    AssetRole.ANIMATION: "animation",
    AssetRole.ARCHIVE: "archive",
    AssetRole.FRAMES: "metadata",
    AssetRole.METADATA: "metadata",
    AssetRole.TEXT: "novel",
    AssetRole.MARKDOWN: "novel",
    AssetRole.COVER: "cover",
}
_SOURCES = {AssetQuality.ORIGINAL: "pixiv", AssetQuality.REDUCED: "pixiv", AssetQuality.DERIVED: "generated"}


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file of the form: what stands before it, where it is, and how many bytes it must have."""

    head: bytes
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Form:
    """A form ready to be sent: `opening` (all text fields), the files with a line break after each, `closing`."""

    boundary: str
    opening: bytes
    files: tuple[FilePart, ...]
    closing: bytes

    @property
    def length(self) -> int:
        """The exact Content-Length."""
        return len(self.opening) + sum(len(part.head) + part.size + 2 for part in self.files) + len(self.closing)

    @property
    def content_type(self) -> str:
        """The value of the Content-Type header."""
        return f"multipart/form-data; boundary={self.boundary}"


def text_fields(
    item: DeliveryItem, fields: Mapping[str, Any], array_format: ArrayFormat, *, auto_key: bool
) -> list[tuple[str, str]]:
    """The text parts in order: configured fields (the target's own win), then the key and the list of assets.

    A configured field named `idempotency_key` or `media_assets` takes the place of the automatic one.
    """
    merged = {**fields, **item.extra_fields}
    parts: list[tuple[str, str]] = []
    for name, value in merged.items():
        parts.extend((name, text) for text in _texts(value, item.values, array_format))
    if auto_key and KEY_FIELD not in merged:
        parts.append((KEY_FIELD, item.key))
    if ASSETS_FIELD not in merged:
        parts.append((ASSETS_FIELD, json.dumps(media_assets(item), ensure_ascii=False, separators=(",", ":"))))
    return parts


def field_fault(item: DeliveryItem, fields: Mapping[str, Any]) -> str | None:
    """Why the form must not be sent at all (see `template.request_id_fault`), None when it may."""
    for name, value in {**fields, **item.extra_fields}.items():
        templates = [part for part in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(part, str)]
        fault = request_id_fault(name, templates, item.values, requested=item.requested)
        if fault is not None:
            return fault
    return None


def media_assets(item: DeliveryItem) -> list[dict[str, Any]]:
    """What each recorded file of the work is: sent or not, in the order in which they are sent first."""
    sent = [asset for _, asset in item.files]
    rest = [asset for asset in item.assets if asset not in sent]
    kind, ident = item.work.get("type"), item.work.get("id")
    return [
        {
            "asset_id": _asset_id(kind, ident, asset),
            "kind": _KINDS[asset.role],
            "role": asset.role.value,
            "number": asset.number,
            "filename": file_name(asset.path),
            "mime": mime_type(asset),
            "size": asset.bytes,
            "hash": f"sha256:{asset.sha256}",
            "width": asset.width,
            "height": asset.height,
            "duration_ms": asset.duration_ms,
            "quality": asset.quality.value,
            "source": _SOURCES[asset.quality],
            "source_url": asset.source_url,
            "sent": index < len(sent),
        }
        for index, asset in enumerate([*sent, *rest])
    ]


def build_form(
    fields: Sequence[tuple[str, str]],
    files: Sequence[tuple[Path, Asset]],
    *,
    boundary: str,
    file_field: str,
    preview_field: str,
) -> Form:
    """Lay out the form. Covers go to the preview field, every other file to the file field."""
    opening = b"".join(
        _head(boundary, f'form-data; name="{quoted(name)}"') + _bytes(text) + b"\r\n" for name, text in fields
    )
    parts = []
    for path, asset in files:
        field = preview_field if asset.role is AssetRole.COVER else file_field
        disposition = f'form-data; name="{quoted(field)}"; filename="{file_name(asset.path)}"'
        parts.append(FilePart(_head(boundary, disposition, mime_type(asset)), path, asset.bytes))
    return Form(boundary, opening, tuple(parts), f"--{boundary}--\r\n".encode())


def quoted(text: str) -> str:
    """A field name for a quoted header parameter: the quote and line breaks are percent-encoded, as browsers do."""
    return text.translate(_QUOTED)


def file_name(path: str) -> str:
    """The name a file is sent under: the last part of its path, safe in a header and on the receiver's disk."""
    name = _UNSAFE_IN_NAME.sub("_", path.rsplit("/", 1)[-1]).rstrip(" .")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix) > 16:
        stem, suffix = name, ""
    room = FILE_NAME_BYTES - len(suffix.encode()) - 1
    stem = stem.strip(" .").encode()[:room].decode("utf-8", "ignore").rstrip(" .") or "file"
    return f"{stem}.{suffix}" if suffix else stem


def mime_type(asset: Asset) -> str:
    """The recorded media type when it is a plain one, else "application/octet-stream"."""
    mime = asset.mime.strip().lower()
    return mime if _MIME.match(mime) else "application/octet-stream"


def _asset_id(kind: Any, ident: Any, asset: Asset) -> str:
    """The same for a file on every run, because it names the work and the file's place in it."""
    name = f"pixiv:{kind}:{ident}:{asset.role.value}:{asset.number}"
    return f"{name}:{asset.key}" if asset.key else name


def _texts(value: Any, values: Mapping[str, str], array_format: ArrayFormat) -> list[str]:
    if not isinstance(value, (list, tuple)):
        return [_scalar(value, values)]
    # A template that renders to nothing leaves the list; a receiver would read it as a nameless entry.
    rendered = [render(part, values) if isinstance(part, str) else part for part in value]
    kept = [part for part in rendered if part != ""]
    if array_format == "json":
        return [json.dumps(kept, ensure_ascii=False, separators=(",", ":"))]
    texts = [part if isinstance(part, str) else _scalar(part, values) for part in kept]
    return texts if array_format == "repeat" else [",".join(texts)]


def _scalar(value: Any, values: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return render(value, values)
    return json.dumps(value)  # numbers and booleans as JSON spells them


def _head(boundary: str, disposition: str, mime: str | None = None) -> bytes:
    kind = f"Content-Type: {mime}\r\n" if mime is not None else ""
    return _bytes(f"--{boundary}\r\nContent-Disposition: {disposition}\r\n{kind}\r\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a lone surrogate from a damaged record must not stop a delivery
