"""Promise: the consumer this producer is paired with sees each outcome once, whatever is lost on the way.

`consumer.Consumer` behaves as the real one does. A tick follows an event of the ledger or of the receiver, never the
passing of time; the consumer's own clock is moved by hand.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from consumer import RESUBMIT_AFTER_MS, TICK_MS, Attempt, Consumer, Outcome
from live import Server
from local import LocalServer
from place import Place, open_local, open_place

# The first work's tag: an order for pictures finds it, one for novels finds nothing.
FINDS = {"tag": "scene0000"}
STALLED_SEARCH = {"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}
DELIVERED = Outcome("submitted")


class Books:
    """The consumer's clock."""

    def __init__(self) -> None:
        self.ms = 1_900_000_000_000

    def __call__(self) -> int:
        return self.ms

    def forward(self, milliseconds: int) -> None:
        """Let time pass."""
        self.ms += milliseconds


def _key() -> str:
    return str(uuid.uuid4())


def _arrived(place: Place[Any], key: str) -> bool:
    """Whether the receiver has accepted a submission that carries the request's id."""
    return any(item["fields"].get("refetch_request_id") == [key] for item in place.receiver().items)


def _consumer(place: Place[Any], clock: Callable[[], int], url: str | None = None) -> Consumer:
    return Consumer(url or place.server.url, now_ms=clock, delivered=lambda key: _arrived(place, key))


@asynccontextmanager
async def _pair(folder: Path) -> AsyncIterator[tuple[Place[LocalServer], Consumer, Books]]:
    clock = Books()
    async with open_local(folder, ["single"], target=FINDS) as place, _consumer(place, clock) as consumer:
        yield place, consumer, clock


async def _follow(place: Place[LocalServer], consumer: Consumer, until: Callable[[], bool] | None = None) -> None:
    """Tick whenever the public stream has grown, until nothing is open or something has been seen."""
    news = place.server.stack.service.listen()
    try:
        async with asyncio.timeout(30):
            while True:
                news.clear()
                await consumer.tick()
                if not consumer.busy if until is None else until():
                    return
                await news.wait()
    finally:
        place.server.stack.service.unlisten(news)


async def _sees_nothing_more(place: Place[Any], consumer: Consumer, attempt: Attempt, terminal: str) -> None:
    """The story was told once: three events in their order, all acknowledged, and one booking."""
    await consumer.look_again(attempt)
    assert attempt.terminal_said["event"] == 1
    assert attempt.terminal_said["poll"] >= 1, "poll and event have both said it, and one of them was booked"
    assert [key for key, _ in consumer.bookings].count(attempt.key) == 1
    types = [event["type"] for event in attempt.events.values()]
    assert types == [kind for kind in ("job.accepted", "job.started", terminal) if kind in types]
    assert types[0] == "job.accepted"
    assert types[-1] == terminal
    assert attempt.job_id is not None
    _, rest = await place.client.call("GET", f"{_path(attempt)}/events?unacked=1")
    assert (rest["events"], rest["unacked"]) == ([], 0)
    assert [event["event_id"] for event in await place.client.events(attempt.job_id)] == list(attempt.events)
    booked = list(consumer.bookings)
    before = len(consumer.requests)
    await consumer.tick()
    assert (consumer.bookings, len(consumer.requests)) == (booked, before), "a settled attempt is not asked for again"


def _path(attempt: Attempt) -> str:
    return f"/jobs/{attempt.job_id}".replace("@", "%40")


async def test_a_work_is_submitted_before_the_job_says_so(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        place.receiver().script(["stall"])
        attempt = consumer.order(_key(), "pictures", correlation_id="chat-7")
        await consumer.tick()
        assert consumer.requests[:2] == [("GET", "/capabilities"), ("POST", "/jobs")]
        await place.receiver().until(lambda receiver: receiver.arrived == 1)
        await consumer.tick()
        assert attempt.statuses[-1] == "running", "the receiver has read the work and has not said a word yet"
        assert attempt.outcome is None
        place.sandbox.release()
        await _follow(place, consumer)
        assert attempt.outcome == DELIVERED
        assert attempt.submissions == [202]
        assert {event.get("correlation_id") for event in attempt.events.values()} == {"chat-7"}
        (item,) = place.receiver().items
        assert item["fields"]["refetch_request_id"] == [attempt.key]
        await _sees_nothing_more(place, consumer, attempt, "job.succeeded")
        place.assert_clean()


async def test_nothing_new_is_no_candidate(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        attempt = consumer.order(_key(), "novels")
        await _follow(place, consumer)
        assert attempt.outcome == Outcome("no_candidate", "no_candidate")
        await _sees_nothing_more(place, consumer, attempt, "job.failed")
        assert place.receiver().items == []
        place.assert_clean()


@pytest.mark.parametrize("answer", ["failed", {"answer": "status", "status": 400}])
async def test_a_rejected_delivery_is_a_failure(tmp_path: Path, answer: Any) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        place.receiver().script([answer])
        attempt = consumer.order(_key(), "pictures")
        await _follow(place, consumer)
        assert attempt.outcome == Outcome("failed", "delivery_rejected")
        await _sees_nothing_more(place, consumer, attempt, "job.failed")
        place.assert_clean()


async def test_a_cancelled_job_is_a_failure(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        place.sandbox.set_faults([STALLED_SEARCH])
        attempt = consumer.order(_key(), "pictures")
        await _follow(place, consumer, lambda: attempt.started)
        assert attempt.job_id is not None
        await place.client.cancel(attempt.job_id)
        await _follow(place, consumer)
        assert attempt.outcome == Outcome("failed", "cancelled_by_consumer")
        assert attempt.statuses[-1] == "cancelled"
        await _sees_nothing_more(place, consumer, attempt, "job.cancelled")
        assert place.receiver().items == []
        place.assert_clean()


async def test_the_same_key_again_after_twelve_minutes_in_the_queue(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, clock):
        place.sandbox.set_faults([STALLED_SEARCH])
        busy = consumer.order(_key(), "novels")
        await _follow(place, consumer, lambda: busy.started)
        waiting = consumer.order(_key(), "pictures")
        await consumer.tick()
        while clock.ms + TICK_MS < (waiting.submitted_at or 0) + RESUBMIT_AFTER_MS:
            clock.forward(TICK_MS)
            await consumer.tick()
        assert waiting.submissions == [202]
        clock.forward(TICK_MS)
        await consumer.tick()
        assert waiting.submissions == [202, 200], "the key was sent again, and its job was answered"
        place.sandbox.release()
        await _follow(place, consumer)
        assert waiting.outcome == DELIVERED
        assert [key for key, _ in consumer.bookings] == [busy.key, waiting.key]
        assert len(place.receiver().items) == 1
        await _sees_nothing_more(place, consumer, waiting, "job.succeeded")
        place.assert_clean()


async def test_lost_answers_are_no_second_job_and_no_second_event(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        place.sandbox.set_faults([STALLED_SEARCH])
        consumer.lose = {"submit", "ack"}
        attempt = consumer.order(_key(), "pictures")
        await consumer.tick()
        assert (attempt.submissions, attempt.job_id, consumer.unreachable) == ([None], None, 1)
        await consumer.tick()
        assert attempt.job_id is not None, "the poll by key has found what the lost answer would have named"
        assert (attempt.acked, consumer.unreachable) == (None, 2)
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust", 0) == 1)
        place.sandbox.release()
        await _follow(place, consumer)
        assert attempt.submissions == [None]
        assert attempt.outcome == DELIVERED
        await _sees_nothing_more(place, consumer, attempt, "job.succeeded")
        place.assert_clean()


async def test_events_that_were_kept_and_not_acknowledged_come_again_in_the_same_words(tmp_path: Path) -> None:
    async with _pair(tmp_path) as (place, consumer, _):
        place.sandbox.set_faults([STALLED_SEARCH])
        consumer.lose = {"unsent ack"}
        attempt = consumer.order(_key(), "pictures")
        await consumer.tick()
        kept = dict(attempt.events)
        assert (attempt.acked, consumer.unreachable) == (None, 1)
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust", 0) == 1)
        await consumer.tick()
        assert attempt.repeated == len(kept) >= 1
        assert attempt.acked == attempt.newest
        place.sandbox.release()
        await _follow(place, consumer)
        assert attempt.outcome == DELIVERED
        await _sees_nothing_more(place, consumer, attempt, "job.succeeded")
        place.assert_clean()


@pytest.mark.acceptance
async def test_a_cold_start_and_a_producer_that_is_away_for_a_while(tmp_path: Path) -> None:
    clock = Books()
    async with (
        open_place(tmp_path, ["single"], target=FINDS) as place,
        _consumer(place, clock, _fixed_url(place)) as consumer,
    ):
        place.sandbox.set_faults([STALLED_SEARCH])
        attempt = consumer.order(_key(), "pictures")
        for _ in range(3):
            await consumer.tick()
            clock.forward(TICK_MS)
        assert (consumer.unreachable, attempt.submissions) == (3, []), "nothing is sent before it is known to whom"

        await place.server.start()
        await consumer.tick()
        assert attempt.submissions == [202]
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust", 0) == 1)
        await consumer.tick()
        assert attempt.statuses[-1] == "running"

        await place.server.kill()
        for _ in range(2 * RESUBMIT_AFTER_MS // TICK_MS):
            clock.forward(TICK_MS)
            await consumer.tick()
        assert attempt.outcome is None, "silence is no outcome"
        await place.server.start()
        assert place.server.url == _fixed_url(place)
        await _until_ended(place, attempt)
        await consumer.tick()
        assert attempt.submissions == [202], "it had been seen running: there is nothing to submit again"
        assert attempt.outcome == DELIVERED
        await _sees_nothing_more(place, consumer, attempt, "job.succeeded")
        assert len(place.receiver().items) == 1
        place.assert_clean()


@pytest.mark.acceptance
async def test_a_submission_whose_answer_died_with_the_server(tmp_path: Path) -> None:
    """The order was durable, the answer never came, and twelve minutes later the key is sent again."""
    clock = Books()
    async with open_place(tmp_path, ["single"], target=FINDS) as place:
        await place.server.start()
        async with _consumer(place, clock) as consumer:
            place.sandbox.set_faults([STALLED_SEARCH])
            consumer.lose = {"submit"}
            attempt = consumer.order(_key(), "pictures")
            await consumer.tick()
            await place.server.kill()
            await consumer.tick()
            clock.forward(RESUBMIT_AFTER_MS)
            place.sandbox.clear_faults()
            await place.server.start()
            await consumer.tick()
            assert attempt.submissions == [None, 200], "the job was there, and the key found it"
            await _until_ended(place, attempt)
            await consumer.tick()
            assert attempt.outcome == DELIVERED
            await _sees_nothing_more(place, consumer, attempt, "job.succeeded")
            assert len(place.receiver().items) == 1
            place.assert_clean()


def _fixed_url(place: Place[Server]) -> str:
    """Where the server will be: a consumer knows its address before it is up."""
    config = json.loads(place.server.config.read_text(encoding="utf-8"))
    return f"http://127.0.0.1:{config['schedulerRuntime']['trigger']['port']}"


async def _until_ended(place: Place[Server], attempt: Attempt) -> None:
    assert attempt.job_id is not None
    await place.client.wait_until_terminal(attempt.job_id)
