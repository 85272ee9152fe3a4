"""Which bearer token goes with which address: the longest configured prefix decides, in whole path segments."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from yarl import URL

_Origin = tuple[str, str | None, int | None]


class Credentials:
    """Tokens by address prefix. A token never leaves for another scheme, host, port or path."""

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        """Take pairs of (address prefix, token)."""
        self._entries = sorted(
            ((_origin(url), _segments(url), token) for url, token in ((URL(p.rstrip("/")), t) for p, t in entries)),
            key=lambda entry: len(entry[1]),
            reverse=True,
        )

    def token_for(self, url: URL) -> str | None:
        """The token for an address, None when no prefix fits."""
        if not self._entries or _climbs(url):
            return None
        origin, path = _origin(url), _segments(url)
        for wanted, prefix, token in self._entries:
            if wanted == origin and path[: len(prefix)] == prefix:
                return token
        return None


def _origin(url: URL) -> _Origin:
    return url.scheme, url.raw_host, url.port


def _segments(url: URL) -> list[str]:
    """Path segments; a trailing slash of a prefix adds none."""
    path = url.raw_path.removeprefix("/")
    return path.split("/") if path else []


def _climbs(url: URL) -> bool:
    """Whether a server might read the path as one that leads out of the prefix, whatever is encoded in it."""
    return any(part in {".", ".."} for part in unquote(unquote(url.raw_path)).replace("\\", "/").split("/"))
