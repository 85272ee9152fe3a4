"""The memory of works and files: what is complete, which path belongs to whom, who has had what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pixivflow.collect.ports import KnownState, KnownWork
from pixivflow.domain.work import Asset, Work, WorkRef, WorkType
from pixivflow.ledger.ports import Ledger, Tx
from pixivflow.ledger.rows import asset_of, ref_of


def known(tx: Tx, refs: Sequence[WorkRef]) -> dict[WorkRef, KnownWork]:
    """What is known of each work; works never seen are absent unless a route has had them."""
    asked = json.dumps([[ref.type.value, ref.id] for ref in refs])
    routes: dict[WorkRef, set[str]] = {}
    for row in tx.all("deliveries_of_works", {"works": asked}):
        routes.setdefault(ref_of(row), set()).add(row["route"])
    found = {}
    for row in tx.all("works_get_many", {"works": asked}):
        ref = WorkRef(WorkType(row["type"]), row["id"])
        found[ref] = KnownWork(KnownState(row["state"]), row["page_count"], frozenset(routes.get(ref, ())))
    return found


def assets(tx: Tx, ref: WorkRef) -> tuple[Asset, ...]:
    """The recorded files of a work."""
    return tuple(asset_of(row) for row in tx.all("files_of_work", _work(ref)))


def reserve(tx: Tx, ref: WorkRef, paths: Sequence[str]) -> dict[str, WorkRef]:
    """Claim paths for a work; what belongs to another work is returned and not claimed."""
    owners = {row["path"]: row for row in tx.all("files_owners", {"paths": json.dumps(list(paths))})}
    taken: dict[str, WorkRef] = {}
    for path in paths:
        row = owners.get(path)
        if row is not None and row["state"] != "removed" and ref_of(row) != ref:
            taken[path] = ref_of(row)
        elif row is None or row["state"] == "removed":
            tx.run("files_reserve", {**_work(ref), "path": path, "now": tx.now})
    return taken


def record(tx: Tx, ref: WorkRef, asset: Asset) -> None:
    """Record a verified file; an earlier one in its role under another name stops counting."""
    place = {**_work(ref), "role": asset.role.value, "number": asset.number, "key": asset.key, "path": asset.path}
    tx.run("files_supersede", {**place, "now": tx.now})
    tx.run(
        "files_record",
        {
            **place,
            "bytes": asset.bytes,
            "sha256": asset.sha256,
            "mime": asset.mime,
            "width": asset.width,
            "height": asset.height,
            "quality": asset.quality.value,
            "source_url": asset.source_url,
            "duration_ms": asset.duration_ms,
            "now": tx.now,
        },
    )


def forget(tx: Tx, ref: WorkRef, paths: Sequence[str]) -> None:
    """Drop the records of files that are damaged or gone."""
    tx.run("files_forget", {**_work(ref), "paths": json.dumps(list(paths)), "now": tx.now})


def remember(tx: Tx, work: Work, state: KnownState) -> None:
    """Store a work's facts and how complete it is."""
    tx.run(
        "works_put",
        {
            "type": work.type.value,
            "id": work.id,
            "state": state.value,
            "title": work.title,
            "author_id": work.author.id,
            "author_name": work.author.name,
            "page_count": work.page_count,
            "created_at": work.created_at.isoformat() if work.created_at else None,
            "now": tx.now,
        },
    )


def bind_author_folder(tx: Tx, author_id: str, name: str) -> str:
    """Bind a folder name to an author unless one is bound."""
    tx.run("author_folders_bind", {"author_id": author_id, "name": name, "now": tx.now})
    return author_folder(tx, author_id) or name


def author_folder(tx: Tx, author_id: str) -> str | None:
    """The folder bound to an author."""
    row = tx.one("author_folders_get", {"author_id": author_id})
    return row["name"] if row else None


def disposable(tx: Tx, ref: WorkRef) -> list[str]:
    """Paths of a work that may be removed now, empty when it must stay."""
    if not tx.all("cache_waiting", {**_work(ref), "limit": 1}):
        return []
    return [asset.path for asset in assets(tx, ref)]


def waiting(tx: Tx, limit: int) -> list[WorkRef]:
    """Works whose files may be removed, oldest first."""
    return [ref_of(row) for row in tx.all("cache_waiting", {"work_type": None, "work_id": None, "limit": limit})]


def removed(tx: Tx, ref: WorkRef, paths: Sequence[str]) -> None:
    """The files of a work are gone on purpose."""
    forget(tx, ref, paths)
    if not assets(tx, ref):
        tx.run("works_unkeep", {**_work(ref), "now": tx.now})
        tx.run("cache_gone", _work(ref))


def _work(ref: WorkRef) -> dict[str, str]:
    return {"work_type": ref.type.value, "work_id": ref.id}


class LedgerArchive:
    """`collect.ports.Archive` on the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def known(self, refs: Sequence[WorkRef]) -> Mapping[WorkRef, KnownWork]:
        """What is known of each work."""
        return await self._ledger.read(lambda tx: known(tx, refs))

    async def assets(self, ref: WorkRef) -> tuple[Asset, ...]:
        """The recorded files of a work."""
        return await self._ledger.read(lambda tx: assets(tx, ref))

    async def reserve(self, ref: WorkRef, paths: Sequence[str]) -> Mapping[str, WorkRef]:
        """Claim paths."""
        return await self._ledger.write(lambda tx: reserve(tx, ref, paths))

    async def record(self, ref: WorkRef, asset: Asset) -> None:
        """Record a verified file."""
        await self._ledger.write(lambda tx: record(tx, ref, asset))

    async def forget(self, ref: WorkRef, paths: Sequence[str]) -> None:
        """Drop records."""
        await self._ledger.write(lambda tx: forget(tx, ref, paths))

    async def remember(self, work: Work, state: KnownState) -> None:
        """Store a work's facts."""
        await self._ledger.write(lambda tx: remember(tx, work, state))

    async def author_folder(self, author_id: str) -> str | None:
        """The folder bound to an author."""
        return await self._ledger.read(lambda tx: author_folder(tx, author_id))

    async def bind_author_folder(self, author_id: str, name: str) -> str:
        """Bind a folder name."""
        return await self._ledger.write(lambda tx: bind_author_folder(tx, author_id, name))


class LedgerCacheRecords:
    """`delivery.cleanup.CacheRecords` on the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def disposable(self, ref: WorkRef) -> Sequence[str]:
        """Paths of a work that may be removed now."""
        return await self._ledger.read(lambda tx: disposable(tx, ref))

    async def removed(self, ref: WorkRef, paths: Sequence[str]) -> None:
        """Record that files are gone."""
        await self._ledger.write(lambda tx: removed(tx, ref, paths))

    async def waiting(self, limit: int) -> Sequence[WorkRef]:
        """Works whose files may be removed."""
        return await self._ledger.read(lambda tx: waiting(tx, limit))
