"""Two tokens that are not interchangeable: one for work on request, one for clocks and upkeep.

A token that is not configured closes its routes (503); a wrong one is refused (401). Both answers have the protocol's
older shape. No token, right or wrong, reaches a log.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import Final

from pixivflow.api.exchange import Headers, Reply, reply

_PREFIX: Final = b"Bearer "
NOT_CONFIGURED: Final = reply(503, {"status": "error", "error": "endpoint disabled: token not configured"})
UNAUTHORIZED: Final = reply(401, {"status": "error", "error": "unauthorized"}, (b"www-authenticate", b"Bearer"))


def _clean(token: str | None) -> str | None:
    return (token or "").strip() or None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The configured tokens, trimmed; a blank one counts as not configured.

    Attributes:
        manual: guards `/capabilities`, `/jobs…` and work on request (`PIXIVFLOW_REFETCH_TOKEN`).
        trigger: guards the clocks' and upkeep routes (`SCHEDULER_TRIGGER_TOKEN`).
    """

    manual: str | None = field(default=None, repr=False)
    trigger: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "manual", _clean(self.manual))
        object.__setattr__(self, "trigger", _clean(self.trigger))


class Guard:
    """Lets a request pass that carries one certain token."""

    def __init__(self, token: str | None) -> None:
        cleaned = _clean(token)
        self._expected = None if cleaned is None else cleaned.encode()

    def refusal(self, headers: Headers) -> Reply | None:
        """None when the request may pass, else the answer to give.

        The scheme is matched with its case, the token in constant time. Two Authorization headers are none: which of
        them a proxy in front has looked at cannot be known.
        """
        if self._expected is None:
            return NOT_CONFIGURED
        sent = [value for name, value in headers if name == b"authorization"]
        if len(sent) != 1 or not sent[0].startswith(_PREFIX):
            return UNAUTHORIZED
        passed = hmac.compare_digest(sent[0][len(_PREFIX) :].strip(), self._expected)
        return None if passed else UNAUTHORIZED


class UnsafeBind(Exception):
    """The address can be reached from elsewhere and the Job API has no token."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"refusing to listen on {host or '0.0.0.0'}: it can be reached from other machines and no token is "  # noqa: S104 - names the address in a message
            "configured (set PIXIVFLOW_REFETCH_TOKEN, or listen on 127.0.0.1)"
        )
        self.host = host


def check_bind(host: str, tokens: Tokens) -> None:
    """Whether `host` may be listened on with these tokens.

    Only `localhost` and loopback addresses count as private; any other name is taken as reachable.

    Raises:
        UnsafeBind: not without the manual token.
    """
    if tokens.manual is None and not is_loopback(host):
        raise UnsafeBind(host)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is this machine's own."""
    bare = host.strip().removeprefix("[").removesuffix("]").partition("%")[0]
    if bare.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
