"""The judge of every experiment: a ledger, a library, what receivers got and what a client was told must agree.

    violations = judge(Case(ledger=..., library=..., receivers=..., history=..., truth=..., at_rest=True))

It reads files and rows as they are, knows nothing of the program's own code but the published states, and returns what
is wrong as values. `tests/integration/support/test_judge.py` shows that it catches each fault it claims to catch.

The invariants carry numbers so that a failure can be talked about:

I1  every job a client was told of exists, under the key it was ordered with
I2  what a client saw of a job is a way through the published states, and an ended job never changes again
I3  attempts are numbered 1..n, the count never falls
I4  no attempt is live for a job that has ended; at rest none is live at all
I5  an ended job has exactly one terminal event, last; every stream starts with its admission, ascends, and grows only
I6  one delivery and one outbox row for each work and route, and they agree; at rest none is open
I7  every try of a delivery carries the same key and the same files
I8  a confirmed delivery is visible exactly once; nothing is visible that no delivery accounts for
I9  one job for one idempotency key
I10 every recorded file is there with its bytes; an original is the site's own; nothing unrecorded or unfinished stays
I11 the database is whole
I12 a job, its cells and its picks tell the same story
I13 no secret in an output, an event, a row or a file for people
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from judge_checks import client_checks, ledger_checks, world_checks
from judge_record import Record, read_record
from scene import Truth


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant."""

    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


@dataclass(slots=True)
class History:
    """What a client was told, in the order in which it was told.

    Attributes:
        submissions: (key, status, job as answered).
        jobs: every answer about a job, by its id.
        streams: every whole reading of a job's events, by its id.
    """

    submissions: list[tuple[str, int, Mapping[str, Any]]] = field(default_factory=list)
    jobs: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    streams: dict[str, list[list[Mapping[str, Any]]]] = field(default_factory=dict)

    def submitted(self, key: str, status: int, job: Mapping[str, Any]) -> None:
        """An order was accepted, or its job was answered again."""
        self.submissions.append((key, status, job))
        self.observed(job)

    def observed(self, job: Mapping[str, Any]) -> None:
        """A job was read. The same words twice in a row are kept once."""
        seen = self.jobs.setdefault(job["job_id"], [])
        if not seen or seen[-1] != job:
            seen.append(job)

    def streamed(self, job_id: str, events: list[dict[str, Any]]) -> None:
        """A whole stream was read."""
        self.streams.setdefault(job_id, []).append(list(events))


@dataclass(frozen=True, slots=True)
class Shown:
    """What one receiver got: `items` it shows, `requests` it was sent (see `sandbox.Receiver`)."""

    items: Iterable[Mapping[str, Any]]
    requests: Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """Everything an experiment left behind.

    Attributes:
        library: the root of the library; None when files are not part of the experiment.
        receivers: by the name of their route.
        truth: what files of the site really are; None when that is not known.
        at_rest: whether everything had time to end.
        outputs: texts that must not hold a secret, by a name for the message.
    """

    ledger: Path
    library: Path | None = None
    receivers: Mapping[str, Shown] = field(default_factory=dict)
    history: History = field(default_factory=History)
    truth: Truth | None = None
    at_rest: bool = True
    outputs: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def judge(case: Case) -> list[Violation]:
    """Everything that is wrong; empty when nothing is."""
    record: Record = read_record(case.ledger)
    found = chain(ledger_checks(case, record), client_checks(case, record), world_checks(case, record))
    return [Violation(invariant, what) for invariant, what in found]


def assert_clean(case: Case, more: str = "") -> None:
    """Fail with every violation, and with `more` (say, a server's output) below."""
    found = judge(case)
    assert not found, "\n".join([*map(str, found), more])
