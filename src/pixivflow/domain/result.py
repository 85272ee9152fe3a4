"""What a finished job found (Workflow Protocol v1, section 5.2, and our additions).

Pure, and only from what was frozen with the job: the same record gives the same result for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from pixivflow.domain.cell import CellState
from pixivflow.domain.filters import protocol_reason
from pixivflow.domain.job import CellRecord, JobRecord, PickRecord
from pixivflow.domain.reason import code_of
from pixivflow.domain.target import MAX_LIMIT
from pixivflow.domain.task import PLATFORM
from pixivflow.domain.work import WorkRef, WorkType

MAX_CANDIDATES: Final = MAX_LIMIT
"""Candidates named in the result of one job."""

REACHED: Final = frozenset({CellState.SUBMITTED, CellState.STORED})
_LEFT_BEHIND: Final = frozenset({CellState.FAILED})
_UNNAMED: Final = "other"
_KNOWN_TYPES: Final = frozenset(WorkType)
_FROZEN: Final = ("title", "tags", "assets", "metadata")

ReasonNames = Callable[[str], str]


def project_result(record: JobRecord, reason_names: ReasonNames = protocol_reason) -> dict[str, Any]:
    """The result of a job that succeeded.

    `incomplete` and `omitted` are additions to the protocol: a success of one work never hides the failure of another,
    and a list that was cut says so.
    """
    cells = sorted(record.cells, key=lambda cell: cell.ordinal)
    found = [pick for pick in _picks(cells) if pick.state in REACHED]
    shown = [_candidate(pick) for pick in found[:MAX_CANDIDATES]]
    result: dict[str, Any] = {"candidates": shown, "scanned": scanned(cells, len(found))}
    if len(found) > len(shown):
        result["omitted"] = len(found) - len(shown)
    filtered = _filtered(cells, reason_names)
    if filtered:
        result["filtered"] = filtered
    incomplete = [_lack(pick) for pick in _picks(cells) if pick.state in _LEFT_BEHIND]
    if incomplete:
        result["incomplete"] = incomplete
    return result


def scanned(cells: Iterable[CellRecord], otherwise: int) -> int:
    """Works read from the source before any filter; the fallback stands in for cells without a report."""
    counts = [cell.report["fetched"] for cell in cells if is_count(cell.report.get("fetched"))]
    return sum(counts) if counts else otherwise


def is_count(value: object) -> bool:
    """Whether a stored value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def work_url(ref: WorkRef) -> str:
    """The page of a work on the site."""
    ident = quote(ref.id, safe="")
    if ref.type is WorkType.NOVEL:
        return f"https://www.pixiv.net/novel/show.php?id={ident}"
    return f"https://www.pixiv.net/artworks/{ident}"


def identity(ref: WorkRef) -> dict[str, Any]:
    """The part of a candidate that names its work."""
    return {
        "candidate_id": ref.id,
        "platform": PLATFORM,
        "work_id": ref.id,
        "work_type": ref.type.value if ref.type in _KNOWN_TYPES else "unknown",
        "url": work_url(ref),
    }


def _candidate(pick: PickRecord) -> dict[str, Any]:
    candidate = identity(pick.ref)
    if pick.title:
        candidate["title"] = pick.title
    described = _mapping(pick.described)
    candidate.update({name: described[name] for name in _FROZEN if name in described})
    return candidate


def _lack(pick: PickRecord) -> dict[str, Any]:
    told: dict[str, Any] = {"work_id": pick.ref.id, "reason": code_of(pick.reason).value}
    if pick.message:
        told["message"] = pick.message
    return told


def _picks(cells: Iterable[CellRecord]) -> Iterator[PickRecord]:
    for cell in cells:
        yield from sorted(cell.picks, key=lambda pick: pick.ordinal)


def _filtered(cells: Sequence[CellRecord], reason_names: ReasonNames) -> list[dict[str, Any]]:
    """Works that were looked at and not taken. A later attempt meets the job's own works again; they were taken."""
    own = {(pick.ref.type.value, pick.ref.id) for pick in _picks(cells)}
    named = []
    for cell in cells:
        for entry in cell.report.get("named") or ():
            if not isinstance(entry, Mapping) or (cell.work_type, str(entry.get("work_id"))) in own:
                continue
            if "work_id" in entry:
                code = str(entry.get("reason", _UNNAMED))
                named.append({"work_id": str(entry["work_id"]), "reason": str(reason_names(code))})
    return named


def _mapping(text: str | None) -> Mapping[str, Any]:
    """Stored JSON; damage costs nothing but what was stored there."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
