"""The server inside the test's own process: the same parts joined the same way, quick to start, open to look into."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from scene import API_TOKEN
from yarl import URL

from pixivflow.api.auth import Tokens
from pixivflow.api.server import HttpServer
from pixivflow.bootstrap import Stack
from pixivflow.config import load_config
from pixivflow.engine.clock import Clock


class LocalServer:
    """A stack with its port. May be started again after a stop, as a process may."""

    output = ""

    def __init__(self, config: Path, *, clock: Clock | None = None) -> None:
        self.config = config
        self.url = ""
        self._clock = clock
        self._port = 0
        self._stack: Stack | None = None
        self._http: HttpServer | None = None

    @property
    def stack(self) -> Stack:
        """What runs. Raises RuntimeError when nothing does."""
        if self._stack is None:
            raise RuntimeError("the server does not run")
        return self._stack

    async def start(self) -> None:
        """Open everything; raises what `Stack.open` raises."""
        loaded = load_config(self.config, env={})
        assert loaded.config is not None, loaded.problems
        stack = await Stack.open(loaded.config, purpose="a test", clock=self._clock)
        http = HttpServer("127.0.0.1", self._port, stack.app(Tokens(API_TOKEN, None)))
        self._stack, self._http = stack, http
        await stack.start()
        await http.start()
        self.url = http.url

    async def stop(self, grace_s: float = 0.0) -> None:
        """Stop as the process does at SIGTERM: hand back what does not end within the grace."""
        if self._stack is not None and self._http is not None:
            stack, http = self._stack, self._http
            self._stack, self._http = None, None
            await stack.stop(grace_s)
            await http.stop(1.0)

    async def restart(self) -> None:
        """Stop and start again at the same address."""
        self._port = URL(self.url).port or 0
        await self.stop()
        await self.start()

    async def close(self) -> None:
        """Stop if it runs."""
        await self.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
