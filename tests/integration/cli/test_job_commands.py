"""`pixivflow job …` over HTTP against a real server."""

from __future__ import annotations


async def test_submit_and_wait_then_everything_about_it(cli, sandbox):
    async with cli.serving():
        ran = await cli.run("job", "submit", "--target", "sent", "--key", "k-1", "--wait", "--json")
        assert ran.code == 0, ran.err
        assert ran.json["created"] is True
        assert ran.json["job"]["status"] == "succeeded"
        job_id = ran.json["job"]["job_id"]

        again = await cli.run("job", "submit", "--target", "sent", "--key", "k-1", "--json")
        assert (again.json["created"], again.json["job"]["job_id"]) == (False, job_id)

        by_key = await cli.run("job", "show", "k-1", "--json")
        assert by_key.json["job_id"] == job_id
        shown = await cli.run("job", "show", job_id)
        assert "succeeded" in shown.out
        assert "pixiv.net/artworks/" in shown.out

        listed = await cli.run("job", "list", "--status", "succeeded", "--json")
        assert [job["job_id"] for job in listed.json["jobs"]] == [job_id]
        assert job_id in (await cli.run("job", "list")).out

        events = await cli.run("job", "events", job_id, "--json", "--ack")
        assert [event["type"] for event in events.json["events"]] == ["job.accepted", "job.started", "job.succeeded"]
        assert events.json["unacked"] == 0
        last = events.json["events"][1]["event_id"]
        followed = await cli.run("job", "events", job_id, "--follow", "--json", "--after", last)
        assert [event["type"] for event in followed.lines] == ["job.succeeded"]

        waited = await cli.run("job", "wait", job_id, "--json")
        assert (waited.code, waited.json["status"]) == (0, "succeeded")
        assert (await cli.run("job", "cancel", job_id, "--json")).code == 4
    assert len(sandbox.receiver("r").items) == 1


async def test_a_job_without_success_is_7(cli, sandbox):
    sandbox.set_faults([{"match": "oauth.token", "action": {"type": "invalid_grant"}}])
    async with cli.serving():
        ran = await cli.run("job", "submit", "--target", "sent", "--wait")
        assert ran.code == 7
        assert "auth_error" in ran.out


async def test_cancel_stops_a_running_job_and_a_wait_can_time_out(cli, sandbox):
    sandbox.set_faults([{"match": "media.original", "action": {"type": "stall"}}])
    async with cli.serving():
        submitted = await cli.run("job", "submit", "--target", "sent", "--key", "slow", "--json")
        assert submitted.code == 0
        await sandbox.until(lambda stats: stats["routes"].get("media.original", 0) > 0)
        late = await cli.run("job", "wait", "slow", "--timeout", "0")
        assert late.code == 75
        cancelled = await cli.run("job", "cancel", "slow", "--json")
        assert (cancelled.code, cancelled.json["status"]) == (0, "cancelled")
        assert (await cli.run("job", "wait", "slow")).code == 7


async def test_wrong_orders_have_one_line_and_their_status(cli):
    async with cli.serving():
        for args, code in (
            (("submit", "--target", "nope"), 4),
            (("submit", "--target", "sent", "--exclude", "banana"), 2),
            (("submit", "--target", "sent", "--key", "   "), 2),
            (("show", "nope"), 3),
            (("wait", "nope"), 3),
            (("cancel", "nope"), 3),
            (("events", "nope"), 3),
            (("list", "--status", "nope"), 2),
        ):
            ran = await cli.run("job", *args)
            assert (ran.code in (code, 3), ran.out) == (True, ""), (args, ran)
            assert ran.err.count("\n") == 1, (args, ran)


async def test_the_token(cli, tmp_path):
    file = tmp_path / "token"
    async with cli.serving() as (_, url):
        wrong = await cli.run("job", "list", "--server", url, PIXIVFLOW_REFETCH_TOKEN="not-the-token-at-all")
        assert wrong.code == 5
        assert "not-the-token" not in wrong.out + wrong.err
        file.write_text("an-invented-token-of-the-job-api\n")
        right = await cli.run("job", "list", "--json", "--token-file", str(file), PIXIVFLOW_REFETCH_TOKEN="wrong-one")
        assert right.code == 0
        assert (await cli.run("job", "list", "--token-file", str(tmp_path / "none"))).code == 2
        assert (await cli.run("job", "list", PIXIVFLOW_URL=url)).code == 0


async def test_a_server_without_a_token_says_so_and_serves_health_only(cli):
    async with cli.serving(PIXIVFLOW_REFETCH_TOKEN="") as (_, url):
        ran = await cli.run("job", "list", "--server", url)
        assert ran.code == 5
        assert "no token" in ran.err


async def test_no_server(cli, free_port):
    nobody = await cli.run("job", "list")
    assert nobody.code == 6
    assert "no server runs" in nobody.err
    refused = await cli.run("job", "list", "--server", f"http://127.0.0.1:{free_port}", "--json")
    assert refused.code == 6
    assert refused.json["error"]["code"] == "unavailable"
    assert (await cli.run("job", "list", "--server", "http://")).code == 2


async def test_something_else_that_answers_is_not_taken_for_a_server(cli, sandbox):
    ran = await cli.run("job", "list", "--server", sandbox.base_url)
    assert ran.code == 6
    assert ran.err.count("\n") == 1
