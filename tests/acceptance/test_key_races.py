"""Promise: one key, one job, however many clients ask at once, and a second key never becomes it silently."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import scene
from judge_record import read_record
from local import LocalServer
from place import Place, open_local

from pixivflow.wiring import StartupError

CLIENTS = 32
STALLED_SEARCH = {"match": "search.*", "nth": 1, "action": {"type": "stall", "before_headers": True}}


async def test_one_key_from_many_clients_is_one_job(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single", "single"]) as place:
        place.sandbox.set_faults([STALLED_SEARCH])
        first, second = place.subjects
        # The account is busy, so that the job stands still and every answer can be compared as a whole.
        await place.client.order(scene.task(first, "has the account"))
        await place.sandbox.until(lambda seen: seen["routes"].get("search.illust") == 1)
        body = scene.task(second, "the one key", correlation_id="c-1")
        answers = await asyncio.gather(*(place.client.submit(body) for _ in range(CLIENTS)))
        assert sorted(status for status, _ in answers) == [200] * (CLIENTS - 1) + [202]
        assert all(document == answers[0][1] for _, document in answers)
        place.sandbox.release()
        await place.client.wait_until_terminal(answers[0][1]["job"]["job_id"])
        assert len([row for row in read_record(place.ledger).jobs if row["idempotency_key"] == "the one key"]) == 1
        await _at_rest_and_clean(place)


async def test_one_key_with_other_parameters_conflicts(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single", "single"]) as place:
        bodies = [scene.task(subject, "a contested key") for subject in place.subjects] * (CLIENTS // 2)
        answers = await asyncio.gather(*(place.client.submit(body) for body in bodies))
        statuses = [status for status, _ in answers]
        winner = statuses.index(202) % 2
        assert statuses.count(202) == 1
        assert all(status in (200, 202) for status in statuses[winner::2])
        losers = [document for _, document in answers[1 - winner :: 2]]
        assert set(statuses[1 - winner :: 2]) == {409}
        assert {document["error"]["code"] for document in losers} == {"idempotency_conflict"}
        assert len(read_record(place.ledger).jobs) == 1
        await _at_rest_and_clean(place)


async def test_keys_that_differ_in_the_case_of_letters_only_are_never_one_job(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        keys = ["Abc-key", "abc-key", "aBc-key", "abC-key", "ABc-key", "aBC-key", "AbC-key", "ABC-KEY"]
        answers = await asyncio.gather(*(place.client.submit(scene.task(place.subjects[0], key)) for key in keys))
        assert sorted(status for status, _ in answers) == [202] + [409] * 7
        winner = next(key for key, (status, _) in zip(keys, answers, strict=True) if status == 202)
        assert [row["idempotency_key"] for row in read_record(place.ledger).jobs] == [winner]
        await _at_rest_and_clean(place)


async def test_a_second_server_on_the_same_ledger_is_refused(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["single"]) as place:
        with pytest.raises(StartupError, match="in use by a test"):
            await LocalServer(place.server.config).start()
        job_id = await place.client.order(scene.task(place.subjects[0], "the first one works on"))
        assert (await place.client.wait_until_terminal(job_id))["status"] == "succeeded"
        place.assert_clean()


async def _at_rest_and_clean(place: Place[LocalServer]) -> None:
    for row in read_record(place.ledger).jobs:
        job = await place.client.wait_until_terminal(row["id"])
        assert job["status"] in ("succeeded", "failed")
    place.assert_clean()
