"""One run of the acceptance list against one producer: what may be done, what was asked, what is known so far."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol
from urllib.parse import quote

from pixivflow.protocol.point import Need

TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "expired"})
_SHOWN: Final = 200


class Failed(Exception):
    """The producer does not do what the point says. The text says what it did."""


class Skipped(Exception):
    """The point cannot be judged. The text says why."""


class Unreachable(Exception):
    """No HTTP answer came. The text says what happened, without secrets."""


class Token(Enum):
    """Which credential a request carries."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        """The body. Raises Failed when it is no JSON."""
        try:
            return json.loads(self.raw)
        except (ValueError, RecursionError):
            raise Failed(f"HTTP {self.status} with a body that is no JSON: {shown(self.raw)}") from None


class HttpPort(Protocol):
    """How a producer is spoken to."""

    async def __call__(self, method: str, path: str, body: bytes | None, token: Token) -> Answer:
        """Send one request; `path` is encoded already. Raises Unreachable."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What the operator allows and how a job is asked for.

    Attributes:
        allowed: what may be done beyond reading.
        strict: whether the stricter points are run too.
        account: as in `params.source.account`, None to leave it out.
        target: as in `params.target_id`, None to leave it out.
        tags: what is searched for; without any the target is searched as it is configured.
        timeout_s: how long a job may take to end.
        poll_s: the pause between two looks at it.
    """

    allowed: frozenset[Need] = frozenset({Need.READ})
    strict: bool = False
    account: str | None = "default"
    target: str | None = None
    tags: tuple[str, ...] = ()
    timeout_s: float = 600.0
    poll_s: float = 1.0

    def task(self, key: str) -> dict[str, Any]:
        """The task of the protocol's conformance client (section 19)."""
        params: dict[str, Any] = {
            "constraints": {
                "limit": 1,
                "scan_limit": 5,
                "work_types": ["illustration", "novel"],
                "exclude": [{"kind": "work", "id": "149713091"}],
            },
        }
        if self.account is not None:
            params["source"] = {"platform": "pixiv", "account": self.account}
        if self.target is not None:
            params["target_id"] = self.target
        if self.tags:
            params["query"] = {"tags": list(self.tags)}
        return {
            "protocol_version": "1",
            "job_type": "candidate_search",
            "idempotency_key": key,
            "params": params,
        }


@dataclass(frozen=True, slots=True)
class Seen:
    """A request and the JSON it was answered with."""

    method: str
    path: str
    answer: Answer
    body: Any


@dataclass(slots=True)
class Session:
    """The story so far. Checks put here what later ones build upon.

    Attributes:
        new_key: makes a fresh idempotency key.
        sleep: waits seconds.
        clock: seconds that only grow.
        seen: every answer with JSON in it.
    """

    port: HttpPort
    plan: Plan
    new_key: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    seen: list[Seen] = field(default_factory=list)
    task: dict[str, Any] | None = None
    first: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    stream: list[dict[str, Any]] | None = None
    cancelled: dict[str, Any] | None = None
    second_task: dict[str, Any] | None = None
    legacy: tuple[str, str] | None = None

    async def ask(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None, token: Token = Token.RIGHT
    ) -> Answer:
        """Send a request with a JSON body, or with `raw` as it is."""
        sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
        answer = await self.port(method, path, sent, token)
        try:
            self.seen.append(Seen(method, path, answer, json.loads(answer.raw)))
        except (ValueError, RecursionError):
            self.seen.append(Seen(method, path, answer, None))
        return answer

    async def want(self, status: int | tuple[int, ...], method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask, and fail unless the status is right and the body an object."""
        answer = await self.ask(method, path, body)
        wanted = status if isinstance(status, tuple) else (status,)
        if answer.status not in wanted:
            expected = " or ".join(map(str, wanted))
            raise Failed(f"{method} {path} answers {answer.status}, not {expected}: {shown(answer.raw)}")
        document = answer.json
        if not isinstance(document, dict):
            raise Failed(f"{method} {path} answers with no JSON object: {shown(answer.raw)}")
        return document

    async def refused(self, status: int, code: str, body: object, *, raw: bytes | None = None) -> None:
        """POST /jobs must be refused with a status and a code."""
        answer = await self.ask("POST", "/jobs", body, raw=raw)
        what = shown(raw) if raw is not None else shown(json.dumps(body))
        if answer.status != status:
            raise Failed(f"POST /jobs answers {answer.status}, not {status}, to {what}")
        error = answer.json.get("error") if isinstance(answer.json, dict) else None
        if not isinstance(error, dict) or error.get("code") != code:
            raise Failed(f"the error is {shown(answer.raw)}, its code should be {code}, to {what}")

    @property
    def job_id(self) -> str:
        """The accepted job's id. Raises Skipped when there is none."""
        if self.first is None or not isinstance(self.first.get("job_id"), str):
            raise Skipped("no job was accepted")
        return str(self.first["job_id"])

    @property
    def sent(self) -> dict[str, Any]:
        """The task that was accepted."""
        if self.task is None or self.first is None:
            raise Skipped("no job was accepted")
        return self.task

    @property
    def final(self) -> dict[str, Any]:
        """The accepted job at its end."""
        if self.ended is None:
            raise Skipped("the job has not ended")
        return self.ended

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the accepted job."""
        if self.stream is None:
            raise Skipped("the events could not be read")
        return self.stream

    async def until_ended(self, job_id: str) -> dict[str, Any]:
        """Look at a job until it has ended."""
        until = self.clock() + self.plan.timeout_s
        while True:
            job = await self.want(200, "GET", job_path(job_id))
            if job.get("status") in TERMINAL:
                return job
            if self.clock() >= until:
                raise Failed(f"after {self.plan.timeout_s:.0f} s the job is still {shown(job.get('status'))}")
            await self.sleep(self.plan.poll_s)

    async def read_events(self, job_id: str, query: str = "") -> list[dict[str, Any]]:
        """All events of a job, following `next_after`."""
        found: list[dict[str, Any]] = []
        page = await self.want(200, "GET", f"{job_path(job_id)}/events{query}")
        while True:
            events = page.get("events")
            if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
                raise Failed("a page of events has no list of objects under `events`")
            found += events
            after = page.get("next_after")
            if not after or not events or len(found) > 10_000:
                return found
            page = await self.want(200, "GET", f"{job_path(job_id)}/events?after={quote(str(after), safe='')}")


def job_path(job_id: str) -> str:
    """The address of a job; every character of its id survives."""
    return f"/jobs/{quote(job_id, safe='')}"


def expect(held: object, text: str) -> None:
    """Fail unless something holds."""
    if not held:
        raise Failed(text)


def shown(value: object) -> str:
    """A value of the producer, short enough for one line."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
