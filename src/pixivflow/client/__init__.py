"""A client of the Job API (Workflow Protocol v1.1), asynchronous and synchronous.

    async with AsyncClient("http://127.0.0.1:8090", token) as client:
        order = await client.submit(target_id="daily-cats")
        job = await client.wait(order)

It needs nothing of the server's side; the guide is docs/guide/client.md.
"""

from __future__ import annotations

from pixivflow.client.aio import AsyncClient, Consumed
from pixivflow.client.errors import (
    ApiError,
    BadAnswer,
    ClientError,
    Conflict,
    InvalidParams,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    WaitTimeout,
)
from pixivflow.client.model import (
    Acked,
    Asset,
    Candidate,
    Capabilities,
    Event,
    EventPage,
    Job,
    JobError,
    JobType,
    Locator,
    MatchedTag,
    Order,
    Progress,
    Reject,
    Result,
    Submitted,
)
from pixivflow.client.reading import JobRef
from pixivflow.client.retry import NEVER, Retry
from pixivflow.client.sync import Client, ConsumedSync

__all__ = [
    "NEVER",
    "Acked",
    "ApiError",
    "Asset",
    "AsyncClient",
    "BadAnswer",
    "Candidate",
    "Capabilities",
    "Client",
    "ClientError",
    "Conflict",
    "Consumed",
    "ConsumedSync",
    "Event",
    "EventPage",
    "InvalidParams",
    "Job",
    "JobError",
    "JobRef",
    "JobType",
    "Locator",
    "MatchedTag",
    "NotFound",
    "Order",
    "Progress",
    "Reject",
    "Result",
    "Retry",
    "ServerError",
    "Submitted",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "WaitTimeout",
]
