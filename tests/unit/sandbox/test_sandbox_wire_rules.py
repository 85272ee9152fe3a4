"""Locating hosts, ranges, statistics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.sandbox.exchange import Answer
from pixivflow.sandbox.routes import ROUTES, find, locate, media_route
from pixivflow.sandbox.sending import not_modified, ranged
from pixivflow.sandbox.stats import Stats, plain_query


@pytest.mark.parametrize(
    ("host", "path", "expected"),
    [
        ("app-api.pixiv.net", "/v1/illust/detail", ("app", "/v1/illust/detail")),
        ("app-api.pixiv.net:443", "/v1/illust/detail", ("app", "/v1/illust/detail")),
        ("oauth.secure.pixiv.net", "/auth/token", ("oauth", "/auth/token")),
        ("127.0.0.1:8080", "/oauth/auth/token", ("oauth", "/auth/token")),
        ("127.0.0.1:8080", "/auth/token", ("oauth", "/auth/token")),
        ("127.0.0.1:8080", "/app/v1/illust/detail", ("app", "/v1/illust/detail")),
        ("127.0.0.1:8080", "/api/v1/illust/detail", ("app", "/v1/illust/detail")),
        ("127.0.0.1:8080", "/v2/illust/follow", ("app", "/v2/illust/follow")),
        ("127.0.0.1:8080", "/web/v1/login", ("app", "/web/v1/login")),
        ("127.0.0.1:8080", "/app/web/v1/login", ("app", "/web/v1/login")),
        ("127.0.0.1:8080", "/web/ajax/novel/5", ("web", "/ajax/novel/5")),
        ("[::1]:8080", "/ajax/novel/5", ("web", "/ajax/novel/5")),
        ("127.0.0.1", "/media/img-original/a.jpg", ("media", "/img-original/a.jpg")),
        ("127.0.0.1", "/media/common/images/limit_x_360.png", ("media", "/common/images/limit_x_360.png")),
        ("127.0.0.1", "/static/common/images/x.png", ("static", "/common/images/x.png")),
        ("127.0.0.1", "/novel/show.php", ("web", "/novel/show.php")),
        ("127.0.0.1", "/novel/777.png", ("media", "/novel/777.png")),
        ("i.pximg.net", "/c/1/x", ("media", "/c/1/x")),
        ("i.pximg.net", "/__sandbox__/stats", ("control", "/__sandbox__/stats")),
        ("127.0.0.1", "/elsewhere", ("unknown", "/elsewhere")),
        ("127.0.0.1", "/", ("unknown", "/")),
    ],
)
def test_which_host_is_meant(host: str, path: str, expected: tuple[str, str]) -> None:
    assert locate(host, path) == expected


def test_every_route_is_found_under_its_own_path() -> None:
    for route in ROUTES:
        found = find(route.site, route.path.replace("{id}", "5"))
        assert found is not None
        assert found[0].name == route.name
    assert find("app", "/v9/none") is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/img-original/img/x/1_p0.jpg", "media.original"),
        ("/c/360x360_70/img-master/img/x/1_p0_square1200.jpg", "media.resized"),
        ("/img-master/img/x/1_p0_master1200.jpg", "media.resized"),
        ("/img-zip-ugoira/img/x/1_ugoira600x600.zip", "media.zip"),
        ("/c/240x480_80/novel-cover-master/img/x/1_y_master1200.jpg", "media.cover"),
        ("/c/1200x1200/novel/img/x/1_y.jpg", "media.uploaded"),
        ("/user-profile/img/x/1_y_170.jpg", "media.avatar"),
        ("/common/images/limit_x_360.png", "media.placeholder"),
        ("/other", "media.other"),
    ],
)
def test_media_route_names(path: str, name: str) -> None:
    assert media_route(path) == name


BODY = bytes(range(100))
WHOLE = Answer(200, body=BODY, content_type="image/jpeg", headers={"ETag": '"e"', "Last-Modified": "then"})


@pytest.mark.parametrize(
    ("wanted", "status", "expected", "shown"),
    [
        (None, 200, BODY, None),
        ("bytes=10-19", 206, BODY[10:20], "bytes 10-19/100"),
        ("bytes=90-", 206, BODY[90:], "bytes 90-99/100"),
        ("bytes=-5", 206, BODY[95:], "bytes 95-99/100"),
        ("bytes=-500", 206, BODY, "bytes 0-99/100"),
        ("bytes=50-5000", 206, BODY[50:], "bytes 50-99/100"),
        ("bytes=100-", 416, b"", "bytes */100"),
        ("bytes=20-10", 416, b"", "bytes */100"),
        ("bytes=-0", 416, b"", "bytes */100"),
        ("bytes=0-1,5-6", 200, BODY, None),
        ("lines=1-2", 200, BODY, None),
    ],
)
def test_ranges(wanted: str | None, status: int, expected: bytes, shown: str | None) -> None:
    answer = ranged(WHOLE, wanted, None)
    assert (answer.status, answer.payload(), answer.headers.get("Content-Range")) == (status, expected, shown)


@given(first=st.integers(0, 99), length=st.integers(1, 100))
def test_any_inner_range_is_that_part(first: int, length: int) -> None:
    answer = ranged(WHOLE, f"bytes={first}-{first + length - 1}", None)
    assert answer.payload() == BODY[first : first + length]


def test_a_range_of_another_version_is_not_used() -> None:
    assert ranged(WHOLE, "bytes=1-2", '"other"').status == 200
    assert ranged(WHOLE, "bytes=1-2", '"e"').status == 206
    assert ranged(WHOLE, "bytes=1-2", "then").status == 206
    assert not_modified(WHOLE, {"If-None-Match": '"e"'}).status == 304
    assert not_modified(WHOLE, {"If-None-Match": '"x"'}).status == 200


def test_statistics_count_and_hide_secrets() -> None:
    now = [10.0]
    stats = Stats(clock=lambda: now[0], recent=2)
    begun = [
        stats.begin(route=route, site="app", method="GET", path="/p", query="code=abc&word=x", headers=["Host"])
        for route in ("oauth.token", "oauth.token", "illust.detail")
    ]
    now[0] = 11.5
    begun.append(stats.begin(route="illust.detail", site="app", method="GET", path="/p", query="", headers=[]))
    for entry, status in zip(begun, (200, 400, None, 200), strict=True):
        stats.end(entry, status=status, sent=10)
    shown = stats.document()
    assert shown["total"] == 4
    assert shown["routes"] == {"illust.detail": 2, "oauth.token": 2}
    assert shown["statuses"] == {"200": 2, "400": 1, "dropped": 1}
    assert (shown["token_calls"], shown["max_concurrent"], shown["max_concurrent_token_calls"]) == (2, 4, 2)
    assert shown["peak_requests_per_s"] == 3
    assert shown["bytes"] == 40
    assert shown["active"] == 0
    assert [entry["at_s"] for entry in shown["recent"]] == [0.0, 1.5]
    assert shown["recent"][0]["query"] == "code=%2A%2A%2A&word=x"
    stats.reset()
    assert stats.document()["total"] == 0


def test_plain_queries() -> None:
    assert plain_query("") == ""
    assert plain_query("refresh_token=s3cret&a=&b=1") == "refresh_token=%2A%2A%2A&a=&b=1"
