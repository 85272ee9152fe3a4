"""What the routes under `/internal` share: their refusals, their bodies, and how a path becomes a handler.

They are older than the Job API and keep its first shape: a refusal is `{"status": "error", "error": <text>}`. Clients
branch on the HTTP status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pixivflow.api.errors import Problem
from pixivflow.api.exchange import Call, Reply, reply
from pixivflow.api.jobs import decode_json

MAX_CORRELATION: Final = 200

Handler = Callable[[Call, tuple[str, ...]], Awaitable[Reply]]
"""Answers a request, given what stands in the variable places of its path."""


class OlderProblem(Exception):
    """A request under `/internal` that cannot be served."""

    def __init__(self, status: int, error: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.headers = headers

    def reply(self) -> Reply:
        """The answer to send."""
        return older_refusal(self.status, self.error, *self.headers)


def older_refusal(status: int, error: str, *headers: tuple[bytes, bytes]) -> Reply:
    """A refusal in the older shape."""
    return reply(status, {"status": "error", "error": error}, *headers)


@dataclass(frozen=True, slots=True)
class Route:
    """An address and what its methods do.

    Attributes:
        path: its segments below `/internal`; None is a variable.
        failure: what a caller hears when something unexpected happens.
    """

    path: tuple[str | None, ...]
    methods: Mapping[str, Handler]
    failure: str = "internal error"

    def match(self, segments: Sequence[str]) -> tuple[str, ...] | None:
        """The variables of a path that is this route's, None for another path. A variable is never empty."""
        if len(segments) != len(self.path):
            return None
        found = []
        for wanted, segment in zip(self.path, segments, strict=True):
            if wanted is None:
                if not segment:
                    return None
                found.append(segment)
            elif wanted != segment:
                return None
        return tuple(found)

    def handler(self, method: str) -> Handler:
        """What serves a method.

        Raises:
            OlderProblem: 405, with the methods there are.
        """
        handler = self.methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            allowed = [*self.methods, *(["HEAD"] if "GET" in self.methods else [])]
            raise OlderProblem(405, "method not allowed", (b"allow", ", ".join(allowed).encode()))
        return handler


async def json_object(call: Call, *, optional: bool = False) -> dict[str, Any]:
    """The JSON object a request brings. With `optional` no body at all is an empty one.

    Raises:
        OlderProblem: 400; what came in is not repeated.
    """
    raw = await call.body()
    if optional and not raw.strip():
        return {}
    try:
        body = decode_json(raw)
    except Problem as problem:
        raise OlderProblem(400, problem.message) from None
    if not isinstance(body, dict):
        raise OlderProblem(400, "body must be a JSON object")
    return body


def correlation_id(body: Mapping[str, Any]) -> str | None:
    """The optional `correlationId`. Unlike on the job routes null is not the same as absent.

    Raises:
        OlderProblem: 400.
    """
    if "correlationId" not in body:
        return None
    value = body["correlationId"]
    if not isinstance(value, str) or len(value) > MAX_CORRELATION or not storable(value):
        raise OlderProblem(400, f"correlationId must be a string of at most {MAX_CORRELATION} chars")
    return value or None


def storable(text: str) -> bool:
    """Whether a text can be stored and sent: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
