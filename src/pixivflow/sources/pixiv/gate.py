"""The one gate of an account: when the next request may go out, and what a refusal costs.

The arithmetic is pure and stands first; `Gate` applies it to the account's requests. Limits are not published; the
numbers are those of the upstream project, which has been polite with them for years.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

from pixivflow.sources.errors import RateLimited
from pixivflow.sources.ports import AccountStore, GateState

FIRST_COOLDOWN_S = 60.0
LONGEST_COOLDOWN_S = 15 * 60.0
PENALTY_MAX = 5  # 60 s doubled four times is past the cap; counting further would only make the way back longer
CIRCUIT_OPENS_AT = 4
DECAY_AFTER = 20
JITTER = 0.25
LONGEST_BELIEVED_S = 24 * 3600.0
_LONGEST_NAP_S = 30.0


class Clock(Protocol):
    """The time a gate lives in, so that tests can have their own."""

    def now(self) -> float:
        """Epoch seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


Waiting = Callable[[str, float], None]
"""Told why a request waits (`cooldown`, `probe`, `pacing`) and for how many seconds at most."""


def cooldown_s(penalty: int) -> float:
    """How long a penalty level holds all requests back."""
    return min(FIRST_COOLDOWN_S * 2.0 ** (min(penalty, PENALTY_MAX) - 1), LONGEST_COOLDOWN_S) if penalty > 0 else 0.0


def after_limit(state: GateState, now: float, retry_after_s: float | None) -> GateState:
    """One level up. A Retry-After is a floor: it can lengthen the cooldown, never shorten it."""
    penalty = min(state.penalty + 1, PENALTY_MAX)
    until = max(state.cooldown_until, now + max(cooldown_s(penalty), retry_after_s or 0.0))
    circuit = state.circuit_open or penalty >= CIRCUIT_OPENS_AT
    return GateState(penalty=penalty, cooldown_until=until, successes=0, circuit_open=circuit)


def after_success(state: GateState) -> GateState:
    """Count it; twenty in a row take one level off. A success while the circuit is open closes it and takes one off."""
    if state.circuit_open:
        return replace(state, penalty=max(state.penalty - 1, 0), successes=1, circuit_open=False)
    if state.penalty == 0:
        return state
    if state.successes + 1 >= DECAY_AFTER:
        return replace(state, penalty=state.penalty - 1, successes=1)
    return replace(state, successes=state.successes + 1)


def after_failed_probe(state: GateState, now: float) -> GateState:
    """A probe that found no answer at all: an open circuit stays open for another cooldown."""
    return replace(state, cooldown_until=now + cooldown_s(state.penalty)) if state.circuit_open else state


def trusted(state: GateState, now: float) -> GateState:
    """A stored state as far as it can be believed: one written by a wrong clock must not hold an account for years."""
    if state.cooldown_until - now > LONGEST_BELIEVED_S:
        return replace(state, cooldown_until=now + cooldown_s(state.penalty))
    return state


class Turn:
    """One admitted request. Tell it what came of it; an untold turn (a cancelled one) counts as nothing."""

    def __init__(self, started: float, *, probe: bool) -> None:
        self.started = started
        self.probe = probe
        self.outcome: str | None = None
        self.retry_after_s: float | None = None

    def answered(self) -> None:
        """The site gave an answer that is not about its rate limit, whatever it says."""
        self.outcome = "answered"

    def limited(self, retry_after_s: float | None) -> None:
        """The site asked for a pause."""
        self.outcome = "limited"
        self.retry_after_s = retry_after_s

    def failed(self) -> None:
        """No answer, or the site is in trouble."""
        self.outcome = "failed"


class Gate:
    """All API traffic of one account, the token call included, goes through one object of this class.

    Args:
        pacing_s: least time between two starts; up to a quarter is added at random.
        max_wait_s: a longer cooldown is raised as RateLimited instead of waited for.
        random: numbers in 0..1.
        on_wait: told about waits, at least every 30 s while one lasts.
    """

    def __init__(
        self,
        store: AccountStore,
        clock: Clock,
        random: Callable[[], float],
        *,
        pacing_s: float = 1.0,
        max_wait_s: float | None = None,
        on_wait: Waiting | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._pacing_s = pacing_s
        self._max_wait_s = max_wait_s
        self._on_wait = on_wait
        self._state: GateState | None = None
        self._next_start = 0.0
        # Callers pass one after the other in order of arrival. Whoever is at the head sleeps while holding the line,
        # so a cancelled caller gives its place up at once and leaves no gap behind.
        self._line = asyncio.Lock()
        self._unproven = False
        self._probe_over: asyncio.Event | None = None
        self._last_limit = float("-inf")

    async def state(self) -> GateState:
        """The state now, for status pages."""
        return await self._load()

    def remaining_s(self) -> float:
        """How long a running cooldown still holds, 0 without one."""
        return max(self._state.cooldown_until - self._clock.now(), 0.0) if self._state is not None else 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for a place and hold it for one request. Raises RateLimited when the wait would be too long."""
        turn = await self._admit()
        try:
            yield turn
        finally:
            try:
                await self._settle(turn)
            finally:
                if turn.probe and self._probe_over is not None:
                    self._probe_over.set()
                    self._probe_over = None

    async def _admit(self) -> Turn:
        async with self._line:
            await self._load()
            while True:
                state = await self._load()
                now = self._clock.now()
                remaining = state.cooldown_until - now
                if remaining > 0:
                    self._refuse_long(state, remaining)
                    await self._nap("cooldown", remaining)
                elif self._probe_over is not None:
                    self._tell("probe", 0.0)
                    await self._probe_over.wait()
                elif self._next_start > now and self._next_start - now <= 2 * self._pacing_s:
                    await self._nap("pacing", self._next_start - now)
                else:
                    break
            self._next_start = now + self._pacing_s * (1.0 + JITTER * self._random())
            turn = Turn(now, probe=self._unproven)
            if turn.probe:
                self._probe_over = asyncio.Event()
            return turn

    def _refuse_long(self, state: GateState, remaining: float) -> None:
        # An open circuit means that waiting and asking again has failed several times: callers are told at once and
        # their runs can end with a name for it, instead of standing still for a quarter of an hour each.
        if state.circuit_open or (self._max_wait_s is not None and remaining > self._max_wait_s):
            raise RateLimited(
                f"the account is in a cooldown for {remaining:.0f} s more", retry_after_s=round(remaining, 3)
            )

    async def _settle(self, turn: Turn) -> None:
        if turn.outcome is None or self._state is None:
            return
        before, now = self._state, self._clock.now()
        if turn.outcome == "limited":
            self._unproven = True
            if turn.started <= self._last_limit:
                # Sent before the pause was known: the same limit seen twice is one limit.
                until = max(before.cooldown_until, now + (turn.retry_after_s or 0.0))
                after = replace(before, cooldown_until=until, successes=0)
            else:
                after = after_limit(before, now, turn.retry_after_s)
                self._last_limit = now
        elif turn.outcome == "answered":
            if self._unproven and not turn.probe:
                return  # sent before the pause; it proves nothing about the time after it
            self._unproven = False
            after = after_success(before)
        else:
            after = after_failed_probe(before, now) if turn.probe else before
        self._state = after
        # A success that only counts up is not worth a commit; after a crash the count starts again. The first one is:
        # it says that the site answers again.
        counted = replace(after, successes=before.successes)
        if counted != before or (after.successes == 1 and before.successes == 0):
            await self._store.save_gate(after)

    async def _load(self) -> GateState:
        if self._state is None:
            state = trusted(await self._store.load_gate(), self._clock.now())
            self._unproven = state.circuit_open or (state.penalty > 0 and state.successes == 0)
            self._state = state
        return self._state

    async def _nap(self, why: str, seconds: float) -> None:
        self._tell(why, seconds)
        await self._clock.sleep(min(seconds, _LONGEST_NAP_S))

    def _tell(self, why: str, seconds: float) -> None:
        if self._on_wait is not None:
            self._on_wait(why, seconds)


class MediaGate:
    """The wider gate of the media hosts: a number of connections, no pacing, and one pause for all of them.

    No rate limit of the media hosts is known from reports; a 429 is honoured all the same.
    """

    def __init__(self, clock: Clock, *, connections: int = 6, on_wait: Waiting | None = None) -> None:
        self._clock = clock
        self._places = asyncio.Semaphore(connections)
        self._paused_until = 0.0
        self._on_wait = on_wait

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one connection's place, after any pause is over."""
        async with self._places:
            while (remaining := self._paused_until - self._clock.now()) > 0:
                if self._on_wait is not None:
                    self._on_wait("media", remaining)
                await self._clock.sleep(min(remaining, _LONGEST_NAP_S))
            yield

    def pause(self, seconds: float) -> None:
        """Hold all further requests back."""
        self._paused_until = max(self._paused_until, self._clock.now() + seconds)
