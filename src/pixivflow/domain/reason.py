"""Why something ended: our internal reasons, and the total map to the protocol's closed error codes.

The internal vocabulary is the one of Workflow Protocol v1's producer side; a few reasons are ours and finer. Every
reason has exactly one code, checked by a test. The protocol's retryable default of each code stands beside it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class Code(StrEnum):
    """The closed set of error codes on the wire."""

    NO_CANDIDATE = "no_candidate"
    SOURCE_ERROR = "source_error"
    QUOTA_EXCEEDED = "quota_exceeded"
    RESOURCE_BUSY = "resource_busy"
    QUEUED_TOO_LONG = "queued_too_long"
    STALLED_NO_PROGRESS = "stalled_no_progress"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    DELIVERY_FAILED = "delivery_failed"
    DELIVERY_ABANDONED = "delivery_abandoned"
    AUTH_ERROR = "auth_error"
    CANCELLED_BY_CONSUMER = "cancelled_by_consumer"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    UNSUPPORTED_PROTOCOL_VERSION = "unsupported_protocol_version"
    INVALID_PARAMS = "invalid_params"
    DELIVERY_REJECTED = "delivery_rejected"
    INTERNAL_ERROR = "internal_error"


RETRYABLE: MappingProxyType[Code, bool] = MappingProxyType(
    {
        Code.NO_CANDIDATE: True,
        Code.SOURCE_ERROR: True,
        Code.QUOTA_EXCEEDED: True,
        Code.RESOURCE_BUSY: True,
        Code.QUEUED_TOO_LONG: True,
        Code.STALLED_NO_PROGRESS: True,
        Code.DEADLINE_EXCEEDED: True,
        Code.DELIVERY_FAILED: True,
        Code.DELIVERY_ABANDONED: True,
        Code.AUTH_ERROR: False,
        Code.CANCELLED_BY_CONSUMER: False,
        Code.IDEMPOTENCY_CONFLICT: False,
        Code.UNSUPPORTED_PROTOCOL_VERSION: False,
        Code.INVALID_PARAMS: False,
        Code.DELIVERY_REJECTED: False,
        Code.INTERNAL_ERROR: False,
    }
)


class Reason(StrEnum):
    """Why a cell or job ended without success, or why a file is missing."""

    NO_CANDIDATE = "no_candidate"
    DUPLICATE_EXHAUSTED = "duplicate_exhausted"
    FILTER_EXHAUSTED = "filter_exhausted"
    WORK_UNAVAILABLE = "work_unavailable"
    DOWNLOAD_TIMEOUT = "download_timeout"
    DOWNLOAD_FAILED = "download_failed"
    METADATA_FAILED = "metadata_failed"
    REMOTE_HTTP_ERROR = "remote_http_error"
    NETWORK_ERROR = "network_error"
    NOT_PUBLISHED_YET = "not_published_yet"
    RATE_LIMITED = "rate_limited"
    AUTH_FAILED = "auth_failed"
    EXECUTION_TIMEOUT = "execution_timeout"
    CONFIGURATION_ERROR = "configuration_error"
    STORAGE_FAILED = "storage_failed"
    INTERNAL_ERROR = "internal_error"
    DELIVERY_FAILED = "delivery_failed"
    TELEGRAM_FAILED = "telegram_failed"
    DELIVERY_REJECTED = "telepost_rejected"
    DELIVERY_ABANDONED = "delivery_abandoned"
    QUEUED_TOO_LONG = "queued_too_long"
    STALLED = "stalled_no_heartbeat"
    CANCELLED = "cancelled_by_consumer"


CODE_OF: MappingProxyType[Reason, Code] = MappingProxyType(
    {
        Reason.NO_CANDIDATE: Code.NO_CANDIDATE,
        Reason.DUPLICATE_EXHAUSTED: Code.NO_CANDIDATE,
        Reason.FILTER_EXHAUSTED: Code.NO_CANDIDATE,
        # Only a work's own verdict may end in "no candidate": deleted, private, restricted.
        Reason.WORK_UNAVAILABLE: Code.NO_CANDIDATE,
        Reason.DOWNLOAD_TIMEOUT: Code.SOURCE_ERROR,
        Reason.DOWNLOAD_FAILED: Code.SOURCE_ERROR,
        Reason.METADATA_FAILED: Code.SOURCE_ERROR,
        Reason.REMOTE_HTTP_ERROR: Code.SOURCE_ERROR,
        Reason.NETWORK_ERROR: Code.SOURCE_ERROR,
        Reason.NOT_PUBLISHED_YET: Code.SOURCE_ERROR,
        Reason.RATE_LIMITED: Code.QUOTA_EXCEEDED,
        Reason.AUTH_FAILED: Code.AUTH_ERROR,
        Reason.EXECUTION_TIMEOUT: Code.DEADLINE_EXCEEDED,
        Reason.CONFIGURATION_ERROR: Code.INTERNAL_ERROR,
        Reason.STORAGE_FAILED: Code.INTERNAL_ERROR,
        Reason.INTERNAL_ERROR: Code.INTERNAL_ERROR,
        Reason.DELIVERY_FAILED: Code.DELIVERY_FAILED,
        Reason.TELEGRAM_FAILED: Code.DELIVERY_FAILED,
        Reason.DELIVERY_REJECTED: Code.DELIVERY_REJECTED,
        Reason.DELIVERY_ABANDONED: Code.DELIVERY_ABANDONED,
        Reason.QUEUED_TOO_LONG: Code.QUEUED_TOO_LONG,
        Reason.STALLED: Code.STALLED_NO_PROGRESS,
        Reason.CANCELLED: Code.CANCELLED_BY_CONSUMER,
    }
)

OUTAGES: frozenset[Reason] = frozenset(
    {
        Reason.DOWNLOAD_TIMEOUT,
        Reason.DOWNLOAD_FAILED,
        Reason.METADATA_FAILED,
        Reason.REMOTE_HTTP_ERROR,
        Reason.NETWORK_ERROR,
        Reason.NOT_PUBLISHED_YET,
        Reason.RATE_LIMITED,
        Reason.AUTH_FAILED,
        Reason.CONFIGURATION_ERROR,
        Reason.STORAGE_FAILED,
        Reason.INTERNAL_ERROR,
    }
)
"""Faults of the source, the account, the network or this machine: never to be reported as "nothing found"."""


def code_of(reason: str | None) -> Code:
    """The wire code of a stored reason. Absent or unknown text is an internal error, never a guess."""
    try:
        return CODE_OF[Reason(reason)] if reason else Code.INTERNAL_ERROR
    except ValueError:
        return Code.INTERNAL_ERROR
