"""A novel: its text, the pictures it shows, and the two files made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pixivflow.collect.download import Address, Downloader, Got, Wish
from pixivflow.collect.names import FileNames
from pixivflow.collect.parts import Lack, Parts
from pixivflow.collect.retry import VERDICTS, Miss
from pixivflow.collect.shelf import Shelf, Slot
from pixivflow.collect.together import together
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Work
from pixivflow.media.kind import IMAGE_KINDS
from pixivflow.media.novel import (
    EmptyNovel,
    ImageRef,
    NovelHeader,
    UploadedImageRef,
    image_refs,
    render_markdown,
    render_txt,
)
from pixivflow.sources.errors import NotFound
from pixivflow.sources.ports import NovelImage, NovelText, Source

IMAGE_FOLDER = "images"


def novel_paths(names: FileNames) -> list[str]:
    """The paths of a novel's own files; its pictures are named when their kinds are known."""
    return [names.text("txt"), names.text("md")]


def header_of(work: Work, download_tag: str) -> NovelHeader:
    """What the head of the text file says."""
    return NovelHeader(
        title=work.title,
        author=work.author.name,
        author_id=work.author.id,
        url=work.url,
        tags=tuple(tag.name for tag in work.tags),
        download_tag=download_tag,
        created=work.created_at.isoformat() if work.created_at is not None else "",
    )


def image_for(ref: ImageRef, images: Mapping[str, NovelImage]) -> NovelImage | None:
    """The source's word on a picture of the text."""
    kind = "uploadedimage" if isinstance(ref, UploadedImageRef) else "pixivimage"
    found = (images.get(f"{kind}:{key}") for key in ref.keys)
    return next((image for image in found if image is not None), None)


@dataclass(frozen=True, slots=True)
class Novelist:
    """Fetches novels."""

    source: Source
    max_chars: int
    max_images: int

    async def fetch(self, work: Work, shelf: Shelf, downloader: Downloader, *, tag: str) -> Parts:
        """Text, pictures and Markdown. Raises WorkUnavailable for a novel without text.

        A picture that the site says it does not have is noted; one that should be there and did not come makes the
        novel incomplete, and its text is kept.
        """
        novel = await self.source.novel(work.ref)
        parts = Parts()
        if len(novel.text) > self.max_chars:
            told = f"{len(novel.text)} characters, allowed are {self.max_chars}"
            parts.lacks.append(Lack("text", Reason.DOWNLOAD_FAILED, told))
            return parts
        text = render_txt(header_of(work, tag), novel.text)
        if isinstance(text, EmptyNovel):
            raise NotFound(f"{work.ref}: {text.detail}")
        parts.assets.append(await _write(shelf, AssetRole.TEXT, "txt", text.text, "text/plain; charset=utf-8"))
        pictures = await self._pictures(novel, shelf, downloader, parts)
        if pictures:
            markdown = render_markdown(novel.text, pictures)
            if not isinstance(markdown, EmptyNovel):
                mime = "text/markdown; charset=utf-8"
                parts.assets.append(await _write(shelf, AssetRole.MARKDOWN, "md", markdown.text, mime))
        cover_url = novel.cover_url or work.cover_url
        if cover_url is not None:
            parts.notes["cover_url"] = cover_url
        return parts

    async def _pictures(
        self, novel: NovelText, shelf: Shelf, downloader: Downloader, parts: Parts
    ) -> dict[ImageRef, str | None]:
        """Fetch each picture once, however often the text shows it. The paths are those the Markdown refers to."""
        refs = image_refs(novel.text)
        if len(refs) > self.max_images:
            told = f"{len(refs)} pictures, allowed are {self.max_images}"
            parts.lacks.append(Lack("pictures", Reason.DOWNLOAD_FAILED, told))
            refs = refs[: self.max_images]
        outcomes = await together(
            _picture(number, ref, image_for(ref, novel.images), shelf, downloader) for number, ref in enumerate(refs)
        )
        paths: dict[ImageRef, str | None] = {}
        notes: list[dict[str, str]] = []
        for ref, outcome in zip(refs, outcomes, strict=True):
            if isinstance(outcome, Asset):
                parts.assets.append(outcome)
                paths[ref] = f"{IMAGE_FOLDER}/{outcome.path.rpartition('/')[2]}"
                notes.append({"ref": str(ref), "status": "downloaded", "path": outcome.path})
            elif isinstance(outcome, str) or outcome.fault in VERDICTS:
                detail = outcome if isinstance(outcome, str) else outcome.detail
                notes.append({"ref": str(ref), "status": "unavailable", "detail": detail})
            else:
                parts.miss(f"picture {ref}", outcome)
                notes.append({"ref": str(ref), "status": "failed", "detail": outcome.detail})
        if notes:
            parts.notes["novel_images"] = notes
        return paths


async def _picture(
    number: int, ref: ImageRef, image: NovelImage | None, shelf: Shelf, downloader: Downloader
) -> Asset | Miss | str:
    """The stored picture, the miss, or why the site does not give it."""
    if image is None:
        return "the site does not name this picture"
    if image.problem is not None or not image.urls:
        return image.problem or "the site gives no address"
    slot = Slot(AssetRole.EMBEDDED, number, str(ref))
    await shelf.renumber(slot)
    stored = await shelf.standing(slot, IMAGE_KINDS)
    if stored is not None and stored.source_url in image.urls:
        return stored
    got = await downloader.fetch(Wish(_addresses(image.urls), IMAGE_KINDS))
    if isinstance(got, Got):
        return await shelf.keep(slot, shelf.names.embedded(str(ref), got.facts.kind.extension), got)
    return got


def _addresses(urls: Sequence[str]) -> list[Address]:
    return [Address(url, AssetQuality.REDUCED if number else AssetQuality.ORIGINAL) for number, url in enumerate(urls)]


async def _write(shelf: Shelf, role: AssetRole, extension: str, text: str, mime: str) -> Asset:
    path = shelf.names.text(extension)
    return await shelf.write(Slot(role), path, text.encode(), mime, quality=AssetQuality.DERIVED)
