"""Ordering candidates, and the funnel that says where they went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pixivflow.domain.work import Work

MAX_NAMED_REJECTS = 200


@dataclass(slots=True)
class Funnel:
    """Where the candidates of one cell went: fetched = rejected + selected + not looked at.

    Attributes:
        fetched: records read from the source, before any filter.
        rejected: count per reason code.
        named: up to `MAX_NAMED_REJECTS` pairs (work id, reason code), in order.
        selected: works picked.
        quarantined: unreadable records.
        requests_saved: works whose list record made a detail call needless.
    """

    fetched: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    named: list[tuple[str, str]] = field(default_factory=list)
    selected: int = 0
    quarantined: int = 0
    requests_saved: int = 0

    def reject(self, work_id: str, code: str) -> None:
        """Count one rejected work and name it while there is room."""
        self.rejected[code] += 1
        if len(self.named) < MAX_NAMED_REJECTS:
            self.named.append((work_id, code))

    def as_json(self) -> dict[str, Any]:
        """The form stored on the cell and shown to people."""
        return {
            "fetched": self.fetched,
            "selected": self.selected,
            "quarantined": self.quarantined,
            "requests_saved": self.requests_saved,
            "rejected": sum(self.rejected.values()),
            "reasons": [{"code": code, "count": count} for code, count in sorted(self.rejected.items())],
            "named": [{"work_id": work, "reason": code} for work, code in self.named],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Funnel:
        """Read back what `as_json` wrote."""
        return cls(
            fetched=int(data.get("fetched", 0)),
            rejected=Counter({str(r["code"]): int(r["count"]) for r in data.get("reasons", [])}),
            named=[(str(n["work_id"]), str(n["reason"])) for n in data.get("named", [])],
            selected=int(data.get("selected", 0)),
            quarantined=int(data.get("quarantined", 0)),
            requests_saved=int(data.get("requests_saved", 0)),
        )


def popularity(work: Work) -> float:
    """Bookmarks plus a thousandth of the views; what the site does not say counts as nothing."""
    return (work.bookmarks or 0) + (work.views or 0) / 1000


def by_popularity(works: Iterable[Work]) -> list[Work]:
    """The most popular first; of equals the newer first, then the higher id (ids are given out in order of upload)."""
    return sorted(works, key=_popularity_key, reverse=True)


def _popularity_key(work: Work) -> tuple[int, float, int, str]:
    # Thousandths are whole numbers: two works of the same figures must compare equal on every machine.
    thousandths = 1000 * (work.bookmarks or 0) + (work.views or 0)
    return (
        thousandths,
        _epoch(work.created_at),
        int(work.id) if work.id.isascii() and work.id.isdigit() else -1,
        work.id,
    )


def _epoch(moment: datetime | None) -> float:
    if moment is None:
        return float("-inf")
    # A moment without an offset must not be read in the zone of this machine.
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
