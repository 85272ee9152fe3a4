"""Promise: files of a cache target go when every route has confirmed them, and not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scene
from judge_record import read_record
from place import Place, open_local

ROUTES = (scene.RouteSpec("main"), scene.RouteSpec("second"))


def _files(place: Place[Any]) -> list[str]:
    return sorted(file.name for file in place.library.rglob("*") if file.is_file())


def _states(place: Place[Any]) -> dict[str, str]:
    return {row["route"]: row["state"] for row in read_record(place.ledger).deliveries}


async def _settled(place: Place[Any]) -> None:
    """Until nothing is being sent and nothing is being cleaned: a stop waits for both."""
    await place.server.stop(grace_s=20)


async def test_files_go_once_every_route_has_them(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["pages"], routes=ROUTES, storage_mode="cache") as place:
        place.receiver("second").script(["stall"])
        job_id = await place.client.order(scene.task(place.subjects[0], "two receivers, one slow"))
        await place.receiver("second").until(lambda receiver: receiver.arrived == 1)
        await place.client.until(job_id, lambda _: _states(place)["main"] == "delivered")
        await place.server.stack.cleaner.sweep()  # as if it were time to clean
        assert len(_files(place)) == place.subjects[0].files + 1
        place.sandbox.release()
        assert (await place.client.wait_until_terminal(job_id))["status"] == "succeeded"
        await _settled(place)
        assert _states(place) == {"main": "delivered", "second": "delivered"}
        assert _files(place) == []
        assert {row["state"] for row in read_record(place.ledger).files} == {"removed"}
        place.assert_clean()


async def test_files_stay_when_one_route_failed(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["pages"], routes=ROUTES, storage_mode="cache") as place:
        place.receiver("second").script([{"answer": "status", "status": 400}])
        job_id = await place.client.order(scene.task(place.subjects[0], "one says no"))
        assert (await place.client.wait_until_terminal(job_id))["status"] == "failed"
        await _settled(place)
        await place.server.start()  # a start looks for what an earlier run left to clean
        await _settled(place)
        assert _states(place) == {"main": "delivered", "second": "failed"}
        assert len(_files(place)) == place.subjects[0].files + 1
        place.assert_clean()


async def test_a_start_cleans_what_a_stop_left(tmp_path: Path) -> None:
    """The clean-up after the last confirmation is no part of its commit; the next start makes up for it."""
    async with open_local(tmp_path, ["single"], storage_mode="cache") as place:
        place.server.stack.cleaner.sweep = _nothing  # type: ignore[method-assign]
        job_id = await place.client.order(scene.task(place.subjects[0], "left behind"))
        assert (await place.client.wait_until_terminal(job_id))["status"] == "succeeded"
        await _settled(place)
        assert len(_files(place)) == 2
        await place.server.start()
        assert _files(place) == []
        place.assert_clean()


async def _nothing(limit: int = 100) -> int:
    return 0


async def test_files_of_a_persistent_target_stay(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["pages"], routes=ROUTES) as place:
        job_id = await place.client.order(scene.task(place.subjects[0], "kept"))
        assert (await place.client.wait_until_terminal(job_id))["status"] == "succeeded"
        await _settled(place)
        assert len(_files(place)) == place.subjects[0].files + 1
        place.assert_clean()
