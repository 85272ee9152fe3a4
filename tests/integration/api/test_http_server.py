from __future__ import annotations

import asyncio
import signal
import socket

import aiohttp
import pytest

from pixivflow.api.server import CannotListen, HttpServer, PortInUse


async def hello(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def read(url: str) -> bytes:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.read()


async def test_a_free_port_is_named_once_started_and_free_again_after_the_stop() -> None:
    server = HttpServer("127.0.0.1", 0, hello)
    await server.start()
    assert server.port != 0
    assert await read(server.url) == b"ok"
    await server.stop(1)
    await server.stop(1)
    again = HttpServer("127.0.0.1", server.port, hello)
    await again.start()
    assert await read(again.url) == b"ok"
    await again.stop(1)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_taken_port_is_named(host: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = HttpServer(host, port, hello)
        with pytest.raises(PortInUse, match=f"{host}:{port} is already in use") as caught:
            await server.start()
        assert (caught.value.host, caught.value.port) == (host, port)
        await server.stop(1)


async def test_a_second_server_does_not_share_the_port() -> None:
    first = HttpServer("127.0.0.1", 0, hello)
    await first.start()
    with pytest.raises(PortInUse):
        await HttpServer("127.0.0.1", first.port, hello).start()
    await first.stop(1)


@pytest.mark.parametrize("host", ["192.0.2.1", "999.1.1.1", "not a host"])
async def test_an_address_that_is_not_ours_is_refused_with_the_reason(host: str) -> None:
    with pytest.raises(CannotListen, match="cannot listen on"):
        await HttpServer(host, 0, hello).start()


async def test_signals_stay_the_process_s() -> None:
    before = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    server = HttpServer("127.0.0.1", 0, hello)
    await server.start()
    assert {name: signal.getsignal(name) for name in before} == before
    await server.stop(1)
    assert {name: signal.getsignal(name) for name in before} == before


class Slow:
    """Answers only when told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go = asyncio.Event()
        self.cut = asyncio.Event()

    async def __call__(self, scope, receive, send) -> None:
        self.entered.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cut.set()
            raise
        await hello(scope, receive, send)


async def test_a_stop_lets_a_running_answer_finish() -> None:
    app = Slow()
    server = HttpServer("127.0.0.1", 0, app)
    await server.start()
    asking = asyncio.create_task(read(server.url))
    await app.entered.wait()
    stopping = asyncio.create_task(server.stop(30))
    await asyncio.sleep(0)
    app.go.set()
    assert await asking == b"ok"
    await stopping
    with pytest.raises(aiohttp.ClientConnectorError):
        await read(server.url)


async def test_a_stop_cuts_what_does_not_finish() -> None:
    app = Slow()
    server = HttpServer("127.0.0.1", 0, app)
    await server.start()
    asking = asyncio.create_task(read(server.url))
    await app.entered.wait()
    await server.stop(0.1)
    await asyncio.wait_for(app.cut.wait(), 30)
    assert await asking != b"ok"


async def test_a_server_starts_once() -> None:
    server = HttpServer("127.0.0.1", 0, hello)
    await server.start()
    with pytest.raises(RuntimeError, match="has been started"):
        await server.start()
    await server.stop(1)


async def test_waiting_ends_with_the_stop() -> None:
    server = HttpServer("127.0.0.1", 0, hello)
    await server.wait()
    await server.start()
    waiting = asyncio.create_task(server.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    await server.stop(1)
    await waiting


async def test_an_address_can_be_taken_before_it_is_served() -> None:
    server = HttpServer("127.0.0.1", 0, None)
    await server.bind()
    await server.bind()
    with pytest.raises(PortInUse):
        await HttpServer("127.0.0.1", server.port, hello).bind()
    server.app = hello
    await server.start()
    assert await read(server.url) == b"ok"
    await server.stop(1)


async def test_an_address_that_is_never_served_is_given_back() -> None:
    server = HttpServer("127.0.0.1", 0, hello)
    await server.bind()
    server.release()
    server.release()
    again = HttpServer("127.0.0.1", server.port, hello)
    await again.bind()
    again.release()
