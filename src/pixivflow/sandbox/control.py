"""The sandbox's own addresses under `/__sandbox__`: health, statistics, world, faults, receivers, release."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from pixivflow.sandbox.fault_schema import read_rules
from pixivflow.sandbox.media_paths import path_of
from pixivflow.sandbox.routes import CONTROL_ROOT
from pixivflow.sandbox.world import Work, original_urls, zip_url

if TYPE_CHECKING:
    from pixivflow.sandbox.site import Site


async def control(site: Site, request: web.BaseRequest) -> web.StreamResponse:
    """Answer a request under `/__sandbox__`."""
    name, _, rest = request.path[len(CONTROL_ROOT) :].strip("/").partition("/")
    if name == "receiver" and rest:
        receiver, *more = rest.split("/")
        return await _receiver(site, request, receiver, more)
    answer = _ADDRESSES.get((request.method, name)) if not rest else None
    if answer is None:
        return web.json_response({"error": "no such sandbox address"}, status=404)
    return await answer(site, request)


async def _health(site: Site, _request: web.BaseRequest) -> web.Response:
    return web.json_response({"status": "ok", "works": len(site.world.illusts), "novels": len(site.world.novels)})


async def _stats(site: Site, _request: web.BaseRequest) -> web.Response:
    return web.json_response(site.stats.document())


async def _reset_stats(site: Site, _request: web.BaseRequest) -> web.Response:
    site.stats.reset()
    return web.json_response({"status": "reset"})


async def _world(site: Site, request: web.BaseRequest) -> web.Response:
    return web.json_response(await describe_world(site, hashes=request.query.get("hashes") != "0"))


async def _faults(site: Site, _request: web.BaseRequest) -> web.Response:
    return web.json_response({"rules": site.faults.document()})


async def _clear_faults(site: Site, _request: web.BaseRequest) -> web.Response:
    site.faults.replace([])
    return web.json_response({"rules": []})


async def _set_faults(site: Site, request: web.BaseRequest) -> web.Response:
    try:
        rules = read_rules(json.loads(await request.read()))
    except ValueError as error:
        return web.json_response({"error": str(error)}, status=400)
    site.faults.replace(rules)
    return web.json_response({"rules": site.faults.document()})


async def _release(site: Site, _request: web.BaseRequest) -> web.Response:
    site.release()
    return web.json_response({"status": "released"})


async def _expire_tokens(site: Site, _request: web.BaseRequest) -> web.Response:
    site.tokens.expire_all()
    return web.json_response({"status": "expired"})


_Address = Callable[["Site", web.BaseRequest], Awaitable[web.Response]]
_ADDRESSES: Final[dict[tuple[str, str], _Address]] = {
    ("GET", "health"): _health,
    ("GET", "stats"): _stats,
    ("DELETE", "stats"): _reset_stats,
    ("GET", "world"): _world,
    ("GET", "faults"): _faults,
    ("POST", "faults"): _set_faults,
    ("DELETE", "faults"): _clear_faults,
    ("POST", "release"): _release,
    ("POST", "expire-tokens"): _expire_tokens,
}


async def _receiver(site: Site, request: web.BaseRequest, name: str, rest: list[str]) -> web.StreamResponse:
    match (request.method, *rest):
        case (hdrs.METH_GET,):
            return web.json_response(site.receivers.get(name).document())
        case (hdrs.METH_DELETE,):
            site.receivers.get(name).clear()
            return web.json_response({"status": "cleared"})
        case (hdrs.METH_POST, "script"):
            try:
                site.receivers.get(name).read_script(json.loads(await request.read()))
            except ValueError as error:
                return web.json_response({"error": str(error)}, status=400)
            return web.json_response({"status": "scripted"})
        case (_, channel):
            return await site.receivers.answer(request, name, channel)
        case _:
            return web.json_response({"error": "no such receiver address"}, status=404)


async def describe_world(site: Site, *, hashes: bool) -> dict[str, Any]:
    """Works with their files; with `hashes` each file's SHA-256 and size, which makes every original."""
    works = [await _illust(site, work, hashes=hashes) for work in list(site.world.newest("illust"))]
    novels = [_novel(work) for work in site.world.newest("novel")]
    authors = [{"id": author.id, "name": author.record.get("name")} for author in site.world.authors.values()]
    return {"works": works, "novels": novels, "authors": authors}


async def _file(site: Site, url: str, *, hashes: bool) -> dict[str, Any]:
    path = path_of(url)
    made = await site.media.get(path) if hashes and path else None
    if made is None:
        return {"url": url}
    digest = await asyncio.to_thread(lambda: hashlib.sha256(made.body).hexdigest())
    return {"url": url, "sha256": digest, "bytes": len(made.body), "content_type": made.content_type}


async def _illust(site: Site, work: Work, *, hashes: bool) -> dict[str, Any]:
    entry = {
        "id": work.id,
        "type": work.type,
        "title": work.record.get("title"),
        "pages": work.record.get("page_count"),
        "user_id": work.user_id,
        "create_date": work.record.get("create_date"),
        "x_restrict": work.x_restrict,
        "ai_type": work.ai_type,
        "bookmarks": work.bookmarks,
        "tags": [tag.get("name") for tag in work.record.get("tags") or ()],
        "originals": [await _file(site, url, hashes=hashes) for url in original_urls(work.record)],
    }
    if work.frames:
        entry["zip"] = await _file(site, zip_url(work), hashes=hashes)
        entry["frames"] = [{"file": frame.file, "delay": frame.delay_ms} for frame in work.frames]
    return entry


def _novel(work: Work) -> dict[str, Any]:
    text = (work.novel.text if work.novel else "") or ""
    return {
        "id": work.id,
        "type": "novel",
        "title": work.record.get("title"),
        "user_id": work.user_id,
        "create_date": work.record.get("create_date"),
        "x_restrict": work.x_restrict,
        "series_id": work.series_id,
        "text_length": len(text),
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "images": sorted(work.novel.images) if work.novel else [],
    }
