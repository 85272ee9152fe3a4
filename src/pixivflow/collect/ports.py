"""What collecting needs around it: the archive of known works, and the attempt it works for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, Work, WorkRef


class AttemptLost(Exception):
    """The attempt may no longer write: its job ended, was cancelled, or another attempt has taken over."""


class KnownState(StrEnum):
    """What the ledger knows about a work."""

    INCOMPLETE = "incomplete"  # begun or damaged; must be fetched again
    REDUCED = "reduced"  # a stand-in is stored; the original is tried again on every run
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class KnownWork:
    """What the ledger knows about a work.

    Attributes:
        page_count: how many pages it had when it was stored.
        delivered: routes that confirmed it, or have it in their queue.
    """

    state: KnownState
    page_count: int
    delivered: frozenset[str]


class Archive(Protocol):
    """The ledger's memory of works and files."""

    async def known(self, refs: Sequence[WorkRef]) -> Mapping[WorkRef, KnownWork]:
        """What is known of each work; works never seen are absent."""
        ...

    async def assets(self, ref: WorkRef) -> tuple[Asset, ...]:
        """The recorded files of a work (complete ones only)."""
        ...

    async def reserve(self, ref: WorkRef, paths: Sequence[str]) -> Mapping[str, WorkRef]:
        """Claim paths for a work before its files are written, in one commit.

        Returns the paths that belong to another work (nothing is claimed for those); the caller picks other names.
        A path claimed for this work may be overwritten by it, also after a crash.
        """
        ...

    async def record(self, ref: WorkRef, asset: Asset) -> None:
        """Record one verified file under its final name (it replaces an earlier one of that role, number and key)."""
        ...

    async def forget(self, ref: WorkRef, paths: Sequence[str]) -> None:
        """Drop records of files that turned out to be damaged or gone."""
        ...

    async def remember(self, work: Work, state: KnownState) -> None:
        """Store the work's facts and how complete it is."""
        ...

    async def author_folder(self, author_id: str) -> str | None:
        """The folder name bound to an author when their first work was stored (B84: renames must not move it)."""
        ...

    async def bind_author_folder(self, author_id: str, name: str) -> str:
        """Bind a folder name to an author unless one is bound; returns the bound one."""
        ...


class Run(Protocol):
    """The attempt a target is collected for. Every awaitable raises AttemptLost once the attempt may not write."""

    @property
    def attempt_id(self) -> str:
        """The fence; also names the folder for temporary files."""
        ...

    def progress(self, stage: str, message: str = "", *, done: int = 0, total: int | None = None) -> None:
        """Say what is going on (stages: searching, downloading, converting). Cheap; also the proof that work moves."""
        ...

    async def locked(self) -> tuple[WorkRef, ...]:
        """Works an earlier attempt has picked and not finished. They are kept, never swapped."""
        ...

    async def settled(self) -> int:
        """How many picks of this cell already reached artifact_ready or beyond."""
        ...

    async def lock(self, work: Work) -> bool:
        """Bind a work to the cell. False when the cell or a sibling already has it."""
        ...

    async def release(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """Give a bound work back because it turned out not to be available; the next candidate may be tried."""
        ...

    async def ready(self, work: Work, assets: Sequence[Asset]) -> None:
        """All files of the work are verified and recorded. Queues its deliveries in the same commit."""
        ...

    async def failed(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """The work should be there and is not."""
        ...

    async def report(self, funnel: Funnel) -> None:
        """Store the funnel as it stands."""
        ...
