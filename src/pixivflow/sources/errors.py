"""What can go wrong at a source, drawn as a tree.

SourceError                 reason (see domain.reason), retryable
├── AuthFailed              the account must log in again; never retried
├── RateLimited             the shared gate is in a cooldown longer than the caller may wait
├── Unavailable             network, timeout, 5xx, an HTML challenge: later
│   ├── NetworkFailed
│   └── TimedOut
├── NotPublishedYet         a ranking of a day that is not out: later
├── ShapeChanged            the answer is not what the documentation says
├── BadQuestion             the site refuses the parameters (400 that is not about the token)
└── WorkUnavailable         a verdict about one work, not about the source
    ├── NotFound            deleted, private or never there
    ├── Forbidden           not for this account
    └── Restricted          a placeholder stands where the work should be
"""

from __future__ import annotations

from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Restriction


class SourceError(Exception):
    """Base of all. The text is for people and never holds a secret."""

    reason: Reason = Reason.INTERNAL_ERROR
    retryable: bool = False

    def __init__(self, message: str, *, status: int | None = None, endpoint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.endpoint = endpoint


class AuthFailed(SourceError):
    """The site refuses the account's token for good."""

    reason = Reason.AUTH_FAILED


class RateLimited(SourceError):
    """The site asked for a pause. `retry_after_s` is how long the gate will hold, where known."""

    reason = Reason.RATE_LIMITED
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        status: int | None = None,
        endpoint: str | None = None,
    ) -> None:
        super().__init__(message, status=status, endpoint=endpoint)
        self.retry_after_s = retry_after_s


class Unavailable(SourceError):
    """The site answered, but not with an answer (5xx, a challenge page)."""

    reason = Reason.REMOTE_HTTP_ERROR
    retryable = True


class NetworkFailed(Unavailable):
    """No whole answer arrived."""

    reason = Reason.NETWORK_ERROR


class TimedOut(Unavailable):
    """No answer arrived in time."""

    reason = Reason.NETWORK_ERROR


class NotPublishedYet(SourceError):
    """The ranking of that day is not out yet (it appears about noon of the next JST day)."""

    reason = Reason.NOT_PUBLISHED_YET
    retryable = True


class ShapeChanged(SourceError):
    """The answer cannot be read."""

    reason = Reason.METADATA_FAILED
    retryable = True


class BadQuestion(SourceError):
    """The site refuses the parameters. `code` names a refusal that is understood, such as `offset_limit`."""

    reason = Reason.CONFIGURATION_ERROR

    def __init__(
        self, message: str, *, status: int | None = None, endpoint: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, status=status, endpoint=endpoint)
        self.code = code


class WorkUnavailable(SourceError):
    """This one work cannot be had; the run goes on."""

    reason = Reason.WORK_UNAVAILABLE


class NotFound(WorkUnavailable):
    """Deleted, private or never there."""


class Forbidden(WorkUnavailable):
    """Not for this account."""


class Restricted(WorkUnavailable):
    """A placeholder stands where the work should be."""

    def __init__(
        self, message: str, *, restriction: Restriction, status: int | None = None, endpoint: str | None = None
    ) -> None:
        super().__init__(message, status=status, endpoint=endpoint)
        self.restriction = restriction
