"""A producer of the protocol in memory, spoken to without a socket, and ways to break what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from memory_jobs import MemoryJobs

from pixivflow.api.app import create_app
from pixivflow.api.auth import Tokens
from pixivflow.protocol.session import Answer, Token

TOKEN = "the-token"


@dataclass(frozen=True, slots=True)
class Told:
    """A request and what the honest producer answers."""

    method: str
    path: str
    sent: Any
    status: int
    body: Any

    @property
    def route(self) -> str:
        """`POST /jobs`, `GET /jobs/*`, `POST /jobs/*/cancel` …"""
        parts = self.path.partition("?")[0].split("/")
        if len(parts) > 2 and parts[1] == "jobs":
            parts[2] = "*"
        return f"{self.method} {'/'.join(parts)}"


Bug = Callable[[Told], tuple[int, Any] | None]


@dataclass
class Producer:
    """`HttpPort` over the real application. `bug` may replace an answer; None leaves it as it is."""

    bug: Bug = lambda told: None
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    passed_s: float = 0.0
    ends: bool = True

    def __post_init__(self) -> None:
        self._app = create_app(self.jobs, Tokens(TOKEN), now_ms=self.jobs.now_ms)

    async def __call__(self, method: str, path: str, body: bytes | None, token: Token) -> Answer:
        status, headers, raw = await self._exchange(method, path, body or b"", token)
        told = Told(method, path, _decoded(body or b""), status, _decoded(raw))
        broken = self.bug(told)
        if broken is None:
            return Answer(status, headers, raw)
        document = broken[1] if isinstance(broken[1], bytes) else json.dumps(broken[1]).encode()
        return Answer(broken[0], headers, document)

    async def sleep(self, seconds: float) -> None:
        """Time passes, and every open job comes to its end."""
        self.passed_s += seconds
        for job in list(self.jobs.jobs.values()) if self.ends else []:
            if not job.terminal:
                self.jobs.succeed(job.id)

    def clock(self) -> float:
        """Seconds that have passed."""
        return self.passed_s

    async def _exchange(self, method: str, path: str, body: bytes, token: Token) -> tuple[int, dict[str, str], bytes]:
        sent: list[Any] = []
        raw, _, query = path.partition("?")

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        value = {Token.RIGHT: f"Bearer {TOKEN}", Token.WRONG: "Bearer other", Token.NONE: None}[token]
        await self._app(
            {
                "type": "http",
                "method": method,
                "path": unquote(raw),
                "raw_path": raw.encode(),
                "query_string": query.encode(),
                "headers": [(b"authorization", value.encode())] if value else [],
            },
            receive,
            send,
        )
        headers = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        return sent[0]["status"], headers, b"".join(part.get("body", b"") for part in sent[1:])


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
