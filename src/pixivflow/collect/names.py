"""Where the files of one work stand in the library: one folder and one beginning for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from pixivflow.collect.ports import Archive
from pixivflow.domain.target import Target
from pixivflow.domain.work import Work, WorkType
from pixivflow.library import naming
from pixivflow.library.layout import Layout, author_segment, plan_folder


@dataclass(frozen=True, slots=True)
class Organisation:
    """How one kind of work is organised: the layout, and a folder in front of it."""

    layout: Layout = Layout.FLAT
    base: str = ""


@dataclass(frozen=True, slots=True)
class FileNames:
    """The paths of one work's files, relative to the library's root."""

    work_id: str
    folder: str
    stem: str

    def page(self, number: int, extension: str) -> str:
        """A page; `number` counts from 0."""
        return self._here(naming.page_name(self.stem, number, extension))

    def ugoira(self, extension: str) -> str:
        """An animation's archive or a file made from it."""
        return self._here(naming.ugoira_name(self.stem, extension))

    def frames(self) -> str:
        """An animation's timing."""
        return self._here(naming.frames_name(self.stem))

    def text(self, extension: str) -> str:
        """A novel."""
        return self._here(naming.text_name(self.stem, extension))

    def embedded(self, key: str, extension: str) -> str:
        """A picture inside a novel."""
        if key != key.casefold():
            # Many file systems do not tell "a" from "A", and two pictures must not share a name there.
            key = f"{key}_{sha256(key.encode()).hexdigest()[:8]}"
        return self._here(naming.embedded_name(self.work_id, key, extension))

    def sidecar(self) -> str:
        """The description of the work."""
        return self._here(naming.sidecar_name(self.stem))

    def _here(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


def names_of(work: Work, folder: str, collision: int) -> FileNames:
    """The names in a folder; each `collision` above 0 gives a stem of its own."""
    stem = naming.work_stem(work.id, work.title)
    return FileNames(work.id, folder, f"{stem}_{collision + 1}" if collision else stem)


async def folder_of(
    work: Work,
    target: Target,
    archive: Archive,
    *,
    illustrations: Organisation,
    novels: Organisation,
    downloaded_at: datetime,
) -> str:
    """The folder of a work. An author's folder keeps the name it got with the author's first work."""
    organisation = illustrations if work.type is WorkType.ILLUSTRATION else novels
    bound: str | None = None
    if "author" in organisation.layout.value.lower() and work.author.id not in ("", "0"):
        bound = await archive.author_folder(work.author.id)
        if bound is None:
            bound = await archive.bind_author_folder(work.author.id, author_segment(work.author))
    return plan_folder(
        work,
        organisation.layout,
        downloaded_at=downloaded_at,
        base=organisation.base,
        tag=target.tag or None,
        known_author_folder=lambda _: bound,
    )
