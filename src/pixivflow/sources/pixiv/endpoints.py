"""Where requests go: the site's hosts, and the configured base addresses that may stand in for them.

Addresses also come out of the site's answers (pictures, the next page, redirects), and an answer is not to be trusted
with the choice of a host. `Endpoints` therefore knows a closed list of hosts and refuses every other one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlencode, urlsplit

API_HOST = "app-api.pixiv.net"
OAUTH_HOST = "oauth.secure.pixiv.net"
WEB_HOST = "www.pixiv.net"
IMAGE_HOST = "i.pximg.net"
STATIC_HOST = "s.pximg.net"
MEDIA_HOSTS = frozenset({IMAGE_HOST, STATIC_HOST})

_DEFAULT_API = f"https://{API_HOST}"
_DEFAULT_OAUTH = f"https://{OAUTH_HOST}"
_DEFAULT_WEB = f"https://{WEB_HOST}"
_DEFAULT_MEDIA = f"https://{IMAGE_HOST}"

# What may stand in an address as it goes over the wire. Spaces, controls, backslashes and letters outside ASCII are
# read differently by different parsers, which is how a host check gets fooled.
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+", re.ASCII)


class ForeignAddress(ValueError):
    """An address that is not one of the site's. The text names the host, never the whole address."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Base addresses. A request to one of the site's hosts goes to its base with path and query unchanged.

    Attributes:
        media: stands for i.pximg.net; when it is configured, for s.pximg.net as well.
    """

    api: str = _DEFAULT_API
    oauth: str = _DEFAULT_OAUTH
    web: str = _DEFAULT_WEB
    media: str = _DEFAULT_MEDIA

    def route(self, url: str) -> str:
        """The address to ask instead of `url`. Raises ForeignAddress for any host but the site's own."""
        host, tail = _split(url)
        base = self._base(host)
        if base is None:
            raise ForeignAddress(f"not an address of the site: host {host!r}")
        return base.rstrip("/") + tail

    def route_media(self, url: str) -> str:
        """Like `route`, for the media hosts only."""
        host, tail = _split(url)
        base = self._base(host) if host in MEDIA_HOSTS else None
        if base is None:
            raise ForeignAddress(f"not an address of the site's media hosts: host {host!r}")
        return base.rstrip("/") + tail

    def unroute_media(self, url: str) -> str:
        """Give an address below the media base its site name back (a redirect answer may use either)."""
        base = self.media.rstrip("/")
        if url.startswith(base + "/"):
            return f"https://{IMAGE_HOST}{url[len(base) :]}"
        return url

    def _base(self, host: str) -> str | None:
        if host == STATIC_HOST and self.media == _DEFAULT_MEDIA:
            return f"https://{STATIC_HOST}"
        bases = {
            API_HOST: self.api,
            OAUTH_HOST: self.oauth,
            WEB_HOST: self.web,
            IMAGE_HOST: self.media,
            STATIC_HOST: self.media,
        }
        return bases.get(host)


def site_url(host: str, path: str, params: Mapping[str, str] | str = "") -> str:
    """An address of the site. `params` is a mapping, or a query that is already encoded."""
    query = params if isinstance(params, str) else urlencode(params)
    return f"https://{host}{path}?{query}" if query else f"https://{host}{path}"


def _split(url: str) -> tuple[str, str]:
    """Host and path-with-query of a strict https address."""
    if not _PLAIN.fullmatch(url.lower()) or len(url) > 4096:
        raise ForeignAddress("not a plain https address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ForeignAddress("not a readable address") from None
    host = parts.hostname or ""
    if parts.scheme != "https":
        raise ForeignAddress(f"only https addresses are fetched: host {host!r}")
    if "@" in parts.netloc or port not in (None, 443):
        raise ForeignAddress(f"an address with a user or a port is refused: host {host!r}")
    path = parts.path or "/"
    # Dot segments could climb out of a base that has a path of its own.
    if any(segment in (".", "..") for segment in unquote(path).split("/")):
        raise ForeignAddress(f"an address with dot segments is refused: host {host!r}")
    return host, path + (f"?{parts.query}" if parts.query else "")
