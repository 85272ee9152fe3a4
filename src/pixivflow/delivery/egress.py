"""Where callbacks may go. The address comes from whoever submits a job, so it is hostile until it has passed here.

Two checks. `url_fault` reads the address alone and gives a clear reason when a job is submitted: a courtesy. The
boundary is at connect time: names are resolved, addresses the policy blocks are taken out, and the socket goes to the
address that was looked at, so that a name which changes its mind between check and connect gains nothing.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

Network = IPv4Network | IPv6Network

# What is not the public internet, by the IANA special-purpose registries. Explicit, because the answers of the standard
# library's `is_private` and `is_global` changed between patch releases. The first line that holds an address names it.
NOT_PUBLIC: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b:1::/48", "local NAT64"),
    ("100::/64", "discard"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_NOT_PUBLIC: tuple[tuple[Network, str], ...] = tuple((ip_network(block), name) for block, name in NOT_PUBLIC)
_GLOBAL_V6 = IPv6Network("2000::/3")
# Here the IPv6 address is only another spelling of an IPv4 one, which decides. Teredo and 6to4 are refused whole.
_EMBEDDINGS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))

_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.-])?\Z")
_NUMERIC_END = re.compile(r"(?:\A|\.)(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?\Z")


class BlockedAddress(OSError):
    """A connection the policy forbids. An OSError, so that connecting treats it as one more address that fails."""


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Who may be called.

    Attributes:
        allow_hosts: exact hosts, or `*.suffix` for every host below one; empty for any host.
        block_private: refuse addresses that are not on the public internet.
        allow_addresses: networks (CIDR) that are open although `block_private` is on.

    Raises:
        ValueError: one of `allow_addresses` is no network.
    """

    allow_hosts: tuple[str, ...] = ()
    block_private: bool = False
    allow_addresses: tuple[str, ...] = ()
    _open: tuple[Network, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_open", tuple(ip_network(block) for block in self.allow_addresses))

    def address_fault(self, address: str) -> str | None:
        """Why an address must not be connected to, None when it may."""
        if not self.block_private:
            return None
        kind = address_kind(address)
        if kind is None:
            return None
        return None if _is_in(_spelled(address), self._open) else f"the address is not a public one ({kind})"

    def allows_host(self, host: str) -> bool:
        """Whether the list of hosts has this one."""
        name = _bare(host)
        return not self.allow_hosts or any(_matches(name, _bare(pattern)) for pattern in self.allow_hosts)


def address_kind(address: str) -> str | None:
    """What kind of special address this is, None for one on the public internet.

    Raises:
        ValueError: it is no IP address.
    """
    for spelling in _spelled(address):
        if isinstance(spelling, IPv6Address) and any(spelling in block for block in _EMBEDDINGS):
            continue
        for block, name in _NOT_PUBLIC:
            if spelling.version == block.version and spelling in block:
                return name
        if isinstance(spelling, IPv6Address) and spelling not in _GLOBAL_V6:
            return "reserved"
    return None


def url_fault(text: str, policy: EgressPolicy) -> str | None:
    """Why an address must not be called, None when it may. Asks nobody; holds nothing secret from the address."""
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in text):
        return "it holds white space, a control character or a backslash"
    try:
        # The same parser that the connection uses: a check by another one would check another address.
        url = URL(text)
        host, port = url.raw_host, url.port
        authority = urlsplit(text).netloc  # as written: an empty user name is one too
    except ValueError:
        return "it is no valid address"
    if url.scheme not in ("http", "https") or not host:
        return "it must be an absolute http:// or https:// address"
    if "@" in authority:
        return "it must not hold a user name or password"
    if port == 0:
        return "its port is not usable"
    return _host_fault(host, policy)


def same_origin(one: URL, other: URL) -> bool:
    """Whether two addresses have the scheme, host and port in common."""
    return (one.scheme, one.raw_host, one.port) == (other.scheme, other.raw_host, other.port)


def guarded_session(policy: EgressPolicy, resolver: AbstractResolver | None = None) -> aiohttp.ClientSession:
    """A session that connects only where the policy allows, without kept connections, cookies or a proxy.

    A proxy would resolve names by itself, out of reach of the policy; so there is none. Names are resolved anew for
    each connection by `resolver` (the system's when None).
    """

    def open_socket(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        fault = policy.address_fault(str(address[0]))
        if fault is not None:
            raise BlockedAddress(fault)
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(
        resolver=GuardedResolver(policy, resolver or aiohttp.ThreadedResolver()),
        use_dns_cache=False,
        force_close=True,
        socket_factory=open_socket,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,  # nobody reads the answer's body; unpacking it would only be a way to fill memory
    )


class GuardedResolver(AbstractResolver):
    """Resolves names and gives only addresses the policy allows."""

    def __init__(self, policy: EgressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The allowed addresses of a host.

        Raises:
            BlockedAddress: it has addresses, and none is allowed.
        """
        found = await self._inner.resolve(host, port, family)
        faults = [self._policy.address_fault(entry["host"]) for entry in found]
        allowed = [entry for entry, fault in zip(found, faults, strict=True) if fault is None]
        if found and not allowed:
            raise BlockedAddress(faults[0])
        return allowed

    async def close(self) -> None:
        """Close the resolver below."""
        await self._inner.close()


def _host_fault(host: str, policy: EgressPolicy) -> str | None:
    if ":" not in host and not _HOST_NAME.match(host):
        return "its host is no host name"
    literal = _literal(host)
    if literal is None and (":" in host or _NUMERIC_END.search(host)):
        # `127.1` and `0x7f000001` are addresses to some readers and names to others.
        return "its host is an address in an unusual spelling"
    if not policy.allows_host(host):
        return f"the host {_bare(host)[:100]!r} is not on the list of allowed hosts"
    if literal is not None:
        return policy.address_fault(literal)
    name = _bare(host)
    if policy.block_private and not policy.allow_addresses and (name == "localhost" or name.endswith(".localhost")):
        return "the address is not a public one (loopback)"
    return None


def _literal(host: str) -> str | None:
    try:
        found = ip_address(host)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.scope_id is not None:
        return None  # names an interface of this machine
    return str(found)


def _spelled(address: str) -> tuple[IPv4Address | IPv6Address, ...]:
    """An address, and the IPv4 address it is another spelling of, if it is one."""
    found = ip_address(address)
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            found = IPv6Address(int(found))
        if any(found in block for block in _EMBEDDINGS):
            return found, IPv4Address(int(found) & 0xFFFF_FFFF)
    return (found,)


def _is_in(spellings: Iterable[IPv4Address | IPv6Address], blocks: Iterable[Network]) -> bool:
    return any(one.version == block.version and one in block for one in spellings for block in blocks)


def _bare(host: str) -> str:
    return host.casefold().strip("[]").removesuffix(".")


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) and len(name) >= len(pattern) if pattern.startswith("*.") else name == pattern
