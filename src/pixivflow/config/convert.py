"""From a target as configured to a target as the domain knows it, for one run."""

from datetime import date

from pixivflow.config.days import resolve_day
from pixivflow.config.targets import TargetConfig
from pixivflow.domain.target import MAX_SCAN, Filters, Mode, StorageMode, TagRelation, Target
from pixivflow.domain.work import WorkType


def to_domain_target(target: TargetConfig, *, today: date, default_scan_limit: int) -> Target:
    """The target of one run, with its date placeholders resolved.

    Args:
        target: as configured; it has an id.
        today: the JST day of the run.
        default_scan_limit: `download.candidateScanLimit`.

    Raises:
        ValueError: the target has no id, so no run can be told from another.
    """
    if target.id is None:
        raise ValueError("a target without an id cannot be run")
    scan = target.candidate_scan_limit or default_scan_limit
    delivery = target.delivery
    return Target(
        id=target.id,
        type=WorkType(target.type),
        mode=Mode(target.effective_mode),
        tag=target.tag or "",
        tag_relation=TagRelation(target.tag_relation),
        search_target=target.search_target,
        sort=target.sort,
        ranking_mode=target.ranking_mode,
        ranking_date=_day(target.ranking_date, today),
        user_id=target.user_id,
        work_id=target.work_id,
        limit=target.limit,
        scan_limit=max(min(scan, MAX_SCAN), target.limit),
        filters=Filters(
            min_bookmarks=target.min_bookmarks,
            start_date=_day(target.start_date, today),
            end_date=_day(target.end_date, today),
            exclude_ai=target.exclude_ai,
            max_page_count=target.max_page_count,
            r18=target.r18,
        ),
        storage=StorageMode(target.storage_mode),
        routes=delivery.routes if delivery else (),
        fields=dict(delivery.fields) if delivery else {},
    )


def _day(text: str | None, today: date) -> date | None:
    return resolve_day(text, today) if text is not None else None
