from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest

from pixivflow.client.errors import ClientError, Unreachable, api_error
from pixivflow.client.sse import Message
from pixivflow.client.transport import NothingFollows, Place, World
from pixivflow.client.watch import resumed


class Line:
    """A transport that does as it is told. Each step of `plan` is one connection: messages, then how it ends."""

    def __init__(self, *plan: tuple[float, list[str] | None, Exception | None]) -> None:
        self.plan = list(plan)
        self.clock = 0.0
        self.slept: list[float] = []
        self.world = World(monotonic=lambda: self.clock, sleep=self._sleep, random=lambda: 0.5)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock += seconds

    async def stream(self, path: str, query: Mapping[str, str], place: Place) -> AsyncGenerator[Message, None]:
        lasting, told, end = self.plan.pop(0)
        self.clock += lasting
        if told is not None:
            place.reached = True
            for ident in told:
                place.last_id = ident
                yield Message("x", "{}", ident)
        if end is not None:
            raise end


async def read(line: Any, patience_s: float | None = None) -> list[str]:
    return [message.id async for message in resumed(line, {}, Place(), patience_s)]


GONE = Unreachable("gone")
OVER = NothingFollows()


async def test_it_goes_on_over_every_kind_of_break() -> None:
    line = Line((0, ["1"], None), (0, None, GONE), (0, ["2"], GONE), (0, [], None), (0, ["3"], None), (0, None, OVER))
    assert await read(line) == ["1", "2", "3"]


async def test_patience_is_counted_from_the_last_connection() -> None:
    # Connected without an event and broken again after 29 s, ten times: never away for long.
    line = Line(*[(29, [], GONE)] * 10, (0, ["1"], None), (0, None, OVER))
    assert await read(line, patience_s=30) == ["1"]


async def test_patience_ends() -> None:
    line = Line((0, ["1"], GONE), *[(0, None, GONE)] * 100)
    with pytest.raises(Unreachable):
        await read(line, patience_s=30)
    assert 25 < line.clock <= 30
    assert set(line.slept) == {3.0}


async def test_a_server_that_asks_for_time_gets_it() -> None:
    busy = api_error(503, {"error": {"code": "resource_busy", "retryable": True}}, retry_after_s=20)
    line = Line((0, None, busy), (0, None, OVER))
    assert await read(line) == []
    assert line.slept == [20]


@pytest.mark.parametrize("error", [api_error(404, None), api_error(401, None), ClientError("x")])
async def test_what_is_final_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        await read(Line((0, None, error)))
