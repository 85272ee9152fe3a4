"""The running account of one cell: how many places are left, what became of each pick, and why it may stop."""

from __future__ import annotations

from dataclasses import dataclass, field

from pixivflow.collect.outcome import FailedPick, Gap
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import WorkRef


@dataclass(slots=True)
class CellAccount:
    """Counts for one target of one attempt.

    A pick takes a place when it starts and gives it back when its work turns out not to be available. A *repair*, a
    work that failed in an earlier run, gives its place back as well when it fails again, and so does a work whose files
    are not on the media host: one damaged work at the head of a listing must not be all that a daily plan ever sees.
    """

    wanted: int
    funnel: Funnel
    ready: int = 0
    failed: list[FailedPick] = field(default_factory=list)
    stopped: Gap | None = None
    bytes: int = 0
    _taken: int = 0

    @property
    def has_place(self) -> bool:
        """Whether another candidate may be opened."""
        return self.stopped is None and self._taken < self.wanted

    def take(self) -> None:
        """A candidate is being opened."""
        self._taken += 1

    def give_back(self) -> None:
        """It came to nothing that counts."""
        self._taken -= 1

    def fail(self, ref: WorkRef, reason: Reason, message: str) -> None:
        """Note a pick that should have become ready."""
        self.failed.append(FailedPick(ref, reason, message))

    def stop(self, reason: Reason, message: str) -> None:
        """Open nothing more; the first cause is kept."""
        if self.stopped is None:
            self.stopped = Gap(reason, message)
