"""`pixivflow download` against the sandbox: files, exit statuses, repairs, and dry runs that write nothing."""

from __future__ import annotations

import signal

import pytest

MULTI = "140010000"


def pages(found):
    return [file for work in found["works"] for file in work["files"] if file["role"] == "page"]


async def test_a_work_by_its_address(cli, sandbox):
    ran = await cli.run("download", "--json", "--url", f"https://www.pixiv.net/artworks/{MULTI}")
    assert ran.code == 0, ran.err
    (told,) = ran.json["targets"]
    assert told["complete"]
    assert told["works"][0]["work_id"] == MULTI
    files = pages(told)
    assert len(files) == 3
    for number, file in enumerate(files):
        assert (cli.folder / "library" / file["path"]).stat().st_size == file["bytes"]
        assert file["sha256"] == await sandbox.sha256(int(MULTI), number)


async def test_the_same_work_again_asks_for_no_file_and_is_complete(cli, sandbox):
    assert (await cli.run("download", MULTI)).code == 0
    before = sandbox.stats()["routes"]["media.original"]
    ran = await cli.run("download", "--json", MULTI)
    assert ran.code == 0
    assert ran.json["targets"][0]["works"][0]["state"] == "already there"
    assert sandbox.stats()["routes"]["media.original"] == before


async def test_a_target_with_a_report_for_people(cli):
    ran = await cli.run("download", "--target", "plain")
    assert ran.code == 0
    assert "plain: complete, 2 works" in ran.out
    assert "looked at" in ran.out
    assert "plain: searching" in ran.err


async def test_a_target_with_a_route_is_delivered(cli, sandbox):
    ran = await cli.run("download", "--json", "--target", "sent")
    assert ran.code == 0
    assert ran.json["targets"][0]["works"][0]["state"] == "submitted"
    assert len(sandbox.receiver("r").items) == 1


async def test_a_damaged_page_is_told_and_repaired_by_the_next_run(cli, sandbox):
    sandbox.set_faults([{"match": "media.original", "page": 1, "action": {"type": "short_body"}}])
    ran = await cli.run("download", "--json", MULTI)
    assert ran.code == 7
    (work,) = ran.json["targets"][0]["works"]
    assert not work["complete"]
    assert work["message"]
    assert ran.json["targets"][0]["next"]
    sandbox.clear_faults()
    again = await cli.run("download", "--json", MULTI)
    assert again.code == 0
    assert len(pages(again.json["targets"][0])) == 3


async def test_a_work_that_is_not_there_is_not_complete(cli):
    ran = await cli.run("download", "99")
    assert ran.code == 7
    assert "next:" in ran.out


async def test_a_refused_account_is_5(cli, sandbox):
    sandbox.set_faults([{"match": "oauth.token", "action": {"type": "invalid_grant"}}])
    ran = await cli.run("download", MULTI)
    assert ran.code == 5
    assert "PIXIV_REFRESH_TOKEN" in ran.out


async def test_a_site_that_is_away_is_6(cli, sandbox):
    sandbox.set_faults([{"match": "illust.detail", "action": {"type": "status", "status": 503}}])
    assert (await cli.run("download", MULTI)).code == 6


async def test_a_dry_run_writes_nothing(cli):
    before = sorted(path.name for path in cli.folder.iterdir())
    ran = await cli.run("download", "--dry-run", "--json", "--target", "plain")
    assert ran.code == 0, ran.err
    assert len(ran.json["targets"][0]["works"]) == 2
    assert ran.json["targets"][0]["funnel"]["fetched"] > 0
    assert sorted(path.name for path in cli.folder.iterdir()) == before


async def test_a_dry_run_knows_what_is_there(cli):
    assert (await cli.run("download", MULTI)).code == 0
    ran = await cli.run("download", "--dry-run", MULTI)
    assert ran.code == 0
    assert "already_downloaded" in ran.out


async def test_beside_a_server_it_is_refused_and_told_where_to_go(cli):
    async with cli.serving() as (process, url):
        for more in ((), ("--dry-run",)):
            ran = await cli.run("download", MULTI, *more)
            assert ran.code == 4
            assert str(process.pid) in ran.err
            assert url in ran.err
            assert ran.err.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_cancels_the_job_and_leaves_no_temporary_file(cli, sandbox, number, code):
    sandbox.set_faults([{"match": "media.original", "action": {"type": "stall"}}])
    process = await cli.start("-c", str(cli.config), "download", MULTI)
    await sandbox.until(lambda stats: stats["routes"].get("media.original", 0) > 0)
    process.send_signal(number)
    _, err = await process.communicate()
    assert process.returncode == code, err
    assert b"Traceback" not in err
    assert not [path for path in (cli.folder / "library").rglob("*") if path.is_file()]
    status = await cli.run("status", "--json")
    assert status.json["jobs"] == {"cancelled": 1}
