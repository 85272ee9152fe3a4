"""What the delivery worker needs of the ledger, and what a route must offer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pixivflow.domain.delivery import Answer
from pixivflow.domain.work import Asset


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One claimed intent to send something. Only the holder of `token` may settle it.

    Attributes:
        kind: `delivery` (a work to a route) or `event_callback` (an event of a job to an address).
        route: the name of a route, or the address of a callback.
        key: the idempotency key; the same on every try.
        attempt: this try, from 1.
        payload: frozen when the row was written (see `delivery.intent`): job_id, target_id, work, assets, context.
    """

    id: int
    kind: str
    key: str
    route: str
    attempt: int
    max_attempts: int
    payload: Mapping[str, Any]
    token: str
    job_id: str | None = None

    @property
    def place(self) -> str:
        """The route as it may be shown: the query of an address is where people put tokens."""
        return self.route.partition("?")[0]


class Outbox(Protocol):
    """The ledger's queue of intents."""

    async def claim(self, limit: int, *, skip_routes: Collection[str] = ()) -> Sequence[OutboxRow]:
        """Claim due rows under a lease of 120 s. Rows whose owner was cancelled are closed, never returned.

        `skip_routes` are routes that are busy: their rows are left for later, so that a slow receiver cannot fill the
        window and hold up the others.
        """
        ...

    async def renew(self, row: OutboxRow) -> bool:
        """Extend the row's lease to 120 s from now while a long upload runs. False when the lease is lost.

        A cancelled owner does not lose the lease: what is on the wire may finish.
        """
        ...

    async def may_send(self, row: OutboxRow) -> bool:
        """The last look before bytes leave: False when the work was cancelled or the lease is lost (row closed)."""
        ...

    async def settle(self, row: OutboxRow, answer: Answer) -> None:
        """Record the answer: delivery, pick, cell, job and event in one commit. A late answer changes no ended job."""
        ...

    async def defer(self, row: OutboxRow, why: str, delay_ms: int) -> None:
        """Put the row back without using an attempt (the receiver is not ready)."""
        ...

    async def next_due_ms(self, *, skip_routes: Collection[str] = ()) -> int | None:
        """Epoch ms of the earliest row that waits (or whose lease runs out), None when nothing does."""
        ...


@dataclass(frozen=True, slots=True)
class DeliveryItem:
    """What a route sends: one work with its files and the values for its templates.

    Attributes:
        files: (absolute path, asset) in the order they are shown: pages, animation, text, cover, embedded.
        values: every known placeholder (domain.template) with its text; known but empty is "".
        extra_fields: the target's own form fields; they come before the route's of the same name.
        assets: every recorded file of the work, also those that are not sent.
        requested: somebody asked for this work and waits for its request id, which the form therefore must carry.
    """

    key: str
    route: str
    work: Mapping[str, Any]
    files: Sequence[tuple[Path, Asset]]
    values: Mapping[str, str] = field(default_factory=dict)
    extra_fields: Mapping[str, Any] = field(default_factory=dict)
    assets: Sequence[Asset] = ()
    requested: bool = False


class Route(Protocol):
    """A way out. `send` never raises for what a receiver or network does; that is an Answer.

    `min_interval_ms` is the least time between the starts of two sends; 0 for none.
    """

    name: str
    min_interval_ms: int

    async def ready(self) -> str | None:
        """None when the receiver can be spoken to, else why not (asked before `send`, uses no attempt)."""
        ...

    async def send(self, item: DeliveryItem) -> Answer:
        """Send once and say what came back."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class Sender(Protocol):
    """What sends rows of a kind other than `delivery` (callbacks, notices). The same rules as for a route hold."""

    async def ready(self, row: OutboxRow) -> str | None:
        """None when the receiver can be spoken to, else why not."""
        ...

    async def send(self, row: OutboxRow) -> Answer:
        """Send once and say what came back."""
        ...
