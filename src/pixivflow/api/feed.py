"""The public events of all jobs, encoded once and kept for a moment, so that many readers cost little more than one."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pixivflow.api.exchange import encode
from pixivflow.api.ports import StreamSlice
from pixivflow.domain.event import TERMINAL_KINDS, event_id
from pixivflow.domain.projection import project_event

_log = logging.getLogger(__name__)
_CHUNK: Final = 64 * 1024
"""Bytes of events that are handed out at once."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it is sent. `last` says that nothing follows it in its job."""

    seq: int
    job_id: str
    last: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What a reader sends next; having sent it, it has had everything up to `seq`."""

    data: bytes
    seq: int
    last: bool = False


def frames_of(found: StreamSlice, now_ms: int) -> list[Frame]:
    """The events of a slice in the shape of an event stream, with the same body as in a page of events."""
    frames: list[Frame] = []
    for event in found.events:
        job = found.jobs.get(event.job_id)
        body = None if job is None else project_event(event, job, now_ms)
        if body is None:
            _log.warning("an internal event was kept out of the stream", extra={"kind": event.kind.value})
            continue
        ident = event_id(event.at, event.seq)
        data = b"id: %b\nevent: %b\ndata: %b\n\n" % (ident.encode(), str(body["type"]).encode(), encode(body))
        frames.append(Frame(event.seq, event.job_id, event.kind in TERMINAL_KINDS, data))
    return frames


def batch_of(frames: Iterable[Frame], through: int) -> Batch:
    """Everything at once."""
    kept = list(frames)
    return Batch(b"".join(frame.data for frame in kept), through, any(frame.last for frame in kept))


class Ring:
    """The newest events. Everything public after `floor` and up to `tip` is here.

    It is the one queue of all readers: what falls out of it is gone for those who have not had it.

    Args:
        start: sequence number after which it is filled.
        max_events: how many are kept.
        max_bytes: how much of them is kept; the newest one always is.
    """

    def __init__(self, start: int, *, max_events: int, max_bytes: int) -> None:
        self.floor = start
        self.tip = start
        self._frames: list[Frame] = []
        self._seqs: list[int] = []
        self._bytes = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        # Readers that are up to date all ask for the same bytes.
        self._shared: dict[int, Batch] = {}

    def add(self, frames: Iterable[Frame], through: int) -> None:
        """Append what follows `tip`."""
        for frame in frames:
            self._frames.append(frame)
            self._seqs.append(frame.seq)
            self._bytes += len(frame.data)
        self.tip = max(self.tip, through)
        self._shared.clear()
        self._trim()

    def after(self, seq: int, job_id: str | None = None) -> Batch | None:
        """What follows `seq`, of one job or of all; None when a part of it is no longer here."""
        if seq < self.floor:
            return None
        if job_id is not None:
            return self._collect(seq, lambda frame: frame.job_id == job_id)
        batch = self._shared.get(seq)
        if batch is None:
            batch = self._shared[seq] = self._collect(seq, None)
        return batch

    def _collect(self, seq: int, wanted: Callable[[Frame], bool] | None) -> Batch:
        taken: list[Frame] = []
        size = 0
        for index in range(bisect_right(self._seqs, seq), len(self._frames)):
            frame = self._frames[index]
            if wanted is not None and not wanted(frame):
                continue
            if taken and size + len(frame.data) > _CHUNK:
                return batch_of(taken, taken[-1].seq)
            taken.append(frame)
            size += len(frame.data)
        # A reader may be ahead of the ring: it has read the ledger more recently.
        return batch_of(taken, max(seq, self.tip))

    def _trim(self) -> None:
        drop = max(0, len(self._frames) - self._max_events)
        size = self._bytes - sum(len(frame.data) for frame in self._frames[:drop])
        while size > self._max_bytes and drop < len(self._frames) - 1:
            size -= len(self._frames[drop].data)
            drop += 1
        if drop:
            self.floor = self._seqs[drop - 1]
            self._bytes = size
            del self._frames[:drop], self._seqs[:drop]
