"""Freezing an intent and reading it back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.delivery.intent import InvalidPayload, JobContext, build_payload, context_of, read_payload, shown
from pixivflow.delivery.paths import OutsideLibrary, inside
from pixivflow.domain.job import JobRecord, JobState
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.template import PLACEHOLDERS
from pixivflow.domain.work import (
    AgeRating,
    Asset,
    AssetRole,
    Author,
    IllustKind,
    SeriesRef,
    Tag,
    Work,
    WorkRef,
    WorkType,
)

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
AT = int(datetime(2026, 12, 1, 20, 30, tzinfo=UTC).timestamp() * 1000)


def page(number: int, path: str | None = None) -> Asset:
    return Asset(
        AssetRole.PAGE, number, f"sea/77_p{number}.jpg" if path is None else path, 10, "ab" * 32, "image/jpeg", 600, 800
    )


WORK = Work(
    WorkRef(WorkType.ILLUSTRATION, "77"),
    title="第一話",
    author=Author("5", "Aoi", "aoi5"),
    kind=IllustKind.MANGA,
    tags=(Tag("海", "sea"), Tag("夜")),
    created_at=datetime(2026, 11, 30, 15, 30, tzinfo=UTC),
    bookmarks=12_345,
    views=999,
    rating=AgeRating.R18,
    series=SeriesRef("3", "海の話"),
)
TARGET = Target(
    "sea", WorkType.ILLUSTRATION, Mode.RANKING, tag="海 夜", ranking_date=date(2026, 11, 30), fields={"n": (1, "a")}
)


def build(**changes: Any) -> dict[str, Any]:
    job = JobContext("morning@x", "cron", "morning", AT, occurrence_at=AT, execution_id="att-1", zone=ZoneInfo("UTC"))
    given_: dict[str, Any] = {"work": WORK, "assets": [page(1), page(0)], "job": job, "target": TARGET, "route": "main"}
    return build_payload(**{**given_, **changes})


def test_the_payload_is_plain_json() -> None:
    payload = build()
    assert json.loads(json.dumps(payload)) == payload
    assert (payload["job_id"], payload["target_id"], payload["route"]) == ("morning@x", "sea", "main")
    assert (payload["work"]["type"], payload["work"]["id"]) == ("illustration", "77")


def test_every_placeholder_has_a_value() -> None:
    values = build(extra={"topic": "sea life", "idempotencyKey": "forged"})["values"]
    assert set(values) == PLACEHOLDERS
    assert values == {
        "title": "第一話",
        "displayTitle": "海の話 第一話",
        "seriesTitle": "海の話",
        "pixivId": "77",
        "workId": "77",
        "type": "illustration",
        "targetId": "sea",
        "tag": "海 夜",
        "topic": "sea life",
        "topicTag": "",
        "workTags": "海, 夜",
        "author": "Aoi",
        "link": "https://www.pixiv.net/artworks/77",
        "spoiler": "true",
        "xRestrict": "1",
        "xRestrictLabel": "R-18",
        "xRestrictTag": "R18",
        "rankingDate": "2026-11-30",
        "publishedDate": "2026-12-01",
        "language": "",
        "bookmarkCount": "1.2w",
        "viewCount": "999",
        "scheduleId": "morning",
        "executionId": "att-1",
        "occurrenceAt": "2026-12-01T20:30:00+00:00",
        "triggerSource": "cron",
        "slotId": "morning@x",
        "slotName": "morning",
        "slotDate": "2026-12-01",
        "idempotencyKey": "pixivflow:main:illustration:77:morning@x:sea",
        "refetchRequestId": "",
    }


@pytest.mark.parametrize(("key", "sent"), [(ID.upper(), ID), ("order 7", ""), (None, "")])
def test_a_requested_job_carries_its_request_id(key: str | None, sent: str) -> None:
    record = JobRecord(
        "morning@manual-x", 1, "candidate_search", JobState.RUNNING, "morning", "a", "manual", AT, AT, key=key
    )
    payload = build(job=context_of(record))
    assert payload["values"]["refetchRequestId"] == sent
    # A key that is no UUID is a good key, and no request id: its work is sent without one instead of being refused.
    assert payload["requested"] is bool(sent)
    assert payload["values"]["slotDate"] == "2026-12-02"  # Japan's day, which is the default


def test_an_intent_comes_back_as_it_was_frozen(tmp_path: Path) -> None:
    item = read_payload(json.loads(json.dumps(build())), tmp_path, "main", key="row-key")
    assert [(path.relative_to(tmp_path.resolve()).as_posix(), asset.number) for path, asset in item.files] == [
        ("sea/77_p0.jpg", 0),
        ("sea/77_p1.jpg", 1),
    ]
    assert (item.key, item.values["idempotencyKey"], item.requested) == ("row-key", "row-key", False)
    assert item.assets == (page(1), page(0))
    assert item.extra_fields == {"n": [1, "a"]}


def test_what_is_shown_comes_in_order_and_in_one_form() -> None:
    def of(role: AssetRole, number: int = 0) -> Asset:
        return Asset(role, number, f"x/{role}{number}", 1, "", "")

    roles = [*AssetRole, AssetRole.PAGE]
    kept = shown([of(role, number) for number, role in enumerate(reversed(roles))])
    assert [asset.role for asset in kept] == [
        AssetRole.PAGE,
        AssetRole.PAGE,
        AssetRole.ANIMATION,
        AssetRole.TEXT,
        AssetRole.COVER,
        AssetRole.EMBEDDED,
    ]
    assert [asset.role for asset in shown([of(AssetRole.ARCHIVE), of(AssetRole.FRAMES)])] == [AssetRole.ARCHIVE]
    assert [asset.role for asset in shown([of(AssetRole.MARKDOWN)])] == [AssetRole.MARKDOWN]


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a\\..\\x", "C:/x", "C:x", "a/\x00", "a\nb", ".", "link/x", "x" * 5000],
)
def test_a_path_outside_the_library_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "library"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(OutsideLibrary):
        inside(root, path)
    with pytest.raises(InvalidPayload) as refused:
        read_payload(build(assets=[page(0, path)]), root, "main")
    assert not path.strip("./ ") or path not in str(refused.value)


@given(st.text())
def test_no_path_leads_outside(path: str) -> None:
    root = Path("/nonexistent-library")
    try:
        found = inside(root, path)
    except OutsideLibrary:
        return
    assert found.is_relative_to(root)
    assert found != root


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"assets": []},
        {"assets": [{"role": "page"}]},
        {"assets": "x"},
        {"values": {"title": 3}},
        {"work": None},
        {"key": None},
    ],
)
def test_a_payload_of_another_shape_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload):
        read_payload({**build(), **change}, tmp_path, "main")


def test_only_files_to_show_make_an_intent(tmp_path: Path) -> None:
    metadata = Asset(AssetRole.METADATA, 0, "sea/77.json", 2, "", "application/json")
    with pytest.raises(InvalidPayload, match="no file"):
        read_payload(build(assets=[metadata]), tmp_path, "main")
