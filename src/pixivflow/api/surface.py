"""The job surface as one ASGI application: token, route, method, handler, and an envelope around every failure."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from pixivflow.api.auth import Guard
from pixivflow.api.errors import Problem, internal_error, surface_disabled, unknown_route, wrong_method
from pixivflow.api.events import EventRoutes
from pixivflow.api.exchange import (
    MAX_BODY,
    Answer,
    BodyTooLarge,
    Call,
    CallerGone,
    Receive,
    Reply,
    Scope,
    Send,
    path_segments,
    request_id,
    send_reply,
)
from pixivflow.api.jobs import JobRoutes
from pixivflow.api.ports import JobService
from pixivflow.api.stream import EventFeed, StreamRoutes, StreamSettings

Handler = Callable[[Call], Awaitable[Reply | Answer]]
Methods = Mapping[str, Handler]

_log = logging.getLogger(__name__)
_ID: Final = ""
_STREAM: Final = ("events", "stream")


class JobSurface:
    """`/capabilities`, `/events/stream` and everything under `/jobs`.

    Args:
        guard: the manual token's.
        enabled: False answers 503 on every route, because this process does not serve jobs.
        new_id: makes the request id of a caller who sent none.
    """

    def __init__(
        self,
        service: JobService,
        guard: Guard,
        *,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        enabled: bool = True,
        max_body: int = MAX_BODY,
        stream: StreamSettings | None = None,
    ) -> None:
        jobs = JobRoutes(service, now_ms)
        events = EventRoutes(service, now_ms)
        streams = StreamRoutes(service, now_ms, stream or StreamSettings())
        self.feed: EventFeed = streams.feed
        # Keyed by the path with its job id blanked out.
        self._routes: Mapping[tuple[str, ...], Methods] = {
            ("capabilities",): {"GET": jobs.capabilities},
            ("jobs",): {"GET": jobs.search, "POST": jobs.submit},
            ("jobs", _ID): {"GET": jobs.read},
            ("jobs", _ID, "cancel"): {"POST": jobs.cancel},
            ("jobs", _ID, "events"): {"GET": events.page},
            ("jobs", _ID, "events", "ack"): {"POST": events.ack},
            _STREAM: {"GET": streams.open},
        }
        self._guard = guard
        self._new_id = new_id
        self._enabled = enabled
        self._max_body = max_body

    @staticmethod
    def owns(scope: Scope) -> bool:
        """Whether a request is the job surface's."""
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        if root:
            path = path.removeprefix(root)
        return path.startswith(("/jobs/", "/capabilities/", "/events/")) or path in (
            "/jobs",
            "/capabilities",
            "/events",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ident = request_id(scope["headers"], self._new_id)
        answer = await self._answer(scope, receive, ident)
        if isinstance(answer, Reply):
            await send_reply(send, answer, ident)
        elif answer is not None:
            await answer(send, ident)

    async def _answer(self, scope: Scope, receive: Receive, ident: bytes) -> Reply | Answer | None:
        refusal = self._guard.refusal(scope["headers"])
        if refusal is not None:
            return refusal
        try:
            handler, job_id = self._route(scope)
            return await handler(Call(scope, receive, job_id, self._max_body))
        except Problem as problem:
            return problem.reply()
        except BodyTooLarge:
            limit = self._max_body
            return Problem(413, "body is too large", detail={"field": "body", "max_bytes": limit}).reply()
        except CallerGone:
            return None
        except Exception:  # noqa: BLE001 - the outermost frame: logged whole, answered neutrally
            _log.exception("a job request failed", extra={"request_id": ident.decode(), "method": scope["method"]})
            return internal_error()

    def _route(self, scope: Scope) -> tuple[Handler, str]:
        if not self._enabled:
            raise surface_disabled()
        segments = path_segments(scope) or [""]
        if tuple(segments) == _STREAM:
            return self._of_method(self._routes[_STREAM], scope["method"]), ""
        job_id = segments[1] if len(segments) > 1 else ""
        methods = self._routes.get((segments[0], _ID, *segments[2:]) if job_id else tuple(segments[:1]))
        if methods is None or (len(segments) > 1 and not job_id):
            raise unknown_route()
        return self._of_method(methods, scope["method"]), job_id

    @staticmethod
    def _of_method(methods: Methods, method: str) -> Handler:
        handler = methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            raise wrong_method((*methods, "HEAD") if "GET" in methods else tuple(methods))
        return handler
