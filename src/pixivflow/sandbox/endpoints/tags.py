"""Autocomplete and trending tags."""

from __future__ import annotations

from collections import Counter

from pixivflow.sandbox.exchange import Answer, Call
from pixivflow.sandbox.search import BadParameterError
from pixivflow.sandbox.world import Kind, Work, World, fold

AUTOCOMPLETE_MAX = 10
TRENDING_MAX = 40


def tag_counts(world: World, *kinds: Kind) -> Counter[tuple[str, str | None]]:
    """How many works carry each tag, with its translation."""
    counts: Counter[tuple[str, str | None]] = Counter()
    for kind in kinds:
        for work in world.newest(kind):
            counts.update(
                (tag["name"], tag.get("translated_name")) for tag in work.record.get("tags") or () if "name" in tag
            )
    return counts


def autocomplete(call: Call) -> Answer:
    """`/v2/search/autocomplete`: tags whose name or translation holds the word, most used first."""
    word = fold(call.query.get("word", "").strip())
    if not word:
        raise BadParameterError("word", "is required")
    counts = tag_counts(call.world, "illust", "novel")
    found = [pair for pair, _ in counts.most_common() if word in fold(pair[0]) or word in fold(pair[1] or "")]
    return Answer(200, {"tags": [{"name": name, "translated_name": told} for name, told in found[:AUTOCOMPLETE_MAX]]})


def autocomplete_v1(call: Call) -> Answer:
    """`/v1/search/autocomplete`, the older shape: names only."""
    new = autocomplete(call).document["tags"]
    return Answer(200, {"search_auto_complete_keywords": [tag["name"] for tag in new]})


def _trending(call: Call, kind: Kind) -> Answer:
    shown: dict[str, Work] = {}
    for work in call.world.newest(kind):
        if work.x_restrict == 0:
            for tag in work.record.get("tags") or ():
                shown.setdefault(tag.get("name", ""), work)
    tags = [
        {"tag": name, "translated_name": told, kind: shown[name].record}
        for (name, told), _ in tag_counts(call.world, kind).most_common(TRENDING_MAX)
        if name in shown
    ]
    return Answer(200, {"trend_tags": tags})


def trending_illust(call: Call) -> Answer:
    """`/v1/trending-tags/illust`."""
    return _trending(call, "illust")


def trending_novel(call: Call) -> Answer:
    """`/v1/trending-tags/novel`."""
    return _trending(call, "novel")
