"""What a work found for a job looks like to its consumer: why it was found, what its files are, what is known of it.

Workflow Protocol v1, sections 5.2 and 5.3. It is written down once, in the commit that makes the work ready, and never
made again from the library: what a finished job says must not change when files do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from types import MappingProxyType
from typing import Any, Final

from pixivflow.domain.filters import tag_key
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Tag, Work, WorkRef

MAX_TAGS_LISTED: Final = 100
"""Tags named for one candidate. The site allows ten, so this only bounds what a broken record can do."""

PARTIAL: Final = "partial_match_for_tags"

_TYPE: Mapping[AssetRole, str] = MappingProxyType(
    {
        AssetRole.PAGE: "image",
        AssetRole.ARCHIVE: "image",
        AssetRole.ANIMATION: "image",
        AssetRole.EMBEDDED: "image",
        AssetRole.TEXT: "novel",
        AssetRole.MARKDOWN: "novel",
        AssetRole.COVER: "cover",
        AssetRole.FRAMES: "metadata",
        AssetRole.METADATA: "metadata",
    }
)


def describe(work: Work, target: Target, assets: Sequence[Asset] | None = None) -> dict[str, Any]:
    """The description of a candidate beside its identity. None for `assets` means that no files were asked for."""
    described: dict[str, Any] = {}
    if work.title:
        described["title"] = work.title
    tags = matched_tags(work.tags, target)
    if tags:
        described["tags"] = tags
    if assets is not None:
        described["assets"] = [asset_descriptor(work.ref, asset) for asset in assets]
    described["metadata"] = metadata_of(work)
    return described


def matched_tags(tags: Iterable[Tag], target: Target) -> list[dict[str, Any]]:
    """The tags of a work and what each had to do with its being found.

    A tag that is one of the searched words is a `seed` of weight 1; where the site matches parts of tags, one that
    contains a word is a `seed` as well, and its weight is the share of the tag that was searched for. Every other tag
    is only `tagged`. Words the target excludes (`-word`) match nothing.
    """
    words = _words(target)
    partial = target.search_target == PARTIAL
    listed: dict[str, dict[str, Any]] = {}
    for tag in tags:
        if len(listed) == MAX_TAGS_LISTED:
            break
        weight = max((_weight(name, words, partial=partial) for name in _names(tag)), default=0.0)
        how = {"tag": tag.name, "source": "seed", "weight": weight} if weight else {"tag": tag.name, "source": "tagged"}
        listed.setdefault(tag.name, how)
    return list(listed.values())


def asset_descriptor(ref: WorkRef, asset: Asset) -> dict[str, Any]:
    """One file, as the protocol describes files. The locator's path is relative to the library."""
    ours = asset.quality is AssetQuality.DERIVED
    described: dict[str, Any] = {
        "asset_id": _asset_id(ref, asset),
        "type": _TYPE[asset.role],
        "role": "cover" if asset.role is AssetRole.COVER else "primary",
        "source": _source(asset, ours=ours),
        "quality": _quality(asset),
        "mime": asset.mime,
        "bytes": asset.bytes,
        "hash": f"sha256:{asset.sha256}",
    }
    if asset.width is not None and asset.height is not None:
        described.update(width=asset.width, height=asset.height)
    described["locator"] = {"kind": "path", "value": asset.path}
    more: dict[str, Any] = {"part": asset.role.value, "number": asset.number}
    if asset.duration_ms is not None:
        more["duration_ms"] = asset.duration_ms
    described["metadata"] = more
    return described


def metadata_of(work: Work) -> dict[str, Any]:
    """What the site says about a work. What it does not say is left out. Times are epoch milliseconds."""
    known: dict[str, Any] = {"author": {"id": work.author.id, "name": work.author.name}}
    if work.kind is not None:
        known["kind"] = work.kind.value
    if work.created_at is not None:
        # A moment without an offset must not be read in the zone of this machine.
        moment = work.created_at if work.created_at.tzinfo is not None else work.created_at.replace(tzinfo=UTC)
        known["created_at"] = max(0, int(moment.timestamp() * 1000))
    known["pages"] = work.page_count
    known["rating"] = work.rating.value
    for name in ("bookmarks", "views"):
        count = getattr(work, name)
        if count is not None:
            known[name] = count
    return known


def _words(target: Target) -> tuple[str, ...]:
    if target.mode is not Mode.SEARCH:
        return ()
    bare = (word.strip("()") for word in target.tags if not word.startswith("-"))
    return tuple(key for key in (tag_key(word) for word in bare if word != "OR") if key)


def _names(tag: Tag) -> Iterable[str]:
    return (tag_key(name) for name in (tag.name, tag.translated_name) if name)


def _weight(name: str, words: Iterable[str], *, partial: bool) -> float:
    best = 0.0
    for word in words:
        if word == name:
            return 1.0
        if partial and word in name:
            best = max(best, round(len(word) / len(name), 2), 0.01)
    return best


def _asset_id(ref: WorkRef, asset: Asset) -> str:
    parts = [ref.type.value, ref.id, asset.role.value, str(asset.number)]
    return "-".join([*parts, asset.key] if asset.key else parts)


def _source(asset: Asset, *, ours: bool) -> str:
    # A novel's text is written by us in the site's own words: it is the site's, not something generated.
    return "generated" if ours and asset.role is not AssetRole.TEXT else "pixiv"


def _quality(asset: Asset) -> str:
    # Files for machines are neither an author's art nor a template's.
    return "unknown" if _TYPE[asset.role] == "metadata" or asset.role is AssetRole.COVER else "custom"
