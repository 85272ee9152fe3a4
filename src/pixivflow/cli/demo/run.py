"""The demo from beginning to end: two processes, three orders, and a look at what came of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pixivflow.cli.demo import report, site, story
from pixivflow.cli.demo.folder import Folder
from pixivflow.cli.demo.processes import Child, environment
from pixivflow.cli.demo.watch import Watch
from pixivflow.cli.exits import Stop
from pixivflow.cli.http import JobClient
from pixivflow.cli.output import clean, say
from pixivflow.cli.reader import LedgerReader
from pixivflow.domain.work import Asset, WorkRef, WorkType
from pixivflow.ledger import works


@dataclass(frozen=True, slots=True)
class Running:
    """The two processes and how to speak to them."""

    sandbox: dict[str, Any]
    server: dict[str, Any]
    token: str
    orders: tuple[story.Order, ...]


async def demo(folder: Folder) -> report.Outcome:
    """Run it. Whatever happens, both processes are stopped, by their ids.

    Raises:
        Stop: with what did not work.
    """
    begun = time.monotonic()
    children: list[Child] = []
    try:
        running = await _start(folder, children)
        outcome = await _orders(folder, running)
    except Stop as stop:
        for child in children:
            if not child.running:
                raise child.broken("has ended") from stop
        raise
    finally:
        # In reverse: the server first, so that it can still hand back what it does.
        for child in reversed(children):
            await asyncio.shield(child.stop())
    say("stopped both processes")
    return report.Outcome(
        outcome.results,
        outcome.again,
        outcome.source_requests,
        outcome.items,
        strays=_strays(folder, outcome.results),
        seconds=time.monotonic() - begun,
    )


async def _start(folder: Folder, children: list[Child]) -> Running:
    env = environment(os.environ)
    sandbox, site_said = await Child.start(
        "the sandbox",
        *("sandbox", "serve", "--json", "--port", "0", "--seed", story.SEED, "--works", story.WORKS),
        log=folder.log("sandbox"),
        env=env,
    )
    children.append(sandbox)
    say(f"sandbox (process {sandbox.pid}) at {site_said['url']}: an invented Pixiv, and a receiver for deliveries")
    orders = story.choose(await site.ask(site_said["url"], "world?hashes=0"))
    settings = story.config(orders, site_said["endpoints"], site_said["receiver"])
    folder.config.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    token = secrets.token_urlsafe(24)
    _write_private(folder.token, token + "\n")
    server, server_said = await Child.start(
        "the server",
        *("serve", "--json", "--port", "0", "--config", str(folder.config)),
        log=folder.log("serve"),
        env={**env, "PIXIVFLOW_REFETCH_TOKEN": token},
    )
    children.append(server)
    say(f"server  (process {server.pid}) at {server_said['url']}: configured by {clean(folder.config)}")
    say(f"  (its pacing is {story.PACING_MS} ms because the sandbox is no real site; the default is 1 s)")
    return Running(site_said, server_said, token, orders)


async def _orders(folder: Folder, running: Running) -> report.Outcome:
    async with JobClient(running.server["url"], running.token) as client:
        watch = Watch(client)
        ids: dict[str, str] = {}
        for order in running.orders:
            job, _ = await client.submit(story.task(order))
            ids[order.name] = str(job["job_id"])
            watch.tell(order.name, f"ordered {order.kind} {order.work_id}: POST /jobs answered with {ids[order.name]}")
        jobs = await watch.until_ended(ids)
        again, created = await client.submit(story.task(running.orders[0]))
        watch.tell(running.orders[0].name, f"the same key again: {clean(again['job_id'])}")
    base = str(running.sandbox["url"])
    received = await site.ask(base, f"receiver/{story.RECEIVER}")
    stats = await site.ask(base, "stats")
    files = _files(folder, running.orders)
    results = [
        report.Result(
            order,
            jobs[order.name],
            watch.events.get(order.name, []),
            files[order.name],
            _of(order, received["items"]),
            _of(order, received["requests"]),
        )
        for order in running.orders
    ]
    return report.Outcome(results, (str(again["job_id"]), created), stats["routes"], len(received["items"]))


def _of(order: story.Order, sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the receiver got of one work, by the form field that names it."""
    return [one for one in sent if one.get("fields", {}).get("work_id") == [order.work_id]]


def _files(folder: Folder, orders: Sequence[story.Order]) -> dict[str, tuple[Asset, ...]]:
    with LedgerReader(folder.ledger) as ledger:
        return {
            order.name: ledger.look(partial(works.assets, ref=WorkRef(WorkType(order.work_type), order.work_id)))
            for order in orders
        }


def _strays(folder: Folder, results: Sequence[report.Result]) -> list[str]:
    """Files that should not be there, and files that are not as recorded, once nobody works on them any more."""
    recorded = {asset.path: asset.bytes for result in results for asset in result.files}
    found = {
        place.relative_to(folder.library).as_posix(): place.stat().st_size
        for place in folder.library.rglob("*")
        if place.is_file()
    }
    wrong = [name for name in found if name not in recorded]
    wrong += [f"{name} (not as recorded)" for name, size in recorded.items() if found.get(name) != size]
    return sorted(wrong)


def _write_private(path: Path, text: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
