"""What can go wrong between a client and a server.

    ClientError
    ├── Unreachable        nobody answers, or the connection broke
    ├── BadAnswer          something answers, and not as the protocol says
    ├── WaitTimeout        the job has not ended in time; it goes on        (also a TimeoutError)
    └── ApiError           the server answered with an error
        ├── Unauthorized   401, 403    the token is missing or wrong
        ├── NotFound       404         no such job, target or route
        ├── InvalidParams  400, 413    the request is not acceptable as it is
        ├── Conflict       409         the key belongs to another task, or the target is ambiguous
        ├── TooManyRequests 429
        └── ServerError    other 5xx
            └── Unavailable 503        stopping, not configured, or too busy

Nothing here carries the token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixivflow.client.model import Job


class ClientError(Exception):
    """Any failure of the client.

    Attributes:
        retryable: whether the same call may work later.
    """

    retryable = False


class Unreachable(ClientError):
    """Nobody answers at the address, or the connection broke. Whether the request was served is not known."""

    retryable = True


class BadAnswer(ClientError):
    """The answer is not one of this protocol: another kind of server, or something between."""


class WaitTimeout(ClientError, TimeoutError):
    """The job has not ended in time; it goes on. `job` is the job as it was seen last."""

    retryable = True

    def __init__(self, job_id: str, seconds: float, job: Job | None) -> None:
        super().__init__(f"job {job_id} has not ended within {seconds:g} s; it goes on")
        self.job_id = job_id
        self.job = job


class ApiError(ClientError):
    """The server refused.

    Attributes:
        status: HTTP status.
        code: the protocol's closed vocabulary; empty when the answer carries none.
        retryable: the server's word, or what the status means when it says nothing.
        detail: for diagnosis; branch on `code` only.
        retry_after_s: how long the server asks to wait, if it does.
        request_id: under which the server's log knows the request.
        body: the whole answer where it was a JSON object.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retryable: bool,
        detail: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
        request_id: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} (HTTP {status}{', ' + code if code else ''})")
        self.status = status
        self.code = code
        self.message = message
        self.retryable = retryable
        self.detail: Mapping[str, Any] = dict(detail or {})
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        self.body: Mapping[str, Any] = dict(body or {})

    @property
    def reason(self) -> str:
        """The finer reason the server gave, empty when it gave none. For diagnosis."""
        found = self.detail.get("reason")
        return found if isinstance(found, str) else ""


class Unauthorized(ApiError):
    """The token is missing or wrong."""


class NotFound(ApiError):
    """No such job, target or route."""


class InvalidParams(ApiError):
    """The request is not acceptable as it is."""


class Conflict(ApiError):
    """The key belongs to another task, or the target is ambiguous."""


class TooManyRequests(ApiError):
    """Later."""


class ServerError(ApiError):
    """The server failed."""


class Unavailable(ServerError):
    """The server is stopping, too busy, or its Job API is closed."""


_KINDS: Mapping[int, type[ApiError]] = {
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
    503: Unavailable,
}


def api_error(status: int, body: object, *, retry_after_s: float | None = None, request_id: str = "") -> ApiError:
    """The error an answer stands for. `body` is its JSON, None when it is none."""
    told = body.get("error") if isinstance(body, dict) else None
    error: Mapping[str, Any] = told if isinstance(told, dict) else {}
    flag = error.get("retryable")
    if not isinstance(flag, bool):
        # The two answers of the token check have an older shape: no waiting opens a door that has no lock.
        flag = (status == 429 or status >= 500) and not isinstance(told, str)
    kind = _KINDS.get(status, ServerError if status >= 500 else InvalidParams)
    detail = error.get("detail")
    return kind(
        status,
        str(error.get("code", "")),
        str(error.get("message") or (told if isinstance(told, str) else "") or "the server refused"),
        retryable=flag,
        detail=detail if isinstance(detail, dict) else None,
        retry_after_s=retry_after_s,
        request_id=request_id,
        body=body if isinstance(body, dict) else None,
    )
