"""The one table of a job's life, walked in every direction."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind
from pixivflow.domain.job import TERMINAL, TRANSITIONS, JobRecord, JobState, Move, Signal, Stay, decide

signals = st.lists(st.sampled_from(Signal), max_size=30)


def walk(steps: list[Signal]) -> tuple[list[JobState], list[EventKind]]:
    """The states a new job goes through, and the events it records on its way (the admission's own included)."""
    states, events = [JobState.QUEUED], [EventKind.REQUESTED]
    for signal in steps:
        outcome = decide(states[-1], signal)
        if isinstance(outcome, Move):
            states.append(outcome.to)
            if outcome.emits is not None:
                events.append(outcome.emits)
    return states, events


def test_every_state_is_reached_from_a_new_job() -> None:
    reached, waiting = {JobState.QUEUED}, [JobState.QUEUED]
    while waiting:
        state = waiting.pop()
        for signal in Signal:
            to = TRANSITIONS.get((state, signal))
            if to is not None and to not in reached:
                reached.add(to)
                waiting.append(to)
    assert reached == set(JobState)


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("signal", list(Signal))
def test_an_ended_job_does_not_change(state: JobState, signal: Signal) -> None:
    assert (state, signal) not in TRANSITIONS
    outcome = decide(state, signal)
    assert isinstance(outcome, Stay)
    assert state.value in outcome.why
    assert signal.value in outcome.why


@pytest.mark.parametrize("state", sorted(set(JobState) - TERMINAL))
def test_an_open_job_can_be_ended_by_its_consumer_and_by_its_budget(state: JobState) -> None:
    assert decide(state, Signal.CANCEL) == Move(JobState.CANCELLED, EventKind.CANCELLED)
    assert decide(state, Signal.EXPIRE) == Move(JobState.EXPIRED, EventKind.EXPIRED)


def test_a_job_that_never_started_cannot_have_an_outcome() -> None:
    assert isinstance(decide(JobState.QUEUED, Signal.SUCCEED), Stay)
    assert isinstance(decide(JobState.QUEUED, Signal.FAIL), Stay)


def test_a_second_attempt_of_a_running_job_is_not_announced_again() -> None:
    assert decide(JobState.QUEUED, Signal.START) == Move(JobState.RUNNING, EventKind.STARTED)
    assert decide(JobState.RUNNING, Signal.START) == Move(JobState.RUNNING, None)


@given(signals)
def test_a_walk_stays_inside_the_table_and_stops_at_its_first_end(steps: list[Signal]) -> None:
    states, _ = walk(steps)
    for state, following in pairwise(states):
        assert following in {to for (origin, _), to in TRANSITIONS.items() if origin is state}
    assert not TERMINAL.intersection(states[:-1])


@given(signals)
def test_a_walk_has_one_terminal_event_exactly_when_it_has_ended(steps: list[Signal]) -> None:
    states, events = walk(steps)
    ends = [kind for kind in events if kind in TERMINAL_KINDS]
    assert len(ends) == (1 if states[-1] in TERMINAL else 0)
    assert not ends or events[-1] is ends[0]
    assert events.count(EventKind.STARTED) == (1 if JobState.RUNNING in states else 0)


@given(signals, st.sampled_from([Signal.SUCCEED, Signal.FAIL, Signal.CANCEL, Signal.EXPIRE]))
def test_any_walk_can_still_be_ended(steps: list[Signal], end: Signal) -> None:
    states, events = walk([*steps, Signal.START, end])
    assert states[-1] in TERMINAL
    assert WIRE_TYPE[events[-1]] == f"job.{states[-1].value}"


def test_a_record_knows_whether_it_has_ended() -> None:
    def record(state: JobState) -> JobRecord:
        return JobRecord(
            id="p@1", seq=1, type="candidate_search", state=state, plan_id="p", account="a", trigger="api",
            created_at=0, updated_at=0,
        )  # fmt: skip

    assert {state for state in JobState if record(state).terminal} == TERMINAL
