"""Stock pixivpy3, pointed at the sandbox, understands every answer it asks for."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pixivflow.sandbox import VIEWER_ID, Sandbox

SCRIPT = Path(__file__).with_name("pixivpy_calls.py")


async def test_the_calls_of_a_program_that_uses_it(site: Sandbox, client: Callable[..., Awaitable[Any]]) -> None:
    world = site.world
    single, ugoira, novel = world.first_single_page(), world.first("ugoira"), world.first_novel()
    assert novel.novel is not None
    tag = single.record["tags"][0]["name"]
    wanted = {"tag": tag, "illust": single.id, "ugoira": ugoira.id, "novel": novel.id, "user": single.user_id}
    addresses = site.addresses
    finished = await client(str(SCRIPT), str(addresses.proxy_url), str(addresses.ca_file), json.dumps(wanted))
    assert finished.code == 0, finished.output
    answers = json.loads(finished.output)

    assert int(answers["user_id"]) == VIEWER_ID
    found = [work["id"] for work in answers["search"]["illusts"]]
    assert single.id in found
    assert all(any(t["name"] == tag for t in work["tags"]) for work in answers["search"]["illusts"])
    assert answers["ranking"]["illusts"]
    assert answers["detail"]["illust"]["title"] == single.record["title"]
    frames = answers["ugoira"]["ugoira_metadata"]["frames"]
    assert [frame["delay"] for frame in frames] == [frame.delay_ms for frame in ugoira.frames]
    assert answers["novel"]["text"] == novel.novel.text
    assert answers["missing"]["error"]
    assert {work["user"]["id"] for work in answers["user"]["illusts"]} == {single.user_id}
    assert sha256(finished.files["original"]).hexdigest() == await site.sha256(single.id)
