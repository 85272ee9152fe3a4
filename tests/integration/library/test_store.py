"""The library on a real disk: whole files or none, inside its root or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from pathlib import Path

import pytest

from pixivflow.library import durable
from pixivflow.library.errors import from_os_error
from pixivflow.library.store import INCOMING, Library, LibraryCode, LibraryError, Stored, TempFile

CONTENT = b"picture" * 1000


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


async def put(library: Library, path: str, content: bytes = CONTENT, *, overwrite: bool = False) -> Stored:
    async with await library.open_temp("attempt-1", "0.part") as temp:
        temp.write(content)
        return await library.commit(temp, path, overwrite=overwrite)


def files(library: Library) -> set[str]:
    return {path.relative_to(library.root).as_posix() for path in library.root.rglob("*") if path.is_file()}


async def test_chunks_become_a_file_with_its_count_and_hash(library: Library) -> None:
    async with await library.open_temp("attempt-1", "0.part") as temp:
        temp.write(CONTENT[:10])
        temp.write(CONTENT[10:])
        await temp.flush()
        assert temp.path.read_bytes() == CONTENT
        assert temp.path.is_relative_to(library.root / INCOMING / "attempt-1")
        stored = await library.commit(temp, "a/b/1_x_1.png")
    assert stored == Stored("a/b/1_x_1.png", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert library.locate("a/b/1_x_1.png").read_bytes() == CONTENT
    assert files(library) == {"a/b/1_x_1.png"}
    assert await library.exists("a/b/1_x_1.png")
    assert await library.exists("a/b/1_x_1.png", len(CONTENT))
    assert not await library.exists("a/b/1_x_1.png", 1)
    assert not await library.exists("a/b")
    assert not await library.exists("a/b/1_x_1.png/below")


async def test_without_a_commit_nothing_stays(library: Library) -> None:
    async with await library.open_temp("attempt-1", "0.part") as temp:
        temp.write(CONTENT)
    with pytest.raises(LibraryError, match="not a path"):
        await put(library, "../x.png")
    assert files(library) == set()
    with pytest.raises(ValueError, match="closed"):
        temp.write(b"x")
    await temp.discard()


async def test_content_and_folders_are_synced_before_they_count(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(target.relative_to(library.root.parent).as_posix())
        fsync(descriptor)

    await library.incoming("attempt-1")
    monkeypatch.setattr(os, "fsync", record)
    await put(library, "new/x.png")
    assert synced == ["library/.incoming/attempt-1/0.part", "library", "library/new"]


async def test_a_foreign_file_is_not_overwritten(library: Library) -> None:
    await put(library, "x.png", b"theirs")
    with pytest.raises(LibraryError) as refused:
        await put(library, "x.png")
    assert refused.value.code is LibraryCode.EXISTS
    assert library.locate("x.png").read_bytes() == b"theirs"
    assert files(library) == {"x.png"}
    await put(library, "x.png", overwrite=True)
    assert library.locate("x.png").read_bytes() == CONTENT


async def test_the_same_content_again_counts_as_stored(library: Library) -> None:
    first = await put(library, "x.png")
    assert await put(library, "x.png") == first
    assert files(library) == {"x.png"}


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_file_system_without_hard_links_works_too(
    library: Library, monkeypatch: pytest.MonkeyPatch, *, overwrite: bool
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    await put(library, "x.png", overwrite=overwrite)
    assert files(library) == {"x.png"}
    with pytest.raises(LibraryError) as refused:
        await put(library, "x.png", b"other")
    assert refused.value.code is LibraryCode.EXISTS


async def test_a_converted_file_is_adopted(library: Library) -> None:
    folder = await library.incoming("attempt-1")
    (folder / "out.gif").write_bytes(CONTENT)
    async with await library.adopt("attempt-1", "out.gif") as temp:
        assert (temp.size, temp.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
        await library.commit(temp, "x.gif")
    assert files(library) == {"x.gif"}
    with pytest.raises(LibraryError) as absent:
        await library.adopt("attempt-1", "out.gif")
    assert absent.value.code is LibraryCode.NOT_FOUND
    (folder / "link.gif").symlink_to(library.locate("x.gif"))
    with pytest.raises(LibraryError) as link:
        await library.adopt("attempt-1", "link.gif")
    assert link.value.code is LibraryCode.OUTSIDE


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/x",
        "../x",
        "a/../../x",
        "a//b",
        "./a",
        "a/.",
        "C:/x",
        "a\\b",
        "a\0b",
        "a/\ud83d",
        ".incoming/a/x",
        ".INCOMING/x",
    ],
)
async def test_no_path_leads_out_of_the_library(library: Library, path: str) -> None:
    with pytest.raises(LibraryError) as refused:
        await put(library, path)
    assert refused.value.code is LibraryCode.OUTSIDE
    with pytest.raises(LibraryError):
        await library.remove_work_files([path])
    assert files(library) == set()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", ".x", "ä"])
async def test_attempts_and_temporary_files_have_plain_names(library: Library, name: str) -> None:
    for attempt, file in ((name, "x"), ("attempt-1", name)):
        with pytest.raises(LibraryError) as refused:
            await library.open_temp(attempt, file)
        assert refused.value.code is LibraryCode.OUTSIDE


async def test_a_link_below_the_root_is_refused(library: Library, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep.png").write_bytes(b"keep")
    await put(library, "here.png")
    (library.root / "linked").symlink_to(outside)
    for action in (
        lambda: put(library, "linked/x.png"),
        lambda: library.exists("linked/keep.png"),
        lambda: library.remove_work_files(["linked/keep.png"]),
    ):
        with pytest.raises(LibraryError) as refused:
            await action()
        assert refused.value.code is LibraryCode.OUTSIDE
    assert [path.name for path in outside.iterdir()] == ["keep.png"]


async def test_a_linked_root_is_the_operator_s_choice(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "library").symlink_to(tmp_path / "real")
    await put(Library(tmp_path / "library"), "x.png")
    assert (tmp_path / "real" / "x.png").read_bytes() == CONTENT


async def test_a_part_longer_than_the_file_system_takes_is_named(library: Library) -> None:
    with pytest.raises(LibraryError) as refused:
        await put(library, "あ" * 86 + "/x.png")
    assert refused.value.code is LibraryCode.NAME_TOO_LONG


async def test_a_file_in_a_folder_s_place_is_named(library: Library) -> None:
    await put(library, "x")
    with pytest.raises(LibraryError) as refused:
        await put(library, "x/y.png")
    assert refused.value.code in {LibraryCode.OUTSIDE, LibraryCode.EXISTS}


async def test_removing_a_work_leaves_no_empty_folders(library: Library) -> None:
    await put(library, "author/tag/1.png")
    await put(library, "author/tag/1.json")
    await put(library, "author/2.png")
    assert await library.remove_work_files(["author/tag/1.png", "author/tag/1.json", "author/tag/none.png"]) == 2
    assert files(library) == {"author/2.png"}
    assert not (library.root / "author" / "tag").exists()
    assert await library.remove_work_files(["author/2.png"]) == 1
    assert not (library.root / "author").exists()
    assert library.root.is_dir()


async def test_recovery_clears_what_dead_attempts_left(library: Library, tmp_path: Path) -> None:
    assert await library.clear_incoming(set()) == 0
    for attempt in ("dead", "alive", "dead-2"):
        temp = await library.open_temp(attempt, "0.part")
        temp.write(b"x")
        await temp.flush()
        temp.sync_and_close()
    stray = tmp_path / "stray"
    stray.mkdir()
    (stray / "keep").write_bytes(b"")
    (library.root / INCOMING / "link").symlink_to(stray)
    assert await library.clear_incoming({"alive"}) == 3
    assert files(library) == {".incoming/alive/0.part"}
    assert (stray / "keep").exists()


async def test_a_second_try_replaces_what_the_first_left(library: Library) -> None:
    first = await library.open_temp("attempt-1", "0.part")
    first.write(b"half")
    first.sync_and_close()
    stored = await put(library, "x.png")
    assert stored.bytes == len(CONTENT)


async def test_the_start_up_check_leaves_no_trace(library: Library) -> None:
    assert await library.check_writable() > 0
    assert files(library) == set()


async def test_the_start_up_check_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LibraryError) as refused:
        await Library(tmp_path / "file" / "library").check_writable()
    assert refused.value.code is LibraryCode.OUTSIDE
    assert "library folder" in refused.value.message


async def test_a_full_disk_is_named(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    temp = await library.open_temp("attempt-1", "0.part")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    temp.write(CONTENT)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(LibraryError) as refused:
            await library.commit(temp, "x.png")
    await temp.discard()
    assert refused.value.code is LibraryCode.NO_SPACE
    assert refused.value.message == "could not store x.png: the disk or the quota is full"
    assert files(library) == set()


class FullDisk(io.BytesIO):
    """Takes nothing, neither when written to nor when closed with bytes still waiting."""

    def write(self, data: object, /) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        super().close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_write_to_a_full_disk_is_named_and_cleaned_up(library: Library) -> None:
    folder = await library.incoming("attempt-1")
    (folder / "0.part").write_bytes(b"")
    temp = TempFile(folder / "0.part", FullDisk())
    with pytest.raises(LibraryError) as refused:
        temp.write(CONTENT)
    assert refused.value.code is LibraryCode.NO_SPACE
    await temp.discard()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, LibraryCode.NOT_WRITABLE),
        (errno.EROFS, LibraryCode.NOT_WRITABLE),
        (errno.EDQUOT, LibraryCode.NO_SPACE),
        (errno.ENAMETOOLONG, LibraryCode.NAME_TOO_LONG),
        (errno.EIO, LibraryCode.IO),
    ],
)
def test_what_the_system_says_has_a_code(number: int, code: LibraryCode) -> None:
    error = from_os_error(OSError(number, os.strerror(number), "/secret/place"), "store x")
    assert error.code is code
    assert "/secret/place" not in error.message


def test_folders_that_cannot_be_synced_are_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(os, "fsync", refuse)
    durable.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="bad disk"):
        durable.sync_folder(tmp_path)
