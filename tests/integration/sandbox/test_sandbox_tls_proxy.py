"""TLS under the site's own names, and the CONNECT proxy stock clients use."""

from __future__ import annotations

import asyncio
import builtins
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pixivflow.sandbox import Sandbox, SandboxOptions, TlsUnavailableError
from pixivflow.sandbox.tls import server_context

SITE = "https://app-api.pixiv.net"


@pytest.fixture
async def secure(options: SandboxOptions, tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(options, tls_dir=tmp_path / "tls", proxy=True) as running:
        yield running


def _trust(sandbox: Sandbox) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=sandbox.addresses.ca_file)


async def test_a_client_that_knows_only_the_real_names(secure: Sandbox) -> None:
    trust, proxy = _trust(secure), secure.addresses.proxy_url
    work = secure.world.first_single_page()
    async with aiohttp.ClientSession() as session:
        form = {"grant_type": "refresh_token", "refresh_token": "a"}
        url = "https://oauth.secure.pixiv.net/auth/token"
        async with session.post(url, data=form, proxy=proxy, ssl=trust) as answer:
            token = (await answer.json())["response"]["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Referer": SITE + "/"}
        url = f"{SITE}/v1/illust/detail?illust_id={work.id}"
        async with session.get(url, headers=headers, proxy=proxy, ssl=trust) as answer:
            record = (await answer.json())["illust"]
        url = record["meta_single_page"]["original_image_url"]
        async with session.get(url, headers=headers, proxy=proxy, ssl=trust) as answer:
            assert await answer.read() == await secure.original(work.id)
        url = "https://s.pximg.net/common/images/limit_unknown_360.png"
        async with session.get(url, proxy=proxy, ssl=trust) as answer:
            assert answer.content_type == "image/png"
    assert secure.stats()["hosts"] == {"app": 1, "media": 1, "oauth": 1, "static": 1}
    assert secure.proxy is not None
    assert secure.proxy.tunnels >= 1


async def test_the_certificate_is_refused_without_the_authority(secure: Sandbox) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(f"https://127.0.0.1:{secure.addresses.tls_port}/", ssl=ssl.create_default_context())


async def test_the_tls_port_itself_and_plain_http_through_the_proxy(secure: Sandbox) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(
            f"https://127.0.0.1:{secure.addresses.tls_port}/ajax/user/1001", ssl=_trust(secure)
        ) as answer:
            assert answer.status == 200
        proxied = session.get("http://www.pixiv.net/ajax/user/1001", proxy=secure.addresses.proxy_url)
        async with proxied as answer:
            assert (await answer.json())["body"]["userId"] == "1001"


async def test_a_proxy_with_a_password(options: SandboxOptions, tmp_path: Path) -> None:
    guarded = replace(options, proxy_auth=("worker", "p@ss:b!"))
    async with Sandbox(guarded, tls_dir=tmp_path, proxy=True) as sandbox, aiohttp.ClientSession() as session:
        url, trust, proxy = "https://www.pixiv.net/ajax/user/1001", _trust(sandbox), sandbox.addresses.proxy_url
        for auth in (None, aiohttp.encode_basic_auth("worker", "wrong")):
            headers = {"Proxy-Authorization": auth} if auth else None
            with pytest.raises(aiohttp.ClientHttpProxyError) as caught:
                await session.get(url, proxy=proxy, proxy_headers=headers, ssl=trust)
            assert caught.value.status == 407
        headers = {"Proxy-Authorization": aiohttp.encode_basic_auth("worker", "p@ss:b!")}
        async with session.get(url, proxy=proxy, proxy_headers=headers, ssl=trust) as answer:
            assert answer.status == 200
        assert sandbox.proxy is not None
        assert sandbox.proxy.refused == 2


async def test_names_that_do_not_resolve(secure: Sandbox) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientHttpProxyError) as caught:
            await session.get("https://nowhere.invalid/", proxy=secure.addresses.proxy_url, ssl=_trust(secure))
    assert caught.value.status == 502


@pytest.mark.parametrize("sent", [b"", b"nonsense\r\n\r\n", b"x" * 40000, b"GET /no/absolute HTTP/1.1\r\n\r\n"])
async def test_nonsense_ends_the_connection_and_nothing_else(secure: Sandbox, sent: bytes) -> None:
    port = secure.addresses.proxy_port
    assert port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    if not sent:
        writer.write_eof()
    try:
        answer = await reader.read()
    except ConnectionResetError:
        answer = b""
    assert answer in {b"", b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"}
    writer.close()


async def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    genuine = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "trustme":
            raise ImportError(name)
        return genuine(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TlsUnavailableError, match=r"pixivflow\[tls\]"):
        server_context(tmp_path)


async def test_the_key_of_the_authority_is_not_written(secure: Sandbox) -> None:
    folder = Path(str(secure.addresses.ca_file)).parent
    assert [file.name for file in folder.iterdir()] == ["ca.pem"]
    assert "PRIVATE" not in (folder / "ca.pem").read_text()
