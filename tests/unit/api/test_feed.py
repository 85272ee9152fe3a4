from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.api.feed import Frame, Ring, frames_of
from pixivflow.api.ports import StreamSlice
from pixivflow.domain.event import EventKind, EventRecord
from pixivflow.domain.job import JobRecord, JobState


def frame(seq: int, job: str = "j", size: int = 10) -> Frame:
    return Frame(seq, job, last=False, data=b" %d " % seq + b"x" * size)


def numbers(data: bytes) -> list[int]:
    return [int(word) for word in data.replace(b"x", b"").split()]


def test_a_ring_tells_who_has_missed_something() -> None:
    ring = Ring(5, max_events=3, max_bytes=10_000)
    ring.add([frame(seq) for seq in (6, 8, 9)], 10)
    assert ring.after(4) is None
    whole = ring.after(5)
    assert whole is not None
    assert (numbers(whole.data), whole.seq) == ([6, 8, 9], 10)
    ring.add([frame(11)], 11)
    assert ring.after(5) is None
    assert ring.floor == 6
    kept = ring.after(6)
    assert kept is not None
    assert numbers(kept.data) == [8, 9, 11]


def test_the_newest_event_is_kept_however_large_it_is() -> None:
    ring = Ring(0, max_events=100, max_bytes=50)
    ring.add([frame(1), frame(2, size=1000)], 2)
    batch = ring.after(1)
    assert batch is not None
    assert batch.seq == 2
    assert ring.after(0) is None


def test_one_job_s_reader_moves_on_with_the_others_events() -> None:
    ring = Ring(0, max_events=100, max_bytes=10_000)
    ring.add([frame(1, "a"), frame(2, "b"), frame(3, "a")], 4)
    batch = ring.after(1, "b")
    assert batch is not None
    assert (numbers(batch.data), batch.seq) == ([2], 4)
    nothing = ring.after(4, "b")
    assert nothing is not None
    assert (nothing.data, nothing.seq) == (b"", 4)


def test_a_reader_that_is_ahead_stays_where_it_is() -> None:
    ring = Ring(0, max_events=100, max_bytes=10_000)
    ring.add([frame(1)], 1)
    batch = ring.after(7)
    assert batch is not None
    assert (batch.data, batch.seq) == (b"", 7)
    ring.add([frame(3), frame(9)], 9)
    batch = ring.after(7)
    assert batch is not None
    assert numbers(batch.data) == [9]


@given(
    st.lists(st.lists(st.tuples(st.booleans(), st.integers(0, 40_000)), max_size=5), max_size=20),
    st.integers(1, 12),
    st.integers(1, 200_000),
    st.booleans(),
)
def test_a_reader_gets_each_event_once_and_in_order_or_is_told(
    rounds: list[list[tuple[bool, int]]], max_events: int, max_bytes: int, own: bool
) -> None:
    ring = Ring(0, max_events=max_events, max_bytes=max_bytes)
    seq = position = 0
    sent: list[int] = []
    wanted: list[int] = []
    for number, steps in enumerate(rounds):
        added = []
        for mine, size in steps:
            seq += 1
            added.append(frame(seq, "a" if mine else "b", size))
            if mine or not own:
                wanted.append(seq)
        ring.add(added, seq)
        if number % 3 == 0:
            continue
        while True:
            batch = ring.after(position, "a" if own else None)
            if batch is None:
                assert position < ring.floor
                return
            assert batch.seq >= position
            sent += numbers(batch.data)
            if batch.seq == position or not batch.data:
                position = batch.seq
                break
            position = batch.seq
        assert sent == wanted


def test_an_event_of_an_unknown_kind_or_job_is_kept_out() -> None:
    job = JobRecord(
        id="j",
        seq=1,
        type="candidate_search",
        state=JobState.QUEUED,
        plan_id="p",
        account="default",
        trigger="manual",
        created_at=1,
        updated_at=1,
    )
    events = (
        EventRecord(1, "j", EventKind.REQUESTED, 7),
        EventRecord(2, "j", EventKind.OUTBOX_DEAD, 8),
        EventRecord(3, "gone", EventKind.REQUESTED, 9),
    )
    (only,) = frames_of(StreamSlice(events, {"j": job}, 3), 100)
    assert (only.seq, only.job_id, only.last) == (1, "j", False)
    assert only.data.startswith(b"id: evt-7-1\nevent: job.accepted\ndata: {")
    assert only.data.endswith(b"}\n\n")
    assert only.data.count(b"\n") == 4
