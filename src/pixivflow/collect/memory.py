"""An archive and an attempt that live in memory only: for a dry run, a one-off download without a ledger, and tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pixivflow.collect.ports import AttemptLost, KnownState, KnownWork
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, Work, WorkRef


class MemoryArchive:
    """An Archive that forgets everything with the process."""

    def __init__(self) -> None:
        self.works: dict[WorkRef, Work] = {}
        self.states: dict[WorkRef, KnownState] = {}
        self.delivered: dict[WorkRef, set[str]] = defaultdict(set)
        self.files: dict[WorkRef, dict[tuple[str, int, str], Asset]] = defaultdict(dict)
        self.owners: dict[str, WorkRef] = {}
        self.folders: dict[str, str] = {}

    async def known(self, refs: Sequence[WorkRef]) -> Mapping[WorkRef, KnownWork]:
        """What was remembered in this object."""
        return {
            ref: KnownWork(self.states[ref], self.works[ref].page_count, frozenset(self.delivered.get(ref, ())))
            for ref in refs
            if ref in self.states
        }

    async def assets(self, ref: WorkRef) -> tuple[Asset, ...]:
        """The recorded files, in the order of their first record."""
        return tuple(self.files.get(ref, {}).values())

    async def reserve(self, ref: WorkRef, paths: Sequence[str]) -> Mapping[str, WorkRef]:
        """Claim all paths, or none when one is another work's. Case is not told apart, as on many file systems."""
        taken = {path: self.owners[path.casefold()] for path in paths if self.owners.get(path.casefold(), ref) != ref}
        if not taken:
            self.owners.update((path.casefold(), ref) for path in paths)
        return taken

    async def record(self, ref: WorkRef, asset: Asset) -> None:
        """Keep in this object."""
        self.owners.setdefault(asset.path.casefold(), ref)
        self.files[ref][(asset.role.value, asset.number, asset.key)] = asset

    async def forget(self, ref: WorkRef, paths: Sequence[str]) -> None:
        """Drop the records of these paths and set their names free."""
        gone = set(paths)
        kept = {key: asset for key, asset in self.files.get(ref, {}).items() if asset.path not in gone}
        self.files[ref] = kept
        for path in gone:
            if self.owners.get(path.casefold()) == ref:
                del self.owners[path.casefold()]

    async def remember(self, work: Work, state: KnownState) -> None:
        """Keep in this object."""
        self.works[work.ref] = work
        self.states[work.ref] = state

    async def author_folder(self, author_id: str) -> str | None:
        """What was bound in this object."""
        return self.folders.get(author_id)

    async def bind_author_folder(self, author_id: str, name: str) -> str:
        """Bind unless bound."""
        return self.folders.setdefault(author_id, name)


@dataclass(frozen=True, slots=True)
class MemoryPick:
    """A work bound to the run. `state` is one of selected, ready, failed."""

    work: Work | None
    state: str = "selected"
    reason: Reason | None = None
    message: str = ""
    assets: tuple[Asset, ...] = ()


class MemoryRun:
    """A Run without a ledger. Set `lost` and every later call raises AttemptLost, as after a cancel."""

    def __init__(self, attempt_id: str = "memory-1", *, locked: Sequence[WorkRef] = (), settled: int = 0) -> None:
        self._attempt_id = attempt_id
        self.lost = False
        self.picks: dict[WorkRef, MemoryPick] = {ref: MemoryPick(None) for ref in locked}
        self.released: list[tuple[WorkRef, Reason, str]] = []
        self.stages: list[tuple[str, str, int, int | None]] = []
        self.funnel: Funnel | None = None
        self._settled = settled

    @property
    def attempt_id(self) -> str:
        """As given."""
        return self._attempt_id

    def progress(self, stage: str, message: str = "", *, done: int = 0, total: int | None = None) -> None:
        """Keep the last thousand."""
        self.stages.append((stage, message, done, total))
        del self.stages[:-1000]

    async def locked(self) -> tuple[WorkRef, ...]:
        """Picks that are neither ready nor failed."""
        self._check()
        return tuple(ref for ref, pick in self.picks.items() if pick.state == "selected")

    async def settled(self) -> int:
        """As given, plus what became ready here."""
        self._check()
        return self._settled + sum(pick.state == "ready" for pick in self.picks.values())

    async def lock(self, work: Work) -> bool:
        """Bind unless bound."""
        self._check()
        if work.ref in self.picks:
            return False
        self.picks[work.ref] = MemoryPick(work)
        return True

    async def release(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """Unbind."""
        self._check()
        self.picks.pop(ref, None)
        self.released.append((ref, reason, message))

    async def ready(self, work: Work, assets: Sequence[Asset]) -> None:
        """Keep the result."""
        self._check()
        self.picks[work.ref] = MemoryPick(work, "ready", assets=tuple(assets))

    async def failed(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """Keep the failure."""
        self._check()
        pick = self.picks.get(ref, MemoryPick(None))
        self.picks[ref] = replace(pick, state="failed", reason=reason, message=message)

    async def report(self, funnel: Funnel) -> None:
        """Keep a copy as it stands."""
        self._check()
        self.funnel = Funnel.from_json(funnel.as_json())

    def _check(self) -> None:
        if self.lost:
            raise AttemptLost(self._attempt_id)
