"""Everything under `/internal` as one ASGI application: receipt, token, route, method, handler, and the older refusals.

Two tokens guard it: the one for work on request for `/internal/targets`, the one of clocks and upkeep for the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from pixivflow.api import schedules
from pixivflow.api.auth import Guard, Tokens
from pixivflow.api.exchange import (
    MAX_BODY,
    BodyTooLarge,
    Call,
    CallerGone,
    Receive,
    Reply,
    Scope,
    Send,
    path_segments,
    reply,
    request_id,
    send_reply,
)
from pixivflow.api.legacy import LegacyRoutes
from pixivflow.api.older import OlderProblem, Route, older_refusal
from pixivflow.api.older_wire import DrainCounts, DrainDone
from pixivflow.api.ports import Clocks, Drain, Orders

_log = logging.getLogger(__name__)
_PREFIX: Final = "/internal"


@dataclass(frozen=True, slots=True)
class InternalPorts:
    """What stands behind the routes; what is None is answered with 503."""

    orders: Orders | None = None
    clocks: Clocks | None = None
    drain: Drain | None = None


class _Broke(Exception):
    """Something unexpected, with what the caller hears of it."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


class InternalSurface:
    """The routes under `/internal`.

    Args:
        ports: what stands behind them.
        tokens: a missing one closes its routes with 503.
        now_ms: epoch milliseconds.
        new_id: makes the request id of a caller who sent none.
        max_body: bytes of a request body.
    """

    def __init__(
        self,
        ports: InternalPorts,
        tokens: Tokens,
        *,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        max_body: int = MAX_BODY,
    ) -> None:
        self._manual, self._trigger = Guard(tokens.manual), Guard(tokens.trigger)
        self._drain = ports.drain
        self._new_id = new_id
        self._max_body = max_body
        self._routes: tuple[Route, ...] = (
            *LegacyRoutes(ports.orders, now_ms).routes(),
            *schedules.ScheduleRoutes(ports.clocks).routes(),
            Route(("outbox", "drain"), {"POST": self._drained}, "outbox drain failed; rows remain durable and retry"),
        )

    @staticmethod
    def owns(scope: Scope) -> bool:
        """Whether a request is for these routes."""
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        if root:
            path = path.removeprefix(root)
        return path == _PREFIX or path.startswith(f"{_PREFIX}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ident = request_id(scope["headers"], self._new_id)
        answer = await self._answer(scope, receive, ident)
        if answer is not None:
            await send_reply(send, answer, ident)

    async def _answer(self, scope: Scope, receive: Receive, ident: bytes) -> Reply | None:
        segments = path_segments(scope)[1:]
        headers = scope["headers"]
        knock = scope["method"] == "POST" and schedules.received(segments, headers)
        guard = self._manual if segments[:1] == ["targets"] else self._trigger
        refusal = guard.refusal(headers)
        if refusal is not None:
            if knock:
                schedules.turned_away(segments, refusal.status)
            return refusal
        try:
            return await self._serve(Call(scope, receive, "", self._max_body), segments)
        except CallerGone:
            return None
        except _Broke as broke:
            _log.error(
                "a request failed",
                exc_info=broke.__cause__,
                extra={"request_id": ident.decode(), "method": scope["method"]},
            )
            if knock:
                schedules.broke(segments)
            return older_refusal(500, broke.told)

    async def _serve(self, call: Call, segments: list[str]) -> Reply:
        route, names = self._route(segments)
        if route is None:
            return older_refusal(404, "unknown route")
        try:
            return await route.handler(call.scope["method"])(call, names)
        except OlderProblem as problem:
            return problem.reply()
        except BodyTooLarge:
            return older_refusal(413, "body is too large")
        except CallerGone:
            raise
        except Exception as error:
            raise _Broke(route.failure) from error

    def _route(self, segments: list[str]) -> tuple[Route | None, tuple[str, ...]]:
        for route in self._routes:
            names = route.match(segments)
            if names is not None:
                return route, names
        return None, ()

    async def _drained(self, call: Call, names: tuple[str, ...]) -> Reply:
        """POST /internal/outbox/drain: the body is not read."""
        del call, names
        if self._drain is None:
            raise OlderProblem(503, "outbox worker not available in this runtime")
        return reply(200, DrainDone("ok", DrainCounts(**asdict(await self._drain()))))
