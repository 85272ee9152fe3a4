"""One place with everything in it: an invented site with receivers, a real server beside it, a client, the judge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import judge
import scene
from live import Client, Server, unused_port
from local import LocalServer

from pixivflow.engine.clock import Clock
from pixivflow.sandbox import Receiver, Sandbox

S = TypeVar("S", Server, LocalServer)


@dataclass(slots=True)
class Place(Generic[S]):
    """See the module."""

    folder: Path
    sandbox: Sandbox
    subjects: list[scene.Subject]
    truth: scene.Truth
    server: S
    client: Client
    routes: tuple[str, ...]

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.folder / "data" / "ledger.db"

    @property
    def library(self) -> Path:
        """The library's root."""
        return self.folder / "library"

    def receiver(self, name: str = "main") -> Receiver:
        """A receiver of the sandbox."""
        return self.sandbox.receiver(name)

    def case(self, *, at_rest: bool = True) -> judge.Case:
        """What the judge looks at, as it stands."""
        shown = {name: judge.Shown(self.receiver(name).items, self.receiver(name).requests) for name in self.routes}
        return judge.Case(
            ledger=self.ledger,
            library=self.library,
            receivers=shown,
            history=self.client.history,
            truth=self.truth,
            at_rest=at_rest,
            outputs={"the server's output": self.server.output},
            secrets=scene.SECRETS,
        )

    def assert_clean(self, *, at_rest: bool = True) -> None:
        """Fail with every violation the judge finds, and with the server's output."""
        judge.assert_clean(self.case(at_rest=at_rest), self.server.output)


@asynccontextmanager
async def open_place(
    folder: Path,
    kinds: Iterable[scene.Kind],
    *,
    arguments: tuple[str, ...] = (),
    routes: tuple[scene.RouteSpec, ...] = (scene.RouteSpec(),),
    options: Mapping[str, Any] | None = None,
    **config: Any,
) -> AsyncIterator[Place[Server]]:
    """A place whose server is a process of its own and has not been started yet.

    Leaving it ends the server, whatever it is doing. `arguments` are the server's, `options` the sandbox's, `config`
    goes to `scene.config_document`.
    """
    async with _place(folder, kinds, lambda path: Server(path, arguments=arguments), routes, options, config) as place:
        yield place


@asynccontextmanager
async def open_local(
    folder: Path,
    kinds: Iterable[scene.Kind],
    *,
    clock: Clock | None = None,
    routes: tuple[scene.RouteSpec, ...] = (scene.RouteSpec(),),
    options: Mapping[str, Any] | None = None,
    **config: Any,
) -> AsyncIterator[Place[LocalServer]]:
    """A place whose server runs in this process, started."""
    async with _place(folder, kinds, lambda path: LocalServer(path, clock=clock), routes, options, config) as place:
        await place.server.start()
        yield place


@asynccontextmanager
async def _place(
    folder: Path,
    kinds: Iterable[scene.Kind],
    make: Callable[[Path], S],
    routes: tuple[scene.RouteSpec, ...],
    options: Mapping[str, Any] | None,
    config: Mapping[str, Any],
) -> AsyncIterator[Place[S]]:
    world, subjects = scene.build_world(kinds)
    async with Sandbox(scene.options(**(options or {})), world=world) as sandbox:
        document = scene.config_document(sandbox, port=unused_port(), routes=routes, **config)
        server = make(scene.write_config(folder, document))
        truth = await scene.truth_of(sandbox)
        async with Client(server) as client:
            try:
                yield Place(folder, sandbox, subjects, truth, server, client, tuple(spec.name for spec in routes))
            finally:
                await server.close()
