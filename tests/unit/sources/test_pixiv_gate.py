"""Politeness: the arithmetic of cooldowns, and a gate that many callers lean on at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixivflow.sources.errors import RateLimited
from pixivflow.sources.pixiv.gate import (
    CIRCUIT_OPENS_AT,
    Gate,
    MediaGate,
    after_failed_probe,
    after_limit,
    after_success,
    cooldown_s,
    trusted,
)
from pixivflow.sources.ports import GateState, MemoryAccountStore


def steady() -> float:
    return 0.0


def test_cooldowns_double_up_to_a_quarter_of_an_hour() -> None:
    assert [cooldown_s(level) for level in range(7)] == [0, 60, 120, 240, 480, 900, 900]


@pytest.mark.parametrize(("asked", "held"), [(None, 60), (5, 60), (60, 60), (300, 300), (0, 60)])
def test_retry_after_is_a_floor_and_never_shortens(asked: Any, held: Any) -> None:
    assert after_limit(GateState(), 1000.0, asked).cooldown_until == 1000 + held


def test_a_running_longer_cooldown_is_not_cut_by_a_new_one() -> None:
    assert after_limit(GateState(penalty=1, cooldown_until=9000.0), 1000.0, None).cooldown_until == 9000


def test_the_circuit_opens_at_the_fourth_penalty_and_one_success_closes_it() -> None:
    state = GateState()
    opened = []
    for _ in range(CIRCUIT_OPENS_AT):
        state = after_limit(state, 0.0, None)
        opened.append(state.circuit_open)
    assert opened == [False, False, False, True]
    closed = after_success(state)
    assert (closed.circuit_open, closed.penalty) == (False, 3)


def test_twenty_successes_take_one_level_off() -> None:
    state = after_limit(after_limit(GateState(), 0.0, None), 0.0, None)
    for _ in range(19):
        state = after_success(state)
    assert state.penalty == 2
    assert after_success(state).penalty == 1


def test_a_failed_probe_reopens_only_an_open_circuit() -> None:
    open_state = GateState(penalty=4, cooldown_until=10.0, circuit_open=True)
    assert after_failed_probe(open_state, 100.0).cooldown_until == 100 + 480
    shut = GateState(penalty=2, cooldown_until=10.0)
    assert after_failed_probe(shut, 100.0) == shut


def test_a_state_from_a_wrong_clock_is_not_believed() -> None:
    assert trusted(GateState(penalty=1, cooldown_until=10**10), 1000.0).cooldown_until == 1060
    sane = GateState(penalty=1, cooldown_until=1030.0)
    assert trusted(sane, 1000.0) == sane


async def test_three_callers_start_one_interval_apart(clock: Any) -> None:
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=1.0)
    begin = clock.now()
    starts = []

    async def call() -> None:
        async with gate.turn() as turn:
            starts.append(turn.started - begin)
            turn.answered()

    await clock.run(_all(call(), call(), call()))
    assert starts == [0, 1, 2]


async def test_jitter_only_lengthens_the_interval(clock: Any) -> None:
    gate = Gate(MemoryAccountStore(), clock, lambda: 1.0, pacing_s=1.0)
    begin = clock.now()
    starts = []

    async def call() -> None:
        async with gate.turn() as turn:
            starts.append(turn.started - begin)
            turn.answered()

    await clock.run(_all(call(), call()))
    assert starts == [0, 1.25]


async def test_after_a_cooldown_one_probe_goes_and_the_rest_wait_for_it(clock: Any) -> None:
    waits = []
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=0, on_wait=lambda why, _: waits.append(why))
    async with gate.turn() as turn:
        turn.limited(None)
    began, finish = [], asyncio.Event()

    async def call() -> None:
        async with gate.turn() as turn:
            began.append(clock.now())
            await finish.wait()
            turn.answered()

    limited_at = clock.now()
    tasks = [asyncio.create_task(call()) for _ in range(5)]
    await clock.until(limited_at + 59)
    assert began == []
    await clock.until(limited_at + 600)
    assert began == [limited_at + 60]
    finish.set()
    await clock.run(_all(*tasks))
    assert len(began) == 5
    assert set(waits) == {"cooldown", "probe"}


async def test_a_probe_that_is_cancelled_makes_room_for_another(clock: Any) -> Any:
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=0)
    async with gate.turn() as turn:
        turn.limited(None)
    forever = asyncio.Event()

    async def hang() -> None:
        async with gate.turn():
            await forever.wait()

    async def call() -> bool:
        async with gate.turn() as turn:
            turn.answered()
            return turn.probe

    probe = asyncio.create_task(hang())
    await clock.until(clock.now() + 61)
    second = asyncio.create_task(call())
    await clock.settle()
    assert not second.done()
    probe.cancel()
    assert await clock.run(_value(second)) is True


async def test_a_limit_seen_by_two_requests_in_flight_counts_once(clock: Any) -> None:
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=0)
    both, first_over = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with gate.turn() as turn:
            await both.wait()
            turn.limited(None)
        first_over.set()

    async def second() -> None:
        async with gate.turn() as turn:
            both.set()
            await first_over.wait()
            turn.limited(90)

    begin = clock.now()
    await clock.run(_all(first(), second()))
    state = await gate.state()
    assert (state.penalty, state.cooldown_until) == (1, begin + 90)


async def test_a_cancelled_caller_leaves_no_gap(clock: Any) -> None:
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=1.0)
    begin = clock.now()
    starts = []

    async def call() -> None:
        async with gate.turn() as turn:
            starts.append(turn.started - begin)
            turn.answered()

    tasks = [asyncio.create_task(call()) for _ in range(6)]
    await clock.settle()
    for task in tasks[1:5]:
        task.cancel()
    await clock.settle()
    assert all(task.done() for task in tasks[:5])
    await clock.run(_value(tasks[5]))
    assert starts == [0, 1]


async def test_an_open_circuit_refuses_at_once_and_a_probe_closes_it(clock: Any) -> Any:
    store = MemoryAccountStore()
    gate = Gate(store, clock, steady, pacing_s=0)

    async def limit() -> None:
        async with gate.turn() as turn:
            turn.limited(None)

    for _ in range(4):
        await clock.run(limit())
    assert store.gate.circuit_open
    with pytest.raises(RateLimited) as refusal:
        await clock.run(limit())
    assert refusal.value.retry_after_s == 480
    clock.time += 481

    async def succeed() -> bool:
        async with gate.turn() as turn:
            turn.answered()
            return turn.probe

    assert await clock.run(succeed()) is True
    assert await clock.run(succeed()) is False
    assert (store.gate.circuit_open, store.gate.penalty) == (False, 3)


async def test_a_longer_cooldown_than_the_caller_may_wait_is_told(clock: Any) -> None:
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=0, max_wait_s=30)
    async with gate.turn() as turn:
        turn.limited(None)
    with pytest.raises(RateLimited, match="60 s"):
        async with gate.turn():
            pytest.fail("no turn may be given")


async def test_a_running_cooldown_outlives_a_restart_and_ends_with_a_probe(clock: Any) -> Any:
    store = MemoryAccountStore()
    async with Gate(store, clock, steady, pacing_s=0).turn() as turn:
        turn.limited(200)
    limited_at = clock.now()
    again = Gate(store, clock, steady, pacing_s=0)

    async def call() -> tuple[float, bool]:
        async with again.turn() as turn:
            turn.answered()
            return clock.now(), turn.probe

    assert await clock.run(call()) == (limited_at + 200, True)


async def test_successes_are_not_written_one_by_one(clock: Any) -> None:
    writes = []

    class Counting(MemoryAccountStore):
        async def save_gate(self, state: GateState) -> None:
            writes.append(state)
            await super().save_gate(state)

    gate = Gate(Counting(), clock, steady, pacing_s=0)

    async def call(*, limited: bool = False) -> None:
        async with gate.turn() as turn:
            turn.limited(None) if limited else turn.answered()

    for _ in range(5):
        await clock.run(call())
    assert writes == []
    await clock.run(call(limited=True))
    for _ in range(30):
        await clock.run(call())
    assert [(state.penalty, state.successes) for state in writes] == [(1, 0), (1, 1), (0, 1)]


outcomes = st.lists(st.sampled_from(["answered", "limited", "failed", "untold"]), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=outcomes, callers=st.integers(1, 5), took=st.floats(0, 90), retry_after=st.sampled_from([None, 7, 200]))
async def test_no_request_starts_in_a_cooldown_and_only_one_after_it(
    new_clock: Any, script: Any, callers: Any, took: Any, retry_after: Any
) -> None:
    clock = new_clock()
    gate = Gate(MemoryAccountStore(), clock, steady, pacing_s=1.0)
    todo = list(script)
    held_until, last_limit, last_start = 0.0, float("-inf"), float("-inf")
    unproven, probes_open = False, 0

    async def caller() -> None:
        nonlocal held_until, last_limit, last_start, unproven, probes_open
        while todo:
            outcome = todo.pop()
            try:
                async with gate.turn() as turn:
                    started = clock.now()
                    assert started >= held_until
                    assert started >= last_start + 1.0 - 1e-6
                    assert turn.probe == unproven
                    assert probes_open == 0
                    last_start = started
                    probes_open += turn.probe
                    await clock.sleep(took)
                    probes_open -= turn.probe
                    if outcome == "limited":
                        news = started > last_limit
                        last_limit = clock.now() if news else last_limit
                        held_until = max(held_until, clock.now() + max(60 if news else 0, retry_after or 0))
                        unproven = True
                        turn.limited(retry_after)
                    elif outcome == "answered":
                        unproven = unproven and not turn.probe
                        turn.answered()
                    elif outcome == "failed":
                        turn.failed()
            except RateLimited:
                await clock.sleep(1000)

    await clock.run(_all(*(caller() for _ in range(callers))))
    assert todo == []
    assert probes_open == 0


async def test_media_places_are_limited_and_a_pause_holds_all(clock: Any) -> None:
    gate = MediaGate(clock, connections=2)
    began, finish = [], asyncio.Event()

    async def fetch() -> None:
        async with gate.place():
            began.append(clock.now())
            await finish.wait()

    begin = clock.now()
    tasks = [asyncio.create_task(fetch()) for _ in range(4)]
    await clock.settle()
    assert began == [begin, begin]
    gate.pause(5)
    finish.set()
    await clock.run(_all(*tasks))
    assert began == [begin, begin, begin + 5, begin + 5]


async def _all(*work: Any) -> None:
    await asyncio.gather(*work)


async def _value(task: Any) -> Any:
    return await task
