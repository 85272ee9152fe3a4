"""Which hosts are asked, and by which name."""

from __future__ import annotations

from typing import Any

import pytest

from pixivflow.sources.pixiv.config import PixivSourceConfig, app_headers
from pixivflow.sources.pixiv.endpoints import Endpoints, ForeignAddress, site_url

LOCAL = Endpoints(
    "http://127.0.0.1:1/api", "http://127.0.0.1:1/oauth/", "http://127.0.0.1:1/www", "http://127.0.0.1:1/media"
)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://app-api.pixiv.net/v1/a?b=%E7%A9%BA&c", "http://127.0.0.1:1/api/v1/a?b=%E7%A9%BA&c"),
        ("https://oauth.secure.pixiv.net/auth/token", "http://127.0.0.1:1/oauth/auth/token"),
        ("https://www.pixiv.net/ajax/novel/1", "http://127.0.0.1:1/www/ajax/novel/1"),
        ("https://i.pximg.net/img/1_p0.png", "http://127.0.0.1:1/media/img/1_p0.png"),
        ("https://s.pximg.net/common/x.png", "http://127.0.0.1:1/media/common/x.png"),
        ("https://I.PXIMG.NET:443/a#fragment", "http://127.0.0.1:1/media/a"),
        ("https://i.pximg.net", "http://127.0.0.1:1/media/"),
    ],
)
def test_the_sites_hosts_go_to_their_bases(url: Any, asked: Any) -> None:
    assert LOCAL.route(url) == asked


@pytest.mark.parametrize(
    "url", ["https://i.pximg.net/a?b=1", "https://s.pximg.net/a", "https://app-api.pixiv.net/v1/x"]
)
def test_by_default_addresses_stay_what_they_are(url: Any) -> None:
    assert Endpoints().route(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://i.pximg.net/a",
        "https://i.pximg.net.evil.example/a",
        "https://evil.example/i.pximg.net/a",
        "https://i.pximg.net@evil.example/a",
        "https://user:pw@i.pximg.net/a",
        "https://i.pximg.net:8443/a",
        "https://i.pximg.net:x/a",
        "https://i.pximg.net./a",
        "https://xi.pximg.net/a",
        "https://i.pximg.net\\@evil.example/a",
        "https://i.pximg.net/a\n",
        "https://i.pximg.net/a b",
        "https://i.pximg.net/ä",
        "https://i.pximg.net/../api/x",
        "https://i.pximg.net/%2e%2e/api/x",
        "https://i.pximg.net/" + "a" * 5000,
        "//i.pximg.net/a",
        "i.pximg.net/a",
        "file:///etc/passwd",
        "",
        "http://127.0.0.1:1/media/a",
    ],
)
def test_no_other_address_is_asked(url: Any) -> None:
    with pytest.raises(ForeignAddress):
        LOCAL.route(url)
    with pytest.raises(ForeignAddress):
        LOCAL.route_media(url)


def test_media_hosts_only() -> None:
    with pytest.raises(ForeignAddress):
        LOCAL.route_media("https://app-api.pixiv.net/v1/x")
    assert LOCAL.route_media("https://s.pximg.net/x") == "http://127.0.0.1:1/media/x"
    assert LOCAL.unroute_media("http://127.0.0.1:1/media/x?y") == "https://i.pximg.net/x?y"
    assert LOCAL.unroute_media("http://127.0.0.1:1/mediaevil/x") == "http://127.0.0.1:1/mediaevil/x"


def test_addresses_of_the_site() -> None:
    assert site_url("h", "/p", {"a": "空 b"}) == "https://h/p?a=%E7%A9%BA+b"
    assert site_url("h", "/p", "a=1&b[]=2") == "https://h/p?a=1&b[]=2"
    assert site_url("h", "/p") == "https://h/p"


@pytest.mark.parametrize(
    ("agent", "system", "release", "version"),
    [
        ("PixivIOSApp/7.19.1 (iOS 16.7.2; iPhone12,8)", "ios", "16.7.2", "7.19.1"),
        ("PixivAndroidApp/5.0.234 (Android 11; Pixel 6)", "android", "11", "5.0.234"),
        ("Mozilla/5.0", "ios", "14.6", "7.13.3"),
    ],
)
def test_the_headers_agree_with_the_user_agent(agent: Any, system: Any, release: Any, version: Any) -> None:
    headers = app_headers(agent)
    assert (headers["App-OS"], headers["App-OS-Version"], headers["App-Version"]) == (system, release, version)
    assert headers["Referer"] == "https://app-api.pixiv.net/"


@pytest.mark.parametrize(
    "bad", [{"proxy": "socks5://h:1"}, {"retries": -1}, {"pacing_s": -1.0}, {"media_connections": 0}]
)
def test_settings_that_cannot_work_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"proxies|negative|connection"):
        PixivSourceConfig(**bad)
