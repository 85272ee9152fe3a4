"""A target as it is frozen into a job: JSON in, JSON out, and nothing lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from pixivflow.domain.target import Filters, Mode, StorageMode, TagRelation, Target
from pixivflow.domain.work import WorkType


class CorruptSnapshot(ValueError):
    """A stored target cannot be read."""


def freeze(target: Target) -> dict[str, Any]:
    """The target as plain JSON data, with sets in a fixed order."""
    plain: dict[str, Any] = msgspec.to_builtins(
        {
            **{name: getattr(target, name) for name in _PLAIN},
            "fields": dict(target.fields),
            "exclude_works": sorted(target.exclude_works),
            "filters": {
                **{name: getattr(target.filters, name) for name in _FILTERS},
                "exclude_tags": sorted(target.filters.exclude_tags),
            },
        }
    )
    return plain


def thaw(stored: Mapping[str, Any]) -> Target:
    """The target again.

    Raises:
        CorruptSnapshot: the stored data is not a target.
    """
    try:
        filters = stored["filters"]
        return Target(
            id=str(stored["id"]),
            type=WorkType(stored["type"]),
            mode=Mode(stored["mode"]),
            tag=stored["tag"],
            tag_relation=TagRelation(stored["tag_relation"]),
            search_target=stored["search_target"],
            sort=stored["sort"],
            ranking_mode=stored["ranking_mode"],
            ranking_date=_day(stored["ranking_date"]),
            user_id=stored["user_id"],
            work_id=stored["work_id"],
            limit=int(stored["limit"]),
            scan_limit=int(stored["scan_limit"]),
            storage=StorageMode(stored["storage"]),
            routes=tuple(stored["routes"]),
            fields=dict(stored["fields"]),
            exclude_works=frozenset(stored["exclude_works"]),
            filters=Filters(
                min_bookmarks=filters["min_bookmarks"],
                start_date=_day(filters["start_date"]),
                end_date=_day(filters["end_date"]),
                exclude_ai=bool(filters["exclude_ai"]),
                max_page_count=filters["max_page_count"],
                r18=bool(filters["r18"]),
                exclude_tags=frozenset(filters["exclude_tags"]),
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptSnapshot(f"a stored target cannot be read: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Moment:
    """When a planned job was due: epoch milliseconds, and the name of its plan's zone."""

    at_ms: int
    timezone: str


def occurrence_of(snapshot: Mapping[str, Any]) -> Moment | None:
    """The moment frozen with a planned job. None for a job that was asked for, and for what cannot be read."""
    stored = snapshot.get("occurrence")
    if not isinstance(stored, Mapping):
        return None
    at, zone = stored.get("at"), stored.get("timezone")
    if not isinstance(at, int) or not isinstance(zone, str):
        return None
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    return Moment(at, zone)


_PLAIN = (
    "id",
    "type",
    "mode",
    "tag",
    "tag_relation",
    "search_target",
    "sort",
    "ranking_mode",
    "ranking_date",
    "user_id",
    "work_id",
    "limit",
    "scan_limit",
    "storage",
    "routes",
)
_FILTERS = ("min_bookmarks", "start_date", "end_date", "exclude_ai", "max_page_count", "r18")


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
