"""The demo's folder is made fresh, and nothing in it is removed that no demo has made."""

from __future__ import annotations

import pytest

from pixivflow.cli.demo.folder import MARKER, OURS, prepare
from pixivflow.cli.exits import Exit, Stop


def test_a_new_folder_is_made_with_a_marker(tmp_path):
    folder = prepare(tmp_path / "a" / "demo", keep=False)
    assert (folder.root / MARKER).is_file()
    assert folder.log("serve").parent.is_dir()


def test_the_next_demo_removes_what_the_last_one_made_and_nothing_else(tmp_path):
    folder = prepare(tmp_path / "demo", keep=False)
    folder.library.mkdir()
    (folder.library / "work.jpg").write_bytes(b"x")
    folder.config.write_text("{}")
    (folder.root / "my notes.txt").write_text("mine")
    prepare(folder.root, keep=False)
    assert sorted(path.name for path in folder.root.iterdir()) == [MARKER, "logs", "my notes.txt"]


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path):
    for name in OURS:
        (tmp_path / name).write_text("mine")
    with pytest.raises(Stop) as caught:
        prepare(tmp_path, keep=False)
    assert caught.value.code is Exit.REFUSED
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(OURS)


def test_an_empty_folder_may_be_used(tmp_path):
    assert prepare(tmp_path, keep=False).root == tmp_path


@pytest.mark.parametrize("kind", ["link", "file", "marker-link", "below-file"])
def test_other_things_in_the_way_are_refused(tmp_path, kind):
    other, place = tmp_path / "other", tmp_path / "demo"
    other.mkdir()
    (other / MARKER).write_text("")
    (other / "library").mkdir()
    if kind == "link":
        place.symlink_to(other)
    elif kind == "marker-link":
        place.mkdir()
        (place / MARKER).symlink_to(other / MARKER)
    else:
        place.write_text("mine")
    with pytest.raises(Stop) as caught:
        prepare(place / "in" if kind == "below-file" else place, keep=False)
    assert caught.value.code is Exit.REFUSED
    assert (other / "library").is_dir()


def test_a_link_inside_is_removed_as_a_link(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("x")
    folder = prepare(tmp_path / "demo", keep=False)
    folder.library.symlink_to(other)
    prepare(folder.root, keep=False)
    assert (other / "kept").exists()
    assert not folder.library.is_symlink()


def test_keep_takes_the_next_free_name(tmp_path):
    names = [prepare(tmp_path / "demo", keep=True).root.name for _ in range(3)]
    assert names == ["demo", "demo-2", "demo-3"]
