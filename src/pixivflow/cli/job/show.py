"""Jobs and events of the wire as text for people. What the server sends is not trusted to be complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pixivflow.cli.output import clean, moment, table

ENDED = frozenset({"succeeded", "failed", "cancelled", "expired"})


def jobs_table(jobs: Sequence[Mapping[str, Any]]) -> str:
    """One line a job."""
    rows = [
        (job.get("job_id", ""), job.get("status", ""), _stage(job), moment(job.get("created_at")), outcome(job))
        for job in jobs
    ]
    return table(("JOB", "STATUS", "STAGE", "CREATED", "OUTCOME"), rows, widest=70)


def job_text(job: Mapping[str, Any]) -> str:
    """Everything about one job."""
    pairs: list[tuple[str, object]] = [("job", job.get("job_id")), ("status", job.get("status"))]
    pairs += [("key", job.get("idempotency_key")), ("correlation", job.get("correlation_id"))]
    pairs += [(name, moment(job.get(f"{name}_at"))) for name in ("created", "started", "heartbeat", "deadline")]
    pairs += [("attempt", job.get("attempt")), ("stage", _stage(job))]
    if job.get("status") in ENDED:
        pairs.append(("ended", moment(job.get("updated_at"))))
    lines = [f"{name:<12} {clean(value)}" for name, value in pairs if value not in (None, "")]
    result = _mapping(job.get("result"))
    lines += [
        f"{'work':<12} {clean(work.get('title', ''))}  {clean(work.get('url', work.get('work_id')))}"
        for work in _list(result.get("candidates"))
    ]
    lines += [
        f"{'incomplete':<12} {clean(work.get('work_id'))}  {clean(work.get('reason'))}"
        for work in _list(result.get("incomplete"))
    ]
    if result:
        lines.append(f"{'scanned':<12} {clean(result.get('scanned'))}")
    error = _mapping(job.get("error"))
    if error:
        again = "may work later" if error.get("retryable") else "will not work by itself"
        lines.append(f"{'error':<12} {clean(error.get('code'))}: {clean(error.get('message', ''))} ({again})")
        for name, value in _mapping(error.get("detail")).items():
            lines.append(f"{'':<12} {clean(name)}: {clean(value)}")
    return "\n".join(lines)


def outcome(job: Mapping[str, Any]) -> str:
    """What came of a job, in a few words; empty while it is open."""
    error = _mapping(job.get("error"))
    if error:
        return f"{clean(error.get('code'))}: {clean(error.get('message', ''))}"
    found = _list(_mapping(job.get("result")).get("candidates"))
    return ", ".join(clean(work.get("title") or work.get("work_id")) for work in found)


def progress_line(job: Mapping[str, Any]) -> str:
    """Where a job stands."""
    message = clean(_mapping(job.get("progress")).get("message", "")).strip()
    # A message that is only a count, `(0/1)`, reads on from the stage.
    joined = f"{_stage(job)}{' ' if message.startswith('(') else ', '}{message}" if message else _stage(job)
    return f"{clean(job.get('status'))}: {joined}"


def event_line(event: Mapping[str, Any]) -> str:
    """One event."""
    payload = _mapping(event.get("payload"))
    error = _mapping(payload.get("error"))
    told = f"  {clean(error.get('code'))}: {clean(error.get('message', ''))}" if error else ""
    return f"{moment(event.get('at'))}  {clean(event.get('type')):<14} {clean(event.get('event_id'))}{told}"


def _stage(job: Mapping[str, Any]) -> str:
    return clean(_mapping(job.get("progress")).get("stage", ""))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
