"""What became of each target: values for people and programs, and the exit status they add up to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pixivflow.cli.exits import Exit
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import JobRecord, JobState
from pixivflow.domain.projection import work_url
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, WorkRef

NOTHING_WANTED = frozenset({Reason.NO_CANDIDATE, Reason.DUPLICATE_EXHAUSTED, Reason.FILTER_EXHAUSTED})
"""Endings in which nothing is missing: all known, all filtered, or nothing there."""
LATER = frozenset({Reason.RATE_LIMITED, Reason.NETWORK_ERROR, Reason.REMOTE_HTTP_ERROR, Reason.NOT_PUBLISHED_YET})

NEXT: Mapping[Reason, str] = {
    Reason.AUTH_FAILED: "log in anew and put the refresh token into PIXIV_REFRESH_TOKEN",
    Reason.RATE_LIMITED: "the site asked for a pause; run it again later",
    Reason.NETWORK_ERROR: "check the network and run it again; what is complete is not fetched twice",
    Reason.REMOTE_HTTP_ERROR: "the site has trouble; run it again later",
    Reason.NOT_PUBLISHED_YET: "the ranking appears about noon of the next day in Japan; run it again then",
    Reason.STORAGE_FAILED: "check the disk and the library's folder, then run it again",
    Reason.WORK_UNAVAILABLE: "the site does not give the work to this account: it is deleted, private or restricted",
    Reason.FILTER_EXHAUSTED: "loosen the target's filters, or raise candidateScanLimit",
    Reason.DELIVERY_FAILED: "see `pixivflow outbox list --status dead`; `pixivflow outbox retry` sends it again",
    Reason.DELIVERY_REJECTED: "the receiver refuses the work; its answer is in `pixivflow outbox list`",
}
THERE = "already there"
AGAIN = "run it again; what is complete is not fetched twice"


@dataclass(frozen=True, slots=True)
class WorkLine:
    """One work of a target. `failure` says why it is not there; None when it is."""

    ref: WorkRef
    title: str
    state: str
    files: tuple[Asset, ...] = ()
    reason: Reason | None = None
    failure: str | None = None

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return sum(asset.bytes for asset in self.files)


@dataclass(frozen=True, slots=True)
class Account:
    """What one target came to.

    Attributes:
        asked: what the user wrote.
        funnel: where the candidates went, as stored.
        gap: why not everything was looked at; empty when it was.
    """

    asked: str
    job: JobRecord | None
    works: tuple[WorkLine, ...]
    funnel: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    message: str = ""
    gap: str = ""

    @property
    def ready(self) -> int:
        """Works that are there."""
        return sum(work.failure is None for work in self.works)

    @property
    def exit(self) -> Exit:
        """OK only when everything that should be there is complete."""
        failed = any(work.failure is not None for work in self.works)
        if self.ready and not failed and not self.gap:
            return Exit.OK
        if self.ready:
            return Exit.INCOMPLETE
        if self.reason in NOTHING_WANTED and not failed:
            return Exit.INCOMPLETE if self.gap else Exit.OK
        if self.reason is Reason.AUTH_FAILED:
            return Exit.AUTH
        # A work that was chosen and is damaged is missing, whatever the cause; a source that gave no work is away.
        return Exit.UNAVAILABLE if self.reason in LATER and not failed else Exit.INCOMPLETE

    @property
    def next(self) -> list[str]:
        """What to do about what is missing."""
        reasons = [work.reason for work in self.works if work.failure is not None]
        if self.reason is not None:
            reasons.append(self.reason)
        if not reasons and self.gap:
            return [AGAIN]
        told = [NEXT.get(reason, AGAIN) for reason in reasons if reason is not None]
        if self.exit is Exit.OK and self.reason is not Reason.FILTER_EXHAUSTED:
            return []
        return list(dict.fromkeys(told))


def of_job(asked: str, job: JobRecord, files: Mapping[WorkRef, tuple[Asset, ...]]) -> Account:
    """Read an ended job of one cell. `files` are those of its picks, or of the one work that was there before."""
    cell = job.cells[0] if job.cells else None
    works = tuple(
        WorkLine(
            pick.ref,
            pick.title,
            pick.state.value,
            files.get(pick.ref, ()),
            pick.reason,
            (pick.message or (pick.reason.value if pick.reason else "it did not end")) if _bad(pick.state) else None,
        )
        for pick in (cell.picks if cell else ())
    )
    reason = _reason(job.reason or (cell.reason if cell else None))
    if reason is Reason.DUPLICATE_EXHAUSTED and not works:
        works = tuple(WorkLine(ref, "", THERE, found) for ref, found in files.items())
    message = job.message or (cell.message if cell else None) or ""
    reached = cell is not None and cell.state in (CellState.STORED, CellState.SUBMITTED)
    # A target that reached its end says something only when it could not look at everything.
    gap = message if reached and not any(work.failure for work in works) else ""
    if job.state in (JobState.CANCELLED, JobState.EXPIRED):
        gap = message or f"the job was {job.state.value}"
    return Account(asked, job, works, cell.report if cell else {}, reason, message, gap)


def total(accounts: Sequence[Account]) -> Exit:
    """The exit status of the whole: a cause of its own only when it is the only thing to tell."""
    statuses = {account.exit for account in accounts}
    bad = statuses - {Exit.OK}
    if not bad:
        return Exit.OK
    done = any(account.ready for account in accounts)
    return next(iter(bad)) if len(bad) == 1 and not done else Exit.INCOMPLETE


def document(account: Account) -> dict[str, Any]:
    """The JSON of one target."""
    return {
        "asked": account.asked,
        "job_id": account.job.id if account.job else None,
        "status": account.job.state.value if account.job else None,
        "complete": account.exit is Exit.OK,
        "reason": account.reason.value if account.reason else None,
        "message": account.message,
        "works": [work_document(work) for work in account.works],
        "funnel": dict(account.funnel),
        "next": account.next,
    }


def work_document(work: WorkLine) -> dict[str, Any]:
    """The JSON of one work."""
    return {
        "work_type": work.ref.type.value,
        "work_id": work.ref.id,
        "title": work.title,
        "url": work_url(work.ref),
        "state": work.state,
        "complete": work.failure is None,
        "reason": work.reason.value if work.reason else None,
        "message": work.failure,
        "bytes": work.bytes,
        "files": [
            {
                "path": asset.path,
                "role": asset.role.value,
                "bytes": asset.bytes,
                "sha256": asset.sha256,
                "mime": asset.mime,
                "quality": asset.quality.value,
            }
            for asset in work.files
        ],
    }


def _bad(state: CellState) -> bool:
    return state not in (CellState.STORED, CellState.SUBMITTED, CellState.DUPLICATE)


def _reason(text: str | None) -> Reason | None:
    if text is None:
        return None
    try:
        return Reason(text)
    except ValueError:
        return Reason.INTERNAL_ERROR
