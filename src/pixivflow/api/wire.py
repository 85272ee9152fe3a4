"""The shapes of the job surface as types: what `/openapi.json` is made of and what tests hold every answer against.

Requests are read by `domain.task` (order and wording of its checks are part of the protocol) and answers are written by
`domain.projection`; these types describe both and are used for neither, so that the hot path stays free of them.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from pixivflow.domain import task as rules

Ms = Annotated[int, Meta(ge=0, description="Epoch milliseconds.")]
Count = Annotated[int, Meta(ge=0)]
Whole = Annotated[int, Meta(ge=1, le=rules.MAX_INTEGER)]
Status = Literal["queued", "running", "succeeded", "failed", "cancelled", "expired"]
ErrorCode = Literal[
    "no_candidate",
    "source_error",
    "quota_exceeded",
    "resource_busy",
    "queued_too_long",
    "stalled_no_progress",
    "deadline_exceeded",
    "delivery_failed",
    "delivery_abandoned",
    "auth_error",
    "cancelled_by_consumer",
    "idempotency_conflict",
    "unsupported_protocol_version",
    "invalid_params",
    "delivery_rejected",
    "internal_error",
]
EventType = Literal[
    "job.accepted",
    "job.started",
    "job.progress",
    "job.succeeded",
    "job.failed",
    "job.expired",
    "job.cancelled",
]


class Exclusion(Struct):
    """Something that must not be picked. The id of a candidate is the id of its work."""

    kind: Literal["work", "candidate", "tag"]
    id: Annotated[str, Meta(min_length=1, max_length=rules.MAX_EXCLUDE_ID)]


class Source(Struct):
    """Where to look. The account is compared with the configured one, never switched to."""

    platform: Literal["pixiv"] | UnsetType | None = UNSET
    account: Annotated[str, Meta(min_length=1, max_length=rules.MAX_ACCOUNT)] | UnsetType | None = UNSET


class Query(Struct):
    """What to look for instead of the target's own words."""

    tags: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=rules.MAX_TAG)]],
        Meta(min_length=1, max_length=rules.MAX_TAGS),
    ]
    expand: bool | UnsetType | None = UNSET


class Constraints(Struct):
    """How to narrow the target for this job only."""

    exclude: Annotated[list[Exclusion], Meta(max_length=rules.MAX_EXCLUDE)] | UnsetType | None = UNSET
    limit: Whole | UnsetType | None = UNSET
    scan_limit: Whole | UnsetType | None = UNSET
    work_types: list[Annotated[str, Meta(min_length=1)]] | UnsetType | None = UNSET


class CandidateSearchParams(Struct):
    """Parameters of a `candidate_search`. Without a query the target is searched as it is configured."""

    source: Source | UnsetType | None = UNSET
    query: Query | UnsetType | None = UNSET
    constraints: Constraints | UnsetType | None = UNSET
    target_id: Annotated[str, Meta(min_length=1, max_length=rules.MAX_TARGET_ID)] | UnsetType | None = UNSET


class Task(Struct):
    """A job to be done. Unknown keys are ignored; null is the same as absent."""

    protocol_version: Literal["1"]
    job_type: Literal["candidate_search"]
    idempotency_key: Annotated[str, Meta(min_length=1, description="At most 200 characters after trimming.")]
    params: CandidateSearchParams
    correlation_id: Annotated[str, Meta(max_length=rules.MAX_CORRELATION)] | UnsetType | None = UNSET
    callback_url: Annotated[str, Meta(max_length=rules.MAX_CALLBACK_URL)] | UnsetType | None = UNSET
    deadline_ms: Annotated[int, Meta(ge=rules.MIN_DEADLINE_MS, le=rules.MAX_INTEGER)] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET


class Progress(Struct):
    """For people. Do not branch on `stage`."""

    stage: str
    at: Ms
    message: str | UnsetType = UNSET


class MatchedTag(Struct):
    """A tag of a work, and what it had to do with the work being found. `weight` counts only for matched ones."""

    tag: str
    source: Literal["seed", "related", "autocomplete", "tagged", "unknown"]
    weight: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET


class Locator(Struct):
    """Where a file is: `path` is relative to the library, with forward slashes."""

    kind: Literal["url", "path", "inline"]
    value: str


class Asset(Struct):
    """One verified file of a work, as it was when the work became ready."""

    asset_id: str
    type: Literal["image", "novel", "metadata", "cover"]
    role: Literal["primary", "cover", "preview"]
    source: Literal["pixiv", "author", "generated", "unknown"]
    quality: Literal["default", "custom", "unknown"]
    locator: Locator
    mime: str | UnsetType = UNSET
    bytes: Count | UnsetType = UNSET
    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")] | UnsetType = UNSET
    width: Count | UnsetType = UNSET
    height: Count | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Candidate(Struct):
    """A work that reached its end."""

    candidate_id: str
    platform: Literal["pixiv"]
    work_id: str
    work_type: Literal["illustration", "novel", "unknown"]
    url: str
    title: str | UnsetType = UNSET
    tags: list[MatchedTag] | UnsetType = UNSET
    assets: list[Asset] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Filtered(Struct):
    """A work that was looked at and not taken."""

    work_id: str
    reason: Literal["duplicate", "excluded", "invalid", "unavailable", "other"]


class Incomplete(Struct):
    """A work that was chosen and did not reach its end beside others that did."""

    work_id: str
    reason: ErrorCode
    message: str | UnsetType = UNSET


class Result(Struct):
    """What a job that succeeded has found."""

    candidates: list[Candidate]
    scanned: Count
    omitted: Annotated[int, Meta(ge=1, description="Candidates beyond the first hundred.")] | UnsetType = UNSET
    filtered: list[Filtered] | UnsetType = UNSET
    incomplete: list[Incomplete] | UnsetType = UNSET


class Error(Struct):
    """Why something did not work. `message` is for people, `detail` for diagnosis; branch on `code` only."""

    code: ErrorCode
    retryable: bool
    message: str | UnsetType = UNSET
    detail: dict[str, Any] | UnsetType = UNSET


class Job(Struct):
    """A job. A finished one has either `result` or `error` and never changes again."""

    protocol_version: Literal["1"]
    job_id: Annotated[str, Meta(min_length=1)]
    job_type: str
    status: Status
    created_at: Ms
    updated_at: Ms
    started_at: Ms | None
    heartbeat_at: Ms | None
    deadline_at: Ms | None
    lease_active: bool
    lease_expires_at: Ms | None
    attempt: Count
    progress: Progress
    events_url: Annotated[str, Meta(description="Relative to this server; percent-encoded.")]
    idempotency_key: str | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    labels: dict[str, str] | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class JobEnvelope(Struct):
    """The answer to a submitted task."""

    job: Job


class JobPage(Struct):
    """Jobs, newest first. Without `next_cursor` this is the last page."""

    jobs: list[Job]
    server_time: Ms
    next_cursor: str | UnsetType = UNSET


class EventPayload(Struct):
    """Terminal events carry the finished job."""

    detail: dict[str, Any]
    job: Job | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class Event(Struct):
    """Something that happened to a job. `event_id` is opaque and is also the cursor."""

    protocol_version: Literal["1"]
    event_id: Annotated[str, Meta(pattern=r"^evt-\d+-\d+$")]
    job_id: str
    type: EventType
    at: Ms
    payload: EventPayload
    correlation_id: str | UnsetType = UNSET


class EventPage(Struct):
    """Events in order. `unacked` counts those after the acknowledged one, wherever the page starts."""

    job_id: str
    events: list[Event]
    unacked: Count
    server_time: Ms
    next_after: str | UnsetType = UNSET


class AckRequest(Struct):
    """Acknowledge up to and including an event that is safely stored at the caller's."""

    ack_through: Annotated[str, Meta(min_length=1)]


class AckResult(Struct):
    """Where the acknowledgement stands now."""

    job_id: str
    acked: Count
    unacked: Count
    server_time: Ms


class JobType(Struct):
    """A kind of job that is served, with the budgets in force."""

    name: str
    params_schema: str
    result_schema: str
    features: list[str]
    queued_timeout_ms: Count
    stall_timeout_ms: Count
    heartbeat_interval_ms: Count
    default_deadline_ms: Count


class Capabilities(Struct):
    """What is declared works, what is not declared does not exist."""

    protocol_versions: list[str]
    job_types: list[JobType]
    server_time: Ms


class ErrorEnvelope(Struct):
    """Every failure of the job surface except the two of the token check."""

    error: Error


class Refusal(Struct):
    """The token check's own answer."""

    status: Literal["error"]
    error: str


class Health(Struct):
    """The process is there."""

    status: Literal["ok"]
    service: str
    version: str
    commit: str


class Alive(Struct):
    """The process answers."""

    status: Literal["ok"]


class Check(Struct):
    """One condition of being ready."""

    name: str
    ok: bool
    message: str


class Readiness(Struct):
    """Whether new work should be sent here."""

    status: Literal["ok", "unavailable"]
    version: str | UnsetType = UNSET
    commit: str | UnsetType = UNSET
    draining: bool | UnsetType = UNSET
    checks: list[Check] | UnsetType = UNSET
