"""Removing the files of `cache` targets once every route has the work.

Files go first and the record follows, so that a crash in between leaves a record that says "still there": the scan at
start-up finds it and removes nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

import structlog

from pixivflow.domain.work import WorkRef

_log = structlog.get_logger(__name__)


class CacheRecords(Protocol):
    """What the ledger knows about files that may go."""

    async def disposable(self, ref: WorkRef) -> Sequence[str]:
        """The recorded paths of a work that may be removed now, empty when it must stay.

        It must stay while any pick of it, of any job and target, is open or has an unconfirmed route, and for good once
        any target stored it persistently.
        """
        ...

    async def removed(self, ref: WorkRef, paths: Sequence[str]) -> None:
        """Record that files are gone. The work stays known, so that it is not collected again."""
        ...

    async def waiting(self, limit: int) -> Sequence[WorkRef]:
        """Works with files that `disposable` would give, oldest first."""
        ...


class CacheFiles(Protocol):
    """The library, as far as cleaning needs it."""

    async def remove_work_files(self, paths: Iterable[str]) -> int:
        """Remove files, and folders that are empty then; how many files there were."""
        ...


class CacheCleaner:
    """Removes what is no longer needed. Every call may be repeated."""

    def __init__(self, files: CacheFiles, records: CacheRecords) -> None:
        self._files = files
        self._records = records
        self._one_at_a_time = asyncio.Lock()

    async def clean(self, ref: WorkRef, job_id: str | None = None) -> int:
        """Remove the files of one work if it may go; how many there were.

        A disk or ledger that fails is logged and leaves the rest to the next scan: cleaning must never turn a finished
        delivery into a fault.
        """
        try:
            async with self._one_at_a_time:
                paths = tuple(await self._records.disposable(ref))
                if not paths:
                    return 0
                found = await self._files.remove_work_files(paths)
                await self._records.removed(ref, paths)
        except Exception as error:  # noqa: BLE001 - see above
            _log.warning("cache.clean_failed", work=str(ref), job_id=job_id, error=type(error).__name__)
            return 0
        _log.info("cache.cleaned", work=str(ref), job_id=job_id, files=found)
        return found

    async def sweep(self, limit: int = 100) -> int:
        """For start-up and now and then: clean what an earlier run left behind; how many works were looked at."""
        try:
            refs = tuple(await self._records.waiting(limit))
        except Exception as error:  # noqa: BLE001 - the next sweep comes
            _log.warning("cache.scan_failed", error=type(error).__name__)
            return 0
        for ref in refs:
            await self.clean(ref)
        return len(refs)
