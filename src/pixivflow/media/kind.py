"""Which kind of file some bytes are, told by the bytes alone: names and ``Content-Type`` are only claims."""

from __future__ import annotations

import re
from enum import StrEnum

SNIFF_BYTES = 512
"""How much of a file's head `sniff` wants to see; fewer bytes only make it less sure."""


class Kind(StrEnum):
    """The kinds this program meets as downloads, wanted (pictures, archives) and unwanted (error pages)."""

    JPEG = "jpeg"
    PNG = "png"
    GIF = "gif"
    WEBP = "webp"
    ZIP = "zip"
    HTML = "html"
    JSON = "json"
    XML = "xml"

    @property
    def mime(self) -> str:
        """The registered media type."""
        return _MIME[self]

    @property
    def extension(self) -> str:
        """The usual file name extension, without a dot."""
        return "jpg" if self is Kind.JPEG else self.value


_MIME = {
    Kind.JPEG: "image/jpeg",
    Kind.PNG: "image/png",
    Kind.GIF: "image/gif",
    Kind.WEBP: "image/webp",
    Kind.ZIP: "application/zip",
    Kind.HTML: "text/html",
    Kind.JSON: "application/json",
    Kind.XML: "application/xml",
}

IMAGE_KINDS = frozenset({Kind.JPEG, Kind.PNG, Kind.GIF, Kind.WEBP})

_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|script|!--)[\s>/-]?", re.IGNORECASE)
_JSON = re.compile(rb"""\{\s*["}]|\[\s*[\[\]{"0-9tfn-]""")
_BOM = b"\xef\xbb\xbf"


def sniff(head: bytes) -> Kind | None:
    """The kind that `head`, the first bytes of a file, announces; ``None`` when it is none of ours."""
    if head.startswith(b"\xff\xd8\xff"):
        return Kind.JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return Kind.PNG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return Kind.GIF
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Kind.WEBP
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Kind.ZIP
    return _sniff_text(head)


def _sniff_text(head: bytes) -> Kind | None:
    text = head.removeprefix(_BOM).lstrip()
    if _HTML.match(text):
        return Kind.HTML
    if text.startswith(b"<?xml"):
        return Kind.HTML if b"<html" in text.lower() else Kind.XML
    if _JSON.match(text):
        return Kind.JSON
    return None
