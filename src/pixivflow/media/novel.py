"""Novel texts: the site's markers, and the files made from a text. Pure.

Markers (source: the novel web view): ``[newpage]``, ``[chapter:T]``, ``[pixivimage:ID]``, ``[pixivimage:ID-PAGE]`` with
pages from 1, ``[uploadedimage:KEY]``, ``[jump:N]``, ``[[jumpuri:T > URL]]``, ``[[rb:BASE > RUBY]]``. Anything that does
not match one of them exactly, unknown names, unclosed brackets, markers inside markers, is text and stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Text:
    """Everything between markers. `raw` of every token is what stood in the source; joined they give it back."""

    raw: str


@dataclass(frozen=True, slots=True)
class NewPage:
    raw: str


@dataclass(frozen=True, slots=True)
class Chapter:
    raw: str
    title: str


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump to page `page`, from 1."""

    raw: str
    page: int


@dataclass(frozen=True, slots=True)
class JumpUri:
    raw: str
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Ruby:
    raw: str
    base: str
    ruby: str


@dataclass(frozen=True, slots=True, order=True)
class PixivImageRef:
    """A page of another work of the site. `page` counts from 1; without a page the marker means the first one."""

    work_id: str
    page: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which the web view's ``illusts`` map may hold it, the likelier first."""
        exact = f"{self.work_id}-{self.page}"
        return (self.work_id, exact) if self.page == 1 else (exact,)

    def __str__(self) -> str:
        return f"pixivimage:{self.work_id}-{self.page}"


@dataclass(frozen=True, slots=True, order=True)
class UploadedImageRef:
    """A picture uploaded with the novel, by its key in the web view's ``images`` map."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which the web view's ``images`` map holds it."""
        return (self.key,)

    def __str__(self) -> str:
        return f"uploadedimage:{self.key}"


ImageRef: TypeAlias = PixivImageRef | UploadedImageRef


@dataclass(frozen=True, slots=True)
class Image:
    raw: str
    ref: ImageRef


Token: TypeAlias = Text | NewPage | Chapter | Jump | JumpUri | Ruby | Image

# Bodies exclude brackets and line ends, so a match can neither nest nor run away, and the search stays linear.
_MARKER = re.compile(
    r"""
      (?P<newpage>\[newpage\])
    | \[chapter:(?P<chapter>[^\[\]\r\n]{1,500})\]
    | \[pixivimage:(?P<work>[0-9]{1,19})(?:-(?P<page>[0-9]{1,4}))?\]
    | \[uploadedimage:(?P<key>[0-9A-Za-z_-]{1,64})\]
    | \[jump:(?P<jump>[0-9]{1,5})\]
    | \[\[jumpuri:(?P<title>[^\[\]\r\n>]{1,500})>(?P<url>[^\[\]\r\n>]{1,2000})\]\]
    | \[\[rb:(?P<base>[^\[\]\r\n>]{1,500})>(?P<ruby>[^\[\]\r\n>]{1,500})\]\]
    """,
    re.VERBOSE | re.ASCII,
)


def tokenise(text: str) -> tuple[Token, ...]:
    """Split `text` into markers and the text between them, losing nothing."""
    tokens: list[Token] = []
    position = 0
    for found in _MARKER.finditer(text):
        token = _token(found)
        if token is None:
            continue
        if found.start() > position:
            tokens.append(Text(text[position : found.start()]))
        tokens.append(token)
        position = found.end()
    if position < len(text):
        tokens.append(Text(text[position:]))
    return tuple(tokens)


def _token(found: re.Match[str]) -> Token | None:
    raw, group = found[0], found.groupdict()
    token: Token | None
    match found.lastgroup:
        case "newpage":
            token = NewPage(raw)
        case "chapter":
            token = Chapter(raw, group["chapter"].strip())
        case "work" | "page":
            page = int(group["page"] or 1)
            token = Image(raw, PixivImageRef(group["work"], page)) if page else None
        case "key":
            token = Image(raw, UploadedImageRef(group["key"]))
        case "jump":
            token = Jump(raw, int(group["jump"]))
        case "url":
            token = JumpUri(raw, group["title"].strip(), group["url"].strip())
        case _:
            token = Ruby(raw, group["base"].strip(), group["ruby"].strip())
    return token


def image_refs(text: str) -> tuple[ImageRef, ...]:
    """The pictures a text shows, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(token.ref for token in tokenise(text) if isinstance(token, Image)))


@dataclass(frozen=True, slots=True)
class Rendered:
    """The content of a file. Line ends are line feeds; it always encodes as UTF-8."""

    text: str


@dataclass(frozen=True, slots=True)
class EmptyNovel:
    """There is nothing to read; no file may be made of it."""

    detail: str


@dataclass(frozen=True, slots=True)
class NovelHeader:
    """What the head of a text file says. Empty values leave their line out; `language` is a name or a code."""

    title: str
    author: str
    author_id: str
    url: str
    tags: tuple[str, ...] = ()
    download_tag: str = ""
    created: str = ""
    language: str = ""


_RULE = "-" * 40
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\x00"
_LINE_ENDS = re.compile(r"\r\n?|[\u0085\u2028\u2029]")
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f]+")


def emptiness(text: str | None) -> EmptyNovel | None:
    """Say why `text` is nothing to read, or None. Page breaks and jumps alone are nothing; a picture is something."""
    if text is None:
        return EmptyNovel("the source gave no text")
    if not text:
        return EmptyNovel("the text has no characters")
    for token in tokenise(text):
        if isinstance(token, Text):
            if token.raw.translate(dict.fromkeys(map(ord, _INVISIBLE))).strip():
                return None
        elif not isinstance(token, NewPage | Jump):
            return None
    return EmptyNovel("the text is white space and page breaks only")


def render_txt(header: NovelHeader, text: str | None) -> Rendered | EmptyNovel:
    """A text file: a head of labelled lines, a rule, and the text with its markers as written."""
    empty = emptiness(text)
    if empty is not None or text is None:
        return empty or EmptyNovel("the source gave no text")
    lines = (
        ("Title", header.title),
        ("Author", header.author),
        ("Author ID", header.author_id),
        ("Tags", ", ".join(_one_line(tag) for tag in header.tags)),
        ("Download tag", header.download_tag),
        ("Original URL", header.url),
        ("Created", header.created),
        ("Language", header.language),
    )
    # A line break inside a value could forge another line of the head.
    head = "".join(f"{label}: {shown}\n" for label, value in lines if (shown := _one_line(value)))
    return Rendered(f"{_plain(head)}{_RULE}\n\n{_ended(_plain(text))}")


def render_markdown(text: str | None, images: Mapping[ImageRef, str | None]) -> Rendered | EmptyNovel:
    """The text with every known image marker replaced by a reference to its file.

    Args:
        text: the novel.
        images: relative paths with forward slashes; a missing or None entry leaves its marker visible.
    """
    empty = emptiness(text)
    if empty is not None or text is None:
        return empty or EmptyNovel("the source gave no text")
    return Rendered(_ended(_plain("".join(_markdown(token, images) for token in tokenise(text)))))


def _markdown(token: Token, images: Mapping[ImageRef, str | None]) -> str:
    if not isinstance(token, Image):
        return token.raw
    path = images.get(token.ref)
    # Percent-encoding, because a space or a parenthesis would end the reference.
    return token.raw if path is None else f"![{token.ref}]({quote(_plain(path), safe='/')})"


def _one_line(value: str) -> str:
    return _BREAKS.sub(" ", value).strip()


def _plain(text: str) -> str:
    """Uniform line ends; NULs dropped and halves of surrogate pairs replaced, because no text file can hold them."""
    text = _LINE_ENDS.sub("\n", text).replace("\x00", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
