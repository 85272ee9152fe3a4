"""What collecting one target came to: values, and the sentences that tell people about them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pixivflow.domain.filters import DUPLICATES, UNAVAILABLE
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import OUTAGES, Reason
from pixivflow.domain.work import Work, WorkRef


class FailedPick(NamedTuple):
    """A work that should be there and is not."""

    ref: WorkRef
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Why fewer candidates were looked at than there may be."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What collecting one target came to.

    Attributes:
        ready: works whose files are all verified and stored, by this call.
        failed: works that should be there and are not.
        reason: why nothing is ready; None when something is, now or from an earlier attempt.
        message: a sentence for people; empty when all went as asked.
        incomplete_listing: set when the search broke off or was stopped, also when works were found before that.
    """

    ready: int
    failed: tuple[FailedPick, ...]
    funnel: Funnel
    reason: Reason | None = None
    message: str = ""
    incomplete_listing: Gap | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What collecting a target would pick now. Nothing was locked or written.

    Attributes:
        works: in the order they would be opened, at most the target's limit.
    """

    works: tuple[Work, ...]
    funnel: Funnel
    reason: Reason | None = None
    message: str = ""
    incomplete_listing: Gap | None = None


def conclude(
    *, ready: int, settled: int, failed: Sequence[FailedPick], funnel: Funnel, gap: Gap | None, wanted: int
) -> CellOutcome:
    """Sum a cell up. An outage always speaks before "no candidate"; a work's own verdict never hides one."""
    reason, message = None, ""
    if ready + settled == 0 and wanted > 0:
        reason, message = _why_nothing(failed, funnel, gap)
    elif failed or gap is not None:
        message = _partly(ready, failed, gap)
    return CellOutcome(ready, tuple(failed), funnel, reason, message, gap)


def conclude_plan(works: Sequence[Work], funnel: Funnel, gap: Gap | None) -> Plan:
    """Sum a dry run up."""
    if works:
        return Plan(tuple(works), funnel, None, "" if gap is None else _told(gap), gap)
    reason, message = _why_nothing((), funnel, gap)
    return Plan((), funnel, reason, message, gap)


def _why_nothing(failed: Sequence[FailedPick], funnel: Funnel, gap: Gap | None) -> tuple[Reason, str]:
    if failed:
        first = next((pick for pick in failed if pick.reason in OUTAGES), failed[0])
        others = f" {len(failed) - 1} more failed." if len(failed) > 1 else ""
        again = " It is tried again on the next run." if first.reason is not Reason.AUTH_FAILED else ""
        return first.reason, f"{first.ref} could not be fetched: {_sentence(first.message)}{others}{again}"
    if gap is not None:
        return gap.reason, _told(gap)
    if funnel.fetched == 0 and funnel.quarantined:
        told = f"The source sent {funnel.quarantined} records and none could be read; its format may have changed."
        return Reason.METADATA_FAILED, told
    if funnel.fetched == 0:
        return Reason.NO_CANDIDATE, "The source lists no works for this target. Check its words and dates."
    return _why_rejected(funnel)


def _why_rejected(funnel: Funnel) -> tuple[Reason, str]:
    codes = set(funnel.rejected)
    told = ", ".join(f"{count} {code}" for code, count in funnel.rejected.most_common())
    found = f"{funnel.fetched} works were found and none was taken ({told})."
    if codes and codes <= DUPLICATES:
        return Reason.DUPLICATE_EXHAUSTED, f"{found} All are known already; new works are taken on the next run."
    if codes and codes <= UNAVAILABLE:
        return Reason.WORK_UNAVAILABLE, f"{found} The site does not give them to this account."
    return Reason.FILTER_EXHAUSTED, f"{found} Loosen the target's filters, or search further with candidateScanLimit."


def _partly(ready: int, failed: Sequence[FailedPick], gap: Gap | None) -> str:
    parts = [f"{ready} works are ready."]
    if failed:
        parts.append(f"{len(failed)} failed, first {failed[0].ref}: {_sentence(failed[0].message)}")
    if gap is not None:
        parts.append(_told(gap))
    return " ".join(parts)


def _told(gap: Gap) -> str:
    return f"The search could not be finished ({gap.reason.value}): {_sentence(gap.message)}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
