"""An animation: the site's frame archive, the timing beside it, and playable files made from both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from pixivflow.collect.download import Address, Downloader, Got, Wish
from pixivflow.collect.names import FileNames
from pixivflow.collect.parts import Lack, Parts
from pixivflow.collect.shelf import Shelf, Slot
from pixivflow.collect.temporary import held
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Frame, Work
from pixivflow.library.sidecar import build_frames
from pixivflow.media.conversion import Converted, ConvertOptions, ConvertRequest, Format, run_conversion
from pixivflow.media.kind import Kind
from pixivflow.media.ugoira import check_archive, check_frames
from pixivflow.media.verdict import Broken, BrokenReason
from pixivflow.sources.ports import Source, UgoiraInfo

SMALLEST_EDGE = 160

Convert = Callable[[ConvertRequest], Awaitable[Converted | Broken]]
"""Runs a conversion where it cannot hurt."""


def converter(slots: asyncio.Semaphore, *, timeout_s: float) -> Convert:
    """Conversions in child processes, as many at a time as `slots` admits: each keeps a core busy."""

    async def convert(request: ConvertRequest) -> Converted | Broken:
        async with slots:
            return await run_conversion(request, timeout_s=timeout_s)

    return convert


def animation_paths(names: FileNames, formats: Sequence[str]) -> list[str]:
    """The paths of an animation's files."""
    return [names.ugoira("zip"), names.frames(), *(names.ugoira(target) for target in formats)]


@dataclass(frozen=True, slots=True)
class Animator:
    """Fetches animations and makes files from them.

    Attributes:
        formats: what is made.
        say: told what is being made, for the progress shown to people.
    """

    source: Source
    convert: Convert
    formats: Sequence[Format]
    say: Callable[[str], None]

    async def fetch(self, work: Work, shelf: Shelf, downloader: Downloader) -> Parts:
        """Archive, timing and playable files. A failed conversion keeps archive and timing for the next run."""
        info = await self.source.ugoira(work.ref)
        parts = Parts(frames=info.frames)
        broken = check_frames(info.frames)
        if broken is not None:
            parts.lacks.append(Lack("frame list", Reason.METADATA_FAILED, broken.detail))
            return parts
        archive = await self._archive(info, shelf, downloader, parts)
        if archive is None:
            return parts
        parts.assets.append(archive)
        parts.assets.append(await self._timing(info, shelf))
        for target in self.formats:
            made = await self._playable(target, archive, info.frames, shelf)
            if isinstance(made, Asset):
                parts.assets.append(made)
            else:
                parts.lacks.append(Lack(f"{target} file", _conversion_reason(made), made.detail))
        return parts

    async def _archive(self, info: UgoiraInfo, shelf: Shelf, downloader: Downloader, parts: Parts) -> Asset | None:
        slot = Slot(AssetRole.ARCHIVE)
        check = partial(check_archive, frames=info.frames)
        stored = await shelf.standing(slot, frozenset({Kind.ZIP}), check)
        if stored is not None and stored.source_url in info.archive_urls:
            return stored
        addresses = [Address(url) for url in info.archive_urls]
        got = await downloader.fetch(Wish(addresses, frozenset({Kind.ZIP}), check=check))
        if isinstance(got, Got):
            await self._forget_made(shelf)
            return await shelf.keep(slot, shelf.names.ugoira("zip"), got)
        parts.miss("frame archive", got)
        return None

    async def _timing(self, info: UgoiraInfo, shelf: Shelf) -> Asset:
        """The timing as the site gave it, so that any program can play the archive."""
        slot, data = Slot(AssetRole.FRAMES), build_frames(info.frames)
        stored = await shelf.standing(slot, None)
        if stored is not None and stored.sha256 == sha256(data).hexdigest():
            return stored
        await self._forget_made(shelf)
        path, quality = shelf.names.frames(), AssetQuality.ORIGINAL
        return await shelf.write(slot, path, data, "application/json", quality=quality)

    async def _forget_made(self, shelf: Shelf) -> None:
        """What was made from earlier frames or an earlier timing does not show these."""
        for target in self.formats:
            await shelf.forget(Slot(AssetRole.ANIMATION, key=target))

    async def _playable(
        self, target: Format, archive: Asset, frames: tuple[Frame, ...], shelf: Shelf
    ) -> Asset | Broken:
        slot = Slot(AssetRole.ANIMATION, key=target)
        stored = await shelf.standing(slot, frozenset({Kind(target)}))
        if stored is not None and stored.duration_ms is not None:
            return stored
        self.say(f"converting an animation to {target}")
        name = shelf.temp_name(target)
        out_path = await shelf.library.incoming(shelf.attempt_id) / name
        request = ConvertRequest(
            archive=shelf.library.locate(archive.path),
            frames=frames,
            out_path=out_path,
            options=ConvertOptions(format=target),
        )
        made = await self._smaller_until_it_fits(request)
        if isinstance(made, Broken):
            return made
        temp = await held(shelf.library.adopt(shelf.attempt_id, name))
        draft = Asset(
            role=slot.role,
            number=slot.number,
            path=shelf.names.ugoira(target),
            bytes=temp.size,
            sha256=temp.sha256,
            mime=Kind(target).mime,
            width=made.width,
            height=made.height,
            quality=AssetQuality.DERIVED,
            duration_ms=made.total_ms,
            key=target,
        )
        return await shelf.put(temp, draft)

    async def _smaller_until_it_fits(self, request: ConvertRequest) -> Converted | Broken:
        """A result over the size limit is made again at half the edge: a smaller animation beats none."""
        made = await self.convert(request)
        edge = request.options.max_edge
        while isinstance(made, Broken) and made.reason is BrokenReason.OUTPUT_TOO_LARGE and edge is not None:
            edge //= 2
            if edge < SMALLEST_EDGE:
                break
            made = await self.convert(replace(request, options=replace(request.options, max_edge=edge)))
        return made


def _conversion_reason(broken: Broken) -> Reason:
    """Frames that do not decode are the file's fault; the disk, time, memory and crashes are ours."""
    if broken.reason is BrokenReason.NOT_WRITABLE:
        return Reason.STORAGE_FAILED
    ours = (BrokenReason.TIMEOUT, BrokenReason.OUT_OF_MEMORY, BrokenReason.CRASHED, BrokenReason.OUTPUT_MISMATCH)
    return Reason.INTERNAL_ERROR if broken.reason in ours else Reason.DOWNLOAD_FAILED
