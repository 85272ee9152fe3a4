"""The description of a work: the upstream's keys, ours, and the same bytes for the same facts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pixivflow.domain.work import (
    AgeRating,
    AiType,
    Asset,
    AssetQuality,
    AssetRole,
    Author,
    Frame,
    IllustKind,
    SeriesRef,
    Tag,
    Work,
    WorkRef,
    WorkType,
)
from pixivflow.library.layout import JST
from pixivflow.library.sidecar import build_frames, build_sidecar

WORK = Work(
    WorkRef(WorkType.ILLUSTRATION, "123"),
    title="花 & 穹\ud83d",
    author=Author("7", "Aoi", "aoi"),
    kind=IllustKind.MANGA,
    tags=(Tag("b", "B"), Tag("a")),
    created_at=datetime(2025, 2, 3, 0, 3, 17, tzinfo=JST),
    page_count=2,
    width=600,
    height=800,
    bookmarks=5,
    views=50,
    ai=AiType.NO,
    rating=AgeRating.R18,
    series=SeriesRef("9", "S"),
)
PAGE = Asset(
    AssetRole.PAGE,
    0,
    "art/x/123_1.png",
    10,
    "ab" * 32,
    "image/png",
    600,
    800,
    source_url="https://user:pw@i.pximg.net/img/123_p0.png?token=secret#f",
)
SECOND = Asset(AssetRole.PAGE, 1, "art/x/123_2.jpg", 11, "cd" * 32, "image/jpeg", quality=AssetQuality.REDUCED)
EMBEDDED = Asset(AssetRole.EMBEDDED, 0, "art/x/images/123_7.png", 12, "ef" * 32, "image/png", key="uploadedimage:7")
ITSELF = Asset(AssetRole.METADATA, 0, "art/x/123.json", 1, "00" * 32, "application/json")
FETCHED = datetime(2026, 12, 1, 9, 0, tzinfo=JST)


def sidecar(*assets: Asset, work: Work = WORK, **options: Any) -> dict[str, Any]:
    made = build_sidecar(work, assets, path="art/x/123.json", fetched_at=FETCHED, **options)
    document = json.loads(made)
    assert isinstance(document, dict)
    return document


def test_the_upstream_keys_are_there() -> None:
    document = sidecar(PAGE, download_tag="b", detected_language="ja")
    assert {key: document[key] for key in ("pixiv_id", "title", "original_url", "create_date", "type")} == {
        "pixiv_id": 123,
        "title": "花 & 穹\ufffd",
        "original_url": "https://www.pixiv.net/artworks/123",
        "create_date": "2025-02-03T00:03:17+09:00",
        "type": "illustration",
    }
    assert document["author"] == {"id": "7", "name": "Aoi", "account": "aoi"}
    assert document["tags"] == [{"name": "b", "translated_name": "B"}, {"name": "a", "translated_name": None}]
    assert (document["download_tag"], document["detected_language"]) == ("b", "ja")
    assert (document["page_number"], document["total_pages"]) == (None, 2)
    assert document["total_bookmarks"] == document["bookmark_count"] == 5
    assert document["total_view"] == document["view_count"] == 50


def test_our_keys_are_there() -> None:
    document = sidecar(PAGE, frames=[Frame("0.jpg", 40)], notes={"images": [{"ref": "x", "status": "failed"}]})
    assert document["schema"] == 1
    assert (document["ai_type"], document["x_restrict"], document["age_rating"]) == ("no", 1, "R-18")
    assert document["series"] == {"id": "9", "title": "S"}
    assert document["fetched_at"] == "2026-12-01T00:00:00Z"
    assert document["frames"] == [{"file": "0.jpg", "delay_ms": 40}]
    assert document["notes"] == {"images": [{"ref": "x", "status": "failed"}]}
    assert "text_length" not in document
    novel = Work(WorkRef(WorkType.NOVEL, "n-1"), text_length=900)
    assert sidecar(work=novel)["text_length"] == 900
    assert sidecar(work=novel)["pixiv_id"] == "n-1"


def test_files_are_listed_relative_to_the_document_and_without_it() -> None:
    document = sidecar(EMBEDDED, ITSELF, SECOND, PAGE)
    assert [file["path"] for file in document["files"]] == ["123_1.png", "123_2.jpg", "images/123_7.png"]
    assert [file["quality"] for file in document["files"]] == ["original", "reduced", "original"]
    assert document["files"][0]["sha256"] == "ab" * 32
    assert document["stored_pages"] == 2


def test_addresses_lose_everything_that_may_be_secret() -> None:
    assert sidecar(PAGE)["files"][0]["source_url"] == "https://i.pximg.net/img/123_p0.png"


def test_the_same_facts_give_the_same_bytes() -> None:
    one = build_sidecar(WORK, [PAGE, SECOND], path="art/x/123.json", fetched_at=FETCHED)
    other = build_sidecar(WORK, [SECOND, PAGE], path="art/x/123.json", fetched_at=FETCHED.astimezone(UTC))
    assert one == other
    assert one.endswith(b"}\n")
    assert list(json.loads(one)) == sorted(json.loads(one))


def test_the_frame_document_has_the_site_s_shape() -> None:
    assert json.loads(build_frames([Frame("0.jpg", 0), Frame("1.jpg", 2000)])) == {
        "frames": [{"file": "0.jpg", "delay": 0}, {"file": "1.jpg", "delay": 2000}]
    }
