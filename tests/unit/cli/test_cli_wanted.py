"""What an address or an id asks for."""

from __future__ import annotations

from datetime import date

import pytest

from pixivflow.cli.download.wanted import AUTHOR_LIMIT, of_url, wanted
from pixivflow.cli.exits import Exit, Stop
from pixivflow.config import check_config
from pixivflow.domain.target import Mode
from pixivflow.domain.work import WorkRef, WorkType

TODAY = date(2026, 3, 2)


def config(*targets: dict[str, object]):
    result = check_config({"targets": list(targets)}, {})
    assert result.config is not None, result.problems
    return result.config


PICS = {"id": "pics", "type": "illustration", "tag": "sea", "limit": 3}
ONE = {"id": "one", "type": "novel", "novelId": 77}


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("https://www.pixiv.net/artworks/123", WorkRef(WorkType.ILLUSTRATION, "123")),
        ("123", WorkRef(WorkType.ILLUSTRATION, "123")),
        ("https://www.pixiv.net/novel/show.php?id=9", WorkRef(WorkType.NOVEL, "9")),
    ],
)
def test_a_single_work(text, ref):
    (target,) = of_url(text, None)
    assert target.mode is Mode.WORK
    assert target.work_ref == ref
    assert target.limit == 1


def test_an_author_means_both_kinds_and_everything():
    targets = of_url("https://www.pixiv.net/users/5", None)
    assert [target.type for target in targets] == list(WorkType)
    assert all(target.mode is Mode.USER and target.limit == AUTHOR_LIMIT for target in targets)


def test_an_authors_novels_with_a_limit():
    (target,) = of_url("https://www.pixiv.net/users/5/novels", 4)
    assert (target.type, target.user_id, target.limit, target.scan_limit) == (WorkType.NOVEL, "5", 4, 4)


def test_a_tag_and_a_ranking():
    (tag,) = of_url("https://www.pixiv.net/tags/%E9%A2%A8%E6%99%AF/artworks", 2)
    assert (tag.mode, tag.tag, tag.limit) == (Mode.SEARCH, "風景", 2)
    (ranking,) = of_url("https://www.pixiv.net/ranking.php?mode=weekly&date=20260301", None)
    assert (ranking.mode, ranking.ranking_mode, ranking.ranking_date) == (Mode.RANKING, "week", date(2026, 3, 1))


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/artworks/1",
        "https://www.pixiv.net.evil.test/artworks/1",
        "https://www.pixiv.net/novel/series/5",
        "https://www.pixiv.net/users/5/bookmarks/artworks",
        "https://www.pixiv.net/about",
        "javascript:alert(1)",
        "\x1b[31m",
        "",
    ],
)
def test_other_addresses_are_refused_in_one_line(text):
    with pytest.raises(Stop) as caught:
        of_url(text, None)
    assert caught.value.code is Exit.USAGE
    assert "\n" not in caught.value.text
    assert "\x1b" not in caught.value.text


def test_configured_targets_by_id_with_a_limit():
    found = wanted(config(PICS, ONE), urls=[], ids=["pics", "one"], limit=7, today=TODAY)
    assert [(one.asked, one.target.limit) for one in found] == [("pics", 7), ("one", 10)]


def test_without_anything_named_every_target_is_meant():
    assert [one.asked for one in wanted(config(PICS, ONE), urls=[], ids=[], limit=None, today=TODAY)] == ["pics", "one"]


def test_nothing_to_do_is_a_mistake():
    with pytest.raises(Stop) as caught:
        wanted(config(), urls=[], ids=[], limit=None, today=TODAY)
    assert caught.value.code is Exit.USAGE


def test_an_unknown_target_names_the_nearest():
    with pytest.raises(Stop) as caught:
        wanted(config(PICS, ONE), urls=[], ids=["pisc"], limit=None, today=TODAY)
    assert caught.value.code is Exit.NOT_FOUND
    assert "pics" in caught.value.hint


def test_the_same_thing_twice_is_collected_once():
    found = wanted(config(), urls=["12", "https://www.pixiv.net/artworks/12"], ids=[], limit=None, today=TODAY)
    assert len(found) == 1


def test_an_author_is_told_apart_by_kind():
    found = wanted(config(), urls=["https://www.pixiv.net/users/5"], ids=[], limit=None, today=TODAY)
    assert len({one.asked for one in found}) == 2
