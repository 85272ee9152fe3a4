"""Is it alive, and should it get work? Without a token, without waiting for anything."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from pixivflow.api.ports import Health, JobService

SERVICE: Final = "pixivflow-scheduler-trigger"
"""The name the protocol's consumers know the process by."""
_HEADERS: Final = {"cache-control": "no-store"}
_log = logging.getLogger(__name__)


def health_body(health: Health) -> dict[str, str]:
    """The `/health` object of the protocol."""
    return {"status": "ok", "service": SERVICE, "version": health.version, "commit": health.commit}


def ready_body(health: Health, *, verbose: bool) -> dict[str, Any]:
    """The `/readyz` object; the checks are for people and shown on request."""
    body: dict[str, Any] = {"status": "ok" if health.ready else "unavailable"}
    if verbose:
        body["version"] = health.version
        body["commit"] = health.commit
        body["draining"] = health.draining
        body["checks"] = [{"name": c.name, "ok": c.ok, "message": c.message} for c in health.checks]
    return body


def health_routes(service: JobService) -> Sequence[HTTPRouteHandler]:
    """`/health`, `/healthz`, `/livez`, `/readyz`."""

    @get("/health", sync_to_thread=False)
    def health() -> Response[dict[str, str]]:
        return Response(health_body(service.health()), headers=_HEADERS)

    @get(["/healthz", "/livez"], sync_to_thread=False)
    def alive() -> Response[dict[str, str]]:
        return Response({"status": "ok"}, headers=_HEADERS)

    @get("/readyz", sync_to_thread=False)
    def ready(request: Request[Any, Any, Any]) -> Response[dict[str, Any]]:
        try:
            state = service.health()
        except Exception:  # noqa: BLE001 - whatever it is, the answer is "not ready"
            # Not knowing is not being ready; a 500 would say that the question itself is broken.
            _log.exception("the state of the process cannot be read")
            return Response({"status": "unavailable"}, status_code=503, headers=_HEADERS)
        # `?verbose` without a value asks as well.
        verbose = request.query_params.get("verbose", "0") not in ("0", "false")
        body = ready_body(state, verbose=verbose)
        return Response(body, status_code=200 if state.ready else 503, headers=_HEADERS)

    return [health, alive, ready]
