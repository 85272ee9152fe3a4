"""Bytes of the media hosts: made on first use, kept in a bounded cache."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final

from pixivflow.sandbox import pictures
from pixivflow.sandbox.media_paths import MediaSpec
from pixivflow.sandbox.world import World

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MediaFile:
    """One file as it is served."""

    body: bytes
    content_type: str
    etag: str
    last_modified: str


_COVER_SIZE: Final = (640, 900)
_AVATAR_SIZE: Final = (170, 170)
_UNDATED: Final = datetime(2024, 1, 1, tzinfo=UTC)


def _file(body: bytes, content_type: str, modified: datetime = _UNDATED) -> MediaFile:
    stamp = format_datetime(modified.astimezone(UTC), usegmt=True)
    return MediaFile(body, content_type, f'"{hashlib.sha256(body).hexdigest()[:24]}"', stamp)


class MediaStore:
    """Makes and keeps media files of one world.

    The cache forgets the file used longest ago when it grows over `max_bytes`; a file made again is the same file.
    """

    def __init__(self, world: World, *, seed: int, size: tuple[int, int], max_bytes: int) -> None:
        self._world = world
        self._seed = seed
        self._size = size
        self._max_bytes = max_bytes
        self._kept: OrderedDict[_Key, MediaFile] = OrderedDict()
        self._bytes = 0
        self._making: dict[_Key, asyncio.Task[MediaFile]] = {}

    def cached(self, path: str) -> MediaFile | None:
        """The file if it is at hand, without making it. None also for a path that does not exist."""
        override = self._world.overrides.get(path)
        if override is not None:
            return _file(*override)
        spec = self._world.media.find(path)
        key = self._key(path, spec) if spec else None
        if key is None or key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    async def get(self, path: str) -> MediaFile | None:
        """The file behind a path, None if there is none. Drawing happens in a thread, once for simultaneous callers."""
        found = self.cached(path)
        if found is not None:
            return found
        spec = self._world.media.find(path)
        if spec is None:
            return None
        key = self._key(path, spec)
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.create_task(asyncio.to_thread(self.make, spec))
            task.add_done_callback(lambda done: self._made(key, done))
        return await asyncio.shield(task)

    async def warm(self, paths: Iterable[str] | None = None) -> int:
        """Make the given files, by default every original and archive; returns their number."""
        wanted = list(paths) if paths is not None else self._world.media.paths("original", "zip", "cover", "uploaded")
        for path in wanted:
            await self.get(path)
        return len(wanted)

    def make(self, spec: MediaSpec) -> MediaFile:
        """Draw one file (slow; thread-safe because it only reads)."""
        work = self._world.novels.get(spec.owner) if spec.kind == "cover" else self._world.illusts.get(spec.owner)
        return _file(self._draw(spec), pictures.CONTENT_TYPES[spec.fmt], work.created if work else _UNDATED)

    def _key(self, path: str, spec: MediaSpec) -> _Key:
        return path, self._revision(spec)

    def _revision(self, spec: MediaSpec) -> int:
        work = self._world.illusts.get(spec.owner)
        return work.revision if work else 0

    def _name(self, spec: MediaSpec) -> str:
        return f"{self._seed}/{spec.name}/{self._revision(spec)}"

    def _draw(self, spec: MediaSpec) -> bytes:
        work = self._world.illusts.get(spec.owner)
        match spec.kind:
            case "zip" if work is not None:
                box = pictures.fit(self._size, spec.box)
                body = pictures.ugoira_zip(spec.owner, [frame.file for frame in work.frames], box)
            case "frame" if work is not None:
                body = pictures.frame_bytes(spec.owner, spec.page, len(work.frames), self._size, spec.fmt)
            case "placeholder":
                body = pictures.placeholder_bytes(spec.name, spec.fmt)
            case "square":
                body = pictures.square_bytes(self._name(spec), self._size, spec.box or self._size, spec.fmt)
            case "cover":
                body = pictures.picture_bytes(self._name(spec), spec.fmt, _COVER_SIZE, box=spec.box)
            case "avatar":
                body = pictures.picture_bytes(self._name(spec), spec.fmt, _AVATAR_SIZE)
            case _:
                body = pictures.picture_bytes(self._name(spec), spec.fmt, self._size, box=spec.box)
        return body

    def _made(self, key: _Key, task: asyncio.Task[MediaFile]) -> None:
        self._making.pop(key, None)
        if task.cancelled() or task.exception() is not None:
            return
        made = task.result()
        self._kept[key] = made
        self._bytes += len(made.body)
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped.body)
