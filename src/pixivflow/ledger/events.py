"""The event stream: appended in the transaction of the change it tells of, read by cursor, acknowledged for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixivflow.domain.event import TERMINAL_KINDS, WIRE_TYPE, EventKind, EventRecord, parse_event_id
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.rows import dump, event_of

PAGE = 200


@dataclass(frozen=True, slots=True)
class EventSlice:
    """One page. `unacked` counts the whole stream after the durable cursor, whatever page was asked for."""

    events: tuple[EventRecord, ...]
    more: bool
    unacked: int


@dataclass(frozen=True, slots=True)
class StreamSlice:
    """Events of the whole ledger. Everything visible up to `through` stands here or was before the slice."""

    events: tuple[EventRecord, ...]
    through: int


@dataclass(frozen=True, slots=True)
class StreamStart:
    """Where a reader of the stream begins.

    Attributes:
        seq: what it has had; the events after it follow.
        newest: how far the stream reaches now.
        at: the time of the event `seq` names; None when it names none.
        ended: the job asked for has ended, and its last event is not after `seq`.
    """

    seq: int
    newest: int
    at: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class AckState:
    """Events at or before the cursor, and after it."""

    acked: int
    unacked: int


def append(tx: Tx, job_id: str, kind: EventKind, detail: Mapping[str, Any] | None = None) -> None:
    """Record what happened to a job. The schema refuses a visible kind twice, and a second end.

    Whoever records a visible kind also calls `callbacks.intend` in the same transaction, once the job is as it says.
    Time never runs backward within a job, whatever the clock does: time order and id order agree.
    """
    last = tx.one("events_last_at", {"job_id": job_id})
    tx.run(
        "events_insert",
        {
            "job_id": job_id,
            "kind": kind.value,
            "at": max(tx.now, last["at"]) if last else tx.now,
            "visible": int(kind in WIRE_TYPE),
            "terminal": int(kind in TERMINAL_KINDS),
            "detail": dump(detail) if detail else None,
        },
    )
    if kind in WIRE_TYPE:
        tx.signals.told(tx)


def page(tx: Tx, job_id: str, *, after: str | None, from_ack: bool, limit: int = PAGE) -> EventSlice:
    """Read a page. An `after` that is no event of this job counts as absent; `from_ack` starts at the ack cursor."""
    cursor = _cursor(tx, job_id)
    start = cursor if from_ack else _position(tx, job_id, after)
    rows = tx.all("events_page", {"job_id": job_id, "after": start, "limit": limit + 1})
    return EventSlice(tuple(event_of(row) for row in rows[:limit]), len(rows) > limit, _after(tx, job_id, cursor))


def stream(tx: Tx, *, after: int, job_id: str | None = None, limit: int = PAGE) -> StreamSlice:
    """Events after a position in the order of their commits: of one job, or of all."""
    # Asked first: whatever is found below belongs to the same snapshot.
    newest = _newest(tx)
    if job_id is None:
        rows = tx.all("events_stream", {"after": after, "limit": limit})
    else:
        rows = tx.all("events_page", {"job_id": job_id, "after": after, "limit": limit})
    through = int(rows[-1]["seq"]) if len(rows) == limit else max(after, newest)
    return StreamSlice(tuple(event_of(row) for row in rows), through)


def stream_start(tx: Tx, *, after: int | None, job_id: str | None = None, live: bool = False) -> StreamStart:
    """Where to begin. `after` counts when it names a visible event of what is read, else the stream is read whole.

    With `live` and no such event it begins at the newest one.
    """
    newest = _newest(tx)
    seq, at = 0, None
    if after is not None and _names(tx, after, job_id):
        seq = after
    elif live:
        row = tx.one("events_newest_visible", {"newest": newest})
        seq, at = (int(row["seq"]), int(row["at"])) if row else (0, None)
    end = tx.one("events_end_of_job", {"job_id": job_id}) if job_id is not None else None
    return StreamStart(seq, newest, at, ended=end is not None and end["seq"] <= seq)


def ack(tx: Tx, job_id: str, event_id: str) -> AckState:
    """Move the cursor forward to an event of this job; anything else changes nothing. Reports what is durable."""
    position = _position(tx, job_id, event_id)
    if position:
        tx.run("cursors_advance", {"job_id": job_id, "seq": position, "now": tx.now})
    cursor = _cursor(tx, job_id)
    unacked = _after(tx, job_id, cursor)
    return AckState(_after(tx, job_id, 0) - unacked, unacked)


def _position(tx: Tx, job_id: str, event_id: str | None) -> int:
    seq = parse_event_id(event_id) if event_id is not None else None
    if seq is None:
        return 0
    return seq if _names(tx, seq, job_id) else 0


def _names(tx: Tx, seq: int, job_id: str | None) -> bool:
    if job_id is None:
        return tx.one("events_find_visible", {"seq": seq}) is not None
    return tx.one("events_position", {"seq": seq, "job_id": job_id}) is not None


def _newest(tx: Tx) -> int:
    row = tx.one("events_newest")
    return int(row["seq"] or 0) if row else 0


def _cursor(tx: Tx, job_id: str) -> int:
    row = tx.one("cursors_get", {"job_id": job_id})
    return int(row["acked_seq"]) if row else 0


def _after(tx: Tx, job_id: str, seq: int) -> int:
    row = tx.one("events_count_after", {"job_id": job_id, "after": seq})
    return int(row["count"]) if row else 0
