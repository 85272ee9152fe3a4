"""A real server as a process of its own, and a client that remembers everything it was told.

A process is ended by its own id, its output is kept and belongs to the message of every failure. The client's memory
(`judge.History`) is what the judge compares the ledger with: the server must never contradict itself.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import quote

import aiohttp
import bodies
from judge import History
from scene import API_TOKEN

TERMINAL = frozenset({"succeeded", "failed", "cancelled", "expired"})
_READY = re.compile(r"ready at (http://\S+)")
_POLL_S = 0.02
PATIENCE_S = 40.0


class ServerFailed(AssertionError):
    """The server did not do what was waited for. The text holds its output."""


class Server:
    """`pixivflow serve` on one configuration file; may be started again after it has ended."""

    def __init__(self, config: Path, *, env: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()) -> None:
        self.config = config
        self.url = ""
        self.lines: list[str] = []
        self.starts = 0
        self._env = {**os.environ, "PIXIVFLOW_REFETCH_TOKEN": API_TOKEN, **(env or {})}
        # Compiling everything anew at each of many starts would be most of what these tests do.
        self._env.pop("PYTHONDONTWRITEBYTECODE", None)
        self._arguments = arguments
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._said = asyncio.Event()

    async def start(self) -> None:
        """Start and wait for the line that says it is ready. Raises ServerFailed when it ends instead."""
        await self.launch()
        await self.until_said(lambda: self.url != "", "become ready")

    async def launch(self) -> None:
        """Start without waiting for anything."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        self.url = ""
        self.starts += 1
        self.lines.append(f"--- start {self.starts}")
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "pixivflow",
            "serve",
            "--config",
            str(self.config),
            *self._arguments,
            cwd=self.config.parent,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self._reader = asyncio.create_task(self._read(self._process))

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError when it does not run."""
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.returncode is None

    async def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        await self._end(signal.SIGKILL)

    async def terminate(self) -> int:
        """SIGTERM, and the exit code once it has stopped by itself."""
        return await self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Send a signal and go on."""
        os.kill(self.pid, number)

    async def wait(self) -> int:
        """The exit code of a process that ends by itself. Raises ServerFailed when it does not."""
        process = self._process
        if process is None:
            raise RuntimeError("the server does not run")
        try:
            code = await asyncio.wait_for(process.wait(), PATIENCE_S)
        except TimeoutError:
            raise ServerFailed(f"the server did not end\n{self.output}") from None
        if self._reader is not None:
            await self._reader
        self._process, self._reader = None, None
        return code

    async def until_said(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something its output tells. Raises ServerFailed when it ends before, or takes too long."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    if self._reader is None or self._reader.done():
                        raise ServerFailed(f"the server ended and did not {what}\n{self.output}")
                    self._said.clear()
                    await self._said.wait()
        except TimeoutError:
            raise ServerFailed(f"the server did not {what} in time\n{self.output}") from None

    @property
    def output(self) -> str:
        """Everything it printed, over all starts."""
        return "\n".join(self.lines[-400:])

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            await self.kill()

    async def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            raise RuntimeError("the server does not run")
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        return await self.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        if process.stdout is None:
            raise RuntimeError("the output was not asked for")
        async for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            self.lines.append(line)
            match = _READY.search(line)
            if match:
                self.url = match[1].rstrip("/")
            self._said.set()
        self._said.set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Serves(Protocol):
    """What a client needs to know of a server."""

    @property
    def url(self) -> str:
        """Its address."""
        ...

    @property
    def output(self) -> str:
        """What it printed, for messages."""
        ...


class Client:
    """An orchestrator's side of the Job API. Everything it is told goes into `history`."""

    def __init__(self, server: Serves, history: History | None = None, *, token: str = API_TOKEN) -> None:
        self.history = history if history is not None else History()
        self._server = server
        # A connection kept over a kill would only fail once more.
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"},
            connector=aiohttp.TCPConnector(force_close=True, limit=0),
            timeout=aiohttp.ClientTimeout(total=PATIENCE_S),
        )

    async def submit(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """POST /jobs: the status and the document."""
        status, document = await self.call("POST", "/jobs", body)
        if status in (200, 202):
            self.history.submitted(str(body["idempotency_key"]), status, document["job"])
        return status, document

    async def order(self, body: Mapping[str, Any]) -> str:
        """Submit a task that must be accepted; the id of its job."""
        status, document = await self.submit(body)
        if status not in (200, 202):
            raise ServerFailed(f"the order was answered {status}: {document}\n{self._server.output}")
        return str(document["job"]["job_id"])

    async def job(self, job_id: str) -> dict[str, Any]:
        """GET /jobs/{id}."""
        status, document = await self.call("GET", f"/jobs/{_quoted(job_id)}")
        if status != 200:
            raise ServerFailed(f"{job_id} was answered {status}: {document}\n{self._server.output}")
        job: dict[str, Any] = document.get("job", document)
        self.history.observed(job)
        return job

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """POST /jobs/{id}/cancel."""
        status, document = await self.call("POST", f"/jobs/{_quoted(job_id)}/cancel")
        if status != 200:
            raise ServerFailed(f"the cancel was answered {status}: {document}\n{self._server.output}")
        job: dict[str, Any] = document.get("job", document)
        self.history.observed(job)
        return job

    async def events(self, job_id: str) -> list[dict[str, Any]]:
        """The whole public stream of a job."""
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            status, page = await self.call("GET", f"/jobs/{_quoted(job_id)}/events{after}")
            if status != 200:
                raise ServerFailed(f"events were answered {status}: {page}\n{self._server.output}")
            found += page["events"]
            if "next_after" not in page:
                break
            after = f"?after={quote(page['next_after'], safe='')}"
        self.history.streamed(job_id, found)
        return found

    async def until(self, job_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The job as soon as a condition holds for it. Raises ServerFailed when it never does."""
        job: dict[str, Any] = {}
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition(job := await self.job(job_id)):  # noqa: ASYNC110 - another process tells no events
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise ServerFailed(f"what was waited for did not come; last seen {job}\n{self._server.output}") from None
        return job

    async def wait_until_terminal(self, job_id: str) -> dict[str, Any]:
        """The job once it has ended."""
        return await self.until(job_id, lambda job: job["status"] in TERMINAL)

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Any request: the status and the JSON document."""
        async with self._session.request(method, self._server.url + path, json=body) as answer:
            status, document = answer.status, await answer.json()
        bodies.seen(method, path, status, document)
        return status, document

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _quoted(job_id: str) -> str:
    return quote(job_id, safe="")


def unused_port() -> int:
    """A loopback port nobody listened on a moment ago: a server that is started again needs the same one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
