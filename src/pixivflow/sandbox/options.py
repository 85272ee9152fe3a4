"""What a sandbox can be told, and where it can be reached once it runs. Plain values without behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from pixivflow.sandbox.jst import utc_now


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Everything that shapes one sandbox.

    Two sandboxes with equal `seed`, `works`, `novels`, `users` and `anchor` serve the same world byte for byte.
    """

    seed: int = 1
    works: int = 200
    """Number of illustrations, manga and animations together."""
    novels: int | None = None
    """Number of novels; None is one for five works, at least five."""
    users: int = 12
    """Number of authors, at least one."""
    anchor: date | None = None
    """JST day on whose midnight the newest works appeared; None is the current JST day by `now`.

    It moves dates (and so media paths) only: ids, titles, tags and pixels depend on the other fields alone.
    """
    page_size: int = 30
    latency_ms: float = 0
    """Added before every answer except those under `/__sandbox__`."""
    now: Callable[[], datetime] = utc_now
    """Aware current time: token lives, "last day" searches, the hour at which rankings appear."""

    require_auth: bool = True
    refresh_token: str | None = None
    """The only refresh token accepted; None accepts any that is not empty."""
    client: tuple[str, str] | None = None
    """The only `(client_id, client_secret)` accepted; None accepts any."""
    token_life_s: float = 3600
    code_life_s: float = 60
    rotate_refresh: bool = False
    """Answer each refresh with a new refresh token."""
    old_refresh_dies: bool = True
    """With rotation: whether the token just used stops working."""
    auth_error_status: int = 400
    """Status for a missing, wrong or expired access token: 400 as the site does, 401 for compatibility tests."""
    strict_hash: bool = False
    """Demand the `X-Client-Time` and `X-Client-Hash` headers on token calls."""
    hash_salt: str | None = field(default=None, repr=False)
    """With `strict_hash`: the salt to verify the hash with; None only demands a well-formed one."""
    premium: bool = True
    """Whether the account may sort by popularity; if not, such a search falls back to newest first."""

    picture_size: tuple[int, int] = (600, 800)
    """Width and height of an original in pixels."""
    media_cache_mb: int = 256
    recent_requests: int = 200
    """How many requests the statistics remember one by one."""
    proxy_auth: tuple[str, str] | None = field(default=None, repr=False)
    """User and password the CONNECT proxy demands; None lets everyone through."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a running sandbox listens. Optional parts are None when they were not asked for."""

    host: str
    port: int
    tls_port: int | None = None
    proxy_port: int | None = None
    ca_file: str | None = None

    @property
    def base_url(self) -> str:
        """Plain HTTP root, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def proxy_url(self) -> str | None:
        """Address of the CONNECT proxy, for clients that take one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return None if self.proxy_port is None else f"http://{host}:{self.proxy_port}"

    def endpoints(self) -> dict[str, str]:
        """Values for the config's `pixiv.endpoints`."""
        base = self.base_url
        return {"api": f"{base}/app", "oauth": f"{base}/oauth", "web": f"{base}/web", "media": f"{base}/media"}
