"""The steps of a cell: what comes first, what takes a place, what stops everything, and what is left behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pixivflow.collect.memory import MemoryPick
from pixivflow.collect.names import Organisation
from pixivflow.collect.ports import AttemptLost, KnownState
from pixivflow.collect.settings import CollectSettings
from pixivflow.domain.reason import Reason
from pixivflow.domain.target import Mode
from pixivflow.domain.work import Author, WorkRef, WorkType
from pixivflow.library.errors import LibraryCode, LibraryError
from pixivflow.library.layout import Layout
from pixivflow.library.store import Library
from pixivflow.sources.errors import AuthFailed, Forbidden, NetworkFailed, NotFound, RateLimited, Unavailable
from pixivflow.sources.ports import Quarantined

BASE = "https://i.pximg.net/img-original/img/2026/03/01/00/00/00"


def ref(number: int) -> WorkRef:
    return WorkRef(WorkType.ILLUSTRATION, str(number))


async def test_picks_of_an_earlier_attempt_come_first_and_are_never_swapped(world: Any) -> None:
    for number in (15, 14, 13, 12):
        world.illust(number)
    run = world.run(locked=[ref(12)])
    outcome = await world.collect(run, limit=2)
    assert outcome.ready == 2
    assert {str(pick) for pick, held in run.picks.items() if held.state == "ready"} == {
        "illustration:12",
        "illustration:15",
    }
    assert world.source.asked["work illustration:12"] == 1, "its record is read anew"


async def test_an_earlier_pick_that_is_gone_makes_room_for_another(world: Any) -> None:
    world.illust(15)
    run = world.run(locked=[ref(99)])
    outcome = await world.collect(run, limit=1)
    assert outcome.ready == 1
    assert [(gone, reason) for gone, reason, _ in run.released] == [(ref(99), Reason.WORK_UNAVAILABLE)]
    assert dict(outcome.funnel.rejected) == {"unavailable": 1}


async def test_an_earlier_pick_that_cannot_be_read_now_fails_as_an_outage(world: Any) -> None:
    world.illust(15)
    world.source.details[ref(15)] = Unavailable("detail: HTTP 500")
    outcome = await world.collect(world.run(locked=[ref(15)]), limit=1)
    assert outcome.reason is Reason.REMOTE_HTTP_ERROR
    assert outcome.failed[0].ref == ref(15)


async def test_a_cell_that_is_settled_searches_nothing(world: Any) -> None:
    world.illust(15)
    run = world.run(settled=2)
    before = run.funnel
    outcome = await world.collect(run, limit=2)
    assert (outcome.ready, outcome.reason) == (0, None)
    assert world.source.asked["pages"] == 0
    assert run.funnel is before, "the report of the attempt that did search stands"


async def test_an_attempt_that_only_finishes_earlier_picks_keeps_the_report_of_their_search(world: Any) -> None:
    world.illust(15)
    run = world.run(locked=[ref(15)])
    before = run.funnel
    outcome = await world.collect(run, limit=1)
    assert (outcome.ready, run.funnel) == (1, before)


async def test_the_limit_is_kept_whatever_runs_side_by_side(world: Any) -> None:
    world.settings = CollectSettings(concurrency=5)
    for number in range(30, 10, -1):
        world.illust(number)
    run = world.run()
    outcome = await world.collect(run, limit=4)
    assert outcome.ready == 4
    assert [pick.id for pick in run.picks] == ["30", "29", "28", "27"]


async def test_the_scan_limit_bounds_how_many_works_are_opened(world: Any, answer: Any) -> None:
    for number in range(30, 10, -1):
        world.illust(number)
        world.source.serve(f"{BASE}/{number}_p0.png", answer(error=Forbidden("media: HTTP 403")))
        world.source.details[ref(number)] = NotFound(f"{number}: HTTP 404")
    outcome = await world.collect(limit=1, scan_limit=5)
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert world.source.media_requests == 5


async def test_a_work_taken_by_a_sibling_is_passed_over(world: Any) -> None:
    world.illust(15)
    world.illust(14)
    run = world.run()
    run.picks[ref(15)] = MemoryPick(world.source.works[0], "failed")
    outcome = await world.collect(run, limit=1)
    assert outcome.ready == 1
    assert outcome.funnel.named == [("15", "taken")]


async def test_a_work_that_failed_before_does_not_use_up_the_place_again(world: Any, answer: Any) -> None:
    broken = world.illust(15)
    world.illust(14)
    world.source.serve(f"{BASE}/15_p0.png", answer(b"never whole"))
    first = await world.collect(limit=1)
    assert (first.ready, first.reason) == (0, Reason.DOWNLOAD_FAILED)
    second = await world.collect(limit=1)
    assert (second.ready, second.reason) == (1, None)
    assert [pick.ref for pick in second.failed] == [broken.ref]


async def test_with_routes_only_deliveries_make_a_duplicate(world: Any) -> None:
    work = world.illust(15)
    await world.collect()
    before = world.source.media_requests
    world.archive.delivered[work.ref] = {"channel"}
    again = await world.collect(routes=("channel", "backup"))
    assert again.ready == 1, "one route still waits for it"
    assert world.source.media_requests == before, "the files are there"
    world.archive.delivered[work.ref] = {"channel", "backup", "third"}
    done = await world.collect(routes=("channel", "backup"))
    assert done.reason is Reason.DUPLICATE_EXHAUSTED
    assert dict(done.funnel.rejected) == {"already_delivered": 1}


async def test_records_that_are_not_complete_cost_one_detail_call_each(world: Any) -> None:
    for number in (15, 14):
        full = world.illust(number)
        world.source.details[full.ref] = full
        world.source.works[-1] = replace(full, pages=(), complete_record=False, bookmarks=None)
    world.source.details[ref(14)] = replace(world.source.details[ref(14)], bookmarks=3)
    world.illust(13)
    outcome = await world.collect(filters=replace(world.target().filters, min_bookmarks=10))
    assert outcome.ready == 2
    assert dict(outcome.funnel.rejected) == {"few_bookmarks": 1}
    assert outcome.funnel.requests_saved == 1
    assert [world.source.asked[f"work illustration:{number}"] for number in (15, 14, 13)] == [1, 1, 0]


async def test_a_candidate_that_is_gone_when_its_record_is_read_is_no_pick(world: Any) -> None:
    work = world.illust(15)
    world.source.works[0] = replace(work, complete_record=False)
    world.source.details[work.ref] = NotFound("15: HTTP 404")
    run = world.run()
    outcome = await world.collect(run)
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert run.picks == {}


async def test_a_dead_account_stops_the_cell(world: Any) -> None:
    for number in (15, 14, 13):
        work = world.illust(number)
        world.source.works[-1] = replace(work, complete_record=False)
        world.source.details[work.ref] = AuthFailed("the refresh token is refused")
    world.settings = CollectSettings(concurrency=1)
    outcome = await world.collect()
    assert outcome.reason is Reason.AUTH_FAILED
    assert sum(world.source.asked[f"work {ref(n)}"] for n in (15, 14, 13)) == 1
    assert outcome.incomplete_listing is not None


async def test_a_rate_limit_of_the_account_stops_the_cell_and_keeps_what_is_ready(world: Any) -> None:
    world.settings = CollectSettings(concurrency=1)
    world.illust(15)
    ugoira = world.ugoira(14)
    world.source.ugoiras[ugoira.ref] = RateLimited("the account's gate is closed for 900 s", retry_after_s=900)
    world.illust(13)
    outcome = await world.collect()
    assert (outcome.ready, outcome.reason) == (1, None)
    assert outcome.failed[0].reason is Reason.RATE_LIMITED
    assert outcome.incomplete_listing.reason is Reason.RATE_LIMITED
    assert "13" not in str(world.stored())


async def test_a_full_disk_stops_the_cell_and_is_named(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_args: object, **_options: object) -> None:
        raise LibraryError(LibraryCode.NO_SPACE, "could not store 15.png: the disk or the quota is full")

    monkeypatch.setattr(Library, "commit", full)
    world.settings = CollectSettings(concurrency=1)
    for number in (15, 14):
        world.illust(number)
    outcome = await world.collect()
    assert outcome.reason is Reason.STORAGE_FAILED
    assert "full" in outcome.message
    assert world.source.media_requests == 1
    assert world.unfinished() == []


async def test_an_unexpected_error_stays_with_its_work(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = world.illust(15)
    world.illust(14)
    media = world.source.media

    def trapped(url: str) -> Any:
        if "/15_" in url:
            raise ZeroDivisionError("a bug of ours, set off by this work")
        return media(url)

    monkeypatch.setattr(world.source, "media", trapped)
    outcome = await world.collect()
    assert outcome.ready == 1
    assert outcome.failed == ((bad.ref, Reason.INTERNAL_ERROR, "unexpected ZeroDivisionError"),)


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_a_search_that_dies_keeps_what_was_found_and_names_the_gap(world: Any, concurrency: int) -> None:
    world.settings = CollectSettings(concurrency=concurrency)
    for number in range(20, 10, -1):
        world.illust(number)
    world.source.page_size, world.source.breaks_after_page = 3, 2
    outcome = await world.collect()
    assert (outcome.ready, outcome.reason) == (6, None)
    assert outcome.incomplete_listing.reason is Reason.NETWORK_ERROR
    assert "could not be finished" in outcome.message


async def test_a_search_that_dies_at_once_is_an_outage(world: Any) -> None:
    world.source.breaks_after_page = 0
    outcome = await world.collect()
    assert outcome.reason is Reason.NETWORK_ERROR
    assert outcome.incomplete_listing is not None


async def test_an_empty_listing_is_no_candidate_and_unreadable_records_are_not(world: Any) -> None:
    assert (await world.collect()).reason is Reason.NO_CANDIDATE
    world.source.quarantined = (Quarantined("9", "no known type"),)
    outcome = await world.collect()
    assert outcome.reason is Reason.METADATA_FAILED
    assert outcome.funnel.quarantined == 1


async def test_a_quarantined_record_does_not_disturb_its_neighbours(world: Any) -> None:
    world.illust(15)
    world.source.quarantined = (Quarantined("9", "no known type"),)
    outcome = await world.collect()
    assert (outcome.ready, outcome.funnel.quarantined, outcome.funnel.fetched) == (1, 1, 1)


async def test_a_single_work_that_is_gone_says_so(world: Any) -> None:
    outcome = await world.collect(mode=Mode.WORK, work_id="15", limit=1)
    assert outcome.reason is Reason.WORK_UNAVAILABLE
    assert outcome.funnel.named == [("15", "unavailable")]


async def test_a_single_work_is_collected(world: Any) -> None:
    world.illust(15)
    world.illust(14)
    outcome = await world.collect(mode=Mode.WORK, work_id="14", limit=1)
    assert outcome.ready == 1
    assert [path for path in world.stored() if path.startswith("14")] == list(world.stored())


async def test_a_lost_attempt_goes_through_and_leaves_nothing_unfinished(world: Any) -> None:
    for number in (15, 14, 13):
        world.illust(number)
    run = world.run()
    world.source.gate = asyncio.Event()
    task = asyncio.create_task(world.collector().collect(world.target(), run))
    await world.source.receiving.wait()
    run.lost = True
    world.source.gate.set()
    with pytest.raises(AttemptLost):
        await task
    assert world.unfinished() == []
    assert not any(pick.state == "ready" for pick in run.picks.values())


async def test_a_cancel_in_the_middle_of_a_file_leaves_nothing_unfinished(world: Any) -> None:
    for number in (15, 14, 13):
        world.illust(number, pages=3)
    world.source.gate = asyncio.Event()
    run = world.run()
    task = asyncio.create_task(world.collector().collect(world.target(), run))
    await world.source.receiving.wait()
    assert world.unfinished() != []
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.unfinished() == []
    assert world.stored() == {}

    world.source.gate = None
    again = await world.collect(world.run(locked=await run.locked()))
    assert again.ready == 3
    world.check_records()


async def test_an_author_keeps_the_folder_of_their_first_work(world: Any) -> None:
    world.settings = CollectSettings(illustrations=Organisation(Layout.BY_AUTHOR, "art"))
    world.illust(15)
    await world.collect()
    world.illust(16, author=Author("77", "Aoi@C107 東A-12b"))
    await world.collect()
    assert {path.rsplit("/", 1)[0] for path in world.stored()} == {"art/Aoi_77"}


async def test_a_work_stays_where_it_is_when_title_and_day_change(world: Any, answer: Any) -> None:
    world.settings = CollectSettings(illustrations=Organisation(Layout.BY_DOWNLOAD_DAY))
    work = world.illust(15, pages=2)
    good = world.source.files[f"{BASE}/15_p1.png"]
    world.source.serve(f"{BASE}/15_p1.png", answer(error=NetworkFailed("media: reset")))
    await world.collect()
    world.clock.time += 3 * 86_400
    world.source.files[f"{BASE}/15_p1.png"] = good
    world.source.works[0] = replace(work, title="Another title")
    assert (await world.collect()).ready == 1
    folders = {path.rsplit("/", 1)[0] for path in world.stored()}
    assert len(folders) == 1
    assert all("Title 15" in path for path in world.stored())


async def test_a_dry_run_writes_nothing_and_says_what_would_be_picked(world: Any) -> None:
    for number in (15, 14, 13):
        world.illust(number)
    world.archive.works[ref(14)] = world.source.works[1]
    world.archive.states[ref(14)] = KnownState.COMPLETE
    plan = await world.collector().plan(world.target(limit=5))
    assert [work.id for work in plan.works] == ["15", "13"]
    assert plan.funnel.as_json()["reasons"] == [{"code": "already_downloaded", "count": 1}]
    assert (world.source.media_requests, world.stored(), world.archive.owners) == (0, {}, {})
    nothing = await world.collector().plan(world.target(exclude_works=frozenset({"15", "13"})))
    assert nothing.reason is Reason.FILTER_EXHAUSTED


async def test_progress_is_told_while_bytes_arrive(world: Any) -> None:
    for number in (15, 14):
        world.illust(number, pages=4)
    run = world.run()
    await world.collect(run)
    stages = [stage for stage, *_ in run.stages]
    assert stages[0] == "searching"
    assert stages.count("downloading") > 8
    assert run.stages[-1][2:] == (2, 20)


async def test_the_library_holds_titles_that_are_hostile_or_too_long(world: Any) -> None:
    world.illust(15, title="../../etc/passwd")
    world.illust(14, title="あ" * 120 + "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20)
    world.illust(13, title="CON")
    outcome = await world.collect()
    assert outcome.ready == 3
    assert all(len(part.encode()) <= 255 for path in world.stored() for part in path.split("/"))
    assert all(path[:2] in {"15", "14", "13"} for path in world.stored())
    world.check_records()
