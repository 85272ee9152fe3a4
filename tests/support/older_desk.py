"""The routes under `/internal`, spoken to: a client, parts that answer as told, and a whole stack at any date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import scene
from yarl import URL

from pixivflow.api.ports import Disposition, Drained, Knock, NotOrdered, NotTriggered, Ordered, ScheduleState, Triggered
from pixivflow.bootstrap import Stack
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState
from pixivflow.domain.recovery import RetryMode
from pixivflow.engine.clock import SystemClock
from pixivflow.sandbox import Receiver, Sandbox

MANUAL, TRIGGER = "the-manual-token", "the-trigger-token"
UUID = "3d1f0c3e-6a0e-4a58-9c0e-9a1c6c1f2b11"
NOW = 1_800_000_000_000


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.raw[:200]
        return json.loads(self.raw)

    @property
    def error(self) -> str:
        """The text of a refusal, which has exactly this shape."""
        assert set(self.json) == {"status", "error"}
        assert self.json["status"] == "error"
        error: str = self.json["error"]
        return error


class Client:
    """Sends requests as they are written. The token is the one the path asks for, unless told otherwise."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        chosen = TRIGGER if path.startswith(("/internal/schedules", "/internal/outbox")) else MANUAL
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token or chosen}"
        data = raw if body is None else json.dumps(body).encode()
        url = URL(self.base + path, encoded=True)
        async with self._session.request(method, url, data=data, headers=sent, skip_auto_headers=["User-Agent"]) as got:
            return Answer(got.status, got.headers, await got.read())


def job_record(state: JobState = JobState.QUEUED, cell: CellState = CellState.PENDING, **changes: Any) -> JobRecord:
    """A job about the target `cats`."""
    given: dict[str, Any] = {
        "id": f"daily@manual-{UUID}",
        "seq": 1,
        "type": "candidate_search",
        "plan_id": "daily",
        "account": "default",
        "trigger": "manual",
        "created_at": NOW - 5000,
        "updated_at": NOW - 1000,
        "key": UUID,
        "cells": (CellRecord("cats", 0, "illustration", cell),),
    }
    return JobRecord(**{**given, "state": state, **changes})


@dataclass
class Parts:
    """Orders, clocks and a drain that answer as told and remember what they were asked. An exception is raised."""

    job: JobRecord | None = field(default_factory=job_record)
    ordered: Any = None
    triggered: Any = None
    states: list[ScheduleState] = field(default_factory=list)
    drained: Any = field(default_factory=lambda: Drained(0, 0, 0, 0))
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def _say(self, answer: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def refetch(self, target_id: str, request_id: str, correlation_id: str | None) -> Ordered | NotOrdered:
        self.asked.append(("refetch", target_id, request_id, correlation_id))
        answer: Ordered | NotOrdered = self._say(
            self.ordered or Ordered(self.job or job_record(), Disposition.ACCEPTED)
        )
        return answer

    async def find_refetch(self, target_id: str, request_id: str) -> JobRecord | None:
        self.asked.append(("find_refetch", target_id, request_id))
        return self.job

    async def recover(
        self, target_id: str, request_id: str, mode: RetryMode, correlation_id: str | None
    ) -> Ordered | NotOrdered:
        self.asked.append(("recover", target_id, request_id, mode, correlation_id))
        default = Ordered(self.job or job_record(), Disposition.ACCEPTED, mode)
        answer: Ordered | NotOrdered = self._say(self.ordered or default)
        return answer

    async def find_recovery(self, target_id: str, request_id: str) -> JobRecord | None:
        self.asked.append(("find_recovery", target_id, request_id))
        return self.job

    def schedules(self) -> list[ScheduleState]:
        return self.states

    async def run(self, plan_id: str, label: str | None) -> Triggered | NotTriggered:
        self.asked.append(("run", plan_id, label))
        default = Triggered(f"{plan_id}@2026-05-10T1000", Knock.ACCEPTED, job_record())
        answer: Triggered | NotTriggered = self._say(self.triggered or default)
        return answer

    async def drain(self) -> Drained:
        self.asked.append(("drain",))
        answer: Drained = self._say(self.drained)
        return answer


class ShiftedClock(SystemClock):
    """The machine's clock at another date; `forward` moves it on."""

    def __init__(self, text: str) -> None:
        self.shift_ms = round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000) - super().now_ms()

    def now_ms(self) -> int:
        return super().now_ms() + self.shift_ms

    def now(self) -> float:
        return self.now_ms() / 1000

    def forward(self, minutes: float) -> None:
        """Let time pass."""
        self.shift_ms += round(minutes * 60_000)


@dataclass
class Whole:
    """A stack with its port, an invented site, and a client."""

    stack: Stack
    sandbox: Sandbox
    call: Client
    subject: scene.Subject
    clock: ShiftedClock

    @property
    def consumer(self) -> Receiver:
        """The receiver of the primary route."""
        return self.sandbox.receiver("main")

    async def order(self, target: str = "pictures", request: str = UUID, **more: Any) -> dict[str, Any]:
        """A request that must be accepted."""
        got = await self.call("POST", f"/internal/targets/{target}/refetch", {"requestId": request, **more})
        assert got.status == 202, got.raw
        body: dict[str, Any] = got.json
        return body
