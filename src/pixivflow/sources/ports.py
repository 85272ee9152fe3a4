"""What the collecting pipeline asks of a source, and of the stores a source keeps its state in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pixivflow.domain.target import Target
from pixivflow.domain.work import Frame, Work, WorkRef


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that could not be read. It is set aside alone; its neighbours count."""

    id: str | None
    why: str


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page of a listing.

    Attributes:
        works: the readable records, in the source's order.
        cursor: where the next page starts; opaque; None at the end. An empty page may still have one.
    """

    works: tuple[Work, ...]
    cursor: str | None = None
    quarantined: tuple[Quarantined, ...] = ()


@dataclass(frozen=True, slots=True)
class UgoiraInfo:
    """Where an animation's frame archive is (best first) and how long each frame is shown."""

    archive_urls: tuple[str, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class NovelImage:
    """A picture a novel refers to. `ref` is the marker's inside, such as `uploadedimage:777` or `pixivimage:12-2`.

    `urls` are best first; empty with a `problem` when the site does not give it.
    """

    ref: str
    urls: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class NovelText:
    """The text of a novel with its markers as written. `text` is never empty: an empty novel is WorkUnavailable."""

    text: str
    images: Mapping[str, NovelImage] = field(default_factory=dict)
    cover_url: str | None = None


class MediaStream(Protocol):
    """An open answer of the media host. Only the declared facts; what arrives is checked by the reader."""

    status: int
    content_type: str | None
    content_length: int | None
    url: str

    def chunks(self) -> AsyncIterator[bytes]:
        """The body. Raises NetworkFailed/TimedOut when it breaks off, also when fewer bytes than promised come."""
        ...


class Source(Protocol):
    """A site, seen through one account. All calls go through the account's gate."""

    def pages(self, target: Target, *, cursor: str | None = None) -> AsyncIterator[SourcePage]:
        """List candidates of a target page by page, in the source's order; nothing is filtered here.

        A date-range search narrows what is asked for; the caller still compares dates itself.
        """
        ...

    async def work(self, ref: WorkRef) -> Work:
        """The full record of one work. Raises WorkUnavailable when it cannot be had."""
        ...

    async def ugoira(self, ref: WorkRef) -> UgoiraInfo:
        """An animation's archive and timing."""
        ...

    async def novel(self, ref: WorkRef) -> NovelText:
        """A novel's text and the pictures it refers to (their addresses, not their bytes)."""
        ...

    def media(self, url: str) -> AbstractAsyncContextManager[MediaStream]:
        """Open a file of the media host. Only hosts of the site are fetched.

        Raises NotFound (404), Forbidden (403), RateLimited (429), Unavailable (5xx), NetworkFailed, TimedOut.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class AccountTokens:
    """The secrets of an account. `access_expires_at` is epoch seconds."""

    refresh_token: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    access_expires_at: float = 0.0
    user_id: str | None = None
    configured_from: str | None = field(default=None, repr=False)
    """SHA-256 of the configured refresh token this chain began with: a new configured token starts a new chain."""


@dataclass(frozen=True, slots=True)
class GateState:
    """What the gate of an account must remember over restarts. Times are epoch seconds."""

    penalty: int = 0
    cooldown_until: float = 0.0
    successes: int = 0
    circuit_open: bool = False


class AccountStore(Protocol):
    """Where a source keeps an account's tokens and gate state durably (the ledger)."""

    async def load_tokens(self) -> AccountTokens:
        """What is stored, or empty tokens."""
        ...

    async def save_tokens(self, tokens: AccountTokens) -> None:
        """Store; returns after the commit, so that a rotated token is never used before it is kept."""
        ...

    async def load_gate(self) -> GateState:
        """What is stored, or a fresh state."""
        ...

    async def save_gate(self, state: GateState) -> None:
        """Store; returns after the commit."""
        ...


class MemoryAccountStore:
    """An AccountStore for tests and for one-off calls that must leave nothing behind."""

    def __init__(self) -> None:
        self.tokens = AccountTokens()
        self.gate = GateState()

    async def load_tokens(self) -> AccountTokens:
        """What was stored in this object."""
        return self.tokens

    async def save_tokens(self, tokens: AccountTokens) -> None:
        """Keep in this object."""
        self.tokens = tokens

    async def load_gate(self) -> GateState:
        """What was stored in this object."""
        return self.gate

    async def save_gate(self, state: GateState) -> None:
        """Keep in this object."""
        self.gate = state
