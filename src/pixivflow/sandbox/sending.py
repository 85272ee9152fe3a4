"""Putting an answer on the wire, well or badly."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import hdrs, web

from pixivflow.sandbox.exchange import Answer
from pixivflow.sandbox.fault_schema import Action

SEND_ACTIONS: Final = frozenset(("short_body", "slow", "stall", "reset", "drop", "no_content_length"))
_SLICES_PER_S: Final = 10
_RANGE: Final = re.compile(r"bytes=(?:(?P<first>\d{1,18})-(?P<last>\d{0,18})|-(?P<tail>\d{1,18}))")


@dataclass(slots=True)
class Outcome:
    """What really went out. `status` None: the connection was dropped before an answer."""

    status: int | None
    sent: int


def ranged(answer: Answer, wanted: str | None, if_range: str | None) -> Answer:
    """The part of a 200 answer that a Range header asks for: 206, 416, or the whole where the header is not usable."""
    if wanted is None or answer.status != 200:
        return answer
    if if_range is not None and if_range not in {answer.headers.get("ETag"), answer.headers.get("Last-Modified")}:
        return answer
    match = _RANGE.fullmatch(wanted.strip())
    if match is None:
        return answer
    body = answer.payload()
    size = len(body)
    if match["tail"] is not None:
        first, last = max(0, size - int(match["tail"])), size - 1
    else:
        first = int(match["first"])
        last = min(size - 1, int(match["last"])) if match["last"] else size - 1
    if first > last or first >= size:
        headers = {**answer.headers, "Content-Range": f"bytes */{size}"}
        return replace(answer, status=416, document=None, body=b"", headers=headers)
    headers = {**answer.headers, "Content-Range": f"bytes {first}-{last}/{size}"}
    return replace(answer, status=206, document=None, body=body[first : last + 1], headers=headers)


def not_modified(answer: Answer, headers: Mapping[str, str]) -> Answer:
    """304 for a client that already holds this very file."""
    given = headers.get(hdrs.IF_NONE_MATCH)
    if answer.status != 200 or given is None or given != answer.headers.get("ETag"):
        return answer
    return replace(answer, status=304, document=None, body=b"")


def whole(answer: Answer) -> web.Response:
    """An ordinary, correct response."""
    response = web.Response(status=answer.status, body=answer.payload(), headers=answer.headers)
    response.headers[hdrs.CONTENT_TYPE] = answer.content_type
    return response


async def send(
    request: web.BaseRequest, answer: Answer, action: Action | None, released: asyncio.Event
) -> tuple[web.StreamResponse, Outcome]:
    """Answer a request, with the way of sending that `action` (one of SEND_ACTIONS) asks for."""
    if action is None:
        response = whole(answer)
        sent = 0 if request.method == hdrs.METH_HEAD else len(answer.payload())
        return response, Outcome(answer.status, sent)
    match action.type:
        case "reset" | "drop":
            hang_up(request, hard=action.type == "reset")
            return web.Response(), Outcome(None, 0)
        case "short_body":
            return await _short(request, answer, action.args.get("fraction", 0.5))
        case "slow":
            return await _slow(request, answer, action.args["bytes_per_s"])
        case "stall":
            return await _stall(request, answer, action, released)
        case _:
            return await _chunked(request, answer)


def hang_up(request: web.BaseRequest, *, hard: bool) -> None:
    """Close the connection under a request: with a reset, or after what is already written."""
    transport = request.transport
    if transport is None:
        return
    if not hard:
        transport.close()
        return
    known = transport.get_extra_info("socket")
    if known is not None:
        # A duplicate reaches the socket's options on every event loop; uvloop's own stand-in object refuses them.
        with socket.socket(fileno=os.dup(known.fileno())) as twin:
            twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _begin(request: web.BaseRequest, answer: Answer, *, length: int | None) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.headers[hdrs.CONTENT_TYPE] = answer.content_type
    if length is None:
        response.enable_chunked_encoding()
    else:
        response.content_length = length
    await response.prepare(request)
    return response


async def _short(request: web.BaseRequest, answer: Answer, fraction: float) -> tuple[web.StreamResponse, Outcome]:
    body = answer.payload()
    part = body[: int(len(body) * fraction)]
    response = await _begin(request, answer, length=len(body))
    await response.write(part)
    hang_up(request, hard=False)
    return response, Outcome(answer.status, len(part))


async def _slow(request: web.BaseRequest, answer: Answer, bytes_per_s: int) -> tuple[web.StreamResponse, Outcome]:
    body = answer.payload()
    response = await _begin(request, answer, length=len(body))
    step = max(1, bytes_per_s // _SLICES_PER_S)
    for at in range(0, len(body), step):
        await response.write(body[at : at + step])
        await asyncio.sleep(step / bytes_per_s)
    return response, Outcome(answer.status, len(body))


async def _stall(
    request: web.BaseRequest, answer: Answer, action: Action, released: asyncio.Event
) -> tuple[web.StreamResponse, Outcome]:
    body = answer.payload()
    if action.args.get("before_headers"):
        await released.wait()
        return whole(answer), Outcome(answer.status, len(body))
    cut = int(len(body) * action.args.get("fraction", 0.0))
    response = await _begin(request, answer, length=len(body))
    if cut:
        await response.write(body[:cut])
    await released.wait()
    await response.write(body[cut:])
    return response, Outcome(answer.status, len(body))


async def _chunked(request: web.BaseRequest, answer: Answer) -> tuple[web.StreamResponse, Outcome]:
    body = answer.payload()
    response = await _begin(request, answer, length=None)
    for at in range(0, len(body), 16384):
        await response.write(body[at : at + 16384])
    return response, Outcome(answer.status, len(body))
