"""From the answers of a server to types, and from jobs to their addresses."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from pixivflow.client.errors import BadAnswer
from pixivflow.client.model import Event, Job, Submitted

T = TypeVar("T")
JobRef = str | Job | Submitted
"""A job by its id, or as the client has given it."""


def job_id_of(job: JobRef) -> str:
    """The id a job is named by."""
    ident = job if isinstance(job, str) else job.job_id
    if not ident:
        raise ValueError("a job has an id")
    return ident


def job_path(job: JobRef) -> str:
    """The address of a job relative to the server."""
    # A dot alone would be taken for the way up and never arrive.
    ident = quote(job_id_of(job), safe="")
    return "/jobs/" + (ident.replace(".", "%2E") if ident.strip(".") == "" else ident)


def object_of(value: object) -> dict[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise BadAnswer("the answer is not one of this protocol")
    return value


def read_as(kind: type[T], value: object) -> T:
    """The answer as a type. What the type does not know is kept in `raw`."""
    try:
        return msgspec.convert({**present(value), "raw": value}, kind)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"the answer is not one of this protocol: {error}") from None


def present(body: object) -> dict[str, Any]:
    """An object in which null is the same as absent."""
    return {name: value for name, value in object_of(body).items() if value is not None}


def event_of(data: str) -> Event:
    """The event a message of the stream holds."""
    try:
        return read_as(Event, msgspec.json.decode(data))
    except msgspec.DecodeError:
        raise BadAnswer("the event stream holds something that is no event") from None
