"""A submitted task: what `POST /jobs` may say, checked in the protocol's order, and the normal form of its parameters.

Workflow Protocol v1.1. Unknown keys are ignored at every level, `null` is the same as absent for an optional field, and
a wrong type is an error, never a default. The first broken rule is the one reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from pixivflow.domain.reason import Code
from pixivflow.domain.target import MAX_SCAN, RetrievalView

PROTOCOL_VERSION: Final = "1"
CANDIDATE_SEARCH: Final = "candidate_search"
COLLECTION: Final = "collection"
"""A run of a plan's targets. Clocks make such jobs; this version takes no orders for them."""
PLATFORM: Final = "pixiv"
EXCLUDE_KINDS: Final = ("work", "candidate", "tag")

MAX_KEY: Final = 200
MAX_CORRELATION: Final = 200
MAX_CALLBACK_URL: Final = 2000
MAX_TARGET_ID: Final = 200
MAX_ACCOUNT: Final = 100
MAX_TAGS: Final = 20
MAX_TAG: Final = 100
MAX_EXCLUDE: Final = 100
MAX_EXCLUDE_ID: Final = 100
MIN_DEADLINE_MS: Final = 1000
MAX_LABEL_TEXT: Final = 16_384
"""Characters of all label names and values together. The limit is ours: labels are echoed on every page."""
MAX_INTEGER: Final = 2**53 - 1
"""The largest whole number every JSON reader keeps exactly."""
_MAX_SHOWN: Final = 200
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Task:
    """A task that passed every check.

    Attributes:
        idempotency_key: trimmed.
        correlation_id: verbatim; None also for the empty text.
        deadline_ms: how long the job may take from admission, in milliseconds.
        account: trimmed, as asked for; admission compares it with the configured one.
        view: how the target is narrowed for this job.
        canonical_params: the normal form that decides whether two tasks of one key ask for the same. Never None for a
            task that was parsed (a task without parameters has `{}`); None marks a job that has no view to compare.
    """

    job_type: str
    idempotency_key: str
    correlation_id: str | None = None
    callback_url: str | None = None
    deadline_ms: int | None = None
    labels: Mapping[str, str] | None = None
    platform: str = PLATFORM
    account: str | None = None
    view: RetrievalView | None = None
    target_id: str | None = None
    canonical_params: str | None = None


@dataclass(frozen=True, slots=True)
class TaskError:
    """The first rule a body breaks. Always a 400 on the wire, never retryable."""

    code: Code
    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class _Broken(Exception):
    def __init__(self, error: TaskError) -> None:
        super().__init__(error.message)
        self.error = error


def parse_task(body: object) -> Task | TaskError:
    """Read a decoded JSON body. Never raises: the answer is a task or the first error."""
    try:
        return _task(body)
    except _Broken as broken:
        return broken.error


def view_of(canonical: str | None) -> RetrievalView | None:
    """The view stored with a job. None, corrupt or foreign text means "as configured" (None), never a crash."""
    if canonical is None:
        return None
    try:
        stored = json.loads(canonical)
        return _view(stored) if isinstance(stored, dict) else None
    except (_Broken, ValueError, RecursionError):
        return None


def trimmed_key(text: str) -> str:
    """The idempotency key as it is stored and looked up: both sides must agree."""
    return text.strip()


def _task(body: object) -> Task:
    task = _object(body, "body")
    _version(task.get("protocol_version"))
    job_type = task.get("job_type")
    if job_type != CANDIDATE_SEARCH:
        raise _broken(
            "job_type",
            "job_type is not supported",
            reason="unsupported_job_type",
            job_type=_shown(job_type),
            supported=[CANDIDATE_SEARCH],
        )
    key = trimmed_key(_nonblank(task.get("idempotency_key"), "idempotency_key"))
    if len(key) > MAX_KEY:
        raise _broken("idempotency_key", f"idempotency_key must be at most {MAX_KEY} characters")
    correlation = _optional_text(task.get("correlation_id"), "correlation_id", MAX_CORRELATION)
    callback = _optional_text(task.get("callback_url"), "callback_url", MAX_CALLBACK_URL)
    deadline = _optional_integer(task.get("deadline_ms"), "deadline_ms", MIN_DEADLINE_MS)
    labels = _labels(task.get("labels"))
    params = _object(task.get("params"), "params")
    account = _source(params)
    view = _view(params)
    target_id = _target_id(params.get("target_id"))
    return Task(
        job_type=CANDIDATE_SEARCH,
        idempotency_key=key,
        correlation_id=correlation,
        callback_url=callback,
        deadline_ms=deadline,
        labels=labels,
        account=account,
        view=view,
        target_id=target_id,
        canonical_params=canonical(view, account),
    )


def canonical(view: RetrievalView, account: str | None = None) -> str:
    """The normal form of parameters: fixed key order, nothing that means "as configured".

    Left out because they change nothing: `expand: false`, empty lists, and `source.platform` (there is one platform,
    so naming it equals not naming it). The target is identity, not a parameter, and is compared on its own. The order
    of tags is kept, because it decides what is searched first.
    """
    out: dict[str, Any] = {}
    if account is not None:
        out["source"] = {"account": account}
    if view.tags:
        out["query"] = {"tags": list(view.tags), **({"expand": True} if view.expand else {})}
    constraints: dict[str, Any] = {}
    if view.exclude:
        constraints["exclude"] = [{"kind": kind, "id": ident} for kind, ident in view.exclude]
    if view.limit is not None:
        constraints["limit"] = view.limit
    if view.scan_limit is not None:
        constraints["scan_limit"] = view.scan_limit
    if view.work_types:
        constraints["work_types"] = list(view.work_types)
    if constraints:
        out["constraints"] = constraints
    return _encode(out)


def _version(value: object) -> None:
    if value is None:
        raise _broken("protocol_version", "protocol_version is required")
    if value != PROTOCOL_VERSION or not isinstance(value, str):
        raise _Broken(
            TaskError(
                Code.UNSUPPORTED_PROTOCOL_VERSION,
                "protocol_version is not supported",
                {"received": _shown(value), "supported": [PROTOCOL_VERSION]},
            )
        )


def _labels(value: object) -> Mapping[str, str] | None:
    if value is None:
        return None
    size = 0
    labels = _object(value, "labels")
    for name, text in labels.items():
        if not _is_text(text) or not _is_text(name):
            raise _broken("labels", f"labels.{_printable(name)} must be a string")
        size += len(name) + len(text)
    if size > MAX_LABEL_TEXT:
        raise _broken("labels", f"labels must be at most {MAX_LABEL_TEXT} characters in all")
    return labels or None


def _source(params: Mapping[str, Any]) -> str | None:
    value = params.get("source")
    if value is None:
        return None
    source = _object(value, "params.source")
    platform = source.get("platform")
    if platform is not None and platform != PLATFORM:
        raise _broken(
            "params.source.platform", f'params.source.platform must be "{PLATFORM}"', received=_shown(platform)
        )
    account = source.get("account")
    return None if account is None else _nonblank(account, "params.source.account", MAX_ACCOUNT).strip()


def _view(params: Mapping[str, Any]) -> RetrievalView:
    tags, expand = _query(params.get("query"))
    value = params.get("constraints")
    constraints = {} if value is None else _object(value, "params.constraints")
    exclude = _exclude(constraints.get("exclude"))
    limit = _optional_integer(constraints.get("limit"), "params.constraints.limit", 1)
    scan_limit = _optional_integer(constraints.get("scan_limit"), "params.constraints.scan_limit", 1)
    return RetrievalView(
        tags=tags,
        expand=expand,
        limit=limit,
        scan_limit=None if scan_limit is None else min(scan_limit, MAX_SCAN),
        exclude=exclude,
        work_types=_work_types(constraints.get("work_types")),
    )


def _query(value: object) -> tuple[tuple[str, ...], bool]:
    if value is None:
        return (), False
    query = _object(value, "params.query")
    tags = query.get("tags")
    if not isinstance(tags, list) or not 1 <= len(tags) <= MAX_TAGS:
        raise _broken("params.query.tags", f"params.query.tags must be an array of 1 to {MAX_TAGS} strings")
    # The length is measured as sent, before trimming.
    words = tuple(_nonblank(tag, f"params.query.tags[{at}]", MAX_TAG).strip() for at, tag in enumerate(tags))
    expand = query.get("expand")
    if expand is not None and not isinstance(expand, bool):
        raise _broken("params.query.expand", "params.query.expand must be a boolean")
    return words, expand is True


def _exclude(value: object) -> tuple[tuple[str, str], ...]:
    name = "params.constraints.exclude"
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_EXCLUDE:
        raise _broken(name, f"{name} must be an array of at most {MAX_EXCLUDE} objects")
    return tuple(_exclusion(item, f"{name}[{at}]") for at, item in enumerate(value))


def _exclusion(value: object, name: str) -> tuple[str, str]:
    item = _object(value, name)
    kind = item.get("kind")
    if kind not in EXCLUDE_KINDS:
        raise _broken(f"{name}.kind", f"{name}.kind must be one of {', '.join(EXCLUDE_KINDS)}")
    return str(kind), _nonblank(item.get("id"), f"{name}.id", MAX_EXCLUDE_ID).strip()


def _work_types(value: object) -> tuple[str, ...]:
    name = "params.constraints.work_types"
    if value is None:
        return ()
    # The vocabulary is open here; admission compares it with the target's own type.
    if not isinstance(value, list) or not all(_is_text(item) and item for item in value):
        raise _broken(name, f"{name} must be an array of non-empty strings")
    return tuple(value)


def _target_id(value: object) -> str | None:
    if value is None:
        return None
    target = _nonblank(value, "params.target_id").strip()
    if len(target) > MAX_TARGET_ID:
        raise _broken("params.target_id", f"params.target_id must be at most {MAX_TARGET_ID} characters")
    return target


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _broken(name, f"{name} must be a JSON object")
    return value


def _nonblank(value: object, name: str, most: int | None = None) -> str:
    if not _is_text(value) or not value.strip():
        raise _broken(name, f"{name} must be a non-blank string")
    if most is not None and len(value) > most:
        raise _broken(name, f"{name} must be at most {most} characters")
    return value


def _optional_text(value: object, name: str, most: int) -> str | None:
    if value is None:
        return None
    if not _is_text(value) or len(value) > most:
        raise _broken(name, f"{name} must be a string of at most {most} characters")
    return value or None


def _optional_integer(value: object, name: str, least: int) -> int | None:
    if value is None:
        return None
    # JSON knows one kind of number: 5.0 is the integer five. True is not a number, although Python says it is.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_INTEGER:
        raise _broken(name, f"{name} must be an integer of at least {least}")
    return value


def _is_text(value: object) -> TypeGuard[str]:
    """A string that can be stored and sent: half of a surrogate pair cannot."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _broken(name: str, message: str, **detail: Any) -> _Broken:
    return _Broken(TaskError(Code.INVALID_PARAMS, message, {"field": name, **detail}))


def _printable(value: object) -> str:
    return str(value)[:_MAX_SHOWN].encode(errors="replace").decode()


def _shown(value: object) -> Any:
    """A received value in a form that is safe to echo: small and encodable."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, int | float):
        return value if abs(value) <= MAX_INTEGER else "a number"
    return "an object" if isinstance(value, dict) else "an array"
