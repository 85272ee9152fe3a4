"""Walking the lists of a target, page by page and only as far as somebody reads."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import date

from pixivflow.domain.work import Work
from pixivflow.sources.errors import BadQuestion, ShapeChanged
from pixivflow.sources.pixiv.answers import OFFSET_LIMIT
from pixivflow.sources.pixiv.parse import Listing, parse_listing
from pixivflow.sources.pixiv.questions import (
    OFFSET_WALL,
    Part,
    Place,
    jst_day,
    next_query,
    next_window,
    offset_of,
    wholly_too_old,
    write_cursor,
)
from pixivflow.sources.ports import Quarantined, SourcePage

PAGE_SIZE = 30
EMPTY_IN_A_ROW = 10
"""Pages of hidden works are empty and still lead on, but a list that only ever leads on is a trap."""

Ask = Callable[[Part, str], Awaitable[bytes]]

_log = logging.getLogger(__name__)


class Walk:
    """One part's pages in order. Works already seen in it are left out: lists shift while they are read."""

    def __init__(self, part: Part, ask: Ask, place: Place) -> None:
        self.part = part
        self.windows = 1
        self.owner_missing = False
        self.found = 0
        self._ask = ask
        self._query = place.query
        self._skip = place.skip
        self._asked: set[str] = set()
        self._seen: set[str] = set()
        self._empty = 0
        self._last_day: date | None = None
        self._fault: ShapeChanged | None = None

    @property
    def place(self) -> Place:
        """The page that comes next."""
        return Place(self._query, self._skip)

    async def next_page(self) -> tuple[tuple[Work, ...], tuple[Quarantined, ...]] | None:
        """The next page's works, maybe none; None at the end. Raises ShapeChanged when the list leads in a circle."""
        if self._fault is not None:
            raise self._fault
        if self._query is None:
            return None
        query = self._query
        self._asked.add(query)
        try:
            page = parse_listing(await self._ask(self.part, query), self.part.work_type)
        except BadQuestion as refusal:
            if refusal.code != OFFSET_LIMIT or not offset_of(query):
                raise
            self._query = self._behind_the_wall(query)
            return (), ()
        self.owner_missing = self.owner_missing or page.owner_missing
        self.found += len(page.works) + len(page.quarantined)
        works = self._new(page)
        self._advance(query, page)
        return works, page.quarantined

    def _new(self, page: Listing) -> tuple[Work, ...]:
        works: list[Work] = []
        for work in page.works:
            if work.id not in self._seen:
                self._seen.add(work.id)
                works.append(work)
            if work.created_at is not None:
                self._last_day = jst_day(work.created_at)
        skip, self._skip = self._skip, 0
        return tuple(works[skip:])

    def _advance(self, query: str, page: Listing) -> None:
        if page.next_url is None or wholly_too_old(self.part, page.works):
            self._query = None
            return
        following = next_query(page.next_url)
        if following is None:
            self._stop(f"{self.part.path}: the next page's address cannot be read")
            return
        if offset_of(following) >= OFFSET_WALL and "word" in self.part.query:
            following = self._behind_the_wall(query)
        if following in self._asked:
            self._stop(f"{self.part.path}: the list leads back to a page already read: {following}")
            return
        self._empty = 0 if page.works or page.quarantined else self._empty + 1
        if self._empty >= EMPTY_IN_A_ROW:
            if self.found == 0:
                self._stop(f"{self.part.path}: {self._empty} empty pages in a row and no end")
                return
            _log.warning("%s: %d empty pages in a row, taken as the end", self.part.path, self._empty)
            following = None
        self._query = following

    def _behind_the_wall(self, query: str) -> str | None:
        window = next_window(self.part, query, self._last_day)
        if window is None:
            _log.warning("%s: the site lists no more than %d works of this", self.part.path, OFFSET_WALL)
            return None
        following, lost = window
        self.windows += 1
        if lost:
            _log.warning("%s: more works on %s than the site lists", self.part.path, self._last_day)
        _log.info("%s: offset limit reached, going on in window %d", self.part.path, self.windows)
        return following

    def _stop(self, why: str) -> None:
        # The page just read is good; the fault is told to whoever wants more.
        self._fault = ShapeChanged(why, endpoint=self.part.path)


async def walk_one(walk: Walk) -> AsyncGenerator[SourcePage, None]:
    """A single list: its pages as they are."""
    while (page := await walk.next_page()) is not None:
        works, quarantined = page
        yield SourcePage(works, write_cursor((walk.place,)), quarantined)


async def walk_merged(walks: tuple[Walk, ...], key: Callable[[Work], float]) -> AsyncGenerator[SourcePage, None]:
    """Several lists as one, in the order of `key`, each work once.

    Only as many pages are asked for as the order needs: a list is read on when its works are used up.
    """
    readers = tuple(_Reader(walk) for walk in walks)
    out = _Out(readers)
    while True:
        for reader in readers:
            while reader.hungry:
                if out.works or out.quarantined:
                    yield out.page()
                out.quarantined += await reader.feed()
        heads = [reader for reader in readers if reader.works]
        if not heads:
            break
        out.take(min(heads, key=lambda reader: key(reader.works[0])))
        if len(out.works) >= PAGE_SIZE:
            yield out.page()
    if out.works or out.quarantined:
        yield out.page()


class _Reader:
    """A walk with the rest of its last page."""

    def __init__(self, walk: Walk) -> None:
        self.works: deque[Work] = deque()
        self._walk = walk
        self._read_from = walk.place
        self._taken = 0
        self._over = False

    @property
    def hungry(self) -> bool:
        return not self.works and not self._over

    @property
    def place(self) -> Place:
        if not self.works:
            return self._walk.place
        return Place(self._read_from.query, self._read_from.skip + self._taken)

    async def feed(self) -> list[Quarantined]:
        self._read_from, self._taken = self._walk.place, 0
        page = await self._walk.next_page()
        if page is None:
            self._over = True
            return []
        self.works.extend(page[0])
        return list(page[1])

    def take(self) -> Work:
        self._taken += 1
        return self.works.popleft()


class _Out:
    """The merged page that is being filled."""

    def __init__(self, readers: tuple[_Reader, ...]) -> None:
        self.works: list[Work] = []
        self.quarantined: list[Quarantined] = []
        self._readers = readers
        self._sent: set[str] = set()

    def take(self, reader: _Reader) -> None:
        work = reader.take()
        if work.id not in self._sent:
            self._sent.add(work.id)
            self.works.append(work)

    def page(self) -> SourcePage:
        page = SourcePage(
            tuple(self.works),
            write_cursor(tuple(reader.place for reader in self._readers)),
            tuple(self.quarantined),
        )
        self.works, self.quarantined = [], []
        return page
