"""The intent to deliver: what is frozen into an outbox row, and how a row becomes something a route can send.

Everything a route will need is in the payload, so that a change of the configuration, of the work or of the clock
between two tries cannot make two tries of one key differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import msgspec

from pixivflow.delivery.paths import OutsideLibrary, inside
from pixivflow.delivery.ports import DeliveryItem
from pixivflow.domain.delivery import delivery_key
from pixivflow.domain.job import JobRecord
from pixivflow.domain.target import Target
from pixivflow.domain.template import PLACEHOLDERS, canonical_uuid, compact_count
from pixivflow.domain.work import AgeRating, Asset, AssetRole, Work

PAYLOAD_VERSION = 1
JST = timezone(timedelta(hours=9), "JST")

_SHOWN = (
    AssetRole.PAGE,
    AssetRole.ANIMATION,
    AssetRole.TEXT,
    AssetRole.MARKDOWN,
    AssetRole.COVER,
    AssetRole.EMBEDDED,
    AssetRole.ARCHIVE,
)
_RESTRICTION = {AgeRating.ALL: ("0", "AllAges"), AgeRating.R18: ("1", "R18"), AgeRating.R18G: ("2", "R18G")}


class InvalidPayload(ValueError):
    """A row's payload cannot be sent, now or ever. The text is for people and holds no value from the payload."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a delivery says about the job it belongs to. Times are epoch milliseconds.

    Attributes:
        requested: somebody asked for this job. Whether the answer must carry a request id depends on the key: only one
            that is a UUID is a request id; a job of any other key is followed through the Job API and is sent without.
        occurrence_at: when the plan was due; None for a request, whose `created_at` counts instead.
        execution_id: the attempt that made the files.
        zone: the plan's time zone, in which dates are given.
    """

    job_id: str
    trigger: str
    plan_id: str
    created_at: int
    key: str | None = None
    correlation_id: str | None = None
    requested: bool = False
    occurrence_at: int | None = None
    execution_id: str = ""
    zone: tzinfo = JST


def context_of(
    job: JobRecord, *, occurrence_at: int | None = None, execution_id: str = "", zone: tzinfo = JST
) -> JobContext:
    """The context of a stored job. A job with an idempotency key was asked for; one without was planned."""
    return JobContext(
        job_id=job.id,
        trigger=job.trigger,
        plan_id=job.plan_id,
        created_at=job.created_at,
        key=job.key,
        correlation_id=job.correlation_id,
        requested=job.key is not None,
        occurrence_at=occurrence_at,
        execution_id=execution_id,
        zone=zone,
    )


def build_payload(
    *,
    work: Work,
    assets: Sequence[Asset],
    job: JobContext,
    target: Target,
    route: str,
    extra: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The payload of one work for one route, as plain JSON data.

    `extra` gives placeholders only the caller knows (topic, topicTag, language) and may override the derived ones;
    `idempotencyKey` and `refetchRequestId` it cannot touch.
    """
    key = delivery_key(route, work.ref, job.job_id, target.id)
    request_id = canonical_uuid(job.key) if job.requested else ""
    values = {
        **_work_values(work),
        **_job_values(job),
        "targetId": target.id,
        "tag": target.tag,
        "rankingDate": target.ranking_date.isoformat() if target.ranking_date else "",
        **(extra or {}),
        "idempotencyKey": key,
        "refetchRequestId": request_id,
    }
    plain = msgspec.to_builtins(
        {
            "version": PAYLOAD_VERSION,
            "key": key,
            "route": route,
            "job_id": job.job_id,
            "target_id": target.id,
            "correlation_id": job.correlation_id,
            "requested": bool(request_id),
            "work": _describe(work),
            "assets": list(assets),
            "values": {name: values.get(name, "") for name in (PLACEHOLDERS | set(values))},
            "fields": dict(target.fields),
        },
        str_keys=True,
    )
    # Through JSON once, so that what is returned equals what a reader of the row will see (lists, not tuples).
    payload: dict[str, Any] = json.loads(json.dumps(plain))
    return payload


def read_payload(payload: Mapping[str, Any], library_root: Path, route: str, *, key: str | None = None) -> DeliveryItem:
    """The item a route sends. `key`, the row's, wins over the payload's copy of it.

    The stored paths are treated as hostile: a row is data, and data may have been edited or restored from elsewhere.

    Raises:
        InvalidPayload: the shape is wrong, a path leads outside the library, or there is nothing to send.
    """
    try:
        stored = msgspec.convert(payload, _Stored)
    except msgspec.ValidationError as error:
        raise InvalidPayload("the stored intent has not the expected shape") from error
    if stored.version != PAYLOAD_VERSION:
        raise InvalidPayload("the stored intent is of a version this program does not know")
    try:
        files = tuple((inside(library_root, asset.path), asset) for asset in shown(stored.assets))
    except OutsideLibrary as error:
        raise InvalidPayload(str(error)) from error
    if not files:
        raise InvalidPayload("the stored intent names no file to send")
    return DeliveryItem(
        key=key if key is not None else stored.key,
        route=route,
        work=stored.work,
        files=files,
        values={**stored.values, "idempotencyKey": key if key is not None else stored.key},
        extra_fields=stored.fields,
        assets=stored.assets,
        requested=stored.requested,
    )


def shown(assets: Sequence[Asset]) -> tuple[Asset, ...]:
    """The files a receiver gets, in the order they are shown.

    One form of each thing: the frame archive goes only where no playable animation was made, the markdown text only
    where there is no plain one. Metadata and timings stay at home.
    """
    roles = {asset.role for asset in assets}
    left_out = set()
    if AssetRole.ANIMATION in roles:
        left_out.add(AssetRole.ARCHIVE)
    if AssetRole.TEXT in roles:
        left_out.add(AssetRole.MARKDOWN)
    sent = [asset for asset in assets if asset.role in _SHOWN and asset.role not in left_out]
    return tuple(sorted(sent, key=lambda asset: (_SHOWN.index(asset.role), asset.number, asset.key)))


class _Stored(msgspec.Struct, frozen=True):
    version: int
    key: str
    work: dict[str, Any]
    assets: tuple[Asset, ...]
    values: dict[str, str]
    fields: dict[str, Any] = {}
    requested: bool = False


def _describe(work: Work) -> dict[str, Any]:
    return {
        "id": work.id,
        "type": work.type,
        "kind": work.kind,
        "title": work.title,
        "caption": work.caption,
        "url": work.url,
        "author": work.author,
        "tags": work.tags,
        "series": work.series,
        "created_at": work.created_at,
        "page_count": work.page_count,
        "width": work.width,
        "height": work.height,
        "text_length": work.text_length,
        "bookmarks": work.bookmarks,
        "views": work.views,
        "rating": work.rating,
        "ai": work.ai,
    }


def _work_values(work: Work) -> dict[str, str]:
    number, tag = _RESTRICTION[work.rating]
    series = work.series.title if work.series is not None else ""
    joined = f"{series} {work.title}".strip() if series not in work.title else work.title
    return {
        "title": work.title,
        "displayTitle": joined or work.id,
        "seriesTitle": series,
        "pixivId": work.id,
        "workId": work.id,
        "type": work.type.value,
        "workTags": ", ".join(tag.name for tag in work.tags),
        "author": work.author.name,
        "link": work.url,
        "spoiler": "false" if work.rating is AgeRating.ALL else "true",
        "xRestrict": number,
        "xRestrictLabel": work.rating.value,
        "xRestrictTag": tag,
        # The site's day is Japan's, whatever zone the record was written in.
        "publishedDate": work.created_at.astimezone(JST).date().isoformat() if work.created_at else "",
        "bookmarkCount": compact_count(work.bookmarks),
        "viewCount": compact_count(work.views),
    }


def _job_values(job: JobContext) -> dict[str, str]:
    at = job.created_at if job.occurrence_at is None else job.occurrence_at
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(job.zone)
    return {
        "scheduleId": job.plan_id,
        "executionId": job.execution_id,
        "occurrenceAt": local.isoformat(timespec="seconds"),
        "triggerSource": job.trigger,
        "slotId": job.job_id,
        "slotName": job.plan_id,
        "slotDate": local.date().isoformat(),
    }
