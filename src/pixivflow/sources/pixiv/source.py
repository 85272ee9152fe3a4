"""Pixiv as a `Source`: what the pipeline asks, answered through one account."""

from __future__ import annotations

import logging
import random as _random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from pixivflow.domain.target import Mode, Target
from pixivflow.domain.work import Restriction, Work, WorkRef, WorkType
from pixivflow.sources.errors import (
    BadQuestion,
    Forbidden,
    NotFound,
    NotPublishedYet,
    Restricted,
    ShapeChanged,
    Unavailable,
    WorkUnavailable,
)
from pixivflow.sources.pixiv.client import Client
from pixivflow.sources.pixiv.config import PixivSourceConfig
from pixivflow.sources.pixiv.gate import Clock, MediaGate, Waiting
from pixivflow.sources.pixiv.listing import Walk, walk_merged, walk_one
from pixivflow.sources.pixiv.media import MediaDoor
from pixivflow.sources.pixiv.parse import parse_ugoira, parse_user, parse_work
from pixivflow.sources.pixiv.questions import (
    Part,
    Place,
    merge_key,
    parts_of,
    ranking_day_runs,
    ranking_may_be_late,
    read_cursor,
)
from pixivflow.sources.pixiv.webview import read_ajax, read_webview
from pixivflow.sources.ports import AccountStore, GateState, MediaStream, NovelText, SourcePage, UgoiraInfo

VIEWER_VERSION = "20221031_ai"

_log = logging.getLogger(__name__)


class PixivSource:
    """One account. Make one object per account and process: the gate and the token chain live in it.

    Args:
        store: where tokens and gate state survive a restart.
        random: numbers in 0..1, for the jitter of the pacing.
        on_wait: told why a request waits and for how long, at least every 30 s, so that a wait is not taken for a hang.
    """

    def __init__(
        self,
        config: PixivSourceConfig,
        store: AccountStore,
        clock: Clock,
        random: Callable[[], float] = _random.random,
        *,
        on_wait: Waiting | None = None,
    ) -> None:
        self._clock = clock
        self._client = Client(config, store, clock, random, on_wait=on_wait)
        media_gate = MediaGate(clock, connections=config.media_connections, on_wait=on_wait)
        self._media = MediaDoor(config, self._client.transport, media_gate)
        self._warned_of_placeholder = False

    async def pages(self, target: Target, *, cursor: str | None = None) -> AsyncGenerator[SourcePage, None]:
        """List a target's candidates page by page.

        Raises NotPublishedYet for a ranking that is not out, NotFound for a user that is gone, BadQuestion for a target
        that cannot be asked, and whatever else `Client.api` raises. A search or a ranking that is refused is
        Unavailable: a verdict about a list is none about a work.
        """
        if target.mode is Mode.WORK:
            yield SourcePage((await self._record(_ref_of(target)),))
            return
        self._refuse_early(target)
        parts = parts_of(target)
        places = read_cursor(cursor, parts) if cursor is not None else tuple(Place(part.first) for part in parts)
        walks = tuple(Walk(part, self._asker(target), place) for part, place in zip(parts, places, strict=True))
        pages = walk_one(walks[0]) if len(walks) == 1 else walk_merged(walks, merge_key(target))
        came = cursor is not None
        async with aclosing(pages):
            async for page in pages:
                self._note_placeholders(page.works)
                came = came or bool(page.works or page.quarantined)
                if not came and page.cursor is None and target.mode is Mode.RANKING:
                    self._refuse_unpublished(target)
                yield page
        if cursor is None:
            await self._settle_empty_user(target, walks)

    async def work(self, ref: WorkRef) -> Work:
        """The full record. Raises Restricted when a placeholder stands in it, NotFound, Forbidden."""
        work = await self._record(ref)
        if work.restriction is not None:
            raise Restricted(f"{ref} is restricted ({work.restriction.value})", restriction=work.restriction)
        return work

    async def ugoira(self, ref: WorkRef) -> UgoiraInfo:
        """An animation's archives, best first, and its timing."""
        return parse_ugoira(await self._client.api("/v1/ugoira/metadata", {"illust_id": ref.id}, detail=True))

    async def novel(self, ref: WorkRef) -> NovelText:
        """A novel's text: the app's page, or the web site's JSON when that page cannot be read any more."""
        query = {"id": ref.id, "viewer_version": VIEWER_VERSION}
        try:
            return read_webview(await self._client.page("/webview/v2/novel", query), ref.id)
        except ShapeChanged as changed:
            _log.warning("the page of novel %s cannot be read, trying the web site", ref.id)
            try:
                return read_ajax(await self._client.web(f"/ajax/novel/{ref.id}"), ref.id)
            except (ShapeChanged, BadQuestion, WorkUnavailable):
                # The web site may hide from a visitor what the account can see: its no is not the work's verdict.
                raise changed from None

    def media(self, url: str) -> AbstractAsyncContextManager[MediaStream]:
        """Open a file of the media hosts; see `MediaDoor.open`."""
        return self._media.open(url)

    async def gate_state(self) -> GateState:
        """The account's gate, for status pages."""
        return await self._client.gate.state()

    async def check_login(self) -> str | None:
        """Make sure that there is a good token; the account's user number. Raises like any request."""
        await self._client.auth.access_token()
        return self._client.auth.user_id

    async def aclose(self) -> None:
        """Close the connections. A running token call is finished first."""
        await self._client.aclose()

    async def _record(self, ref: WorkRef) -> Work:
        if ref.type is WorkType.ILLUSTRATION:
            work = parse_work(await self._client.api("/v1/illust/detail", {"illust_id": ref.id}, detail=True), ref)
        else:
            work = parse_work(await self._novel_record(ref), ref)
        self._note_placeholders((work,))
        return work

    async def _novel_record(self, ref: WorkRef) -> bytes:
        try:
            return await self._client.api("/v2/novel/detail", {"novel_id": ref.id}, detail=True)
        except ShapeChanged as changed:
            if changed.status != 404:
                raise
            return await self._client.api("/v1/novel/detail", {"novel_id": ref.id}, detail=True)

    def _asker(self, target: Target) -> Callable[[Part, str], Awaitable[bytes]]:
        async def ask(part: Part, query: str) -> bytes:
            try:
                return await self._client.api(part.path, query)
            except (NotFound, BadQuestion) as refusal:
                day = target.ranking_date
                if target.mode is Mode.RANKING and day is not None and ranking_may_be_late(day, self._clock.now()):
                    raise _not_out(target) from None
                if target.mode is Mode.USER or isinstance(refusal, BadQuestion):
                    raise
                raise Unavailable(str(refusal), status=refusal.status, endpoint=part.path) from None
            except Forbidden as refusal:
                if target.mode is Mode.USER:
                    raise
                raise Unavailable(str(refusal), status=refusal.status, endpoint=part.path) from None

        return ask

    def _refuse_early(self, target: Target) -> None:
        day = target.ranking_date
        if target.mode is Mode.RANKING and day is not None and ranking_day_runs(day, self._clock.now()):
            raise _not_out(target)

    def _refuse_unpublished(self, target: Target) -> None:
        """An empty ranking of yesterday before noon means "ask later", never "nothing found"."""
        day = target.ranking_date
        if day is not None and ranking_may_be_late(day, self._clock.now()):
            raise _not_out(target)

    async def _settle_empty_user(self, target: Target, walks: tuple[Walk, ...]) -> None:
        """Nobody and somebody with nothing to show have the same list; the user's own record tells them apart."""
        if target.mode is not Mode.USER or any(walk.found for walk in walks):
            return
        if any(walk.owner_missing for walk in walks) and target.user_id is not None:
            parse_user(await self._client.api("/v1/user/detail", {"user_id": target.user_id}, detail=True))

    def _note_placeholders(self, works: tuple[Work, ...]) -> None:
        if self._warned_of_placeholder:
            return
        for work in works:
            if work.restriction is Restriction.UNKNOWN:
                self._warned_of_placeholder = True
                _log.warning("a placeholder of a kind not known yet stands for %s; such works are restricted", work.ref)
                return


def _ref_of(target: Target) -> WorkRef:
    ref = target.work_ref
    if ref is None or not (ref.id.isascii() and ref.id.isdigit()):
        raise BadQuestion(f"target {target.id}: a single work needs its number")
    return ref


def _not_out(target: Target) -> NotPublishedYet:
    return NotPublishedYet(f"the ranking of {target.ranking_date} is not out yet")
