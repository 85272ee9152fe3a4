"""Wrong input: one clear line for each thing that is wrong, the right exit status, and nothing written."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixivflow.cli.exits import Exit

pytestmark = pytest.mark.acceptance

GOOD: dict[str, Any] = {
    "pixiv": {"refreshToken": "invented-refresh-token"},
    "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
    "targets": [{"id": "pics", "type": "illustration", "tag": "sea"}],
}


class Place:
    """A folder with a configuration, and a look at what a command left in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, **changes: Any) -> None:
        """The good configuration with some sections replaced."""
        (self.folder / "config.json").write_text(json.dumps(GOOD | changes), encoding="utf-8")

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command that must end by itself, and hold it to the rules that are the same for all."""
        before = self.content()
        command = [sys.executable, "-m", "pixivflow", "--config", "config.json", *args]
        done = subprocess.run(
            command, cwd=self.folder, env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert self.content() == before, "something was written"
        return done

    def content(self) -> list[str]:
        """Every path in the folder."""
        return sorted(str(path) for path in self.folder.rglob("*"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder with a good configuration."""
    made = Place(tmp_path)
    made.write()
    return made


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port somebody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def one_line(done: subprocess.CompletedProcess[str], code: Exit, *words: str) -> None:
    """A single line on stderr with these words, nothing on stdout, and this status."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    said = done.stderr.strip().splitlines()
    assert len(said) == 1, said
    assert all(word in said[0] for word in words), said


COMMANDS = [("serve",), ("download", "--target", "pics"), ("status",), ("config", "show"), ("outbox", "list")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_unknown_key(place, command):
    place.write(downlaod={})
    one_line(place.run(*command), Exit.USAGE, "downlaod", "download", "config.json")


def test_a_wrong_type(place):
    place.write(download={"concurrency": "three"})
    one_line(place.run("serve"), Exit.USAGE, "download.concurrency")


def test_a_target_without_an_id_in_a_plan(place):
    place.write(
        targets=[{"type": "illustration", "tag": "sea"}],
        schedules=[{"id": "morning", "cron": "0 8 * * *", "targetIds": ["pics"]}],
    )
    done = place.run("serve")
    assert done.returncode == Exit.USAGE
    assert "pics" in done.stderr
    assert done.stdout == ""


def test_all_problems_at_once(place):
    place.write(downlaod={}, download={"concurrency": "three"}, network={"retries": -1})
    done = place.run("serve")
    assert done.returncode == Exit.USAGE
    for words in ("downlaod", "download.concurrency", "network.retries"):
        assert sum(words in line for line in done.stderr.splitlines()) == 1
    checked = place.run("config", "validate", "--json")
    assert checked.returncode == Exit.USAGE
    assert len(json.loads(checked.stdout)["problems"]) == 3


def test_no_such_file_and_no_json(place):
    one_line(place.run("serve", "--config", "missing.json"), Exit.USAGE, "missing.json")
    (place.folder / "config.json").write_text("{")
    one_line(place.run("serve"), Exit.USAGE, "line 1")


def test_no_account(place):
    place.write(pixiv={"refreshToken": "YOUR_REFRESH_TOKEN"})
    for more in ((), ("--dry-run",)):
        done = place.run("download", "123", *more, "--json")
        assert done.returncode == Exit.AUTH
        assert json.loads(done.stdout)["error"]["code"] == "auth"
        assert "PIXIV_REFRESH_TOKEN" in done.stderr


def test_an_address_of_another_site(place):
    one_line(place.run("download", "--url", "https://example.com/artworks/1"), Exit.USAGE, "example.com")


def test_an_unknown_target(place):
    one_line(place.run("download", "--target", "pisc"), Exit.NOT_FOUND, "pisc", "pics")


def test_a_port_in_use(place, taken_port):
    one_line(place.run("serve", "--port", str(taken_port)), Exit.REFUSED, str(taken_port), "in use")
    done = place.run("sandbox", "serve", "--port", str(taken_port))
    assert done.returncode == Exit.REFUSED


def test_an_address_that_is_not_ours(place):
    done = place.run("serve", "--host", "192.0.2.1", "--port", "0", PIXIVFLOW_REFETCH_TOKEN="a-token-that-is-long")
    one_line(done, Exit.REFUSED, "192.0.2.1")


def test_a_public_address_without_a_token(place):
    one_line(place.run("serve", "--host", "0.0.0.0", "--port", "0"), Exit.USAGE, "PIXIVFLOW_REFETCH_TOKEN")  # noqa: S104 - it must be refused


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("download", "123")], ids=" ".join)
@pytest.mark.parametrize("key", ["databasePath", "downloadDirectory"])
def test_a_file_where_a_folder_should_be(place, command, key):
    (place.folder / "blocked").write_text("a file")
    place.write(storage=GOOD["storage"] | {key: "blocked/inside/x"})
    done = place.run(*command)
    assert done.returncode not in (Exit.OK, Exit.USAGE)
    assert done.stdout == ""
    assert "blocked" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bad_fault_file(place):
    (place.folder / "faults.json").write_text('[{"match": "nothing.there", "action": {"type": "status"}}]')
    one_line(place.run("sandbox", "serve", "--faults", "faults.json"), Exit.USAGE, "rules[0]")
    one_line(place.run("sandbox", "serve", "--faults", "none.json"), Exit.USAGE, "none.json")


@pytest.mark.parametrize(
    "args",
    [
        ("config", "validate"),
        ("config", "show"),
        ("config", "schema"),
        ("status",),
        ("outbox", "list"),
        ("outbox", "inspect", "1"),
        ("outbox", "retry", "1"),
        ("outbox", "cancel", "1"),
        ("job", "list"),
        ("job", "submit", "--target", "pics"),
        ("job", "show", "x"),
        ("job", "wait", "x"),
        ("job", "cancel", "x"),
        ("job", "events", "x"),
        ("download", "https://example.com/"),
        ("serve", "--port", "99999"),
        ("sandbox", "serve", "--works", "-1"),
        ("demo", "--dir", "config.json"),
    ],
    ids=" ".join,
)
def test_every_command_speaks_json(place, args):
    done = place.run(*args, "--json")
    document = json.loads(done.stdout)
    assert (done.returncode == 0) != ("error" in document)
    if "error" in document:
        assert document["error"]["exit_code"] == done.returncode


def test_no_color_is_obeyed(place):
    for args, env in ((("--no-color", "config", "show"), {}), (("config", "show"), {"NO_COLOR": "1"})):
        assert "\x1b" not in place.run(*args, **env).stdout


def test_a_reader_that_has_seen_enough(place):
    command = f"{shlex.quote(sys.executable)} -m pixivflow config schema | head -c 1"
    done = subprocess.run(command, shell=True, cwd=place.folder, capture_output=True, text=True, check=False)  # noqa: S602 - a pipe of our own
    assert done.stdout == "{"
    assert done.stderr == ""
