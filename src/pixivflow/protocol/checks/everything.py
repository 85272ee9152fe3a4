"""What has to hold for every answer there was, judged at the end."""

from __future__ import annotations

from collections.abc import Iterator

from pixivflow.protocol import words
from pixivflow.protocol.point import Part
from pixivflow.protocol.session import Seen, Session, expect
from pixivflow.protocol.shapes import error_faults

PART = Part()
_SURFACE = ("/jobs", "/capabilities")


@PART.point("envelope", "every failure is {error: {code, retryable}} with a code of the closed set", section="2")
async def envelope(session: Session) -> None:
    found = []
    for seen in _surface(session):
        if seen.answer.status >= 400 and seen.answer.status not in (401, 503):
            found += [f"{_named(seen)}: {fault}" for fault in error_faults(seen.body)]
    expect(not found, "; ".join(dict.fromkeys(found)))


@PART.point("words", "no key and no vocabulary holds a word of a consumer's business", section="1")
async def neutral_words(session: Session) -> None:
    found = [word for seen in _surface(session) for word in words.in_body(seen.body)]
    expect(not found, "; ".join(list(dict.fromkeys(found))[:5]))


@PART.point("no-crash", "nothing was answered with a 5xx", section="2")
async def no_crash(session: Session) -> None:
    found = [f"{_named(seen)} answers {seen.answer.status}" for seen in session.seen if seen.answer.status >= 500]
    expect(not found, "; ".join(found[:3]))


@PART.point("json", "every answer is declared as JSON and is JSON", section="2", strict=True)
async def declared(session: Session) -> None:
    found = []
    for seen in _surface(session):
        kind = seen.answer.headers.get("content-type", "")
        if seen.body is None or kind.partition(";")[0].strip() != "application/json":
            found.append(f"{_named(seen)} answers {seen.answer.status} as {kind or 'nothing'}")
    expect(not found, "; ".join(found[:3]))


def _surface(session: Session) -> Iterator[Seen]:
    return (seen for seen in session.seen if seen.path.startswith(_SURFACE))


def _named(seen: Seen) -> str:
    return f"{seen.method} {seen.path.partition('?')[0]}"
