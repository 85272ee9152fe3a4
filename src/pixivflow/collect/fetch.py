"""One work, from its record to verified and recorded files with their description beside them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime

from pixivflow.collect.animation import Animator, animation_paths, converter
from pixivflow.collect.download import Downloader
from pixivflow.collect.names import FileNames, folder_of, names_of
from pixivflow.collect.novel import Novelist, novel_paths
from pixivflow.collect.pages import fetch_pages, page_paths
from pixivflow.collect.parts import Gone, Lacking, Outcome, Parts, Whole, outcome_of
from pixivflow.collect.ports import Archive, KnownState
from pixivflow.collect.select import reject_of
from pixivflow.collect.settings import CollectSettings
from pixivflow.collect.shelf import Shelf, Slot, free_names
from pixivflow.domain.target import Target
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Work, WorkType
from pixivflow.engine.clock import Clock
from pixivflow.library.sidecar import build_sidecar
from pixivflow.library.store import Library
from pixivflow.sources.errors import AuthFailed, RateLimited, SourceError, WorkUnavailable
from pixivflow.sources.ports import Source

Say = Callable[[str, str], None]
"""Told the stage and a line for people."""
Moved = Callable[[int], None]
"""Told how many bytes arrived."""


class Fetcher:
    """Fetches works for one attempt; works may be fetched side by side."""

    def __init__(
        self,
        *,
        source: Source,
        library: Library,
        archive: Archive,
        settings: CollectSettings,
        clock: Clock,
        conversions: asyncio.Semaphore,
        attempt_id: str,
        say: Say,
        moved: Moved,
    ) -> None:
        self._source = source
        self._library = library
        self._archive = archive
        self._settings = settings
        self._clock = clock
        self._attempt_id = attempt_id
        self._temp_name = _temp_names()
        self._downloader = Downloader(
            source=source,
            library=library,
            clock=clock,
            policy=settings.retry,
            max_bytes=settings.max_file_bytes,
            attempt_id=attempt_id,
            temp_name=self._temp_name,
            moved=moved,
        )
        convert = converter(conversions, timeout_s=settings.conversion_timeout_s)
        self._animator = Animator(source, convert, settings.ugoira_formats, lambda line: say("converting", line))
        self._novelist = Novelist(source, settings.max_novel_chars, settings.max_novel_images)

    async def fetch(self, work: Work, target: Target) -> tuple[Work, Outcome]:
        """Fetch what is missing, check what is there, describe it, and remember how whole the work is.

        The work comes back as it was fetched, which is newer than the given record when that was out of date.

        Raises AuthFailed and RateLimited (trouble of the account), LibraryError (trouble of this machine) and what the
        archive raises; every other trouble is an outcome. Nothing unverified is ever recorded.
        """
        outcome = await self._attempt(work, target)
        if isinstance(outcome, Gone) and not outcome.confirmed:
            work, outcome = await self._confirm(work, target, outcome)
        if not isinstance(outcome, Gone):
            state = KnownState.COMPLETE if isinstance(outcome, Whole) else outcome.state
            await self._archive.remember(work, state)
        return work, outcome

    async def _attempt(self, work: Work, target: Target) -> Outcome:
        shelf = await self._open(work, target)
        try:
            parts = await self._parts(work, target, shelf)
        except (AuthFailed, RateLimited):
            raise
        except WorkUnavailable as error:
            return _closed(shelf, error)
        except SourceError as error:
            return Lacking(KnownState.INCOMPLETE, error.reason, str(error))
        if parts.assets:
            parts.assets.append(await self._describe(work, target, shelf, parts))
        return outcome_of(parts)

    async def _confirm(self, work: Work, target: Target, gone: Gone) -> tuple[Work, Outcome]:
        """Ask the site about a work whose files are not there: it may be deleted, changed since it was listed, or open.

        Only the site's own word about the work may end in "not available"; else a broken media host would empty every
        listing without anybody noticing.
        """
        try:
            now = await self._source.work(work.ref)
        except (AuthFailed, RateLimited):
            raise
        except WorkUnavailable as error:
            return work, Gone(reject_of(error), str(error))
        except SourceError as error:
            return work, Lacking(KnownState.INCOMPLETE, error.reason, f"{gone.message}; {error}")
        if now.pages != work.pages:
            again = await self._attempt(now, target)
            if not isinstance(again, Gone) or again.confirmed:
                return now, again
        message = f"{gone.message}; the site still lists the work"
        return now, Lacking(KnownState.INCOMPLETE, gone.reason_if_not, message, stands_aside=True)

    async def _parts(self, work: Work, target: Target, shelf: Shelf) -> Parts:
        if work.type is WorkType.NOVEL:
            return await self._novelist.fetch(work, shelf, self._downloader, tag=target.tag)
        if work.is_ugoira:
            return await self._animator.fetch(work, shelf, self._downloader)
        return await fetch_pages(work, shelf, self._downloader, max_pages=self._settings.max_pages)

    async def _open(self, work: Work, target: Target) -> Shelf:
        await self._forget_earlier_version(work)
        recorded = {Slot(a.role, a.number, a.key): a for a in await self._archive.assets(work.ref)}
        description = recorded.get(Slot(AssetRole.METADATA))
        if description is not None:
            # A work stays where it is, whatever became of its title and whichever day it is.
            names, claimed = _names_beside(work, description), {description.path}
        else:
            folder = await folder_of(
                work,
                target,
                self._archive,
                illustrations=self._settings.illustrations,
                novels=self._settings.novels,
                downloaded_at=self._now(),
            )
            names, claimed = await free_names(
                work, self._archive, lambda n: names_of(work, folder, n), lambda names: self._paths(work, names)
            )
        return Shelf(work, self._archive, self._library, names, self._attempt_id, self._temp_name, recorded, claimed)

    async def _forget_earlier_version(self, work: Work) -> None:
        """An author who added or took pages may have changed the others too, so none of them is relied on.

        The records go before the state does: a crash in between is seen as the same change again.
        """
        known = (await self._archive.known([work.ref])).get(work.ref)
        if known is None or known.state is not KnownState.COMPLETE or known.page_count == work.page_count:
            return
        assets = await self._archive.assets(work.ref)
        await self._archive.forget(work.ref, [asset.path for asset in assets if asset.role is AssetRole.PAGE])
        await self._archive.remember(work, KnownState.INCOMPLETE)

    def _paths(self, work: Work, names: FileNames) -> list[str]:
        """Every path the work will need, as far as it can be told beforehand."""
        if work.type is WorkType.NOVEL:
            files = novel_paths(names)
        elif work.is_ugoira:
            files = animation_paths(names, self._settings.ugoira_formats)
        else:
            files = page_paths(work, names)
        return [*files, names.sidecar()]

    async def _describe(self, work: Work, target: Target, shelf: Shelf, parts: Parts) -> Asset:
        path = shelf.names.sidecar()
        data = build_sidecar(
            work,
            parts.assets,
            path=path,
            fetched_at=self._now(),
            download_tag=target.tag or None,
            frames=parts.frames,
        )
        if parts.notes:
            document = {**json.loads(data), **parts.notes}
            data = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2).encode() + b"\n"
        slot = Slot(AssetRole.METADATA)
        return await shelf.write(slot, path, data, "application/json", quality=AssetQuality.DERIVED)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _closed(shelf: Shelf, error: WorkUnavailable) -> Outcome:
    """A verdict of the site on the work. Files of an earlier run stay, and so does the knowledge of the gap."""
    if any(slot.role is not AssetRole.METADATA for slot in shelf.recorded):
        return Lacking(KnownState.INCOMPLETE, error.reason, str(error), stands_aside=True)
    return Gone(reject_of(error), str(error))


def _names_beside(work: Work, description: Asset) -> FileNames:
    folder, _, name = description.path.rpartition("/")
    return FileNames(work.id, folder, name.removesuffix(".json"))


def _temp_names() -> Callable[[str], str]:
    """Names for unfinished files, each used once in an attempt."""
    numbers = itertools.count(1)
    return lambda extension: f"{next(numbers):06}.{extension}"
