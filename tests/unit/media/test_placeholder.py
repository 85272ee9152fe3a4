"""Placeholders are known by their path, wherever the media host is sent to."""

from __future__ import annotations

import pytest

from pixivflow.domain.work import Restriction
from pixivflow.media.placeholder import placeholder_kind


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://s.pximg.net/common/images/limit_sanity_level_360.png", "sanity"),
        ("https://s.pximg.net/common/images/limit_mypixiv_360.png", "mypixiv"),
        ("https://s.pximg.net/common/images/limit_unviewable_360.png?x=1", "unviewable"),
        ("https://s.pximg.net/common/images/limit_unknown_360.png", "unknown"),
        ("https://s.pximg.net/common/images/limit_tomorrow_360.png", "unknown"),
        ("https://s.pximg.net/common/images/limit_sanity_level.webp", "sanity"),
        ("http://127.0.0.1:8123/media/common/images/limit_mypixiv_720.jpg#top", "mypixiv"),
    ],
)
def test_a_placeholder_names_its_restriction(url: str, expected: str) -> None:
    assert placeholder_kind(url) == expected
    assert Restriction(expected)


@pytest.mark.parametrize(
    "url",
    [
        "https://i.pximg.net/img-original/img/2025/02/03/00/03/17/1_p0.png",
        "https://i.pximg.net/common/images/limit_x_360.png/other.png",
        "https://i.pximg.net/?u=/common/images/limit_sanity_level_360.png",
        "https://[broken/common/images/limit_x_360.png",
        "",
    ],
)
def test_a_real_file_is_no_placeholder(url: str) -> None:
    assert placeholder_kind(url) is None
