"""When a call is made again, and how long after. Pure: clock and randomness are the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from pixivflow.client.errors import ApiError, ClientError, ServerError, TooManyRequests, Unreachable

_LONGEST_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Retry:
    """How persistent a client is. All times in seconds.

    Attributes:
        attempts: calls in all, the first one included.
        base_s, max_s: the pause before the n-th repetition is a random one of up to `base_s * 2^n`, at most `max_s`.
        total_s: no repetition begins later than so long after the first call.
    """

    attempts: int = 20
    base_s: float = 0.25
    max_s: float = 8.0
    total_s: float = 60.0

    def pause(self, failures: int, elapsed_s: float, error: ClientError, random: Callable[[], float]) -> float | None:
        """Seconds to wait after so many failures, None to give up.

        A server that asks for more patience (`Retry-After`) gets it, as long as it is within the total.
        """
        if failures >= self.attempts or not may_work_later(error):
            return None
        pause = random() * min(self.max_s, self.base_s * 2 ** min(failures, 30))
        if isinstance(error, ApiError) and error.retry_after_s is not None:
            # The random part stays, so that the clients of one server do not come back together.
            pause += error.retry_after_s
        return pause if elapsed_s + pause <= self.total_s else None


NEVER: Final = Retry(attempts=1)
"""Every call is made once."""


def may_work_later(error: ClientError) -> bool:
    """Whether to repeat a call; every call of the protocol may be repeated, an order because of its key.

    A failure that the server gives a lasting reason for is final. One without a reason is a fault of the moment: the
    process that met it may be on its way down, and the next one will know what came of the call.
    """
    if isinstance(error, Unreachable | TooManyRequests):
        return True
    if not isinstance(error, ServerError):
        return False
    return error.retryable or (error.code == "internal_error" and not error.reason)


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds named by a `Retry-After` header: a number, or an HTTP date. None for anything else."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:10]), _LONGEST_S)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    seconds = (when - now).total_seconds()
    return min(max(0.0, seconds), _LONGEST_S)
