"""Where callbacks may go: addresses as people and attackers spell them."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from pixivflow.delivery.egress import (
    NOT_PUBLIC,
    BlockedAddress,
    EgressPolicy,
    GuardedResolver,
    address_kind,
    same_origin,
    url_fault,
)

OPEN = EgressPolicy()
PUBLIC_ONLY = EgressPolicy(block_private=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://telepost:8080/api/bot1/v1/jobs/events",
        "https://hooks.example.org/a?b=c%20d",
        "http://127.0.0.1:9/x",
        "http://10.0.0.7/x",
        "http://[::1]:8080/x",
        "http://[fd00::7]/x",
        "http://localhost/x",
        "HTTP://Example.ORG./x",
        "https://xn--exmple-cua.org/",
        "https://exämple.org/路",
        "http://my_service-1.internal/x",
    ],
)
def test_the_default_is_open_also_to_private_places(url: str) -> None:
    assert url_fault(url, OPEN) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "telepost:8080/x",
        "//telepost/x",
        "/x",
        "ftp://a.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "unix:///run/docker.sock",
        "http://",
        "http:///x",
        "http://:80/",
        "http://a.example:0/",
        "http://a.example:99999/",
        "http://a.example:8x/",
        "http://user@a.example/",
        "http://user:s3cr3t@a.example/",
        "http://:s3cr3t@a.example/",
        "http://@a.example/",
        "http://a.example\\@b.example/",
        "http://a.example/\r\nX-Evil: 1",
        "http://a.example/a b",
        "http://a.example/\x00",
        "http://a.example/\u2028",
        " http://a.example/",
        "http://a.example\t/",
        "http://ex%61mple.org/",
        "http://a!b/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://1.2.3.4.5/",
        "http://a.0x1/",
    ],
)
def test_what_is_no_plain_http_address_is_refused_whatever_the_policy(url: str) -> None:
    fault = url_fault(url, OPEN)
    assert fault is not None
    assert "s3cr3t" not in fault


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "192.0.0.8",
        "198.18.0.1",
        "203.0.113.9",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:808:808::]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[4000::1]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
    ],
)
def test_what_is_not_public_is_refused_when_asked_for(host: str) -> None:
    fault = url_fault(f"http://{host}:8080/x", PUBLIC_ONLY)
    assert fault is not None
    assert "not a public one" in fault


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "[2606:4700::1111]",
     "[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "a.example", "localhost.example"],
)  # fmt: skip
def test_what_is_public_or_only_a_name_passes(host: str) -> None:
    assert url_fault(f"https://{host}/x", PUBLIC_ONLY) is None


def _block_members() -> st.SearchStrategy[tuple[str, str]]:
    def member(entry: tuple[str, str]) -> st.SearchStrategy[tuple[str, str]]:
        block = ip_network(entry[0])
        return st.integers(0, block.num_addresses - 1).map(lambda at: (str(block[at]), entry[1]))

    return st.sampled_from(NOT_PUBLIC).flatmap(member)


@given(_block_members())
def test_every_address_of_the_table_is_blocked(member: tuple[str, str]) -> None:
    address, _ = member
    assert address_kind(address) is not None
    assert PUBLIC_ONLY.address_fault(address) is not None
    assert OPEN.address_fault(address) is None


@given(st.integers(0, 2**32 - 1))
def test_an_embedded_address_is_judged_by_what_is_embedded(number: int) -> None:
    plain = IPv4Address(number)
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert address_kind(str(IPv6Address(prefix | number))) == address_kind(str(plain))
    assert address_kind(str(IPv6Address((0x2002 << 112) | (number << 80)))) == "6to4"
    assert address_kind(str(IPv6Address((0x20010000 << 96) | number))) == "Teredo"


@given(st.integers(0, 2**128 - 1))
def test_outside_the_global_block_only_public_spellings_pass(number: int) -> None:
    address = IPv6Address(number)
    if number >> 125 != 1 and not (number >> 32 == 0xFFFF or number >> 32 == 0x64FF9B << 64):
        assert address_kind(str(address)) is not None


@given(st.text(max_size=60))
def test_any_text_is_judged_and_never_raises(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://a.example/{text}"):
        fault = url_fault(candidate, EgressPolicy(("a.example",), block_private=True))
        if fault is None:
            url = URL(candidate)
            assert url.scheme in {"http", "https"}
            assert (url.raw_host or "").casefold().removesuffix(".") == "a.example"
            assert url.raw_user is None


def test_a_list_of_hosts_is_exact_or_by_suffix() -> None:
    policy = EgressPolicy(("telepost", "*.example.org", "10.0.0.7", "[::1]", "Mixed.Example."))
    for host in (
        "telepost",
        "a.example.org",
        "a.b.example.org",
        "A.EXAMPLE.ORG.",
        "10.0.0.7",
        "[::1]",
        "mixed.example",
    ):
        assert url_fault(f"http://{host}:1/x", policy) is None, host
    for host in ("example.org", "evil-example.org", "telepost.evil", "a.example.org.evil", "10.0.0.8", ".example.org"):
        assert url_fault(f"http://{host}:1/x", policy) is not None, host
    assert url_fault("http://evil/?token=s3cr3t", policy) == "the host 'evil' is not on the list of allowed hosts"


def test_named_networks_stay_open() -> None:
    policy = EgressPolicy(block_private=True, allow_addresses=("10.1.0.0/16", "::1/128"))
    assert url_fault("http://10.1.2.3/", policy) is None
    assert url_fault("http://[::ffff:10.1.2.3]/", policy) is None
    assert url_fault("http://[::1]/", policy) is None
    assert url_fault("http://10.2.0.1/", policy) is not None
    assert url_fault("http://localhost/", policy) is None, "what it resolves to decides"
    with pytest.raises(ValueError, match="host bits"):
        EgressPolicy(allow_addresses=("10.1.2.3/16",))


def test_an_interface_in_an_address_changes_nothing() -> None:
    assert address_kind("fe80::1%eth0") == "link-local"


def test_the_same_origin_is_scheme_host_and_port() -> None:
    here = URL("http://a.example/x")
    assert same_origin(here, URL("http://A.example:80/y?z"))
    for other in ("https://a.example/x", "http://a.example:81/x", "http://b.example/x", "http://a.example./x"):
        assert not same_origin(here, URL(other))


class _Answers(AbstractResolver):
    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.closed = False

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        return [{"hostname": host, "host": one, "port": port, "family": family, "proto": 0, "flags": 0}
                for one in self.addresses]  # fmt: skip

    async def close(self) -> None:
        self.closed = True


async def test_only_allowed_addresses_of_a_name_are_given_on() -> None:
    inner = _Answers("10.0.0.1", "8.8.8.8", "::ffff:127.0.0.1", "2606:4700::1111")
    guard = GuardedResolver(PUBLIC_ONLY, inner)
    found = await guard.resolve("a.example", 443)
    assert [entry["host"] for entry in found] == ["8.8.8.8", "2606:4700::1111"]
    await guard.close()
    assert inner.closed


async def test_a_name_with_no_allowed_address_is_blocked() -> None:
    with pytest.raises(BlockedAddress, match="link-local"):
        await GuardedResolver(PUBLIC_ONLY, _Answers("169.254.169.254", "10.0.0.1")).resolve("a.example")
    assert await GuardedResolver(PUBLIC_ONLY, _Answers()).resolve("a.example") == []
    assert len(await GuardedResolver(OPEN, _Answers("10.0.0.1")).resolve("a.example")) == 1
