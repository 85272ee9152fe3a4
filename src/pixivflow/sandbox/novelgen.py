"""Texts of the invented novels, with every marker the viewer knows."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from pixivflow.sandbox import records, vocabulary
from pixivflow.sandbox.seeded import stream
from pixivflow.sandbox.world import NovelText, World

_LANGUAGES: Final = ("ja", "ja", "zh", "en", "mixed", "short")


def linked_work(record: records.Record, marker: str) -> records.Record:
    """An illustration as the viewer page describes it for a `[pixivimage:...]` marker (`ID` or `ID-PAGE`)."""
    _, _, page = marker.partition("-")
    urls = record["meta_pages"][int(page or 1) - 1]["image_urls"] if record.get("meta_pages") else record["image_urls"]
    original = urls.get("original") or record.get("meta_single_page", {}).get("original_image_url")
    return {
        "visible": True,
        "availableMessage": None,
        "illust": {
            "title": record.get("title", ""),
            "restrict": record.get("restrict", 0),
            "xRestrict": record.get("x_restrict", 0),
            "sl": record.get("sanity_level", 2),
            "tags": [{"tag": tag["name"], "userId": "0"} for tag in record.get("tags", ())],
            "images": {"small": urls.get("medium"), "medium": urls.get("large"), "original": original},
        },
        "user": {"id": str(record["user"]["id"]), "name": record["user"]["name"], "image": ""},
        "id": str(record["id"]),
        "page": int(page or 1),
    }


def _paragraphs(language: str, count: int, *name: Any) -> str:
    rng = stream("text", *name)
    if language == "mixed":
        pool = vocabulary.SENTENCES["ja"] + vocabulary.SENTENCES["en"]
    else:
        pool = vocabulary.SENTENCES[language]
    glue = " " if language == "en" else ""
    return "\n\n".join(glue.join(rng.choices(pool, k=rng.randint(2, 5))) for _ in range(count))


def write_novel(world: World, seed: int, index: int, created: datetime) -> NovelText:
    """Text of novel number `index`: number 0 has every marker, the others a language each and some markers."""
    if index == 0:
        return _every_marker(world, seed, created)
    language = _LANGUAGES[index % len(_LANGUAGES)]
    if language == "short":
        return NovelText("短い話。")
    parts = [_paragraphs(language, 4, seed, index, part) for part in range(1 + index % 3)]
    chapters = [f"[chapter:{number}]\n{part}" for number, part in enumerate(parts, start=1)]
    if index % 4 != 1:
        return NovelText("\n[newpage]\n".join(chapters))
    key = str(3_000_000 + index)
    text = "\n[newpage]\n".join(chapters) + f"\n[uploadedimage:{key}]\n"
    return NovelText(text, images={key: records.uploaded_image(key, created)})


def _every_marker(world: World, seed: int, created: datetime) -> NovelText:
    first, second = str(3_000_000), str(3_000_777)
    illusts: records.Record = {}
    single = [work for work in world.newest("illust") if work.type == "illust" and work.x_restrict == 0]
    links = []
    for work in single[:2]:
        marker = f"{work.id}-2" if work.record.get("meta_pages") else str(work.id)
        illusts[marker] = linked_work(work.record, marker)
        links.append(f"[pixivimage:{marker}]")
    text = "\n".join((
        "[chapter:序章 & <はじまり>]",
        _paragraphs("ja", 2, seed, "every", 1),
        f"[uploadedimage:{first}]",
        "[[rb:東京 > とうきょう]]の夜は[[rb: 永 > なが ]]い。",
        *links[:1],
        "[newpage]",
        "[chapter:Second chapter]",
        _paragraphs("mixed", 2, seed, "every", 2),
        f"[uploadedimage:{second}]",
        "[[jumpuri:作者のページ > https://example.test/page?a=1&b=2]]",
        "[jump:1]",
        *links[1:],
        "[newpage]",
        _paragraphs("ja", 1, seed, "every", 3),
        f"[uploadedimage:{first}]",
        "おわり。",
    ))  # fmt: skip
    images = {key: records.uploaded_image(key, created) for key in (first, second)}
    return NovelText(text, images=images, illusts=illusts)
