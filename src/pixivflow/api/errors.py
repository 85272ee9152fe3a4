"""How failure looks on the wire: one envelope, closed codes, nothing of the inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixivflow.api.exchange import Reply, reply
from pixivflow.domain.reason import RETRYABLE, Code


class Problem(Exception):
    """A request that cannot be served, with all the caller may know about it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: Code = Code.INVALID_PARAMS,
        detail: Mapping[str, Any] | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.detail = detail
        self.headers = headers

    def reply(self) -> Reply:
        """The answer to send."""
        return error_reply(self.status, self.code, self.message, self.detail, headers=self.headers)


def error_body(
    code: Code, message: str, detail: Mapping[str, Any] | None = None, *, retryable: bool | None = None
) -> dict[str, Any]:
    """`{"error": …}`. `retryable` is always sent; None takes the code's default."""
    error: dict[str, Any] = {
        "code": code.value,
        "message": message,
        "retryable": RETRYABLE[code] if retryable is None else retryable,
    }
    if detail:
        error["detail"] = dict(detail)
    return {"error": error}


def error_reply(
    status: int,
    code: Code,
    message: str,
    detail: Mapping[str, Any] | None = None,
    *,
    retryable: bool | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> Reply:
    """The envelope as an answer."""
    return reply(status, error_body(code, message, detail, retryable=retryable), *headers)


def internal_error() -> Reply:
    """The answer to anything unexpected. What happened stands in the log, never here."""
    return error_reply(500, Code.INTERNAL_ERROR, "internal error")


def unknown_job(detail: Mapping[str, Any] | None = None) -> Problem:
    """The protocol has no code of its own for it."""
    return Problem(404, "unknown job", detail=detail)


def unknown_route() -> Problem:
    """No such address."""
    return Problem(404, "unknown route", detail={"reason": "unknown_route"})


def wrong_method(allowed: tuple[str, ...]) -> Problem:
    """The address exists, the method does not."""
    return Problem(
        405,
        "method not allowed",
        detail={"reason": "method_not_allowed", "allowed": list(allowed)},
        headers=((b"allow", ", ".join(allowed).encode()),),
    )


def surface_disabled() -> Problem:
    """This process does not serve the Job API: never an empty 200."""
    return Problem(503, "job API is unavailable", code=Code.INTERNAL_ERROR, detail={"reason": "job_api_disabled"})
