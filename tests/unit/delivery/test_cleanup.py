"""Removing cached works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pixivflow.delivery.cleanup import CacheCleaner
from pixivflow.domain.work import WorkRef, WorkType

ONE = WorkRef(WorkType.ILLUSTRATION, "1")
TWO = WorkRef(WorkType.NOVEL, "2")


class Shelf:
    """Files and records in memory; `fails` makes the named call raise."""

    def __init__(self) -> None:
        self.files = {"a/1.jpg", "a/2.txt", "b/keep.jpg"}
        self.free: dict[WorkRef, tuple[str, ...]] = {ONE: ("a/1.jpg", "a/gone.jpg"), TWO: ("a/2.txt",)}
        self.fails: set[str] = set()

    def _check(self, name: str) -> None:
        if name in self.fails:
            raise OSError(name)

    async def remove_work_files(self, paths: Iterable[str]) -> int:
        self._check("remove")
        found = self.files & set(paths)
        self.files -= found
        return len(found)

    async def disposable(self, ref: WorkRef) -> Sequence[str]:
        return self.free.get(ref, ())

    async def removed(self, ref: WorkRef, paths: Sequence[str]) -> None:
        self._check("record")
        assert tuple(paths) == self.free.pop(ref)

    async def waiting(self, limit: int) -> Sequence[WorkRef]:
        self._check("waiting")
        return list(self.free)[:limit]


async def test_a_work_that_may_go_goes_once() -> None:
    shelf = Shelf()
    cleaner = CacheCleaner(shelf, shelf)
    assert await cleaner.clean(ONE, "j") == 1
    assert await cleaner.clean(ONE, "j") == 0
    assert shelf.files == {"a/2.txt", "b/keep.jpg"}


async def test_a_fault_leaves_the_work_to_the_next_scan() -> None:
    shelf = Shelf()
    cleaner = CacheCleaner(shelf, shelf)
    shelf.fails = {"record"}
    assert await cleaner.clean(ONE) == 0
    assert ONE in shelf.free
    shelf.fails = {"remove"}
    assert await cleaner.sweep() == 2
    assert "a/2.txt" in shelf.files
    shelf.fails = set()
    assert await cleaner.sweep(limit=1) == 1
    assert await cleaner.sweep() == 1
    assert (shelf.files, shelf.free) == ({"b/keep.jpg"}, {})


async def test_a_scan_that_fails_is_no_fault() -> None:
    shelf = Shelf()
    shelf.fails = {"waiting"}
    assert await CacheCleaner(shelf, shelf).sweep() == 0
