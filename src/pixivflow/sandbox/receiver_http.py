"""The receiver's addresses: reading what is sent, then answering as scripted."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import BodyPartReader, hdrs, web

from pixivflow.sandbox.receiver import CHANNELS, Receiver, Reply, Step, read_channel, ready_reply
from pixivflow.sandbox.sending import hang_up

_SECRET_HEADERS: Final = frozenset(("authorization", "cookie", "proxy-authorization"))
_TEXT_MAX: Final = 4 * 1024 * 1024
"""Largest form field or JSON body that is kept; files are hashed and may be of any size."""


class ReceiverSite:
    """All receivers of one sandbox by name."""

    def __init__(self, released: asyncio.Event) -> None:
        self._released = released
        self._receivers: dict[str, Receiver] = {}

    def get(self, name: str) -> Receiver:
        """The receiver of that name; it comes into being when first named."""
        return self._receivers.setdefault(name, Receiver(name))

    async def answer(self, request: web.BaseRequest, name: str, channel_name: str) -> web.StreamResponse:
        """Answer a request to one of a receiver's channels."""
        channel = read_channel(channel_name)
        if channel is None:
            return web.json_response({"error": "unknown channel", "channels": list(CHANNELS)}, status=404)
        receiver = self.get(name)
        step = receiver.next_step(channel)
        if step.answer == "drop_before":
            receiver.dropped_unread += 1
            hang_up(request, hard=False)
            receiver.pulse.beat()
            return web.Response()
        if channel == "ready":
            receiver.ready_checks += 1
            receiver.pulse.beat()
            await self._linger(step)
            return _response(request, ready_reply(step))
        described = await _describe(request)
        described["number"] = len(receiver.kept(channel)) + 1
        described["authorization"] = receiver.authorization(request.headers.get(hdrs.AUTHORIZATION))
        if receiver.refuses(described["authorization"]):
            step = Step("status", status=401)
        elif "problem" in described:
            step = Step("status", status=400)
        receiver.arrived += 1
        receiver.pulse.beat()
        await self._linger(step)
        submission = channel == "submit"
        reply = receiver.submitted(step, described) if submission else receiver.noticed(channel, step, described)
        if step.answer == "stall_after":
            await self._released.wait()
        return _response(request, reply)

    async def _linger(self, step: Step) -> None:
        if step.answer == "stall":
            await self._released.wait()
        elif step.seconds:
            await asyncio.sleep(step.seconds)


def _response(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    if reply.drop:
        hang_up(request, hard=False)
        return web.Response()
    return web.json_response(reply.body, status=reply.status, headers=dict(reply.headers))


async def _describe(request: web.BaseRequest) -> dict[str, Any]:
    """What came, without secrets and without the bytes of files.

    A body that cannot be read is named under `problem`.
    """
    headers = {key: value for key, value in request.headers.items() if key.lower() not in _SECRET_HEADERS}
    described: dict[str, Any] = {"method": request.method, "query": request.query_string, "headers": headers}
    try:
        if request.content_type.startswith("multipart/"):
            described.update(await _read_parts(request))
        else:
            described.update(await _read_text(request))
    except (ValueError, web.HTTPException) as error:
        described["problem"] = f"unreadable body: {type(error).__name__}"
    described["idempotency_key"] = _key_of(described, request.headers)
    return described


async def _read_parts(request: web.BaseRequest) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    reader = await request.multipart()
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader):
            raise ValueError("nested multipart")  # noqa: TRY004 - the value of the body is wrong, not a type of ours
        parts.append(await _read_part(part))
    fields: dict[str, list[str]] = {}
    for entry in parts:
        if "value" in entry:
            fields.setdefault(entry["name"], []).append(entry["value"])
    return {"parts": parts, "fields": fields, "files": [entry for entry in parts if "sha256" in entry]}


async def _read_part(part: BodyPartReader) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": part.name or "", "content_type": part.headers.get(hdrs.CONTENT_TYPE)}
    if part.filename is None:
        value = bytearray()
        while chunk := await part.read_chunk():
            value += chunk
            if len(value) > _TEXT_MAX:
                raise ValueError("field too long")
        return {**entry, "value": value.decode("utf-8")}
    digest, size = hashlib.sha256(), 0
    while chunk := await part.read_chunk(65536):
        digest.update(chunk)
        size += len(chunk)
    return {**entry, "filename": part.filename, "size": size, "sha256": digest.hexdigest()}


async def _read_text(request: web.BaseRequest) -> dict[str, Any]:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > _TEXT_MAX:
            raise ValueError("body too long")
    text = bytes(body).decode("utf-8")
    kept: dict[str, Any] = {"text": text}
    if request.content_type == "application/json" or request.content_type.endswith("+json"):
        kept["json"] = json.loads(text)
    return kept


def _key_of(described: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """The idempotency key: form field, then JSON body, then header."""
    values = described.get("fields", {}).get("idempotency_key")
    if values:
        return str(values[0])
    body = described.get("json")
    if isinstance(body, dict):
        for name in ("idempotency_key", "idempotencyKey"):
            if isinstance(body.get(name), str):
                return str(body[name])
    return headers.get("X-Idempotency-Key") or headers.get("Idempotency-Key")
