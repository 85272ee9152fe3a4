"""The whole way over real sockets: a Pixiv source, a sandbox that misbehaves, and bytes compared with the originals.

Every fault is put on one of an author's works. The first run must say what happened and keep the neighbours; the second
run, without the fault, must repair it.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pixivflow.collect.collector import Collector
from pixivflow.collect.memory import MemoryArchive, MemoryRun
from pixivflow.collect.outcome import CellOutcome
from pixivflow.collect.ports import KnownState
from pixivflow.collect.settings import CollectSettings
from pixivflow.domain.reason import Reason
from pixivflow.domain.target import Filters, Mode, Target
from pixivflow.domain.work import AssetQuality, AssetRole, WorkRef, WorkType
from pixivflow.library.store import Library
from pixivflow.media.integrity import animation_info
from pixivflow.sandbox import Sandbox, SandboxOptions
from pixivflow.sources.pixiv.config import PixivSourceConfig
from pixivflow.sources.pixiv.endpoints import Endpoints
from pixivflow.sources.pixiv.source import PixivSource
from pixivflow.sources.ports import MemoryAccountStore

AUTHOR = Target("author", WorkType.ILLUSTRATION, Mode.USER, user_id="1001", limit=100, filters=Filters(r18=True))
WORKS = 12


class HurriedClock:
    """Starts at the real time; a sleep is over at once and the time has passed."""

    def __init__(self) -> None:
        self.time = time.time()

    def now_ms(self) -> int:
        return int(self.time * 1000)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


@dataclass
class Desk:
    """A sandbox, a source that speaks to it, and a library."""

    sandbox: Sandbox
    source: PixivSource
    root: Path
    clock: HurriedClock
    archive: MemoryArchive = field(default_factory=MemoryArchive)
    runs: int = 0

    async def collect(self, target: Target = AUTHOR, **settings: Any) -> tuple[CellOutcome, MemoryRun]:
        collector = Collector(
            self.source,
            Library(self.root),
            self.archive,
            CollectSettings(**{"ugoira_formats": ("gif",), **settings}),
            self.clock,
        )
        self.runs += 1
        run = MemoryRun(f"attempt-{self.runs}")
        return await collector.collect(target, run), run

    async def originals(self) -> dict[str, list[str]]:
        """SHA-256 of every original the author's works have, by work."""
        wanted: dict[str, list[str]] = {}
        for work in self.sandbox.world.newest("illust"):
            if work.type == "ugoira":
                bodies = [await self.sandbox.archive(work.id)]
            else:
                bodies = [await self.sandbox.original(work.id, page) for page in range(work.record["page_count"])]
            wanted[str(work.id)] = [hashlib.sha256(body).hexdigest() for body in bodies]
        return wanted

    def stored(self) -> dict[str, list[str]]:
        """The same of what stands on the disk, by the records of the archive."""
        found: dict[str, list[str]] = {}
        for ref, assets in self.archive.files.items():
            files = [a for a in assets.values() if a.role in (AssetRole.PAGE, AssetRole.ARCHIVE)]
            found[ref.id] = [
                hashlib.sha256((self.root / asset.path).read_bytes()).hexdigest()
                for asset in sorted(files, key=lambda asset: asset.number)
            ]
        return found

    def files(self) -> list[Path]:
        return [path for path in self.root.rglob("*") if path.is_file()]

    def check_records(self) -> None:
        """Every file on the disk is recorded with its bytes, and nothing else is there."""
        recorded = {asset.path: asset.sha256 for assets in self.archive.files.values() for asset in assets.values()}
        on_disk = {
            path.relative_to(self.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.files()
        }
        assert on_disk == recorded


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    options = SandboxOptions(
        seed=7, works=WORKS, novels=6, users=1, picture_size=(60, 80), anchor=date(2026, 3, 10), page_size=5
    )
    clock = HurriedClock()
    async with Sandbox(options) as sandbox:
        config = PixivSourceConfig(
            refresh_token="sandbox-token",
            endpoints=Endpoints(**sandbox.endpoints()),
            pacing_s=0.0,
            media_timeout_s=20.0,
        )
        source = PixivSource(config, MemoryAccountStore(), clock, lambda: 0.0)
        yield Desk(sandbox, source, tmp_path / "library", clock)
        await source.aclose()


async def test_everything_of_an_author_arrives_byte_for_byte_with_one_request_a_file(desk: Desk) -> None:
    outcome, _ = await desk.collect()
    assert (outcome.ready, outcome.failed, outcome.message) == (WORKS, (), "")
    assert desk.stored() == await desk.originals()
    desk.check_records()
    routes = desk.sandbox.stats()["routes"]
    assert "illust.detail" not in routes
    assert outcome.funnel.requests_saved == WORKS
    pages = sum(len(digests) for digests in (await desk.originals()).values())
    assert routes["media.original"] + routes["media.zip"] == pages
    ugoira = desk.sandbox.world.first("ugoira")
    gif = next(desk.root.glob(f"{ugoira.id}_*_ugoira.gif"))
    assert animation_info(gif).total_ms == sum(frame.delay_ms for frame in ugoira.frames)  # type: ignore[union-attr]

    desk.sandbox.reset_stats()
    again, _ = await desk.collect()
    assert again.reason is Reason.DUPLICATE_EXHAUSTED
    assert not any(route.startswith("media.") for route in desk.sandbox.stats()["routes"])


LASTING: Mapping[str, tuple[dict[str, Any], Reason]] = {
    "half sent and dropped": ({"type": "short_body"}, Reason.NETWORK_ERROR),
    "reset": ({"type": "reset"}, Reason.NETWORK_ERROR),
    "cut with an honest length": ({"type": "short_ok"}, Reason.DOWNLOAD_FAILED),
    "html as html": ({"type": "html200"}, Reason.DOWNLOAD_FAILED),
    "html as image": ({"type": "html_as_image"}, Reason.DOWNLOAD_FAILED),
    "empty": ({"type": "empty"}, Reason.DOWNLOAD_FAILED),
    "500": ({"type": "status", "status": 500}, Reason.REMOTE_HTTP_ERROR),
    "challenge": ({"type": "challenge"}, Reason.REMOTE_HTTP_ERROR),
}


@pytest.mark.parametrize("fault", LASTING)
async def test_a_lasting_fault_costs_one_work_and_is_repaired_by_the_next_run(desk: Desk, fault: str) -> None:
    action, reason = LASTING[fault]
    broken = desk.sandbox.world.first_single_page().id
    desk.sandbox.set_faults([{"match": "media.original", "work": broken, "action": action}])
    first, run = await desk.collect()
    assert first.ready == WORKS - 1
    assert [(pick.ref.id, pick.reason) for pick in first.failed] == [(str(broken), reason)]
    assert first.reason is None
    assert str(broken) in first.message
    expected = await desk.originals()
    assert desk.stored().get(str(broken), []) == []
    assert {k: v for k, v in desk.stored().items() if v} == {k: v for k, v in expected.items() if k != str(broken)}
    assert "media.resized" not in desk.sandbox.stats()["routes"], "a fault is no reason for a reduced version"
    desk.check_records()
    assert run.picks[WorkRef(WorkType.ILLUSTRATION, str(broken))].state == "failed"

    desk.sandbox.clear_faults()
    second, _ = await desk.collect()
    assert (second.ready, second.failed) == (1, ())
    assert desk.stored() == expected
    desk.check_records()


PASSING: Mapping[str, dict[str, Any]] = {
    # A refusal is not repeated at once: it is left to the next run.
    **{name: action for name, (action, _) in LASTING.items() if name != "challenge"},
    "429": {"type": "rate_limit", "status": 429, "retry_after_s": 3},
    "drop": {"type": "drop"},
    "no content length and cut": {"type": "short_ok"},
}


@pytest.mark.parametrize("fault", PASSING)
async def test_a_passing_fault_costs_a_retry_and_never_the_original(desk: Desk, fault: str) -> None:
    work = desk.sandbox.world.first_single_page().id
    desk.sandbox.set_faults([{"match": "media.original", "work": work, "nth": 1, "action": PASSING[fault]}])
    outcome, _ = await desk.collect()
    assert (outcome.ready, outcome.failed) == (WORKS, ())
    assert desk.stored() == await desk.originals()
    assert "media.resized" not in desk.sandbox.stats()["routes"]


async def test_an_original_that_is_gone_leaves_a_marked_stand_in_until_it_is_back(desk: Desk) -> None:
    work = desk.sandbox.world.first_single_page().id
    ref = WorkRef(WorkType.ILLUSTRATION, str(work))
    desk.sandbox.set_faults([{"match": "media.original", "work": work, "action": {"type": "not_found"}}])
    first, _ = await desk.collect()
    assert [(pick.ref, pick.reason) for pick in first.failed] == [(ref, Reason.DOWNLOAD_FAILED)]
    assert desk.archive.states[ref] is KnownState.REDUCED
    (page,) = [asset for asset in desk.archive.files[ref].values() if asset.role is AssetRole.PAGE]
    assert page.quality is AssetQuality.REDUCED
    desk.sandbox.clear_faults()
    second, _ = await desk.collect()
    assert second.ready == 1
    assert desk.stored() == await desk.originals()
    desk.check_records()


async def test_a_media_host_that_has_nothing_at_all_is_not_taken_for_no_candidate(desk: Desk) -> None:
    nothing = {"type": "not_found"}
    desk.sandbox.set_faults([{"match": f"media.{kind}", "action": nothing} for kind in ("original", "resized", "zip")])
    outcome, run = await desk.collect(replace(AUTHOR, limit=1, scan_limit=3))
    assert (outcome.ready, outcome.reason) == (0, Reason.DOWNLOAD_FAILED)
    assert len(outcome.failed) == 3
    assert run.released == []
    desk.sandbox.clear_faults()
    again, _ = await desk.collect(replace(AUTHOR, limit=3))
    assert again.ready == 3


async def test_a_work_deleted_after_it_was_listed_makes_room_for_the_next(desk: Desk) -> None:
    work = desk.sandbox.world.newest("illust")[0].id
    desk.sandbox.set_faults(
        [
            {"match": match, "work": work, "action": {"type": "not_found"}}
            for match in ("illust.detail", "media.original")
        ]
        + [{"match": "media.resized", "work": work, "action": {"type": "not_found"}}]
    )
    outcome, run = await desk.collect(replace(AUTHOR, limit=1, scan_limit=3))
    assert (outcome.ready, outcome.failed) == (1, ())
    assert [ref.id for ref, _, _ in run.released] == [str(work)]


@pytest.mark.parametrize("reason", ["sanity_level", "mypixiv", "unknown", "tomorrow"])
async def test_a_placeholder_in_the_listing_is_turned_away_by_name(desk: Desk, reason: str) -> None:
    desk.sandbox.set_faults(
        [{"match": "user.illusts", "nth": 1, "action": {"type": "placeholder", "reason": reason, "numbers": [2]}}]
    )
    outcome, _ = await desk.collect()
    assert outcome.ready == WORKS - 1
    code = {"sanity_level": "restricted_sanity", "mypixiv": "restricted_mypixiv"}.get(reason, "restricted_unknown")
    assert dict(outcome.funnel.rejected) == {code: 1}
    assert "media.placeholder" not in desk.sandbox.stats()["routes"]


async def test_a_record_without_its_type_is_set_aside_alone(desk: Desk) -> None:
    desk.sandbox.set_faults(
        [
            {"match": "user.illusts", "nth": 1, "action": {"type": "drop_keys", "keys": ["type"], "numbers": [4]}},
            {"match": "user.illusts", "nth": 2, "action": {"type": "drop_keys", "keys": ["is_bookmarked", "user"]}},
        ]
    )
    outcome, _ = await desk.collect()
    assert (outcome.ready, outcome.funnel.quarantined) == (WORKS - 1, 1)


@pytest.mark.parametrize("variant", ["cut", "missing_frame", "extra_member", "traversal", "not_a_zip", "bad_crc"])
async def test_a_bad_frame_archive_is_refused_and_repaired(desk: Desk, variant: str) -> None:
    work = desk.sandbox.world.first("ugoira").id
    desk.sandbox.set_faults([{"match": "media.zip", "work": work, "action": {"type": "bad_zip", "variant": variant}}])
    first, _ = await desk.collect(conversion_timeout_s=60.0)
    assert [(pick.ref.id, pick.reason) for pick in first.failed] == [(str(work), Reason.DOWNLOAD_FAILED)]
    assert desk.stored().get(str(work), []) == []
    desk.sandbox.clear_faults()
    second, _ = await desk.collect()
    assert second.ready == 1
    assert desk.stored() == await desk.originals()
    desk.check_records()


async def test_a_search_that_dies_in_the_middle_names_the_gap_and_goes_on_later(desk: Desk) -> None:
    desk.sandbox.set_faults(
        [{"match": "user.illusts", "nth": {"from": 2}, "action": {"type": "status", "status": 502}}]
    )
    first, _ = await desk.collect()
    assert first.ready == 5
    assert first.incomplete_listing is not None
    assert first.incomplete_listing.reason is Reason.REMOTE_HTTP_ERROR
    desk.sandbox.clear_faults()
    second, _ = await desk.collect()
    assert second.ready == WORKS - 5
    assert desk.stored() == await desk.originals()


async def test_a_dead_token_is_an_account_fault_and_nothing_else(desk: Desk) -> None:
    desk.sandbox.set_faults([{"match": "oauth.token", "action": {"type": "invalid_grant"}}])
    outcome, _ = await desk.collect()
    assert outcome.reason is Reason.AUTH_FAILED
    assert desk.sandbox.stats()["routes"] == {"oauth.token": 1}
    assert "sandbox-token" not in outcome.message


async def test_novels_arrive_with_their_pictures(desk: Desk) -> None:
    target = replace(AUTHOR, type=WorkType.NOVEL)
    outcome, run = await desk.collect(target)
    assert outcome.failed == ()
    assert outcome.ready == len(run.picks) >= 5
    desk.check_records()
    with_pictures = next(n for n in desk.sandbox.world.newest("novel") if n.novel and n.novel.images)
    text = next(desk.root.glob(f"{with_pictures.id}_*.txt")).read_text()
    assert with_pictures.novel is not None
    assert (with_pictures.novel.text or "").strip() in text
    markdown = next(desk.root.glob(f"{with_pictures.id}_*.md")).read_text()
    pictures = [
        asset
        for asset in desk.archive.files[WorkRef(WorkType.NOVEL, str(with_pictures.id))].values()
        if asset.role is AssetRole.EMBEDDED
    ]
    assert pictures
    for picture in pictures:
        assert picture.path in markdown
        assert picture.source_url is not None
        assert picture.sha256 == hashlib.sha256(await desk.sandbox.media_bytes(picture.source_url)).hexdigest()


async def test_an_author_who_adds_pages_is_followed(desk: Desk) -> None:
    await desk.collect()
    multi = desk.sandbox.world.first_multi_page()
    record = multi.record
    added = [dict(page) for page in record["meta_pages"]]
    number = len(added)
    added.append(
        {"image_urls": {k: v.replace("_p0", f"_p{number}") for k, v in record["meta_pages"][0]["image_urls"].items()}}
    )
    desk.sandbox.world.revise(multi.id, page_count=number + 1, meta_pages=added)
    outcome, _ = await desk.collect()
    assert outcome.ready == 1
    assert desk.stored() == await desk.originals()
    desk.check_records()
