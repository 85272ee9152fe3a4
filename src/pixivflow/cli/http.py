"""The client as the commands use it: what the server said, word for word, and one clear line for every failure."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean
from pixivflow.client.errors import ApiError, BadAnswer, ClientError
from pixivflow.client.reading import job_path
from pixivflow.client.retry import Retry
from pixivflow.client.transport import Transport
from pixivflow.client.watch import JobWatch

_RETRY: Final = Retry(attempts=4, max_s=2.0, total_s=10.0)
"""A person waits at the terminal: a server that is not there is told of soon."""

_CODES: Final = {
    400: Exit.USAGE,
    401: Exit.AUTH,
    403: Exit.AUTH,
    404: Exit.NOT_FOUND,
    409: Exit.REFUSED,
    413: Exit.USAGE,
    429: Exit.TRY_AGAIN,
}


class Unreachable(Stop):
    """Nobody answers, or not as a server of ours would. The same request may work later."""

    def __init__(self, text: str) -> None:
        super().__init__(Exit.UNAVAILABLE, text, hint="is `pixivflow serve` running?")


class JobClient:
    """One server, spoken to with one token.

    Every method raises Unreachable, or a Stop that carries what the server said.
    """

    def __init__(self, url: str, token: str | None) -> None:
        try:
            self._transport = Transport(url, token, _RETRY)
        except ValueError as error:
            raise Stop(Exit.USAGE, f"not the address of a server: {clean(url)}", hint=str(error)) from None
        self.url = self._transport.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    async def health(self) -> dict[str, Any]:
        """The server's own word that it is there."""
        return (await self._ask("GET", "/health"))[1]

    async def submit(self, task: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Order a task. Returns the job and whether this call made it."""
        status, answer = await self._ask("POST", "/jobs", body=task)
        return _member(answer, "job"), status == 202

    async def job(self, job_id: str) -> dict[str, Any]:
        """One job."""
        return (await self._ask("GET", job_path(job_id)))[1]

    async def jobs(self, **query: str) -> dict[str, Any]:
        """One page of jobs."""
        return (await self._ask("GET", "/jobs", query=query))[1]

    async def find(self, name: str) -> dict[str, Any]:
        """A job by its id or, where no job has that id, by its idempotency key."""
        try:
            return await self.job(name)
        except Stop as stop:
            if stop.code is not Exit.NOT_FOUND:
                raise
            found = (await self.jobs(idempotency_key=name)).get("jobs")
            if not found:
                raise Stop(Exit.NOT_FOUND, f"there is no job {clean(name)!r}") from None
            job: dict[str, Any] = found[0]
            return job

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancel a job; one that has ended comes back as it is."""
        return (await self._ask("POST", f"{job_path(job_id)}/cancel"))[1]

    async def events(self, job_id: str, *, after: str | None = None, unacked: bool = False) -> dict[str, Any]:
        """One page of a job's events."""
        query = {"unacked": "1"} if unacked else {"after": after} if after else {}
        return (await self._ask("GET", f"{job_path(job_id)}/events", query=query))[1]

    async def ack(self, job_id: str, event_id: str) -> dict[str, Any]:
        """Acknowledge up to an event."""
        return (await self._ask("POST", f"{job_path(job_id)}/events/ack", body={"ack_through": event_id}))[1]

    def watch(self, job_id: str, *, poll_s: float) -> JobWatch:
        """Wakes who waits for a job; `poll_s` is for servers that have no event stream."""
        return JobWatch(self._transport, job_id, poll_s=poll_s)

    async def _ask(
        self, method: str, path: str, *, query: dict[str, str] | None = None, body: Any = None
    ) -> tuple[int, dict[str, Any]]:
        try:
            reply = await self._transport.call(method, path, query=query, body=body)
        except ApiError as error:
            raise _refusal(self.url, error.status, error.body) from None
        except BadAnswer as error:
            raise Unreachable(f"{clean(error)}: it is none of ours") from None
        except ClientError as error:
            raise Unreachable(clean(error)) from None
        return reply.status, reply.body


def _member(answer: dict[str, Any], name: str) -> dict[str, Any]:
    value = answer.get(name)
    if not isinstance(value, dict):
        raise Unreachable(f"the server's answer has no {name}: it is none of ours")
    return value


def _refusal(url: str, status: int, document: Mapping[str, Any]) -> Stop:
    """What a refusal means for a person at a terminal."""
    error = document.get("error")
    if status == 401:
        return Stop(Exit.AUTH, "the server refuses the token", hint="set PIXIVFLOW_REFETCH_TOKEN to the server's")
    if status == 503 and isinstance(error, str):
        hint = "start it with PIXIVFLOW_REFETCH_TOKEN set"
        return Stop(Exit.AUTH, "the Job API of this server is closed: it has no token", hint=hint)
    if not isinstance(error, dict):
        return Unreachable(f"{clean(url)} answers with HTTP {status}, and not as a pixivflow server would")
    detail = error.get("detail") if isinstance(error.get("detail"), dict) else {}
    field = detail.get("field") or detail.get("reason") if detail else None
    text = clean(error.get("message") or error.get("code") or f"HTTP {status}")
    later = status >= 500 and error.get("retryable") is True
    code = _CODES.get(status, Exit.UNAVAILABLE if later else Exit.REFUSED)
    return Stop(code, text + (f" ({clean(field)})" if field else ""), detail={"status": status, "answer": document})
