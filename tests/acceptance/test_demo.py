"""`pixivflow demo`, as a person runs it: three works, readable files, one item each at the receiver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.acceptance


def demo(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pixivflow", "demo", *args]
    # Settings of whoever runs it must not reach the demo's processes.
    env = os.environ | {"PIXIV_DOWNLOAD_DIR": str(folder / "elsewhere"), "PIXIV_REFRESH_TOKEN": "of-a-real-account"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=110, check=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """One demo for all tests here: its folder, its report and what it told while it ran."""
    place = tmp_path_factory.mktemp("demo-place")
    done = demo(place, "--json")
    assert done.returncode == 0, done.stderr
    return place / "demo", json.loads(done.stdout), done.stderr


def files(ran: tuple[Path, dict[str, Any], str], name: str, role: str) -> list[Path]:
    folder, report, _ = ran
    (job,) = [job for job in report["jobs"] if job["name"] == name]
    return [folder / "library" / file["path"] for file in job["files"] if file["role"] == role]


def test_every_job_succeeded_with_its_whole_story(ran):
    _, report, _ = ran
    assert report["ok"]
    assert report["faults"] == []
    assert [job["name"] for job in report["jobs"]] == ["illustration", "ugoira", "novel"]
    for job in report["jobs"]:
        assert job["status"] == "succeeded"
        assert job["events"] == ["job.accepted", "job.started", "job.succeeded"]
        assert [received["answered"] for received in job["received"]] == [201]
        assert job["received"][0]["files"]


def test_the_same_key_is_the_same_job(ran):
    _, report, _ = ran
    assert report["same_key"] == {"job_id": report["jobs"][0]["job_id"], "created": False}


def test_the_receiver_has_each_work_once(ran):
    _, report, _ = ran
    assert report["receiver_items"] == 3
    for job in report["jobs"]:
        stored = {file["sha256"] for file in job["files"]}
        sent = {file["sha256"] for file in job["received"][0]["files"]}
        assert sent <= stored


def test_pages_are_pictures(ran):
    pages = files(ran, "illustration", "page")
    assert len(pages) > 1
    for page in pages:
        with Image.open(page) as picture:
            picture.load()
            assert picture.size == (600, 800)


def test_the_animation_plays_for_as_long_as_its_frames_say(ran):
    (frames,), (archive,) = files(ran, "ugoira", "frames"), files(ran, "ugoira", "archive")
    delays = [frame["delay"] for frame in json.loads(frames.read_text())["frames"]]
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None
        assert len(packed.namelist()) == len(delays)
    made = files(ran, "ugoira", "animation")
    assert sorted(path.suffix for path in made) == [".gif", ".webp"]
    for path in made:
        with Image.open(path) as animation:
            assert animation.is_animated
            total = 0
            for number in range(animation.n_frames):
                animation.seek(number)
                animation.load()
                total += animation.info["duration"]
        assert abs(total - sum(delays)) < 10  # a GIF counts in hundredths of a second


def test_the_novel_is_text_with_its_pictures(ran):
    (text,) = files(ran, "novel", "text")
    assert len(text.read_text(encoding="utf-8")) > 200
    embedded = files(ran, "novel", "embedded")
    assert embedded
    for place in embedded:
        with Image.open(place) as picture:
            picture.load()


def test_the_folder_holds_what_was_told_and_nothing_else(ran):
    folder, report, _ = ran
    told = {file["path"] for job in report["jobs"] for file in job["files"]}
    library = folder / "library"
    assert {path.relative_to(library).as_posix() for path in library.rglob("*") if path.is_file()} == told
    assert json.loads((folder / "report.json").read_text()) == report
    assert (folder / "token").stat().st_mode & 0o077 == 0
    assert not (folder.parent / "elsewhere").exists()
    assert "of-a-real-account" not in (folder / "config.json").read_text()


def test_it_was_polite_to_the_source(ran):
    _, report, _ = ran
    routes = report["source_requests"]["routes"]
    assert routes["oauth.token"] == 1
    assert report["source_requests"]["total"] <= 20


def test_progress_was_told_and_no_secret(ran):
    folder, _, told = ran
    assert "event job.succeeded" in told
    assert "Traceback" not in told
    token = (folder / "token").read_text().strip()
    logs = "".join(path.read_text() for path in (folder / "logs").iterdir())
    assert token not in told + logs
    assert "the-sandbox-takes-any-token" not in told + logs


def test_its_processes_are_gone(ran):
    _, _, told = ran
    pids = [int(line.split("process ")[1].split(")")[0]) for line in told.splitlines() if "(process " in line]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_table_for_people_and_a_second_demo_in_the_same_folder(tmp_path):
    place = tmp_path / "demo"
    place.mkdir()
    (place / ".pixivflow-demo").write_text("")
    (place / "library").mkdir()
    (place / "library" / "old.jpg").write_bytes(b"x")
    (place / "mine.txt").write_text("mine")
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "RECEIVER GOT" in done.stdout
    assert "gave the same job" in done.stdout
    assert not (place / "library" / "old.jpg").exists()
    assert (place / "mine.txt").read_text() == "mine"


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = demo(tmp_path, "--dir", str(tmp_path))
    assert done.returncode == 4
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_ctrl_c_stops_both_processes(tmp_path):
    command = [sys.executable, "-m", "pixivflow", "demo"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pids = []
    told = ""
    for line in process.stderr:
        told += line
        if "(process " in line:
            pids.append(int(line.split("process ")[1].split(")")[0]))
        if "POST /jobs answered" in line:
            process.send_signal(signal.SIGINT)
            break
    out, rest = process.communicate(timeout=60)
    assert process.returncode == 130, told + rest
    assert "Traceback" not in told + rest
    assert out == ""
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
