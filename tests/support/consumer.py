"""An orchestrator as the real one behaves: it trusts nothing but its own books, and polls although it reads events.

It asks for capabilities before anything else, submits with a target's id and nothing more, polls by its own key on
every tick, reads events with its own cursor, keeps them before it acknowledges them, and submits the same key again
when a job has not been admitted to run after twelve minutes. What the poll says and what a terminal event says go
through one gate, which lets the first through. A job that is `succeeded` before its delivery has arrived here is
booked as a failure: so says the consumer this producer is paired with.

Time is the caller's, and so is the moment of each tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import bodies
from scene import API_TOKEN

JOB_TYPE = "candidate_search"
RESUBMIT_AFTER_MS = 12 * 60_000
TICK_MS = 30_000
ENDED = frozenset({"succeeded", "failed", "cancelled", "expired"})
UNCORRELATED = "delivery_uncorrelated"
READ_TIMEOUT_S = 10.0
SUBMIT_TIMEOUT_S = 120.0


class Unreachable(Exception):
    """There was no answer. What the producer did with the request is not known."""


class Refused(AssertionError):
    """The producer is not one this consumer can work with, or it turned a request down."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt was booked as: `submitted`, `no_candidate` or `failed`, and why."""

    name: str
    code: str | None = None


@dataclass(slots=True)
class Attempt:
    """One order in the consumer's books.

    Attributes:
        submissions: the status of each answer to a submission, None for a lost one.
        statuses: what polls saw, without repetitions.
        events: what was kept, by event id, in order of arrival.
        repeated: how many events came that had been kept before.
        terminal_said: how often each source said that the job has ended.
        acked: the newest event known to be acknowledged.
    """

    key: str
    target_id: str
    correlation_id: str | None
    job_id: str | None = None
    submitted_at: int | None = None
    submissions: list[int | None] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    repeated: int = 0
    terminal_said: dict[str, int] = field(default_factory=dict)
    acked: str | None = None
    outcome: Outcome | None = None

    @property
    def started(self) -> bool:
        """Whether a poll has seen more than a queued job."""
        return any(status != "queued" for status in self.statuses)

    @property
    def newest(self) -> str | None:
        """The cursor: the newest event that was kept."""
        return next(reversed(self.events), None)

    @property
    def settled(self) -> bool:
        """Booked, and nothing is left to be read or acknowledged."""
        ended = any(event["type"].removeprefix("job.") in ENDED for event in self.events.values())
        return self.outcome is not None and ended and self.acked == self.newest


class Consumer:
    """See the module. `delivered` says whether a submission that carries a request's id has been accepted here."""

    def __init__(
        self, url: str, *, now_ms: Callable[[], int], delivered: Callable[[str], bool], token: str = API_TOKEN
    ) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.bookings: list[tuple[str, Outcome]] = []
        self.unreachable = 0
        self.requests: list[tuple[str, str]] = []
        self.lose: set[str] = set()
        """What gets lost next: the answer to a `submit` or an `ack` the producer has heard, or an `unsent ack`."""
        self._url = url
        self._now_ms = now_ms
        self._delivered = delivered
        self._agreed = False
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"}, connector=aiohttp.TCPConnector(force_close=True)
        )

    def order(self, key: str, target_id: str, *, correlation_id: str | None = None) -> Attempt:
        """Open an attempt; the next tick submits it."""
        attempt = Attempt(key, target_id, correlation_id)
        self.attempts[key] = attempt
        return attempt

    @property
    def busy(self) -> bool:
        """Whether an attempt still waits for its end."""
        return any(not attempt.settled for attempt in self.attempts.values())

    async def tick(self) -> None:
        """One round over everything unsettled. A producer that cannot be reached is tried again at the next."""
        try:
            if not self._agreed:
                await self._negotiate()
            for attempt in self.attempts.values():
                if not attempt.settled:
                    await self._advance(attempt)
        except Unreachable:
            self.unreachable += 1

    async def look_again(self, attempt: Attempt) -> None:
        """Poll for an attempt once more, whatever the books say."""
        job = await self._poll(attempt.key)
        if job is not None:
            self._saw(attempt, job)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _negotiate(self) -> None:
        status, found = await self._call("GET", "/capabilities")
        if status != 200:
            raise Refused(f"capabilities were answered {status}: {found}")
        majors = {str(version).partition(".")[0] for version in found["protocol_versions"]}
        if "1" not in majors or JOB_TYPE not in {kind["name"] for kind in found["job_types"]}:
            raise Refused(f"nothing this consumer speaks: {found}")
        self._agreed = True

    async def _advance(self, attempt: Attempt) -> None:
        due = attempt.submitted_at is None or self._now_ms() - attempt.submitted_at >= RESUBMIT_AFTER_MS
        if due and not attempt.started and attempt.outcome is None:
            await self._submit(attempt)
        job = await self._poll(attempt.key)
        if job is not None:
            self._saw(attempt, job)
            await self._read_events(attempt)

    async def _submit(self, attempt: Attempt) -> None:
        body: dict[str, Any] = {
            "protocol_version": "1",
            "job_type": JOB_TYPE,
            "idempotency_key": attempt.key,
            "params": {"target_id": attempt.target_id},
        }
        if attempt.correlation_id is not None:
            body["correlation_id"] = attempt.correlation_id
        # Booked before it is sent: after a lost answer the clock runs all the same.
        attempt.submitted_at = self._now_ms()
        attempt.submissions.append(None)
        status, document = await self._call("POST", "/jobs", body, may_lose="submit")
        if status not in (200, 202):
            raise Refused(f"the submission was answered {status}: {document}")
        attempt.submissions[-1] = status
        self._same_job(attempt, document["job"])

    async def _poll(self, key: str) -> dict[str, Any] | None:
        """The job of a key, by the list and else by the key as an id. A 404 is an answer: there is none."""
        status, page = await self._call("GET", f"/jobs?idempotency_key={quote(key, safe='')}")
        if status != 200:
            raise Refused(f"the list was answered {status}: {page}")
        for job in page["jobs"]:
            if job["idempotency_key"] == key:
                return dict(job)
        status, job = await self._call("GET", f"/jobs/{quote(key, safe='')}")
        if status not in (200, 404):
            raise Refused(f"the job was answered {status}: {job}")
        return job if status == 200 else None

    def _saw(self, attempt: Attempt, job: Mapping[str, Any]) -> None:
        self._same_job(attempt, job)
        if not attempt.statuses or attempt.statuses[-1] != job["status"]:
            attempt.statuses.append(job["status"])
        if job["status"] in ENDED:
            self._ended(attempt, job["status"], job.get("error"), "poll")

    async def _read_events(self, attempt: Attempt) -> None:
        path = f"/jobs/{quote(attempt.job_id or '', safe='')}/events"
        after = f"after={attempt.newest}&" if attempt.newest is not None else ""
        status, page = await self._call("GET", f"{path}?{after}unacked=1")
        if status != 200:
            raise Refused(f"the events were answered {status}: {page}")
        for event in page["events"]:
            if event["event_id"] in attempt.events:
                attempt.repeated += 1
                continue
            attempt.events[event["event_id"]] = event
            kind = event["type"].removeprefix("job.")
            if kind in ENDED:
                job = event["payload"].get("job", {})
                self._ended(attempt, job.get("status", kind), event["payload"].get("error"), "event")
        if attempt.newest is not None and attempt.acked != attempt.newest:
            through = attempt.newest
            status, answer = await self._call("POST", f"{path}/ack", {"ack_through": through}, may_lose="ack")
            if status != 200:
                raise Refused(f"the acknowledgement was answered {status}: {answer}")
            attempt.acked = through

    def _ended(self, attempt: Attempt, status: str, error: Mapping[str, Any] | None, source: str) -> None:
        """The one gate for every word of an end. What has been booked stays."""
        attempt.terminal_said[source] = attempt.terminal_said.get(source, 0) + 1
        if attempt.outcome is not None:
            return
        code = error.get("code") if error else None
        if status == "succeeded":
            here = self._delivered(attempt.key)
            outcome = Outcome("submitted") if here else Outcome("failed", UNCORRELATED)
        elif status == "failed" and code == "no_candidate":
            outcome = Outcome("no_candidate", code)
        else:
            outcome = Outcome("failed", code)
        attempt.outcome = outcome
        self.bookings.append((attempt.key, outcome))

    @staticmethod
    def _same_job(attempt: Attempt, job: Mapping[str, Any]) -> None:
        if attempt.job_id not in (None, job["job_id"]):
            raise Refused(f"one key, two jobs: {attempt.job_id} and {job['job_id']}")
        attempt.job_id = job["job_id"]

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, may_lose: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        if f"unsent {may_lose}" in self.lose:
            self.lose.discard(f"unsent {may_lose}")
            raise Unreachable(f"{method} {path} was never sent")
        timeout = aiohttp.ClientTimeout(total=SUBMIT_TIMEOUT_S if path == "/jobs" else READ_TIMEOUT_S)
        try:
            async with self._session.request(method, self._url + path, json=body, timeout=timeout) as answer:
                status, document = answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"{method} {path}") from error
        self.requests.append((method, path))
        bodies.seen(method, path, status, document)
        if may_lose in self.lose:
            self.lose.discard(may_lose)
            raise Unreachable(f"the answer to {method} {path} was lost")
        if status >= 500:
            raise Refused(f"{method} {path} was answered {status}: {document}")
        return status, document
