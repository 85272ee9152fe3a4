"""What went wrong with one file, and what is done next. Pure: a table and the arithmetic of waiting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pixivflow.domain.reason import Reason
from pixivflow.sources.errors import (
    AuthFailed,
    NetworkFailed,
    NotFound,
    RateLimited,
    ShapeChanged,
    SourceError,
    TimedOut,
    Unavailable,
    WorkUnavailable,
)


class Fault(StrEnum):
    """What one try to fetch one address came to, when it did not come to a file."""

    GONE = "gone"  # 404
    FORBIDDEN = "forbidden"  # 403
    PLACEHOLDER = "placeholder"  # the address or the bytes of a restriction's picture
    RATE_LIMITED = "rate_limited"  # 429
    SERVER = "server"  # 5xx, a challenge page
    NETWORK = "network"  # no whole answer
    TIMEOUT = "timeout"
    BROKEN = "broken"  # a whole answer that is not the file: cut, empty, a page, another kind
    TOO_LARGE = "too_large"
    REFUSED = "refused"  # anything that repeating cannot help


class Action(StrEnum):
    """What to do about a fault."""

    RETRY = "retry"  # the same address, after a pause
    NEXT = "next"  # another address of the same file, at once
    STOP = "stop"  # neither can help


ACTIONS: Mapping[Fault, Action] = MappingProxyType(
    {
        Fault.GONE: Action.NEXT,
        Fault.FORBIDDEN: Action.STOP,
        Fault.PLACEHOLDER: Action.STOP,
        Fault.RATE_LIMITED: Action.RETRY,
        Fault.SERVER: Action.RETRY,
        Fault.NETWORK: Action.RETRY,
        Fault.TIMEOUT: Action.RETRY,
        # A damaged answer is retried and never replaced by a smaller version: the original is there.
        Fault.BROKEN: Action.RETRY,
        Fault.TOO_LARGE: Action.STOP,
        Fault.REFUSED: Action.STOP,
    }
)

REASONS: Mapping[Fault, Reason] = MappingProxyType(
    {
        Fault.GONE: Reason.WORK_UNAVAILABLE,
        Fault.FORBIDDEN: Reason.WORK_UNAVAILABLE,
        Fault.PLACEHOLDER: Reason.WORK_UNAVAILABLE,
        Fault.RATE_LIMITED: Reason.RATE_LIMITED,
        Fault.SERVER: Reason.REMOTE_HTTP_ERROR,
        Fault.NETWORK: Reason.NETWORK_ERROR,
        Fault.TIMEOUT: Reason.DOWNLOAD_TIMEOUT,
        Fault.BROKEN: Reason.DOWNLOAD_FAILED,
        Fault.TOO_LARGE: Reason.DOWNLOAD_FAILED,
        Fault.REFUSED: Reason.DOWNLOAD_FAILED,
    }
)

VERDICTS: frozenset[Fault] = frozenset({Fault.GONE, Fault.FORBIDDEN, Fault.PLACEHOLDER})
"""Faults that say something about the work and not about the source, the network or this machine."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Repeats of one address. Seconds.

    Attributes:
        max_retries: repeats after the first try.
        base_s, cap_s: the pause doubles from `base_s` up to `cap_s`.
        longest_wait_s: what the site may ask for with Retry-After; a longer wish fails the file at once.
    """

    max_retries: int = 3
    base_s: float = 0.5
    cap_s: float = 5.0
    longest_wait_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Miss:
    """A try that brought no file. `detail` is for people: no address, no secret, no path."""

    fault: Fault
    detail: str
    retry_after_s: float | None = None

    @property
    def reason(self) -> Reason:
        """The stored reason of a file that ended this way."""
        return REASONS[self.fault]


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, after waiting `wait_s` seconds."""

    action: Action
    wait_s: float = 0.0


def next_step(miss: Miss, retries: int, policy: RetryPolicy) -> Step:
    """What follows a miss when the address has been repeated `retries` times already."""
    action = ACTIONS[miss.fault]
    if action is not Action.RETRY:
        return Step(action)
    if retries >= policy.max_retries:
        return Step(Action.STOP)
    asked = miss.retry_after_s or 0.0
    if asked > policy.longest_wait_s:
        return Step(Action.STOP)
    return Step(Action.RETRY, max(asked, min(policy.cap_s, policy.base_s * 2.0**retries)))


_FAULT_OF: tuple[tuple[type[SourceError], Fault], ...] = (
    # The first row that fits counts, so special cases stand above their parents.
    (NotFound, Fault.GONE),
    (WorkUnavailable, Fault.FORBIDDEN),
    (RateLimited, Fault.RATE_LIMITED),
    (TimedOut, Fault.TIMEOUT),
    (NetworkFailed, Fault.NETWORK),
    (Unavailable, Fault.SERVER),
    (ShapeChanged, Fault.REFUSED),  # on the way to a file: an address that is not the site's
)


def miss_of(error: SourceError) -> Miss:
    """Read a source's error as the outcome of one try. AuthFailed is not one: it goes through to the caller."""
    if isinstance(error, AuthFailed):
        raise error
    otherwise = Fault.SERVER if error.retryable else Fault.REFUSED
    fault = next((fault for kind, fault in _FAULT_OF if isinstance(error, kind)), otherwise)
    return Miss(fault, str(error)[:200], error.retry_after_s if isinstance(error, RateLimited) else None)
