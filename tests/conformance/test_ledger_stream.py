"""The stream of all events: order, places to begin, and who is told."""

from __future__ import annotations

from ledger_desk import Desk, Motions, Now

from pixivflow.domain.event import EventKind
from pixivflow.domain.job import Signal
from pixivflow.ledger import events, jobs
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger


async def written(ledger: SqliteLedger, now: Now) -> list[str]:
    desk = Desk(ledger, now)
    ids = [await desk.admit(key=key) for key in ("a", "b")]

    def move(tx: Tx) -> None:
        jobs.apply(tx, ids[1], Signal.CANCEL)
        events.append(tx, ids[0], EventKind.OUTBOX_RETRY)

    await ledger.write(move)
    return ids


async def test_the_stream_is_every_visible_event_in_the_order_of_commits(ledger: SqliteLedger, now: Now) -> None:
    a, b = await written(ledger, now)
    found = await ledger.read(lambda tx: events.stream(tx, after=0))
    assert [(event.job_id, event.kind) for event in found.events] == [
        (a, EventKind.REQUESTED),
        (b, EventKind.REQUESTED),
        (b, EventKind.CANCELLED),
    ]
    # The internal event at the end is behind the reader as well: it is not read again and again.
    assert found.through > found.events[-1].seq
    rest = await ledger.read(lambda tx: events.stream(tx, after=found.through))
    assert (rest.events, rest.through) == ((), found.through)


async def test_pages_meet_without_hole_or_repeat(ledger: SqliteLedger, now: Now) -> None:
    await written(ledger, now)
    whole = (await ledger.read(lambda tx: events.stream(tx, after=0))).events
    for limit in (1, 2, 3, 4):
        read, position = [], 0
        for _ in range(5):
            found = await ledger.read(lambda tx, at=position, size=limit: events.stream(tx, after=at, limit=size))
            read += found.events
            position = found.through
        assert tuple(read) == whole


async def test_one_job_is_read_by_itself(ledger: SqliteLedger, now: Now) -> None:
    _, b = await written(ledger, now)
    found = await ledger.read(lambda tx: events.stream(tx, after=0, job_id=b))
    assert [event.kind for event in found.events] == [EventKind.REQUESTED, EventKind.CANCELLED]


async def test_where_a_reader_begins(ledger: SqliteLedger, now: Now) -> None:
    a, b = await written(ledger, now)
    stream = await ledger.read(lambda tx: events.stream(tx, after=0))
    first, second, last = stream.events

    async def start(after: int | None, job_id: str | None = None, *, live: bool = False) -> events.StreamStart:
        return await ledger.read(lambda tx: events.stream_start(tx, after=after, job_id=job_id, live=live))

    assert (await start(None)).seq == 0
    assert (await start(None)).newest == stream.through
    assert (await start(second.seq)).seq == second.seq
    assert (await start(stream.through)).seq == 0, "an internal event is no place"
    assert (await start(first.seq, b)).seq == 0, "nor is another job's"
    live = await start(None, live=True)
    assert (live.seq, live.at) == (last.seq, last.at)
    assert not (await start(second.seq, b)).ended
    assert (await start(last.seq, b)).ended
    assert not (await start(first.seq, a)).ended


async def test_an_empty_ledger_has_a_beginning_too(ledger: SqliteLedger) -> None:
    assert await ledger.read(lambda tx: events.stream(tx, after=0)) == events.StreamSlice((), 0)
    start = await ledger.read(lambda tx: events.stream_start(tx, after=None, live=True))
    assert start == events.StreamStart(0, 0)


async def test_each_visible_event_is_told_of_once_it_is_durable(ledger: SqliteLedger, now: Now) -> None:
    motions = Motions()
    ledger.signals = motions
    await written(ledger, now)
    assert motions.tellings == 3
