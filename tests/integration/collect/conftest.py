"""A scripted source, real files, and a clock that never waits."""

from __future__ import annotations

import asyncio
import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from PIL import Image

from pixivflow.collect.collector import Collector
from pixivflow.collect.memory import MemoryArchive, MemoryRun
from pixivflow.collect.outcome import CellOutcome
from pixivflow.collect.retry import RetryPolicy
from pixivflow.collect.settings import CollectSettings
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Author, Frame, IllustKind, Page, Tag, Work, WorkRef, WorkType
from pixivflow.library.store import Library
from pixivflow.sources.errors import NetworkFailed, NotFound, SourceError
from pixivflow.sources.ports import NovelText, Quarantined, SourcePage, UgoiraInfo


def picture(seed: int, kind: str = "PNG", size: tuple[int, int] = (24, 32)) -> bytes:
    """A small whole picture that differs for each seed."""
    out = io.BytesIO()
    colour = (seed * 37 % 256, seed * 91 % 256, seed * 13 % 256)
    image = Image.new("RGB", size, colour)
    image.putpixel((seed % size[0], 0), (255, 255, 255))
    image.save(out, kind)
    return out.getvalue()


def archive(frames: int = 3) -> bytes:
    """A frame archive as the site packs it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        for number in range(frames):
            packed.writestr(zipfile.ZipInfo(f"{number:06}.jpg"), picture(number, "JPEG"))
    return out.getvalue()


@dataclass
class Answer:
    """One answer of the media host. `breaks_at` cuts the body as a lost connection does."""

    body: bytes = b""
    error: SourceError | None = None
    content_type: str | None = "image/png"
    declares: int | None = -1
    breaks_at: int | None = None
    status: int = 200
    led_to: str | None = None


@dataclass
class Stream:
    answer: Answer
    url: str
    status: int = 200
    content_type: str | None = None
    content_length: int | None = None
    gate: asyncio.Event | None = None
    receiving: asyncio.Event = field(default_factory=asyncio.Event)

    async def chunks(self) -> AsyncIterator[bytes]:
        body = self.answer.body if self.answer.breaks_at is None else self.answer.body[: self.answer.breaks_at]
        for start in range(0, len(body), 64):
            yield body[start : start + 64]
            self.receiving.set()
            if self.gate is not None:
                await self.gate.wait()
        if self.answer.breaks_at is not None:
            raise NetworkFailed("media: the connection was lost")


@dataclass
class ScriptedSource:
    """A Source that answers from scripts. Answers of an address are used up in order; the last one repeats."""

    works: list[Work] = field(default_factory=list)
    page_size: int = 30
    quarantined: tuple[Quarantined, ...] = ()
    breaks_after_page: int | None = None
    page_error: SourceError = field(default_factory=lambda: NetworkFailed("search: no answer"))
    details: dict[WorkRef, Work | SourceError] = field(default_factory=dict)
    ugoiras: dict[WorkRef, UgoiraInfo | SourceError] = field(default_factory=dict)
    novels: dict[WorkRef, NovelText | SourceError] = field(default_factory=dict)
    files: dict[str, list[Answer]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    gate: asyncio.Event | None = None
    receiving: asyncio.Event = field(default_factory=asyncio.Event)

    async def pages(self, target: Target, *, cursor: str | None = None) -> AsyncIterator[SourcePage]:
        starts = range(0, max(len(self.works), 1), self.page_size)
        for number, start in enumerate(starts):
            self.asked["pages"] += 1
            if self.breaks_after_page is not None and number >= self.breaks_after_page:
                raise self.page_error
            last = start + self.page_size >= len(self.works) and self.breaks_after_page is None
            yield SourcePage(
                tuple(self.works[start : start + self.page_size]),
                None if last else str(start),
                self.quarantined if number == 0 else (),
            )
        if self.breaks_after_page is not None:
            raise self.page_error

    async def work(self, ref: WorkRef) -> Work:
        self.asked[f"work {ref}"] += 1
        found = self.details.get(ref) or next((work for work in self.works if work.ref == ref), None)
        return _or_raise(found, ref)

    async def ugoira(self, ref: WorkRef) -> UgoiraInfo:
        self.asked[f"ugoira {ref}"] += 1
        return _or_raise(self.ugoiras.get(ref), ref)

    async def novel(self, ref: WorkRef) -> NovelText:
        self.asked[f"novel {ref}"] += 1
        return _or_raise(self.novels.get(ref), ref)

    @asynccontextmanager
    async def media(self, url: str) -> AsyncIterator[Stream]:
        self.asked[url] += 1
        script = self.files.get(url)
        if not script:
            raise NotFound("media: HTTP 404", status=404)
        answer = script.pop(0) if len(script) > 1 else script[0]
        if answer.error is not None:
            raise answer.error
        declared = len(answer.body) if answer.declares == -1 else answer.declares
        yield Stream(
            answer, answer.led_to or url, answer.status, answer.content_type, declared, self.gate, self.receiving
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    def serve(self, url: str, *answers: Answer | bytes) -> None:
        self.files[url] = [Answer(answer) if isinstance(answer, bytes) else answer for answer in answers]

    @property
    def media_requests(self) -> int:
        return sum(count for what, count in self.asked.items() if what.startswith("https://"))


T = TypeVar("T")


def _or_raise(found: T | SourceError | None, ref: WorkRef) -> T:
    if found is None:
        raise NotFound(f"{ref} does not exist")
    if isinstance(found, SourceError):
        raise found
    return found


class QuickClock:
    """Time that passes only by sleeping, at once."""

    def __init__(self) -> None:
        self.time = 1_772_000_000.0
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return int(self.time * 1000)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


@dataclass
class World:
    """A source, a library, an archive, and what is made of them."""

    root: Path
    source: ScriptedSource = field(default_factory=ScriptedSource)
    archive: MemoryArchive = field(default_factory=MemoryArchive)
    clock: QuickClock = field(default_factory=QuickClock)
    settings: CollectSettings = field(default_factory=lambda: CollectSettings(retry=RetryPolicy(max_retries=3)))
    runs: int = 0

    def __post_init__(self) -> None:
        self.library = Library(self.root)

    def illust(self, number: int, pages: int = 1, **changes: object) -> Work:
        """Add a work of `pages` PNG files to the listing and the media host."""
        addresses = [
            f"https://i.pximg.net/img-original/img/2026/03/01/00/00/00/{number}_p{page}.png" for page in range(pages)
        ]
        for page, url in enumerate(addresses):
            self.source.serve(url, picture(number + page))
        work = Work(
            ref=WorkRef(WorkType.ILLUSTRATION, str(number)),
            title=f"Title {number}",
            author=Author("77", "Aoi"),
            kind=IllustKind.ILLUST,
            tags=(Tag("sky"),),
            created_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
            pages=tuple(Page(page, url) for page, url in enumerate(addresses)),
            page_count=pages,
            bookmarks=number,
        )
        work = replace(work, **changes)  # type: ignore[arg-type]
        self.source.works.append(work)
        return work

    def ugoira(self, number: int, body: bytes | None = None, delays: Sequence[int] = (100, 200, 300)) -> Work:
        """Add an animation."""
        ref = WorkRef(WorkType.ILLUSTRATION, str(number))
        url = f"https://i.pximg.net/img-zip-ugoira/img/2026/03/01/00/00/00/{number}_ugoira600x600.zip"
        larger = url.replace("600x600", "1920x1080")
        frames = tuple(Frame(f"{position:06}.jpg", delay) for position, delay in enumerate(delays))
        self.source.ugoiras[ref] = UgoiraInfo((larger, url), frames)
        self.source.serve(url, Answer(body or archive(len(delays)), content_type="application/zip"))
        work = Work(
            ref=ref, title=f"Moving {number}", author=Author("77", "Aoi"), kind=IllustKind.UGOIRA, bookmarks=number
        )
        self.source.works.append(work)
        return work

    def novel(self, number: int, text: NovelText) -> Work:
        """Add a novel."""
        ref = WorkRef(WorkType.NOVEL, str(number))
        self.source.novels[ref] = text
        work = Work(ref=ref, title=f"Story {number}", author=Author("77", "Aoi"), bookmarks=number)
        self.source.works.append(work)
        return work

    def collector(self) -> Collector:
        return Collector(self.source, self.library, self.archive, self.settings, self.clock)

    def run(self, **options: object) -> MemoryRun:
        self.runs += 1
        return MemoryRun(f"attempt-{self.runs}", **options)  # type: ignore[arg-type]

    async def collect(self, run: MemoryRun | None = None, **changes: object) -> CellOutcome:
        return await self.collector().collect(self.target(**changes), run or self.run())

    def target(self, **changes: object) -> Target:
        kind = self.source.works[0].type if self.source.works else WorkType.ILLUSTRATION
        base = Target(id="sky", type=kind, mode=Mode.SEARCH, tag="sky", limit=20, scan_limit=50)
        return replace(base, **changes)  # type: ignore[arg-type]

    def stored(self) -> dict[str, str]:
        """Every file of the library outside the incoming folder, with its SHA-256."""
        return {
            path.relative_to(self.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".incoming" not in path.parts
        }

    def media_files(self) -> dict[str, str]:
        return {path: digest for path, digest in self.stored().items() if not path.endswith(".json")}

    def unfinished(self) -> list[Path]:
        return [path for path in self.root.glob(".incoming/**/*") if path.is_file()]

    def check_records(self) -> None:
        """Every record names a file with exactly the recorded bytes, and nothing unfinished is left."""
        for assets in self.archive.files.values():
            for asset in assets.values():
                data = (self.root / asset.path).read_bytes()
                assert (len(data), hashlib.sha256(data).hexdigest()) == (asset.bytes, asset.sha256), asset.path
        assert self.unfinished() == []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "library")


@pytest.fixture
def make_picture() -> Callable[..., bytes]:
    return picture


@pytest.fixture
def make_archive() -> Callable[..., bytes]:
    return archive


@pytest.fixture
def answer() -> type[Answer]:
    return Answer
