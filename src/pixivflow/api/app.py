"""The HTTP application: the job surface, health, the API's own description, and room for neighbours."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from litestar import Litestar, Request, Response, asgi, get
from litestar.exceptions import HTTPException
from litestar.handlers import ASGIRouteHandler, HTTPRouteHandler
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from pixivflow._version import __version__
from pixivflow.api.auth import Guard, Tokens
from pixivflow.api.errors import error_body
from pixivflow.api.exchange import MAX_BODY, encode
from pixivflow.api.health import health_routes
from pixivflow.api.openapi import document
from pixivflow.api.ports import JobService
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
    routes: Sequence[ControllerRouterHandler] = (),
    extra_paths: Mapping[str, Any] | None = None,
) -> Litestar:
    """The ASGI application.

    Args:
        service: jobs and health.
        tokens: who may do what; a missing token closes its routes with 503.
        now_ms: epoch milliseconds.
        new_id: makes the request id of a caller who sent none.
        jobs_enabled: False when this process does not serve jobs; the routes then say so with 503.
        max_body: bytes of a request body.
        routes: Litestar handlers of neighbouring rooms; failures in them get the same envelope.
        extra_paths: their OpenAPI path items.
    """
    surface = JobSurface(
        service, Guard(tokens.manual), now_ms=now_ms, new_id=new_id, enabled=jobs_enabled, max_body=max_body
    )
    return Litestar(
        [_mount(surface), *health_routes(service), _description(extra_paths), *routes],
        exception_handlers={HTTPException: _refused, Exception: _unexpected},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=max_body,
    )


def _mount(surface: JobSurface) -> ASGIRouteHandler:
    # A mount, not handlers: an encoded slash in a job id is seen only in the path as it was sent, and each request
    # costs a third of what it costs through the framework's own handlers.
    @asgi(["/jobs", "/capabilities"], is_mount=True, copy_scope=False)
    async def job_surface(scope: Scope, receive: Receive, send: Send) -> None:
        await surface(scope, receive, send)  # type: ignore[arg-type]

    return job_surface


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
