"""Promise: a server that is killed at any moment loses nothing and shows nothing twice.

SIGKILL hits `pixivflow serve` at moments that are watched for (a search under way, the k-th file, the last file here,
a converter at work, the receiver asked, the receiver holding a work it has not stored or has just stored), plus a few
random milliseconds. It is started again on the same files. Then the job must end `succeeded`, the receiver shows the
work once, every file is the site's own, and nothing unfinished stays: the judge looks at all of it after every kill.

`--scale N` multiplies the 40 points. The moments follow from the seed in the message; `-p randomly-seed=N` repeats it.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import scene
from live import Server
from place import Place, open_place

POINTS = 40
LANES = 2
KINDS: tuple[scene.Kind, ...] = ("pages", "ugoira", "novel")

pytestmark = pytest.mark.acceptance


@dataclass(frozen=True, slots=True)
class Round:
    """One job and the moment of its kill."""

    subject: scene.Subject
    moment: str
    jitter_s: float

    def __str__(self) -> str:
        return f"{self.subject.kind} {self.subject.tag}: {self.moment} + {1000 * self.jitter_s:.0f} ms"


def _routes(place: Place[Server], *names: str) -> int:
    routes = place.sandbox.stats()["routes"]
    return sum(count for name, count in routes.items() if name.startswith(names))


async def _accepted(_place: Place[Server], _round: Round) -> None:
    """At once: the answer 202 is all there was."""


async def _searching(place: Place[Server], _round: Round) -> None:
    await place.sandbox.until(lambda _: _routes(place, "search.") >= 1)


async def _downloading(place: Place[Server], this: Round) -> None:
    nth = 1 + int(this.jitter_s * 1000) % this.subject.files
    await place.sandbox.until(lambda _: _routes(place, "media.") >= nth)


async def _half_a_file(place: Place[Server], _round: Round) -> None:
    """Not only asked for: a part of it is on disk, and more never comes."""
    place.sandbox.set_faults([{"match": "media.*", "nth": 1, "action": {"type": "stall", "fraction": 0.5}}])
    while not any(place.library.glob(".incoming/*/*")):  # noqa: ASYNC110 - another process's folder tells no events
        await asyncio.sleep(0.005)


async def _downloaded(place: Place[Server], this: Round) -> None:
    await place.sandbox.until(lambda seen: _routes(place, "media.") >= this.subject.files and seen["active"] == 0)


async def _asked_for_readiness(place: Place[Server], _round: Round) -> None:
    before = place.receiver().ready_checks
    place.receiver().script(["stall"], channel="ready")
    await place.receiver().until(lambda receiver: receiver.ready_checks > before)


async def _submission_arrived(place: Place[Server], _round: Round) -> None:
    before = place.receiver().arrived
    place.receiver().script(["stall"])
    await place.receiver().until(lambda receiver: receiver.arrived > before)


async def _submission_stored(place: Place[Server], _round: Round) -> None:
    before = len(place.receiver().items)
    place.receiver().script(["stall_after"])
    await place.receiver().until(lambda receiver: len(receiver.items) > before)


async def _submission_answered(place: Place[Server], _round: Round) -> None:
    before = len(place.receiver().items)
    await place.receiver().until(lambda receiver: len(receiver.items) > before)


MOMENTS: dict[str, tuple[Callable[[Place[Server], Round], Awaitable[None]], float]] = {
    # name: what is waited for, and the longest random delay after it in seconds
    "accepted": (_accepted, 0.02),
    "searching": (_searching, 0.03),
    "downloading": (_downloading, 0.03),
    "half a file": (_half_a_file, 0.0),
    "downloaded, being converted or described": (_downloaded, 0.3),
    "between download and delivery": (_asked_for_readiness, 0.0),
    "submission arrived, not stored": (_submission_arrived, 0.0),
    "submission stored, not answered": (_submission_stored, 0.0),
    "submission answered": (_submission_answered, 0.02),
}


def _plan(points: int, seed: int) -> list[tuple[scene.Kind, str, float]]:
    """Every kind meets every moment before one is met again; the order and the delays are random."""
    rng = random.Random(seed)  # noqa: S311 - a repeatable choice of moments, no secret
    pairs = [(kind, moment) for kind in KINDS for moment in MOMENTS]
    chosen: list[tuple[scene.Kind, str, float]] = []
    while len(chosen) < points:
        rng.shuffle(pairs)
        chosen += [(kind, moment, rng.uniform(0, MOMENTS[moment][1])) for kind, moment in pairs]
    return chosen[:points]


async def _kill_once(place: Place[Server], this: Round) -> None:
    """Order a work, kill the server at the moment, start it again, and see the job through."""
    place.sandbox.reset_stats()
    moment, _ = MOMENTS[this.moment]
    waiting = asyncio.ensure_future(moment(place, this))
    await asyncio.sleep(0)  # the moment's script is in force before the order is
    try:
        job_id = await place.client.order(scene.task(this.subject, f"order-{this.subject.id}"))
        await asyncio.wait_for(waiting, 30)
    finally:
        waiting.cancel()
    await asyncio.sleep(this.jitter_s)
    await place.server.kill()
    place.sandbox.clear_faults()
    place.receiver().script([])
    place.receiver().script([], channel="ready")
    await place.server.start()
    await _sees_it_through(place, job_id)


async def _sees_it_through(place: Place[Server], job_id: str) -> None:
    await place.client.events(job_id)
    job = await place.client.wait_until_terminal(job_id)
    events = await place.client.events(job_id)
    assert job["status"] == "succeeded", f"{job}\n{place.server.output}"
    assert [event["type"] for event in events] == ["job.accepted", "job.started", "job.succeeded"]
    place.assert_clean()


@pytest.mark.timeout(3600)
async def test_killed_at_random_points(tmp_path: Path, scale: int) -> None:
    seed = random.getrandbits(32)
    plan = _plan(POINTS * scale, seed)

    async def lane(number: int) -> int:
        mine = plan[number::LANES]
        routes = (scene.RouteSpec(ready=True),)
        kinds = [kind for kind, _, _ in mine]
        async with open_place(tmp_path / f"{number}", kinds, routes=routes, options={"latency_ms": 4}) as place:
            await place.server.start()
            for subject, (_, moment, jitter_s) in zip(place.subjects, mine, strict=True):
                this = Round(subject, moment, jitter_s)
                try:
                    await _kill_once(place, this)
                except BaseException as error:
                    error.add_note(f"seed {seed}, lane {number}, {this}")
                    raise
            shown = place.receiver().items
            assert len(shown) == len(mine)
            assert await place.server.terminate() == 0, place.server.output
            place.assert_clean()
            return len(shown)

    async with asyncio.TaskGroup() as group:
        lanes = [group.create_task(lane(number)) for number in range(LANES)]
    assert sum(done.result() for done in lanes) == POINTS * scale


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
async def test_killed_again_while_it_recovers(tmp_path: Path, scale: int, kind: scene.Kind) -> None:
    """Twice in a row: once on the way up, once when the recovered attempt has just begun to ask the site."""
    seed = random.getrandbits(32)
    rng = random.Random(seed)  # noqa: S311 - see above
    options = {"latency_ms": 4}
    async with open_place(tmp_path, [kind] * scale, routes=(scene.RouteSpec(ready=True),), options=options) as place:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await place.server.start()
        start_s = loop.time() - begun
        for subject in place.subjects:
            place.sandbox.reset_stats()
            half = asyncio.ensure_future(_half_a_file(place, Round(subject, "half a file", 0.0)))
            await asyncio.sleep(0)  # the fault is in force before the order is
            job_id = await place.client.order(scene.task(subject, f"order-{subject.id}"))
            await asyncio.wait_for(half, 30)
            await place.server.kill()
            place.sandbox.clear_faults()
            await place.server.launch()
            await asyncio.sleep(rng.uniform(0.2, 1.1) * start_s)
            await place.server.kill()
            place.sandbox.reset_stats()
            place.receiver().script(["stall_after"])
            await place.server.start()
            await place.receiver().until(lambda receiver: len(receiver.items) >= 1)
            await place.server.kill()
            place.receiver().script([])
            await place.server.start()
            await _sees_it_through(place, job_id)
        assert len(place.receiver().items) == scale


@pytest.mark.skipif(not hasattr(os, "pidfd_open") or sys.platform != "linux", reason="looks at Linux's process table")
async def test_a_converter_does_not_outlive_its_server(tmp_path: Path) -> None:
    async with open_place(tmp_path, ["ugoira"]) as place:
        await place.server.start()
        job_id = await place.client.order(scene.task(place.subjects[0], "order-of-an-animation"))
        async with asyncio.timeout(30):
            while not (found := _children(place.server.pid)):  # noqa: ASYNC110 - the process table tells no events
                await asyncio.sleep(0.005)
        handles = [os.pidfd_open(int(pid)) for pid in found]
        try:
            await place.server.kill()
            async with asyncio.timeout(30):
                for handle in handles:
                    await _gone(handle)
        finally:
            for handle in handles:
                os.close(handle)
        await place.server.start()
        await _sees_it_through(place, job_id)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


async def _gone(handle: int) -> None:
    """Wait until a process has ended; its handle becomes readable then."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
