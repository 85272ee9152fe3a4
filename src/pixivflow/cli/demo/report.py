"""The demo's result: what must be true, and the table that shows it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pixivflow.cli.demo.story import Order
from pixivflow.cli.output import clean, plural, size, table
from pixivflow.domain.work import Asset, AssetRole


@dataclass(frozen=True, slots=True)
class Result:
    """One order with what became of it."""

    order: Order
    job: Mapping[str, Any]
    events: Sequence[str]
    files: Sequence[Asset]
    received: Sequence[Mapping[str, Any]]
    requests: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything the demo has seen.

    Attributes:
        again: the answer to the first order sent a second time: the job's id, and whether it was made anew.
        source_requests: requests by route of the site.
        strays: files in the library that belong to no work, as seen on the disk.
    """

    results: Sequence[Result]
    again: tuple[str, bool]
    source_requests: Mapping[str, int]
    items: int
    strays: Sequence[str] = ()
    seconds: float = 0.0
    notes: Sequence[str] = field(default=())


def faults(outcome: Outcome) -> list[str]:
    """What is not as it should be, one line each."""
    found = [*outcome.notes]
    for result in outcome.results:
        found += [f"{result.order.name}: {fault}" for fault in _faults(result)]
    first = str(outcome.results[0].job.get("job_id"))
    if outcome.again != (first, False):
        found.append(f"the same key made another job: {clean(outcome.again[0])}")
    if outcome.items != len(outcome.results):
        found.append(f"the receiver shows {plural(outcome.items, 'item')} instead of {len(outcome.results)}")
    found += [f"a file without a record: {clean(name)}" for name in outcome.strays]
    return found


def _faults(result: Result) -> list[str]:
    found = []
    if result.job.get("status") != "succeeded":
        error = result.job.get("error") or {}
        found.append(f"the job {result.job.get('status')}: {clean(error.get('message') or error.get('code') or '')}")
    if list(result.events) != ["job.accepted", "job.started", "job.succeeded"]:
        found.append(f"unexpected events: {', '.join(map(clean, result.events))}")
    missing = _expected(result.order) - {(asset.role, asset.key) for asset in result.files}
    found += [f"no file of kind {role.value} {key}".rstrip() for role, key in sorted(missing)]
    pages = sum(asset.role is AssetRole.PAGE for asset in result.files)
    if result.order.name == "illustration" and pages != result.order.pages:
        found.append(f"{pages} of {plural(result.order.pages, 'page')}")
    if len(result.received) != 1:
        found.append(f"the receiver shows it {len(result.received)} times")
    return found


def _expected(order: Order) -> set[tuple[AssetRole, str]]:
    """Roles that must be among the files; keys are those of the conversions."""
    common = {(AssetRole.METADATA, "")}
    match order.name:
        case "illustration":
            return common | {(AssetRole.PAGE, "")}
        case "ugoira":
            return common | {(AssetRole.ARCHIVE, ""), (AssetRole.ANIMATION, "gif"), (AssetRole.ANIMATION, "webp")}
        case _:
            return common | {(AssetRole.TEXT, "")}


def document(outcome: Outcome, folder: str) -> dict[str, Any]:
    """The result as JSON."""
    wrong = faults(outcome)
    return {
        "ok": not wrong,
        "folder": folder,
        "seconds": round(outcome.seconds, 1),
        "jobs": [
            {
                "name": result.order.name,
                "job_id": result.job.get("job_id"),
                "status": result.job.get("status"),
                "events": list(result.events),
                "work": {
                    "type": result.order.work_type,
                    "id": result.order.work_id,
                    "title": result.order.title,
                },
                "files": [
                    {"path": asset.path, "role": asset.role.value, "bytes": asset.bytes, "sha256": asset.sha256}
                    for asset in result.files
                ],
                "received": [
                    {"files": [_file(part) for part in request.get("files") or ()], "answered": request.get("answered")}
                    for request in result.requests
                ],
            }
            for result in outcome.results
        ],
        "same_key": {"job_id": outcome.again[0], "created": outcome.again[1]},
        "receiver_items": outcome.items,
        "source_requests": {"total": sum(outcome.source_requests.values()), "routes": dict(outcome.source_requests)},
        "faults": wrong,
    }


def text(outcome: Outcome, folder: str) -> str:
    """The result for people."""
    rows = []
    for result in outcome.results:
        got = sum(len(request.get("files") or ()) for request in result.requests)
        rows.append(
            (
                result.job.get("job_id", ""),
                result.job.get("status", ""),
                f"{result.order.kind} {result.order.work_id} {result.order.title}",
                f"{len(result.files)} ({size(sum(asset.bytes for asset in result.files))})",
                f"{plural(len(result.received), 'item')}, {plural(got, 'file')}",
            )
        )
    lines = [table(("JOB", "STATUS", "WORK", "FILES", "RECEIVER GOT"), rows), "", f"Files in {clean(folder)}/library:"]
    files = [asset for result in outcome.results for asset in result.files]
    lines += [f"  {size(asset.bytes):>9}  {clean(asset.path)}" for asset in files]
    total = sum(outcome.source_requests.values())
    routes = ", ".join(f"{count} {clean(route)}" for route, count in sorted(outcome.source_requests.items()))
    job_id, created = outcome.again
    same = "made a new job" if created else "gave the same job"
    lines += [
        "",
        f"Requests to the source: {total} ({routes})",
        f"The same key again {same}: {clean(job_id)}",
        f"Took {outcome.seconds:.1f} s",
    ]
    return "\n".join(lines)


def _file(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part.get(name) for name in ("filename", "size", "sha256")}
