"""What the protocol itself demands of each object, judged without our own additions (section 5).

Our schema describes what *we* send and would refuse other producers for leaving out what is optional; this asks only
for what every consumer may rely on. Absent and null are the same for optional fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pixivflow.domain.event import WIRE_TYPE
from pixivflow.domain.job import JobState
from pixivflow.domain.reason import Code

EVENT_ID: Final = re.compile(r"evt-\d+-\d+\Z")
EVENT_TYPES: Final = frozenset({*WIRE_TYPE.values(), "job.progress"})
CODES: Final = frozenset(code.value for code in Code)
_STATES: Final = frozenset(state.value for state in JobState)

Rule = tuple[str, Callable[[Any], bool]]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


_JOB: Final[Mapping[str, Rule]] = {
    "protocol_version": ('"1"', lambda value: value == "1"),
    "job_id": ("a non-empty string", _filled),
    "job_type": ("a non-empty string", _filled),
    "status": ("a state of the protocol", lambda value: value in _STATES if _text(value) else False),
    "created_at": ("whole milliseconds", _whole),
    "updated_at": ("whole milliseconds", _whole),
    "lease_active": ("true or false", _flag),
    "attempt": ("a whole number", _whole),
    "events_url": ("a non-empty string", _filled),
}
_JOB_OPTIONAL: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(
        ("started_at", "heartbeat_at", "deadline_at", "lease_expires_at"), ("whole milliseconds or null", _whole)
    ),
    "idempotency_key": ("a string", _text),
    "correlation_id": ("a string", _text),
    "result": ("an object", lambda value: isinstance(value, dict)),
    "error": ("an object", lambda value: isinstance(value, dict)),
    "progress": ("an object", lambda value: isinstance(value, dict)),
    "labels": ("an object of strings", lambda value: isinstance(value, dict) and all(map(_text, value.values()))),
}
_EVENT: Final[Mapping[str, Rule]] = {
    "protocol_version": ('"1"', lambda value: value == "1"),
    "event_id": ("of the form evt-<ms>-<n>", lambda value: _text(value) and bool(EVENT_ID.match(value))),
    "job_id": ("a non-empty string", _filled),
    "type": ("an event type of the protocol", lambda value: value in EVENT_TYPES if _text(value) else False),
    "at": ("whole milliseconds", _whole),
    "payload": ("an object", lambda value: isinstance(value, dict)),
}
_ERROR: Final[Mapping[str, Rule]] = {
    "code": ("one of the closed set", lambda value: value in CODES if _text(value) else False),
    "retryable": ("true or false", _flag),
}
_ERROR_OPTIONAL: Final[Mapping[str, Rule]] = {
    "message": ("a string", _text),
    "detail": ("an object", lambda value: isinstance(value, dict)),
}
_FOR_OTHERS: Final = ("state", "requestId", "jobId")
"""Names that the real consumer reads before the protocol's own (section 17)."""


def job_faults(job: Any) -> list[str]:
    """What is wrong with a Job."""
    found = list(_judged(job, "the job", _JOB, _JOB_OPTIONAL))
    if isinstance(job, dict):
        found += [
            f"the job has a key {name!r}, which consumers read as something else" for name in _FOR_OTHERS if name in job
        ]
        if isinstance(job.get("error"), dict):
            found += list(_judged(job["error"], "the job's error", _ERROR, _ERROR_OPTIONAL))
    return found


def outcome_faults(job: Mapping[str, Any]) -> list[str]:
    """What is wrong with the outcome of a job that has ended: exactly one of `result` and `error`."""
    has = [name for name in ("result", "error") if job.get(name) is not None]
    wanted = ["result"] if job.get("status") == "succeeded" else ["error"]
    if has == wanted:
        return []
    return [f"a job that is {job.get('status')} has {' and '.join(has) or 'neither result nor error'}"]


def result_faults(result: Any) -> list[str]:
    """What is wrong with the result of a candidate search."""
    if not isinstance(result, dict):
        return ["result is no object"]
    found = [] if _whole(result.get("scanned")) else ["result.scanned is no whole number"]
    candidates = result.get("candidates")
    if not isinstance(candidates, list):
        return [*found, "result.candidates is no list"]
    for at, one in enumerate(candidates):
        named = isinstance(one, dict) and all(_filled(one.get(key)) for key in ("candidate_id", "platform", "work_id"))
        if not named:
            found.append(f"result.candidates[{at}] lacks candidate_id, platform or work_id")
    return found


def event_faults(event: Any, job_id: str) -> list[str]:
    """What is wrong with an Event of a job."""
    found = list(_judged(event, "an event", _EVENT, {}))
    if isinstance(event, dict) and event.get("job_id") != job_id:
        found.append("an event names another job")
    return found


def error_faults(body: Any) -> list[str]:
    """What is wrong with an error answer."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ["the body is not {error: {code, retryable}}"]
    return list(_judged(error, "the error", _ERROR, _ERROR_OPTIONAL))


def _judged(value: Any, name: str, needed: Mapping[str, Rule], optional: Mapping[str, Rule]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{name} is no object"
        return
    for key, (what, holds) in needed.items():
        if key not in value:
            yield f"{name} has no {key}"
        elif not holds(value[key]):
            yield f"{name}.{key} is not {what}"
    for key, (what, holds) in optional.items():
        if value.get(key) is not None and not holds(value[key]):
            yield f"{name}.{key} is not {what}"
