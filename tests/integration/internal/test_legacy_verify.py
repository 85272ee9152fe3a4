"""The acceptance list of the protocol over the older routes: what any producer of them must do, ours does."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path

import scene
from place import open_local

from pixivflow.protocol.http import HttpProducer
from pixivflow.protocol.point import Need
from pixivflow.protocol.session import Plan
from pixivflow.protocol.verify import Verdict, verify


async def test_the_older_routes_pass_the_acceptance_list(tmp_path: Path) -> None:
    """Cases 48 and 170."""
    async with open_local(tmp_path, ["single"]) as place:
        needs = frozenset({Need.READ, Need.SUBMIT, Need.LEGACY})
        plan = Plan(needs, target="pictures", tags=(place.subjects[0].tag,), timeout_s=30, poll_s=0.02)
        async with HttpProducer(place.server.url, scene.API_TOKEN) as producer:
            outcomes = await verify(
                producer,
                plan,
                new_key=lambda: str(uuid.uuid4()),
                sleep=asyncio.sleep,
                clock=time.monotonic,
                told=lambda outcome: None,
            )
        verdicts = {outcome.point.id: (outcome.verdict, outcome.why) for outcome in outcomes}
        for name in ("legacy-order", "legacy-lookup", "legacy-job"):
            assert verdicts[name][0] is Verdict.PASS, verdicts[name]
