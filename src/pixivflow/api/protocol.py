"""`/protocol/v1/…`: the protocol as data, for whoever wants to check what they send or get. Without a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from pixivflow.api.exchange import encode
from pixivflow.protocol import schema, vocabulary
from pixivflow.protocol.acceptance import listed

_HEADERS: Final = {"cache-control": "public, max-age=300"}


def protocol_routes() -> Sequence[HTTPRouteHandler]:
    """The schema of every object, the error vocabulary and the acceptance list."""
    return [
        _document("/protocol/v1/schema.json", schema.encoded),
        _document("/protocol/v1/errors.json", lambda: encode(vocabulary.errors())),
        _document("/protocol/v1/acceptance.json", lambda: encode(listed())),
    ]


def _document(path: str, make: Callable[[], bytes]) -> HTTPRouteHandler:
    made = cache(make)  # on the first request: a server that is never asked pays nothing

    @get(path, sync_to_thread=False, name=path)
    def read() -> Response[bytes]:
        return Response(made(), media_type="application/json", headers=_HEADERS)

    return read


def protocol_paths() -> dict[str, Any]:
    """Their OpenAPI path items."""
    said = {
        "schema": ("getProtocolSchema", "JSON Schema 2020-12 of every object, under $defs"),
        "errors": ("getProtocolErrors", "The closed set of error codes, and the internal reasons behind them"),
        "acceptance": ("getAcceptanceList", "What `pixivflow protocol verify` checks"),
    }
    return {
        f"/protocol/v1/{name}.json": {
            "get": {
                "operationId": ident,
                "summary": summary,
                "tags": ["protocol"],
                "security": [],
                "responses": {
                    "200": {"description": summary, "content": {"application/json": {"schema": {"type": "object"}}}}
                },
            }
        }
        for name, (ident, summary) in said.items()
    }
