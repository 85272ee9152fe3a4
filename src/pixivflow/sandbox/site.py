"""One request from its arrival to its answer: locate, count, fault, authorise, answer, send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from aiohttp import hdrs, web

from pixivflow.sandbox import fault_answers, routes
from pixivflow.sandbox.control import control
from pixivflow.sandbox.exchange import Answer, Call, bad_parameter, html, no_such_endpoint, oauth_refused
from pixivflow.sandbox.fault_schema import Action
from pixivflow.sandbox.faults import FaultBook, Subject, subject_of
from pixivflow.sandbox.jst import day_of
from pixivflow.sandbox.media_store import MediaStore
from pixivflow.sandbox.oauth import TokenBook
from pixivflow.sandbox.options import SandboxOptions
from pixivflow.sandbox.pulse import Pulse
from pixivflow.sandbox.receiver_http import ReceiverSite
from pixivflow.sandbox.search import BadParameterError
from pixivflow.sandbox.sending import SEND_ACTIONS, Outcome, hang_up, not_modified, ranged, send
from pixivflow.sandbox.stats import Stats
from pixivflow.sandbox.world import World
from pixivflow.sandbox.worldgen import generate

_HOST_OF: Final = {
    "oauth": "oauth.secure.pixiv.net",
    "app": "app-api.pixiv.net",
    "accounts": "accounts.pixiv.net",
    "web": "www.pixiv.net",
    "media": "i.pximg.net",
    "static": "s.pximg.net",
}
_FORM_ROUTES: Final = frozenset(("oauth.token",))


def build_world(options: SandboxOptions) -> World:
    """The generated world that options describe."""
    anchor = options.anchor or day_of(options.now())
    return generate(
        seed=options.seed,
        works=options.works,
        novels=options.novels,
        users=options.users,
        anchor=anchor,
        size=options.picture_size,
    )


class Site:
    """The simulated site: everything behind the sockets. Needs a running event loop."""

    def __init__(self, options: SandboxOptions, world: World | None = None, *, clock: Callable[[], float]) -> None:
        self.options = options
        self.world = world if world is not None else build_world(options)
        self.tokens = TokenBook(options)
        self.faults = FaultBook(clock=clock)
        self.stats = Stats(clock=clock, recent=options.recent_requests)
        self.pulse = Pulse()
        self.media = MediaStore(
            self.world, seed=options.seed, size=options.picture_size, max_bytes=options.media_cache_mb * 1024 * 1024
        )
        self._released = asyncio.Event()
        self.receivers = ReceiverSite(self._released)

    def release(self) -> None:
        """Let everything that stalls now go on. Later stalls hold again."""
        self._released.set()
        self._released.clear()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The handler of the socket server."""
        place, path = routes.locate(request.host, request.path)
        if place == "control":
            return await control(self, request)
        found = routes.find(place, path)
        is_media = place in {"media", "static"}
        name = routes.media_route(path) if is_media else found[0].name if found else routes.OTHER
        entry = self.stats.begin(
            route=name,
            site=place,
            method=request.method,
            path=path,
            query=request.rel_url.raw_query_string,
            headers=request.headers,
        )
        self.pulse.beat()
        outcome = Outcome(None, 0)
        try:
            if self.options.latency_ms:
                await asyncio.sleep(self.options.latency_ms / 1000)
            params = found[1] if found else {}
            host = _HOST_OF.get(place, "")
            if self.faults:
                subject = subject_of(name, path, host, request.query, params)
                actions = self.faults.before(subject)
            else:
                subject, actions = Subject(name, path, host), []
            response, outcome = await self._answer(request, subject, actions, found[0] if found else None, params)
        finally:
            self.stats.end(entry, status=outcome.status, sent=outcome.sent)
            self.pulse.beat()
        return response

    async def _answer(
        self,
        request: web.BaseRequest,
        subject: Subject,
        actions: Sequence[Action],
        route: routes.Route | None,
        params: dict[str, str],
    ) -> tuple[web.StreamResponse, Outcome]:
        for action in actions:
            if action.type == "delay":
                await asyncio.sleep(action.args["seconds"])
            elif action.type == "expire_tokens":
                self.tokens.expire_all()
            elif action.type in {"reset", "drop"} and not action.args.get("processed"):
                hang_up(request, hard=action.type == "reset")
                return web.Response(), Outcome(None, 0)
        sending = next((action for action in reversed(actions) if action.type in SEND_ACTIONS), None)
        now = self.options.now()
        replaced = (fault_answers.replacement(action, subject, now) for action in actions)
        answer = next((one for one in replaced if one is not None), None)
        if answer is None:
            answer = await self._genuine(request, subject, route, params)
        answer = self._changed(request, subject, actions, answer)
        if subject.route.startswith("media."):
            answer = not_modified(answer, request.headers)
            if not any(action.type == "ignore_range" for action in actions):
                answer = ranged(answer, request.headers.get(hdrs.RANGE), request.headers.get(hdrs.IF_RANGE))
        return await send(request, answer, sending, self._released)

    def _changed(self, request: web.BaseRequest, subject: Subject, actions: Sequence[Action], answer: Answer) -> Answer:
        """The answer after the faults that change it.

        Faults on records are counted here and not earlier, since they ask what is in the answer.
        """
        if not self.faults:
            return answer
        query = request.rel_url.raw_query_string
        own_url = f"https://{subject.host}{subject.path}" + (f"?{query}" if query else "")
        for action in actions:
            answer = fault_answers.changed(answer, action, own_url=own_url)
        if answer.document is not None and answer.status < 300:
            for action, work in self.faults.on_records(subject, partial(fault_answers.ids_in, answer)):
                answer = fault_answers.on_records(answer, action, work)
        return answer

    async def _genuine(
        self, request: web.BaseRequest, subject: Subject, route: routes.Route | None, params: dict[str, str]
    ) -> Answer:
        """The answer without any fault."""
        if subject.route.startswith("media."):
            return await self._media(request, subject.path)
        if route is None:
            return _nowhere(subject)
        if request.method != route.method and not (request.method == hdrs.METH_HEAD and route.method == hdrs.METH_GET):
            return Answer(405, {"error": {"message": "method not allowed"}}, headers={"Allow": route.method})
        if route.token and self.options.require_auth and not self._authorised(request):
            return oauth_refused(self.options.auth_error_status)
        form = await _read_form(request) if route.name in _FORM_ROUTES else {}
        call = Call(
            route=route.name,
            path=subject.path,
            method=request.method,
            params=params,
            query=request.query,
            pairs=tuple(request.query.items()),
            form=form,
            headers=request.headers,
            now=self.options.now(),
            world=self.world,
            options=self.options,
            tokens=self.tokens,
        )
        try:
            return route.endpoint(call)
        except BadParameterError as error:
            return bad_parameter(error)

    def _authorised(self, request: web.BaseRequest) -> bool:
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        return scheme.lower() == "bearer" and self.tokens.knows_access(token.strip(), self.options.now())

    async def _media(self, request: web.BaseRequest, path: str) -> Answer:
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            return Answer(405, headers={"Allow": "GET, HEAD"})
        if not path.startswith("/common/") and "pixiv.net" not in request.headers.get(hdrs.REFERER, ""):
            return html("<!doctype html><title>403 Forbidden</title>", 403)
        made = self.media.cached(path) or await self.media.get(path)
        if made is None:
            return html("<!doctype html><title>404 Not Found</title>", 404)
        headers = {
            "ETag": made.etag,
            "Last-Modified": made.last_modified,
            "Accept-Ranges": "bytes",
            "Cache-Control": "max-age=31536000",
        }
        return Answer(200, body=made.body, content_type=made.content_type, headers=headers)


def _nowhere(subject: Subject) -> Answer:
    if subject.host == _HOST_OF["app"]:
        return no_such_endpoint()
    if not subject.host:
        note = "PixivFlow sandbox: see /__sandbox__/health, /__sandbox__/world and /__sandbox__/stats"
        return Answer(200 if subject.path == "/" else 404, {"message": note})
    return html("<!doctype html><title>404 Not Found</title>", 404)


async def _read_form(request: web.BaseRequest) -> dict[str, str]:
    """First values of a posted form; a file in it is left out."""
    posted: Any = await request.post()
    form: dict[str, str] = {}
    for key, value in posted.items():
        if isinstance(value, str):
            form.setdefault(key, value)
    return form
