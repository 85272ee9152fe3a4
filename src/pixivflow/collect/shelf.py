"""The files of one work while it is fetched: what stands already, and putting new files into their places.

The order for every file is: claim the name, put the verified bytes there durably, record it. A crash in between leaves
a claimed name with a file nobody trusts, which the next run overwrites; it never leaves a record without a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pixivflow.collect.download import Check, Got, judge_file
from pixivflow.collect.names import FileNames
from pixivflow.collect.ports import Archive
from pixivflow.collect.temporary import held
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Work
from pixivflow.library.errors import LibraryCode, LibraryError
from pixivflow.library.store import Library, TempFile
from pixivflow.media.kind import Kind
from pixivflow.media.verdict import Ok

COLLISIONS_MAX = 100


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one file within its work."""

    role: AssetRole
    number: int = 0
    key: str = ""


@dataclass(slots=True)
class Shelf:
    """The place of one work in the library.

    Attributes:
        temp_name: gives a new name for an unfinished file of this attempt, by its extension.
    """

    work: Work
    archive: Archive
    library: Library
    names: FileNames
    attempt_id: str
    temp_name: Callable[[str], str]
    recorded: dict[Slot, Asset] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)

    async def standing(self, slot: Slot, kinds: frozenset[Kind] | None, check: Check | None = None) -> Asset | None:
        """The recorded file of a slot if it is still there and whole; a damaged or missing one is forgotten.

        `kinds` None compares the size only (texts have no structure to check).
        """
        asset = self.recorded.get(slot)
        if asset is None:
            return None
        whole = await self.library.exists(asset.path, asset.bytes)
        if whole and kinds is not None:
            path = self.library.locate(asset.path)
            whole = isinstance(await asyncio.to_thread(judge_file, path, kinds, check), Ok)
        if whole:
            return asset
        await self.forget(slot)
        return None

    async def forget(self, slot: Slot) -> None:
        """Drop the record of a slot, so that nothing relies on its file any more.

        A forgotten name is free for other works, so it must be claimed again before it is written.
        """
        asset = self.recorded.pop(slot, None)
        if asset is not None:
            self.claimed.discard(asset.path)
            await self.archive.forget(self.work.ref, [asset.path])

    async def renumber(self, slot: Slot) -> None:
        """Let a file that is known by its key have the number of `slot`."""
        for known, asset in list(self.recorded.items()):
            if known.role is slot.role and known.key == slot.key and known.number != slot.number:
                await self.forget(known)
                self.recorded[slot] = replace(asset, number=slot.number)
                await self.archive.record(self.work.ref, self.recorded[slot])
                return

    async def keep(self, slot: Slot, path: str, got: Got) -> Asset:
        """Put a downloaded file into its slot."""
        draft = Asset(
            role=slot.role,
            number=slot.number,
            path=path,
            bytes=got.temp.size,
            sha256=got.temp.sha256,
            mime=got.facts.kind.mime,
            width=got.facts.width,
            height=got.facts.height,
            quality=got.address.quality,
            source_url=got.address.url,
            key=slot.key,
        )
        return await self.put(got.temp, draft)

    async def write(self, slot: Slot, path: str, data: bytes, mime: str, *, quality: AssetQuality) -> Asset:
        """Put bytes into a slot."""
        async with await held(self.library.open_temp(self.attempt_id, self.temp_name("part"))) as temp:
            temp.write(data)
            draft = Asset(slot.role, slot.number, path, temp.size, temp.sha256, mime, quality=quality, key=slot.key)
            return await self.put(temp, draft)

    async def put(self, temp: TempFile, draft: Asset) -> Asset:
        """Give a finished temporary file its name and record it. The name may differ from the draft's when taken."""
        async with temp:
            asset = replace(draft, path=await self._claim(draft.path))
            # The claim says that whatever stands there is this work's own.
            await self.library.commit(temp, asset.path, overwrite=True)
        slot = Slot(asset.role, asset.number, asset.key)
        before = self.recorded.get(slot)
        await self.archive.record(self.work.ref, asset)
        self.recorded[slot] = asset
        if before is not None and before.path != asset.path:
            # A stand-in of another kind (a JPEG for a PNG) would stay beside the original for ever.
            await self.library.remove_work_files([before.path])
        return asset

    async def _claim(self, path: str) -> str:
        """A name of this work. Names planned beforehand are claimed already; an unforeseen one is claimed now."""
        stem, dot, extension = path.rpartition(".")
        for attempt in range(1, COLLISIONS_MAX + 1):
            tried = path if attempt == 1 else f"{stem}_{attempt}{dot}{extension}"
            if tried in self.claimed:
                return tried
            if not await self.archive.reserve(self.work.ref, [tried]):
                self.claimed.add(tried)
                return tried
        raise LibraryError(LibraryCode.EXISTS, f"no free file name for {self.work.ref}")


async def free_names(
    work: Work, archive: Archive, propose: Callable[[int], FileNames], paths: Callable[[FileNames], Sequence[str]]
) -> tuple[FileNames, set[str]]:
    """Choose names whose paths no other work owns and claim them, all in one commit.

    Raises LibraryError (`exists`) when every proposal is taken.
    """
    for collision in range(COLLISIONS_MAX):
        names = propose(collision)
        wanted = list(paths(names))
        if not await archive.reserve(work.ref, wanted):
            return names, set(wanted)
    raise LibraryError(LibraryCode.EXISTS, f"no free file names for {work.ref}")
