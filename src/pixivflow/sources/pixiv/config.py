"""What a Pixiv source must be told, and the constants of the public app it speaks as.

The client pair and the salt are not secrets of anybody: they are built into the app that everybody installs, and every
open client carries the same ones. They stand here so that a real account works with nothing but its refresh token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pixivflow.sources.pixiv.endpoints import Endpoints

PUBLIC_CLIENT_ID = "MOBrBDS8blbauoSck0ZfDbtuzpyT"
PUBLIC_CLIENT_SECRET = "lsACyCD94FhDUtGTXi3QzcFE2uU1hqtDaKeqrdwj"  # noqa: S105 - public constant of the app
PUBLIC_HASH_SALT = "28c1fdd170a5204386cb1313c7077b34f83e4aaf4aa829ce78c231e05b0bae2c"

DEFAULT_USER_AGENT = "PixivIOSApp/7.13.3 (iOS 14.6; iPhone13,2)"
REFERER = "https://app-api.pixiv.net/"

_APP_AGENT = re.compile(r"Pixiv(IOS|Android)App/([0-9.]+) \((?:iOS|Android) ([0-9.]+)")


@dataclass(frozen=True, slots=True)
class PixivSourceConfig:
    """One account's settings. Times are seconds.

    Attributes:
        account: a name for people, used in messages.
        retries: repeats after a network failure, a timeout or a 5xx; 0 means one try.
        pacing_s: least time between the starts of two API requests; 0 switches pacing off, cooldowns still hold.
        max_wait_s: a cooldown longer than this is raised as RateLimited instead of waited for; None always waits.
        proxy: `http://` or `https://` proxy for every request of the account, the token call included.
        read_only_auth: never call the token endpoint; another process keeps the account's tokens fresh.
    """

    refresh_token: str | None = field(default=None, repr=False)
    account: str = "default"
    endpoints: Endpoints = field(default_factory=Endpoints)
    client_id: str = PUBLIC_CLIENT_ID
    client_secret: str = field(default=PUBLIC_CLIENT_SECRET, repr=False)
    user_agent: str = DEFAULT_USER_AGENT
    accept_language: str | None = None
    timeout_s: float = 30.0
    detail_timeout_s: float = 60.0
    media_timeout_s: float = 120.0
    archive_timeout_s: float = 300.0
    retries: int = 3
    pacing_s: float = 1.0
    max_wait_s: float | None = None
    media_connections: int = 6
    proxy: str | None = field(default=None, repr=False)
    read_only_auth: bool = False

    def __post_init__(self) -> None:
        if self.proxy is not None and not self.proxy.startswith(("http://", "https://")):
            raise ValueError("this version speaks to http and https proxies only")
        if self.retries < 0 or self.pacing_s < 0:
            raise ValueError("retries and pacing cannot be negative")
        if self.media_connections < 1:
            raise ValueError("at least one media connection is needed")


def app_headers(user_agent: str) -> dict[str, str]:
    """The headers that go with a user agent of the app, so that the two never tell different stories."""
    headers = {"User-Agent": user_agent, "Referer": REFERER}
    known = _APP_AGENT.match(user_agent)
    system, app, release = known.groups() if known else ("IOS", "7.13.3", "14.6")
    headers["App-OS"] = system.lower()
    headers["App-OS-Version"] = release
    headers["App-Version"] = app
    return headers
