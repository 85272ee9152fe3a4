"""What a consumer is told of a work: why it was found and what its files are, frozen with the job."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pixivflow.domain.candidate import MAX_TAGS_LISTED, asset_descriptor, describe, matched_tags
from pixivflow.domain.cell import CellState
from pixivflow.domain.job import CellRecord, JobRecord, JobState, PickRecord
from pixivflow.domain.reason import Reason
from pixivflow.domain.result import MAX_CANDIDATES, project_result
from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Author, Tag, Work, WorkRef, WorkType

TARGET = Target(
    id="t", type=WorkType.ILLUSTRATION, mode=Mode.SEARCH, tag="風景 -夜", search_target="exact_match_for_tags"
)
WORK = Work(
    ref=WorkRef(WorkType.ILLUSTRATION, "5"),
    title="Night train",
    author=Author("9", "Aoi"),
    tags=(Tag("風景", "landscape"), Tag("夜"), Tag("オリジナル")),
    created_at=datetime(2026, 12, 1, tzinfo=UTC),
    page_count=2,
    bookmarks=7,
)
PAGE = Asset(AssetRole.PAGE, 0, "illustrations/5_x_1.jpg", 10, "0" * 64, "image/jpeg", 600, 800)


@pytest.mark.parametrize(
    ("words", "how", "expected"),
    [
        ("風景", "exact_match_for_tags", {"風景": 1.0}),
        ("ﾌｳｹｲ", "exact_match_for_tags", {}),
        ("LANDSCAPE", "exact_match_for_tags", {"風景": 1.0}),  # the translated name, compared without case
        ("風", "exact_match_for_tags", {}),
        ("風", "partial_match_for_tags", {"風景": 0.5}),
        ("-夜", "exact_match_for_tags", {}),  # an excluded word matches nothing
    ],
)
def test_a_matched_tag_is_a_seed_and_every_other_only_tagged(words: str, how: str, expected: dict[str, float]) -> None:
    told = matched_tags(WORK.tags, replace(TARGET, tag=words, search_target=how))
    assert [tag["tag"] for tag in told] == ["風景", "夜", "オリジナル"]
    assert {tag["tag"]: tag["weight"] for tag in told if tag["source"] == "seed"} == expected
    assert all("weight" not in tag for tag in told if tag["source"] == "tagged")


def test_a_broken_record_with_a_thousand_tags_is_bounded() -> None:
    assert len(matched_tags([Tag(f"t{n}") for n in range(1000)], TARGET)) == MAX_TAGS_LISTED


def test_only_a_search_has_words() -> None:
    told = matched_tags(WORK.tags, replace(TARGET, mode=Mode.RANKING))
    assert {tag["source"] for tag in told} == {"tagged"}


def test_a_file_is_described_as_the_protocol_describes_files() -> None:
    assert asset_descriptor(WORK.ref, PAGE) == {
        "asset_id": "illustration-5-page-0",
        "type": "image",
        "role": "primary",
        "source": "pixiv",
        "quality": "custom",
        "mime": "image/jpeg",
        "bytes": 10,
        "hash": "sha256:" + "0" * 64,
        "width": 600,
        "height": 800,
        "locator": {"kind": "path", "value": "illustrations/5_x_1.jpg"},
        "metadata": {"part": "page", "number": 0},
    }


@pytest.mark.parametrize("role", AssetRole)
def test_every_role_has_a_description(role: AssetRole) -> None:
    told = asset_descriptor(WORK.ref, replace(PAGE, role=role, quality=AssetQuality.DERIVED, key="gif", duration_ms=5))
    assert told["asset_id"].endswith("-gif")
    assert told["metadata"]["duration_ms"] == 5
    assert told["source"] == ("pixiv" if role is AssetRole.TEXT else "generated")


def job(picks: tuple[PickRecord, ...]) -> JobRecord:
    cell = CellRecord("t", 0, "illustration", CellState.STORED, picks=picks)
    return JobRecord(
        id="j", seq=1, type="candidate_search", state=JobState.SUCCEEDED, plan_id="p", account="a", trigger="manual",
        created_at=1, updated_at=2, finished_at=2, phase="done", cells=(cell,),
    )  # fmt: skip


def pick(number: int, state: CellState = CellState.STORED, described: str | None = None) -> PickRecord:
    reason = Reason.DOWNLOAD_FAILED if state is CellState.FAILED else None
    return PickRecord(WorkRef(WorkType.ILLUSTRATION, str(number)), number, state, reason, "cut", "", described)


def test_the_result_shows_what_was_frozen_and_survives_damage_of_it() -> None:
    frozen = describe(WORK, TARGET, [PAGE])
    result = project_result(job((pick(1, described=json.dumps(frozen)), pick(2, described="{broken"))))
    first, second = result["candidates"]
    assert (first["assets"], first["tags"][0]["source"], first["metadata"]["bookmarks"]) == (
        frozen["assets"],
        "seed",
        7,
    )
    assert (first["title"], second.get("assets")) == ("Night train", None)
    assert second["url"] == "https://www.pixiv.net/artworks/2"


def test_a_success_names_what_failed_beside_it_and_what_was_cut() -> None:
    many = tuple(pick(number) for number in range(1, MAX_CANDIDATES + 4))
    result = project_result(job((*many, pick(900, CellState.FAILED))))
    assert (len(result["candidates"]), result["omitted"]) == (MAX_CANDIDATES, 3)
    assert result["incomplete"] == [{"work_id": "900", "reason": "source_error", "message": "cut"}]
