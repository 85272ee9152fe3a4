"""The server: durable accepts, how soon a due job starts, and how much memory collecting takes."""

from __future__ import annotations

import asyncio
import json
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import settings
from benchmarks.collecting import ANIMATIONS, CONNECTIONS, WORKS, site
from benchmarks.figures import latency, spread
from benchmarks.load import Load, closed_loop
from benchmarks.processes import cpu_seconds, get_json, peak_rss_mb, post_json, python, running, until

CALLERS = 32
ENDED = {"succeeded", "failed", "cancelled", "expired"}


class Server:
    """A running `pixivflow serve`."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.url = f"http://127.0.0.1:{port}"

    def submit(self, key: str, target: str, **params: Any) -> dict[str, Any]:
        """Submit one job and give it as answered."""
        job: dict[str, Any] = post_json(f"{self.url}/jobs", task(key, target, **params), settings.TOKEN)["job"]
        return job

    def wait(self, job_id: str, seconds: float = 120) -> dict[str, Any]:
        """The job once it has ended."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            job = get_json(f"{self.url}/jobs/{job_id}", settings.TOKEN)
            if job is not None and job["status"] in ENDED:
                return dict(job)
            time.sleep(0.01)
        raise RuntimeError(f"{job_id} did not end within {seconds:g} s")


def task(key: str, target: str, **params: Any) -> dict[str, Any]:
    """The body of a submission."""
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        # Receivers of the upstream's kind want the request's id to be a UUID.
        "idempotency_key": str(uuid.uuid5(uuid.NAMESPACE_OID, key)),
        "params": {"target_id": target, **params},
    }


@contextmanager
def serving(folder: Path, about: dict[str, Any], environment: dict[str, str]) -> Iterator[Server]:
    """A server on a fresh ledger, ready to be asked."""
    port = _free_port()
    config = settings.pixivflow(folder, about, works=WORKS, connections=CONNECTIONS, port=port)
    log = folder / "serve.log"
    env = environment | {"PIXIVFLOW_REFETCH_TOKEN": settings.TOKEN}
    with running(python("-m", "pixivflow", "serve", "--config", str(config)), log=log, env=env) as process:
        server = Server(port, process.pid)
        until("the server", lambda: get_json(f"{server.url}/health"), process, log)
        yield server


def accepts(folder: Path, environment: dict[str, str], *, runs: int, seconds: float, say: Callable[[str], None]) -> Any:
    """Durable `POST /jobs` with 32 callers, each run on a fresh ledger.

    The site answers so slowly that the one job that may run stays in its search: nothing is measured but accepting.
    """
    loads: list[Load] = []
    cpu_ms: list[float] = []
    with site(folder / "site-slow", 60_000) as about:
        for turn in range(runs):
            place = folder / f"accepts-{turn}"
            place.mkdir()
            with serving(place, about, environment) as server:

                def body(number: int, turn: int = turn) -> bytes:
                    return json.dumps(task(f"accept-{turn}-{number}", settings.ORDERED)).encode()

                before = cpu_seconds(server.pid)
                load = asyncio.run(
                    closed_loop(
                        server.port, body, path="/jobs", token=settings.TOKEN, connections=CALLERS, seconds=seconds
                    )
                )
                cpu_ms.append(1000 * (cpu_seconds(server.pid) - before) / len(load.latencies_ms))
            if set(load.statuses) != {202}:
                raise RuntimeError(f"POST /jobs answered {dict(load.statuses)}")
            loads.append(load)
            say(f"POST /jobs: {load.per_second:.0f}/s, p99 {latency(load.latencies_ms)['p99']} ms")
    return {
        "connections": CALLERS,
        "loop": "closed; the load generator shares the cores",
        "durable": "answered after COMMIT with synchronous=FULL",
        "per_second": spread([load.per_second for load in loads], 0),
        "p50_ms": spread([latency(load.latencies_ms)["p50"] for load in loads], 2),
        "p99_ms": spread([latency(load.latencies_ms)["p99"] for load in loads], 2),
        "server_cpu_ms_per_job": spread(cpu_ms, 2),
    }


def due_to_started(folder: Path, environment: dict[str, str], *, jobs: int, say: Callable[[str], None]) -> Any:
    """From admission to the start of the attempt, for jobs that need not wait for another one.

    Both moments are those of the job's own record, in whole milliseconds.
    """
    waits = []
    with site(folder / "site-due", 0) as about:
        place = folder / "due"
        place.mkdir()
        with serving(place, about, environment) as server:
            for number in range(jobs):
                job = server.wait(server.submit(f"due-{number}", settings.ORDERED)["job_id"])
                if job["started_at"] is None:
                    raise RuntimeError(f"a job ended without having started: {job}")
                waits.append(job["started_at"] - job["created_at"])
    result = latency(waits)
    say(f"due to started: p50 {result['p50']} ms, p99 {result['p99']} ms")
    return {"unit": "ms", "resolution_ms": 1, **result}


def memory(folder: Path, environment: dict[str, str], *, runs: int, say: Callable[[str], None]) -> Any:
    """The most memory `serve` held while it collected 50 works, and before it did."""
    idle, peak = [], []
    with site(folder / "site-memory", 20, ANIMATIONS) as about:
        for turn in range(runs):
            place = folder / f"memory-{turn}"
            place.mkdir()
            with serving(place, about, environment) as server:
                idle.append(peak_rss_mb(server.pid))
                job = server.submit(f"memory-{turn}", settings.ORDERED, constraints={"limit": WORKS})
                done = server.wait(job["job_id"])
                if done["status"] != "succeeded":
                    raise RuntimeError(f"the job ended {done['status']}: {done.get('error')}")
                peak.append(peak_rss_mb(server.pid))
            say(f"serve: {idle[-1]:.0f} MB when ready, {peak[-1]:.0f} MB at most while collecting")
    return {"unit": "MB", "ready": spread(idle, 1), "peak_while_collecting": spread(peak, 1)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
