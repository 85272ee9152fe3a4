"""What the server says, as types. All times are epoch milliseconds.

Newer servers may say more: keys without a field here are in `raw`, and unknown words in `status`, `type` or `code` are
kept as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled", "expired"})
"""The states a job does not leave again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a job stands, for people."""

    stage: str
    at: int = 0
    message: str | None = None


@dataclass(frozen=True, slots=True)
class MatchedTag:
    """A tag by which a work was found, where it comes from, and how much it counts (0 to 1)."""

    tag: str
    source: str = "unknown"
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a file is. `kind` is `url`, `path` (relative to the server's library) or `inline`."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of a work. `hash` is `sha256:` and hexadecimal digits, `bytes` its size, the sides in pixels."""

    asset_id: str
    type: str = "image"
    role: str = "primary"
    source: str = "unknown"
    quality: str = "unknown"
    locator: Locator | None = None
    mime: str | None = None
    bytes: int | None = None
    hash: str | None = None
    width: int | None = None
    height: int | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A work that reached its end."""

    candidate_id: str
    work_id: str = ""
    work_type: str = "unknown"
    platform: str = "pixiv"
    url: str | None = None
    title: str | None = None
    tags: tuple[MatchedTag, ...] = ()
    assets: tuple[Asset, ...] = ()
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """A work that was not taken (`Result.filtered`), or taken without reaching its end (`Result.incomplete`)."""

    work_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a job that succeeded has found. `scanned` counts works before any filter."""

    candidates: tuple[Candidate, ...] = ()
    scanned: int = 0
    filtered: tuple[Reject, ...] = ()
    incomplete: tuple[Reject, ...] = ()


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job ended without success. Branch on `code`; `message` and `detail` are for people."""

    code: str
    retryable: bool = False
    message: str | None = None
    detail: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was when it was asked for. A finished one has `result` or `error` and never changes again."""

    job_id: str
    job_type: str
    status: str
    created_at: int
    updated_at: int
    started_at: int | None = None
    heartbeat_at: int | None = None
    deadline_at: int | None = None
    lease_active: bool = False
    lease_expires_at: int | None = None
    attempt: int = 0
    progress: Progress | None = None
    events_url: str = ""
    idempotency_key: str | None = None
    correlation_id: str | None = None
    labels: dict[str, str] | None = None
    result: Result | None = None
    error: JobError | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ended(self) -> bool:
        """Whether it will not change again."""
        return self.status in TERMINAL

    @property
    def succeeded(self) -> bool:
        """Whether it ended well."""
        return self.status == "succeeded"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to an order. `created` says whether this call made the job, or the key had one before."""

    job: Job
    created: bool
    key: str

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.job.job_id


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a job. `event_id` is also the place to go on from."""

    event_id: str
    job_id: str
    type: str
    at: int
    payload: dict[str, Any] = field(default_factory=dict)
    correlation_id: str | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def terminal(self) -> bool:
        """Whether nothing follows in its job."""
        return self.type.removeprefix("job.") in TERMINAL


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events of a job. `unacked` counts all that are not acknowledged, wherever the page starts."""

    job_id: str
    events: tuple[Event, ...] = ()
    unacked: int = 0
    next_after: str | None = None
    server_time: int = 0


@dataclass(frozen=True, slots=True)
class Acked:
    """Where the acknowledgement of a job stands."""

    job_id: str
    acked: int
    unacked: int


@dataclass(frozen=True, slots=True)
class JobType:
    """A kind of job the server runs, with the budgets in force (milliseconds)."""

    name: str
    features: tuple[str, ...] = ()
    queued_timeout_ms: int = 0
    stall_timeout_ms: int = 0
    heartbeat_interval_ms: int = 0
    default_deadline_ms: int = 0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the server can do. What it does not declare does not exist."""

    protocol_versions: tuple[str, ...]
    job_types: tuple[JobType, ...] = ()
    server_time: int = 0
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def job_type(self, name: str) -> JobType | None:
        """A kind of job, None when the server does not run it."""
        return next((kind for kind in self.job_types if kind.name == name), None)


class Order(TypedDict, total=False):
    """What an order may say beside its type. Nothing is required where only one target can be meant.

    Keys:
        target_id: a target of the server's configuration.
        key: identity of the order; a fresh UUID when not given. Keep it where a crash cannot lose it before calling,
            and a repetition after the crash finds the job instead of making another.
        tags: search these instead of the target's own words.
        expand: any of the tags instead of all of them.
        exclude: what must not be picked: ids of works, or `{"kind": "work" | "candidate" | "tag", "id": …}`.
        limit: works wanted.
        scan_limit: works that may be looked at.
        work_types: `illustration`, `novel`.
        account: the configured account; compared with it, never switched to.
        callback_url: where the server sends the job's events to as well.
        deadline_ms: how long the job may take from its admission.
        labels: texts of yours, given back with the job.
        correlation_id: your name for what the job belongs to; jobs can be listed by it.
        params: parameters that have no key here.
    """

    target_id: str | None
    key: str | None
    tags: Sequence[str]
    expand: bool
    exclude: Sequence[str | Mapping[str, str]]
    limit: int | None
    scan_limit: int | None
    work_types: Sequence[str]
    account: str | None
    callback_url: str | None
    deadline_ms: int | None
    labels: Mapping[str, str] | None
    correlation_id: str | None
    params: Mapping[str, Any]


def task(job_type: str, key: str, order: Order) -> dict[str, Any]:
    """The body of an order. What is not given is not sent."""
    exclude = [
        {"kind": "work", "id": item} if isinstance(item, str) else dict(item) for item in order.get("exclude", ())
    ]
    tags, account, labels = list(order.get("tags", ())), order.get("account"), order.get("labels")
    constraints = _given(
        exclude=exclude or None,
        limit=order.get("limit"),
        scan_limit=order.get("scan_limit"),
        work_types=list(order.get("work_types", ())) or None,
    )
    params = _given(
        source={"platform": "pixiv", "account": account} if account is not None else None,
        query={"tags": tags, **({"expand": True} if order.get("expand") else {})} if tags else None,
        constraints=constraints or None,
        target_id=order.get("target_id"),
    )
    return {
        "protocol_version": "1",
        "job_type": job_type,
        "idempotency_key": key,
        "params": {**params, **order.get("params", {})},
        **_given(
            correlation_id=order.get("correlation_id"),
            callback_url=order.get("callback_url"),
            deadline_ms=order.get("deadline_ms"),
            labels=dict(labels) if labels is not None else None,
        ),
    }


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
