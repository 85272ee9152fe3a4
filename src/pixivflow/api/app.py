"""The HTTP application: the job surface, health, the API's own description, and room for neighbours."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from litestar import Litestar, Request, Response, get
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

from pixivflow._version import __version__
from pixivflow.api.auth import Guard, Tokens
from pixivflow.api.errors import error_body
from pixivflow.api.exchange import MAX_BODY, Receive, Scope, Send, encode
from pixivflow.api.health import health_routes
from pixivflow.api.internal import InternalPorts, InternalSurface
from pixivflow.api.older_paths import internal_paths
from pixivflow.api.openapi import document
from pixivflow.api.ports import JobService
from pixivflow.api.protocol import protocol_routes
from pixivflow.api.stream import StreamSettings
from pixivflow.api.surface import JobSurface
from pixivflow.domain.reason import Code

_log = logging.getLogger(__name__)


def new_request_id() -> str:
    """A request id for callers who sent none."""
    return secrets.token_hex(8)


def create_app(
    service: JobService,
    tokens: Tokens,
    *,
    now_ms: Callable[[], int],
    new_id: Callable[[], str] = new_request_id,
    jobs_enabled: bool = True,
    max_body: int = MAX_BODY,
    stream: StreamSettings | None = None,
    internal: InternalPorts | None = None,
    routes: Sequence[ControllerRouterHandler] = (),
    extra_paths: Mapping[str, Any] | None = None,
) -> Application:
    """The ASGI application.

    Args:
        service: jobs and health.
        tokens: who may do what; a missing token closes its routes with 503.
        now_ms: epoch milliseconds.
        new_id: makes the request id of a caller who sent none.
        jobs_enabled: False when this process does not serve jobs; the routes then say so with 503.
        max_body: bytes of a request body.
        stream: bounds of the event stream.
        internal: what stands behind `/internal`; None leaves its routes out.
        routes: Litestar handlers of neighbouring rooms; failures in them get the same envelope.
        extra_paths: their OpenAPI path items.
    """
    surface = JobSurface(
        service,
        Guard(tokens.manual),
        now_ms=now_ms,
        new_id=new_id,
        enabled=jobs_enabled,
        max_body=max_body,
        stream=stream,
    )
    older = None
    if internal is not None:
        older = InternalSurface(internal, tokens, now_ms=now_ms, new_id=new_id, max_body=max_body)
        extra_paths = {**internal_paths(), **(extra_paths or {})}
    neighbours = Litestar(
        [*health_routes(service), *protocol_routes(), _description(extra_paths), *routes],
        exception_handlers={HTTPException: _refused, Exception: _unexpected},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=max_body,
    )
    return Application(surface, neighbours, older)


class Application:
    """The job surface first, then the routes under `/internal`, and the framework for everything else.

    In front of the framework, not inside it: an encoded slash in a job id is seen only in the path as it was sent, and
    the way through the framework costs as much again as the job surface itself.
    """

    def __init__(self, surface: JobSurface, neighbours: Litestar, older: InternalSurface | None = None) -> None:
        self._surface = surface
        self._neighbours = neighbours
        self._older = older

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._surface.owns(scope):
            await self._surface(scope, receive, send)
        elif scope["type"] == "http" and self._older is not None and self._older.owns(scope):
            await self._older(scope, receive, send)
        else:
            await self._neighbours(scope, receive, send)  # type: ignore[arg-type]

    def end_streams(self) -> None:
        """End the answers that would never end by themselves, and begin no new ones."""
        self._surface.feed.close()


def _description(extra_paths: Mapping[str, Any] | None) -> HTTPRouteHandler:
    @cache
    def encoded() -> bytes:
        return encode(document(__version__, extra_paths))

    @get("/openapi.json", sync_to_thread=False)
    def openapi() -> Response[bytes]:
        return Response(encoded(), media_type="application/json")

    return openapi


def _refused(_request: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, Any]]:
    # The framework's own refusals: no such route, wrong method, an unreadable parameter.
    status = error.status_code
    code = Code.INTERNAL_ERROR if status >= 500 else Code.INVALID_PARAMS
    message = {404: "unknown route", 405: "method not allowed"}.get(
        status, "internal error" if status >= 500 else "the request cannot be read"
    )
    return Response(error_body(code, message), status_code=status, headers=dict(error.headers or {}))


def _unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    _log.error("a request failed", exc_info=error, extra={"method": request.method})
    return Response(error_body(Code.INTERNAL_ERROR, "internal error"), status_code=500)
