"""Promise: one key is one job and one delivery, also when the server dies while everybody asks.

Sixty-four clients submit one key at the same moment; `pixivflow serve` is killed by SIGKILL after a few of them have
been answered (or before any has), and started again on the same files. Whoever got no answer asks again, as a careful
client does. However it went, every client is told of the same job, a client with other parameters is told of the
conflict, and the receiver sees one delivery.

Three rounds are played, `--scale N` plays N times as many (17 make the fifty of the promise). The moments follow from
the seed in the message.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import scene
from judge_record import read_record
from live import Server
from place import Place, open_place

CLIENTS = 64
ROUNDS = 3
# What names a job and never changes in its life. The rest of a body moves on while clients are still asking.
IDENTITY = ("job_id", "job_type", "idempotency_key", "correlation_id", "created_at", "deadline_at", "events_url")

pytestmark = pytest.mark.acceptance


@dataclass(slots=True)
class Crowd:
    """The clients of one round, and what they have been told.

    Attributes:
        answers: status and document of each client's last word.
        lost: how many requests got no answer.
    """

    place: Place[Server]
    kill_after: int
    answers: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    lost: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    back: asyncio.Event = field(default_factory=asyncio.Event)

    async def client(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Submit until there is an answer. After a failure nothing is known, so the same key is sent again."""
        while True:
            up = self.back.is_set()
            try:
                answer = await self.place.client.submit(body)
            except aiohttp.ClientError:
                self.lost += 1
                assert not up, f"a server that was not killed dropped a request\n{self.place.server.output}"
                await self.back.wait()
                continue
            self.answers.append(answer)
            if len(self.answers) >= self.kill_after:
                self.enough.set()
            return answer


async def _round(place: Place[Server], number: int, rng: random.Random) -> int:
    """One race with its kill; how many requests the kill swallowed."""
    subject, other = place.subjects[2 * number : 2 * number + 2]
    body = scene.task(subject, f"contested {number}", correlation_id=f"c-{number}")
    different = scene.task(other, f"contested {number}", correlation_id=f"c-{number}")
    crowd = Crowd(place, kill_after=rng.choice([0, 0, 1, 2, rng.randrange(3, CLIENTS // 2)]))
    # One in eight wants something else under the same key; whose order is durable first decides for all.
    asked = [different if client % 8 == 0 else body for client in range(CLIENTS)]
    rng.shuffle(asked)
    racing = [asyncio.create_task(crowd.client(one)) for one in asked]
    jitter_s = rng.uniform(0, 0.06)
    try:
        if crowd.kill_after:
            await asyncio.wait_for(crowd.enough.wait(), 30)
        else:
            await asyncio.sleep(jitter_s)  # requests are on the way, whether one has been answered or not
        await place.server.kill()
        await place.server.start()
        crowd.back.set()
        answers = await asyncio.gather(*racing)
    finally:
        for task in racing:
            task.cancel()
    won = _same_job([one is body for one in asked], answers)
    job_id = won["job_id"]
    job = await place.client.wait_until_terminal(job_id)
    assert job["status"] == "succeeded", f"{job}\n{place.server.output}"
    assert _identity(job) == _identity(won)
    events = await place.client.events(job_id)
    assert [event["type"] for event in events] == ["job.accepted", "job.started", "job.succeeded"]
    record = read_record(place.ledger)
    assert [row["id"] for row in record.jobs if row["idempotency_key"] == f"contested {number}"] == [job_id]
    (delivery,) = record.of_job("deliveries", job_id)
    assert delivery["state"] == "delivered"
    titles = [item["fields"]["title"] for item in place.receiver().items]
    assert len(titles) == len(set(map(str, titles))) == number + 1, "the receiver shows the work of each round once"
    place.assert_clean()
    return crowd.lost


def _same_job(first_kind: list[bool], answers: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """Who asked with the winning parameters was told of one job, one at most that it is new; others of a conflict."""
    pairs = list(zip(first_kind, answers, strict=True))
    told = [(kind, document["job"]) for kind, (status, document) in pairs if status < 400]
    refused = [kind for kind, (status, _) in pairs if status >= 400]
    statuses = [status for status, _ in answers]
    assert set(statuses) <= {200, 202, 409}, statuses
    assert statuses.count(202) <= 1, "two clients were told that they made the job"
    (winner,) = {kind for kind, _ in told}
    assert set(refused) == {not winner}, "all who asked for the same were answered alike"
    assert {document["error"]["code"] for status, document in answers if status == 409} == {"idempotency_conflict"}
    assert len({tuple(_identity(job).items()) for _, job in told}) == 1
    return told[0][1]


def _identity(job: Mapping[str, Any]) -> dict[str, Any]:
    return {name: job.get(name) for name in IDENTITY}


@pytest.mark.timeout(3600)
async def test_one_key_and_a_server_that_is_killed(tmp_path: Path, scale: int) -> None:
    seed = random.getrandbits(32)
    rng = random.Random(seed)  # noqa: S311 - a repeatable choice of moments, no secret
    rounds = ROUNDS * scale
    lost = 0
    async with open_place(tmp_path, ["single"] * (2 * rounds)) as place:
        await place.server.start()
        for number in range(rounds):
            try:
                lost += await _round(place, number, rng)
            except BaseException as error:
                error.add_note(f"seed {seed}, round {number}")
                raise
        assert scale == 1 or lost > 0, "over many rounds some kills must have hit while clients waited"
        assert len(place.receiver().requests) >= rounds
        assert len(read_record(place.ledger).jobs) == rounds
        assert await place.server.terminate() == 0, place.server.output
        place.assert_clean()
