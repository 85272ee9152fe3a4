"""What the sandbox saw: counters that tests assert on. Never holds a token, a header value or a body."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

_HIDDEN: Final = frozenset(
    ("access_token", "refresh_token", "client_secret", "code", "code_verifier", "code_challenge", "token")
)


def plain_query(query: str) -> str:
    """A query string with the values of secret parameters taken out."""
    if not query:
        return ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return urlencode([(key, "***" if key.lower() in _HIDDEN else value) for key, value in pairs])


class Stats:
    """Counts requests by route, host, status and time. `clock` is monotonic seconds."""

    def __init__(self, *, clock: Callable[[], float], recent: int = 200) -> None:
        self._clock = clock
        self._recent_max = recent
        self._active = 0
        self._active_token = 0
        self.reset()

    def reset(self) -> None:
        """Start over. Requests in progress stay counted as concurrent."""
        self._started = self._clock()
        self._total = 0
        self._bytes = 0
        self._token_calls = 0
        self._routes: Counter[str] = Counter()
        self._hosts: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._per_second: Counter[int] = Counter()
        self._max_active = self._active
        self._max_active_token = self._active_token
        self._recent: deque[dict[str, Any]] = deque(maxlen=self._recent_max)

    def begin(
        self, *, route: str, site: str, method: str, path: str, query: str, headers: Iterable[str]
    ) -> dict[str, Any]:
        """Count a request that starts; the returned entry goes to `end`."""
        now = self._clock()
        self._total += 1
        self._routes[route] += 1
        self._hosts[site] += 1
        self._per_second[int(now - self._started)] += 1
        self._active += 1
        self._max_active = max(self._max_active, self._active)
        if route == "oauth.token":
            self._token_calls += 1
            self._active_token += 1
            self._max_active_token = max(self._max_active_token, self._active_token)
        entry = {
            "route": route,
            "site": site,
            "method": method,
            "path": path,
            "query": plain_query(query),
            "at_s": round(now - self._started, 4),
            "status": None,
            "headers": list(headers),
        }
        self._recent.append(entry)
        return entry

    def end(self, entry: dict[str, Any], *, status: int | None, sent: int) -> None:
        """Count a request that is over; `status` None stands for a connection dropped without an answer."""
        entry["status"] = status
        self._statuses[str(status) if status is not None else "dropped"] += 1
        self._bytes += sent
        self._active -= 1
        if entry["route"] == "oauth.token":
            self._active_token -= 1

    def document(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {
            "total": self._total,
            "routes": dict(sorted(self._routes.items())),
            "hosts": dict(sorted(self._hosts.items())),
            "statuses": dict(sorted(self._statuses.items())),
            "token_calls": self._token_calls,
            "active": self._active,
            "max_concurrent": self._max_active,
            "max_concurrent_token_calls": self._max_active_token,
            "bytes": self._bytes,
            "peak_requests_per_s": max(self._per_second.values(), default=0),
            "elapsed_s": round(self._clock() - self._started, 4),
            "recent": list(self._recent),
        }
