"""A lean HTTP load: keep-alive connections, each sending its next request when the last is answered.

A closed loop: it finds the throughput, and its latencies hold for exactly this number of callers. The client is written
by hand because it shares the cores with the server, and a comfortable one would cost more than what it measures.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_ANSWER = 1 << 20


@dataclass(slots=True)
class Load:
    """What came back: latency of each answer in milliseconds, and how many of each status."""

    latencies_ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return len(self.latencies_ms) / self.seconds


async def closed_loop(
    port: int, body: Callable[[int], bytes], *, path: str, token: str, connections: int, seconds: float
) -> Load:
    """Post `body(n)` with n = 0, 1, 2 ... for so many seconds."""
    load = Load()
    numbers = iter(range(1 << 40))
    begun = time.perf_counter()
    end = begun + seconds

    async def caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MAX_ANSWER)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: "
        try:
            while time.perf_counter() < end:
                payload = body(next(numbers))
                sent = time.perf_counter()
                writer.write(f"{head}{len(payload)}\r\n\r\n".encode() + payload)
                status = await _answer(reader)
                load.latencies_ms.append((time.perf_counter() - sent) * 1000)
                load.statuses[status] += 1
        finally:
            writer.close()

    await asyncio.gather(*(caller() for _ in range(connections)))
    load.seconds = time.perf_counter() - begun
    return load


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length:") + len(b"content-length:")
    await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    return int(head[9:12])
