"""A running sandbox with a fixed clock, and a client that is logged in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions, World

ANCHOR = date(2026, 3, 10)
NOON_JST = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
REFERER = {"Referer": "https://app-api.pixiv.net/"}


class Client:
    """Calls a sandbox by its base addresses, with an access token where one is set."""

    def __init__(self, sandbox: Sandbox, session: aiohttp.ClientSession) -> None:
        self.sandbox = sandbox
        self.session = session
        self.token: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return REFERER | ({"Authorization": f"Bearer {self.token}"} if self.token else {})

    async def log_in(self, refresh: str = "refresh") -> dict[str, Any]:
        form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "a", "client_secret": "b"}
        async with self.session.post(f"{self.sandbox.endpoints()['oauth']}/auth/token", data=form) as answer:
            document: dict[str, Any] = await answer.json()
        self.token = document.get("access_token", self.token)
        return document

    async def call(self, path: str, base: str = "api", **query: object) -> tuple[int, Any]:
        """Status and JSON of a GET."""
        params = {key: str(value) for key, value in query.items()}
        url = self.sandbox.endpoints()[base] + path
        async with self.session.get(url, params=params, headers=self.headers) as answer:
            return answer.status, await answer.json()

    async def good(self, path: str, base: str = "api", **query: object) -> Any:
        status, document = await self.call(path, base, **query)
        assert status == 200, document
        return document

    async def every(self, path: str, key: str, **query: object) -> list[Any]:
        """All pages of a list, following next_url the way clients do: its query, on our own base."""
        document = await self.good(path, **query)
        found = list(document[key])
        while document["next_url"]:
            following = document["next_url"].removeprefix("https://app-api.pixiv.net")
            assert following.startswith("/"), document["next_url"]
            async with self.session.get(self.sandbox.endpoints()["api"] + following, headers=self.headers) as answer:
                assert answer.status == 200
                document = await answer.json()
            found += document[key]
        return found

    async def media(self, url: str, headers: Mapping[str, str] | None = None) -> tuple[aiohttp.ClientResponse, bytes]:
        """Answer and body for a media URL of the site."""
        path = "/" + url.split("://", 1)[1].split("/", 1)[1]
        given = REFERER if headers is None else headers
        async with self.session.get(self.sandbox.endpoints()["media"] + path, headers=given) as answer:
            return answer, await answer.read()


@pytest.fixture
def options() -> SandboxOptions:
    return SandboxOptions(works=70, novels=12, anchor=ANCHOR, now=lambda: NOON_JST, picture_size=(60, 80))


@pytest.fixture
async def sandbox(options: SandboxOptions) -> AsyncIterator[Sandbox]:
    async with Sandbox(options) as running:
        yield running


@pytest.fixture
async def stranger(sandbox: Sandbox) -> AsyncIterator[Client]:
    """A client without a token."""
    async with aiohttp.ClientSession() as session:
        yield Client(sandbox, session)


@pytest.fixture
async def client(stranger: Client) -> Client:
    """A client with a token."""
    await stranger.log_in()
    return stranger


@pytest.fixture
def open_client(options: SandboxOptions) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Opens a sandbox of other options or another world, with a client that is logged in."""

    @asynccontextmanager
    async def opened(world: World | None = None, **changes: Any) -> AsyncIterator[Client]:
        async with (
            Sandbox(replace(options, **changes), world=world) as running,
            aiohttp.ClientSession() as session,
        ):
            client = Client(running, session)
            await client.log_in()
            yield client

    return opened
