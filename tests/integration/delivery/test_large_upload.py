"""Big files on the way: bounded memory, an exact length, and never half a file booked as a work."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from pathlib import Path

import pytest
from aiohttp import web

from pixivflow.delivery.form import build_form
from pixivflow.delivery.multipart import HttpMultipartRoute, MultipartSettings
from pixivflow.delivery.ports import DeliveryItem
from pixivflow.delivery.upload import CHUNK, FileChanged, Upload
from pixivflow.domain.delivery import AnswerClass
from pixivflow.domain.work import Asset, AssetRole

SIZE = 64 * 1024 * 1024


def _sparse(path: Path, size: int) -> Asset:
    with path.open("wb") as file:
        os.truncate(file.fileno(), size)
    return Asset(AssetRole.PAGE, 0, path.name, size, "", "image/png")


def _item(path: Path, asset: Asset) -> DeliveryItem:
    return DeliveryItem("key", "main", {}, ((path, asset),), assets=(asset,))


class _Sink:
    """Counts what arrives and keeps nothing; `pause_after` bytes it calls `paused` and waits to go on."""

    def __init__(self, pause_after: int | None = None) -> None:
        self.received = 0
        self.announced: int | None = None
        self.broken = asyncio.Event()
        self.paused = asyncio.Event()
        self.go_on = asyncio.Event()
        self._pause_after = pause_after

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.announced = request.content_length
        try:
            while chunk := await request.content.read(65_536):
                self.received += len(chunk)
                if self._pause_after is not None and self.received >= self._pause_after:
                    self._pause_after = None
                    self.paused.set()
                    await self.go_on.wait()
        except OSError:
            self.broken.set()
            raise
        return web.json_response({"data": {"review_id": "rv-1"}}, status=201)


async def _serve(sink: _Sink) -> tuple[web.ServerRunner, str]:
    runner = web.ServerRunner(web.Server(sink, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/"


async def test_a_big_file_goes_out_in_bounded_memory_with_its_exact_length(tmp_path: Path) -> None:
    asset = _sparse(tmp_path / "big.png", SIZE)
    sink = _Sink()
    runner, url = await _serve(sink)
    route = HttpMultipartRoute("main", MultipartSettings(url), now_ms=lambda: 0)
    tracemalloc.start()
    try:
        answer = await route.send(_item(tmp_path / "big.png", asset))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        await route.aclose()
        await runner.cleanup()
    assert answer.answer is AnswerClass.ACCEPTED
    assert sink.announced == sink.received
    assert SIZE < sink.received < SIZE + 4096
    assert peak < SIZE // 8  # both ends of the connection together


async def test_a_file_that_shrinks_under_way_breaks_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    asset = _sparse(path, SIZE)
    sink = _Sink(pause_after=CHUNK)
    runner, url = await _serve(sink)
    route = HttpMultipartRoute("main", MultipartSettings(url), now_ms=lambda: 0)
    try:
        sending = asyncio.create_task(route.send(_item(path, asset)))
        await sink.paused.wait()
        os.truncate(path, SIZE // 2)
        sink.go_on.set()
        answer = await sending
        await sink.broken.wait()
    finally:
        await route.aclose()
        await runner.cleanup()
    assert (answer.answer, answer.error_class) == (AnswerClass.PERMANENT, "invalid_payload")
    assert sink.announced is not None
    assert sink.received < sink.announced


async def test_chunks_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    path.write_bytes(b"x" * (CHUNK * 2 + 5))
    asset = Asset(AssetRole.PAGE, 0, path.name, CHUNK * 2 + 5, "", "image/png")
    form = build_form([], [(path, asset)], boundary="b", file_field="f", preview_field="p")
    chunks = [chunk async for chunk in Upload(form).chunks()]
    assert sum(map(len, chunks)) == form.length
    assert max(map(len, chunks)) == CHUNK


async def test_a_link_put_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"12345")
    link = tmp_path / "page.png"
    link.symlink_to(secret)
    asset = Asset(AssetRole.PAGE, 0, "page.png", 5, "", "image/png")
    upload = Upload(build_form([], [(link, asset)], boundary="b", file_field="f", preview_field="p"))
    sent = bytearray()

    async def drain() -> None:
        async for chunk in upload.chunks():
            sent.extend(chunk)

    with pytest.raises(FileChanged) as raised:
        await drain()
    assert upload.fault is raised.value
    assert b"12345" not in sent
