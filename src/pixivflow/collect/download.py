"""One file of the site: from its addresses to a verified temporary file. Final names are given elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pixivflow.collect.retry import ACTIONS, Action, Fault, Miss, RetryPolicy, miss_of, next_step
from pixivflow.collect.temporary import held
from pixivflow.domain.work import AssetQuality
from pixivflow.engine.clock import Clock
from pixivflow.library.store import Library, TempFile
from pixivflow.media.integrity import check_file
from pixivflow.media.kind import Kind
from pixivflow.media.placeholder import placeholder_kind
from pixivflow.media.verdict import Broken, Ok, Verdict
from pixivflow.sources.errors import SourceError
from pixivflow.sources.ports import MediaStream, Source

Check = Callable[[Path], Verdict]
"""A further check of a whole file; runs in a thread."""
Moved = Callable[[int], None]
"""Told how many bytes arrived; the proof that work moves."""

PLACEHOLDER_EDGE = 360
"""Edge in pixels of the site's restriction pictures (`limit_*_360.png`)."""


@dataclass(frozen=True, slots=True)
class Address:
    """One place a file may be fetched from, and what would be had there."""

    url: str
    quality: AssetQuality = AssetQuality.ORIGINAL


@dataclass(frozen=True, slots=True)
class Wish:
    """One file wanted.

    Attributes:
        addresses: best first. The next one is tried only when the site says that there is no file at the one before.
        kinds: what the bytes may be.
        check: judges the whole file beyond its structure.
        size: width and height the record promises, for telling a restriction's picture from the work's own.
    """

    addresses: Sequence[Address]
    kinds: frozenset[Kind]
    check: Check | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Got:
    """A verified file under its temporary name. Whoever takes it commits or discards it."""

    temp: TempFile
    facts: Ok
    address: Address


@dataclass(frozen=True, slots=True)
class Downloader:
    """Fetches files for one attempt."""

    source: Source
    library: Library
    clock: Clock
    policy: RetryPolicy
    max_bytes: int
    attempt_id: str
    temp_name: Callable[[str], str]
    moved: Moved

    async def fetch(self, wish: Wish) -> Got | Miss:
        """The first address that gives a verified file, or the miss that ended the search.

        Raises AuthFailed, and LibraryError when the disk fails; no temporary file is left behind then or at a cancel.
        """
        last = Miss(Fault.GONE, "the work names no address for it")
        for address in wish.addresses:
            outcome = await self._persist(address, wish)
            if isinstance(outcome, Got) or ACTIONS[outcome.fault] is not Action.NEXT:
                return outcome
            last = outcome
        return last

    async def _persist(self, address: Address, wish: Wish) -> Got | Miss:
        retries = 0
        while True:
            outcome = await self._once(address, wish)
            if isinstance(outcome, Got):
                return outcome
            step = next_step(outcome, retries, self.policy)
            if step.action is not Action.RETRY:
                return outcome
            await self.clock.sleep(step.wait_s)
            retries += 1

    async def _once(self, address: Address, wish: Wish) -> Got | Miss:
        if placeholder_kind(address.url) is not None:
            return Miss(Fault.PLACEHOLDER, "a placeholder stands where the file should be")
        received: TempFile | Miss | None = None
        try:
            async with self.source.media(address.url) as stream:
                declared = stream.content_type, stream.content_length
                received = self._declared(stream) or await self._receive(stream)
            if isinstance(received, Miss):
                return received
            # Judged after the connection was given back: looking through an archive takes its time.
            return await self._judged(received, declared, address, wish)
        except SourceError as error:
            await _drop(received)
            return miss_of(error)
        except BaseException:
            await _drop(received)
            raise

    def _declared(self, stream: MediaStream) -> Miss | None:
        """What the answer's head alone rules out."""
        if placeholder_kind(stream.url) is not None:
            return Miss(Fault.PLACEHOLDER, "the site leads to a placeholder instead of the file")
        if stream.status != 200:
            return Miss(Fault.SERVER, f"the media host answered {stream.status}")
        if stream.content_length is not None and stream.content_length > self.max_bytes:
            return Miss(Fault.TOO_LARGE, f"{stream.content_length} bytes announced, allowed are {self.max_bytes}")
        return None

    async def _receive(self, stream: MediaStream) -> TempFile | Miss:
        temp = await held(self.library.open_temp(self.attempt_id, self.temp_name("part")))
        try:
            async for chunk in stream.chunks():
                temp.write(chunk)
                self.moved(len(chunk))
                if temp.size > self.max_bytes:
                    await temp.discard()
                    return Miss(Fault.TOO_LARGE, f"more than the allowed {self.max_bytes} bytes came")
            await temp.flush()
        except BaseException:
            await temp.discard()
            raise
        return temp

    async def _judged(
        self, temp: TempFile, declared: tuple[str | None, int | None], address: Address, wish: Wish
    ) -> Got | Miss:
        verdict = await asyncio.to_thread(
            judge_file, temp.path, wish.kinds, wish.check, declared_type=declared[0], expected_bytes=declared[1]
        )
        if isinstance(verdict, Ok) and not _looks_like_placeholder(verdict, wish):
            return Got(temp, verdict, address)
        await temp.discard()
        if isinstance(verdict, Broken):
            return Miss(Fault.BROKEN, f"{verdict.reason.value}: {verdict.detail}")
        return Miss(Fault.PLACEHOLDER, "a picture of a placeholder's size came instead of the work's")


def judge_file(
    path: Path,
    kinds: frozenset[Kind],
    check: Check | None,
    *,
    declared_type: str | None = None,
    expected_bytes: int | None = None,
) -> Verdict:
    """Whether a file is whole, by its structure and by the further check where there is one. Reads the disk."""
    verdict = check_file(path, expected_kinds=kinds, declared_type=declared_type, expected_bytes=expected_bytes)
    return check(path) if isinstance(verdict, Ok) and check is not None else verdict


def _looks_like_placeholder(facts: Ok, wish: Wish) -> bool:
    edge = (PLACEHOLDER_EDGE, PLACEHOLDER_EDGE)
    return facts.kind is Kind.PNG and wish.size not in (None, edge) and (facts.width, facts.height) == edge


async def _drop(received: TempFile | Miss | None) -> None:
    if isinstance(received, TempFile):
        await received.discard()
