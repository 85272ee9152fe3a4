"""`pixivflow outbox …` and `pixivflow status`: beside a server, and alone."""

from __future__ import annotations

import apsw
import pytest

from pixivflow.ledger.migrate import APPLICATION_ID


@pytest.fixture
async def dead(cli, sandbox):
    """A delivery that was refused for good."""
    sandbox.receiver("r").script(default={"answer": "status", "status": 400})
    ran = await cli.run("download", "--target", "sent")
    assert ran.code == 7
    return cli


async def test_status_before_anything_has_run(cli):
    ran = await cli.run("status", "--json")
    assert ran.code == 0
    assert ran.json["server"] == {"running": False}
    assert (ran.json["jobs"], ran.json["files"]["count"]) == ({}, 0)
    assert ran.json["account"]["state"] == "configured"
    assert not (cli.folder / "data").exists()


async def test_status_counts_and_never_shows_a_token(cli, sandbox):
    assert (await cli.run("download", "--target", "plain")).code == 0
    async with cli.serving() as (process, url):
        ran = await cli.run("status", "--json")
        assert ran.json["server"]["pid"] == process.pid
        assert ran.json["server"]["url"] == url
        assert ran.json["works"] == {"illustration": {"complete": 2}}
        assert ran.json["files"]["bytes"] > 1000
        assert ran.json["account"]["state"] == "logged_in"
        text = await cli.run("status")
        assert str(process.pid) in text.out
    stored = (cli.folder / "data" / "ledger.db").read_bytes()
    assert b"invented-refresh-token" in stored, "the ledger is where the token is"
    assert "invented-refresh-token" not in ran.out + text.out


async def test_an_account_that_is_missing(cli):
    cli.write(pixiv={})
    ran = await cli.run("status", "--json")
    assert ran.json["account"] == {"name": "default", "state": "missing"}


async def test_outbox_of_nothing(cli):
    assert (await cli.run("outbox", "list", "--json")).json == {"rows": []}
    assert (await cli.run("outbox", "inspect", "1")).code == 3
    assert (await cli.run("outbox", "retry", "--dead")).code == 3
    assert not (cli.folder / "data").exists()


async def test_a_dead_row_can_be_seen_and_sent_again(dead, sandbox):
    (row,) = (await dead.run("outbox", "list", "--status", "dead", "--json")).json["rows"]
    assert (row["route"], "token" in row) == ("r", False)
    whole = (await dead.run("outbox", "inspect", str(row["id"]), "--json")).json
    assert whole["payload"]["work"]["id"]
    assert (await dead.run("outbox", "list")).out.splitlines()[1].startswith(str(row["id"]))

    retried = await dead.run("outbox", "retry", "--dead", "--json")
    assert (retried.code, retried.json) == (0, {"changed": [row["id"]], "unchanged": []})
    sandbox.receiver("r").script()
    async with dead.serving():
        await sandbox.receiver("r").until(lambda receiver: len(receiver.items) == 1)


async def test_a_waiting_row_can_be_given_up_once(dead):
    assert (await dead.run("outbox", "retry", "1")).code == 0
    assert (await dead.run("outbox", "cancel", "1")).code == 0
    again = await dead.run("outbox", "cancel", "1", "7", "--json")
    assert (again.code, again.json["unchanged"]) == (4, [1, 7])


async def test_changes_beside_a_server_are_refused(dead):
    async with dead.serving() as (process, _):
        assert (await dead.run("outbox", "list", "--json")).code == 0
        ran = await dead.run("outbox", "retry", "1")
        assert ran.code == 4
        assert str(process.pid) in ran.err
    assert (await dead.run("outbox", "retry")).code == 2


@pytest.mark.parametrize("kind", ["foreign", "newer", "rubbish"])
async def test_a_ledger_that_is_not_ours_is_left_alone(cli, kind):
    path = cli.folder / "data" / "ledger.db"
    path.parent.mkdir()
    if kind == "rubbish":
        path.write_bytes(b"no database " * 500)
    else:
        connection = apsw.Connection(str(path))
        connection.execute("CREATE TABLE migrations (number INTEGER, name TEXT, applied_at INTEGER)")
        if kind == "newer":
            connection.pragma("application_id", APPLICATION_ID)
            connection.execute("INSERT INTO migrations VALUES (999, 'x', 0)")
        connection.close()
    before = path.read_bytes()
    for args in (("status",), ("outbox", "list")):
        ran = await cli.run(*args)
        assert ran.code == 4
        assert ran.err.count("\n") == 1
    assert path.read_bytes() == before
