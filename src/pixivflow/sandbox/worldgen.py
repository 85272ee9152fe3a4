"""The generated world: a pure function of seed, sizes and anchor day.

Work number 0 is the newest. Ids, titles, tags and pixels depend on the number and the seed only, so they stay the
same when a world gets more works or another anchor day. Eight works share a JST day; four of them stand within
three minutes of midnight, two of those in the same second, because that is where day arithmetic goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from pixivflow.sandbox import records, vocabulary
from pixivflow.sandbox.jst import start_of
from pixivflow.sandbox.novelgen import write_novel
from pixivflow.sandbox.records import Record
from pixivflow.sandbox.seeded import number, stream
from pixivflow.sandbox.world import Frame, Series, World

WORKS_PER_DAY: Final = 8
_OFFSETS_S: Final = (0, -17, -17, -180, -3 * 3600, -7 * 3600, -12 * 3600 - 1, -23 * 3600 - 3423)
"""Seconds after the midnight that ends the day, newest first; the last one is 00:02:57 of that day."""

FIRST_AUTHOR: Final = 1001
ILLUST_SERIES: Final = 7001
NOVEL_SERIES: Final = 8001


@dataclass(frozen=True, slots=True)
class Archetype:
    """What the n-th work of a round of twenty is."""

    kind: str = "illust"
    exts: tuple[str, ...] = ("jpg",)
    x_restrict: int = 0
    sanity: int = 2
    ai: int = 1
    awkward: bool = False
    frames: int = 0


_SINGLE: Final = Archetype()
# The first ten already hold every type, so that a world of ten works is enough for a quick test.
ARCHETYPES: Final[tuple[Archetype, ...]] = (
    Archetype(exts=("jpg", "jpg", "png")),
    _SINGLE,
    Archetype(kind="ugoira", frames=6),
    Archetype(exts=("png",)),
    Archetype(kind="manga", exts=("png", "png", "png", "png")),
    Archetype(awkward=True),
    Archetype(x_restrict=1, sanity=6),
    Archetype(exts=("gif",), ai=0),
    Archetype(ai=2),
    Archetype(exts=("jpg", "png"), awkward=True),
    _SINGLE,
    Archetype(sanity=4),
    Archetype(exts=("png",), ai=0),
    Archetype(x_restrict=1, sanity=6, exts=("jpg", "jpg")),
    Archetype(kind="ugoira", frames=10),
    Archetype(awkward=True, exts=("png",)),
    Archetype(kind="manga", exts=("jpg",) * 12),
    Archetype(ai=2, exts=("png",)),
    Archetype(x_restrict=2, sanity=6),
    _SINGLE,
)


def awkward_number(index: int) -> int:
    """How many awkward works there are before work number `index`; it walks through the lists of awkward words."""
    rounds, within = divmod(index, len(ARCHETYPES))
    return rounds * sum(kind.awkward for kind in ARCHETYPES) + sum(kind.awkward for kind in ARCHETYPES[:within])


def created_at(index: int, anchor: date) -> datetime:
    """When work number `index` appeared; never later than the midnight that begins the anchor day."""
    day, slot = divmod(index, WORKS_PER_DAY)
    return start_of(anchor) - timedelta(days=day) + timedelta(seconds=_OFFSETS_S[slot])


def illust_id(index: int, seed: int) -> int:
    """Ids fall as works get older, with gaps, and differ between seeds."""
    return 140_000_000 + (seed % 1000) * 10_000 - index * 7


def novel_id(index: int, seed: int) -> int:
    """As `illust_id`, for novels."""
    return 24_000_000 + (seed % 1000) * 10_000 - index * 3


def popularity(seed: int, kind: str, index: int) -> tuple[int, int]:
    """Bookmarks and views, spread over five orders of magnitude as on the site."""
    rng = stream(seed, kind, index, "popularity")
    bookmarks = int(10 ** rng.uniform(0.3, 4.7))
    return bookmarks, bookmarks * rng.randint(4, 25) + rng.randint(0, 90)


def generate(*, seed: int = 1, works: int = 200, novels: int | None = None, users: int = 12, anchor: date,
             size: tuple[int, int] = (600, 800)) -> World:  # fmt: skip
    """A world of `works` illustrations, `novels` novels and `users` authors.

    Without a number of novels there is one for five works, at least five.
    """
    world = World()
    authors = [_author(world, index) for index in range(max(1, users))]
    for index in range(works):
        _add_illust(world, authors, seed, index, created_at(index, anchor), size=size)
    for index in range(max(5, works // 5) if novels is None else novels):
        _add_novel(world, authors, seed, index, anchor)
    return world


def _author(world: World, index: int) -> Record:
    user_id = FIRST_AUTHOR + index
    names = vocabulary.USER_NAMES
    name = names[index % len(names)] + ("" if index < len(names) else f" {index // len(names) + 1}")
    follows = {0: "public", 1: "public", 3: "private"}.get(index % 6)
    author = records.user(user_id, name, followed=follows is not None)
    if follows is not None:
        world.following[user_id] = follows
    world.add_author(author, comment=vocabulary.CAPTIONS[index % len(vocabulary.CAPTIONS)])
    for kind, base, title in (("illust", ILLUST_SERIES, "連載"), ("novel", NOVEL_SERIES, '物語 "其の一" ]]> &')):
        world.add_series(Series(base + index, kind, f"{title} {index + 1}", user_id))  # type: ignore[arg-type]
    return author


def pick_author(seed: int, kind: str, index: int, count: int) -> int:
    """Author number of a work: the first author made about a third, as the busy ones do."""
    roll = number(seed, kind, index, "author")
    return 0 if roll % 3 == 0 or count == 1 else 1 + roll // 3 % (count - 1)


def illust_tags(seed: int, index: int, kind: Archetype, bookmarks: int) -> list[str | tuple[str, str | None]]:
    """Three to six tags from the pool, then those that follow from what the work is."""
    rng = stream(seed, "illust", index, "tags")
    tags: list[str | tuple[str, str | None]] = [*rng.sample(vocabulary.TAGS, rng.randint(3, 6))]
    if index % 2 == 0 and vocabulary.TAGS[1] not in tags:
        tags.append(vocabulary.TAGS[1])
    if kind.x_restrict:
        tags.insert(0, (vocabulary.RATING_TAGS[kind.x_restrict], None))
    if kind.ai == 2:
        tags.append(vocabulary.AI_TAG)
    if kind.awkward:
        tags.append((vocabulary.AWKWARD_TAGS[awkward_number(index) % len(vocabulary.AWKWARD_TAGS)], None))
    if kind.kind == "ugoira":
        tags.append(vocabulary.UGOIRA_TAG)
    if kind.kind == "manga":
        tags.append(vocabulary.MANGA_TAG)
    if bookmarks >= 1000:
        tags.append((vocabulary.POPULAR_TAGS[bookmarks >= 5000], None))
    return tags


def _title(seed: int, index: int, *, awkward: bool) -> str:
    if awkward:
        return vocabulary.AWKWARD_TITLES[awkward_number(index) % len(vocabulary.AWKWARD_TITLES)]
    return stream(seed, "title", index).choice(vocabulary.TITLES)


def _add_illust(
    world: World, authors: list[Record], seed: int, index: int, created: datetime, *, size: tuple[int, int]
) -> None:
    kind = ARCHETYPES[index % len(ARCHETYPES)]
    bookmarks, views = popularity(seed, "illust", index)
    # Manga come from two authors and series novels from one: even in a small world a series has several parts.
    by = index // 2 % min(2, len(authors)) if kind.kind == "manga" else pick_author(seed, "illust", index, len(authors))
    work_id = illust_id(index, seed)
    rng = stream(seed, "illust", index, "details")
    series = world.series["illust", ILLUST_SERIES + by] if kind.kind == "manga" else None
    record = records.illust(
        work_id,
        created,
        authors[by],
        title=_title(seed, index, awkward=kind.awkward),
        kind=kind.kind,
        pages=len(kind.exts),
        exts=kind.exts,
        tags=illust_tags(seed, index, kind, bookmarks),
        caption=rng.choice(vocabulary.CAPTIONS),
        x_restrict=kind.x_restrict,
        sanity_level=kind.sanity,
        ai_type=kind.ai,
        bookmarks=bookmarks,
        views=views,
        bookmarked=index % 3 == 1,
        series={"id": series.id, "title": series.title} if series else None,
        tools=rng.choice(vocabulary.TOOLS),
        size=size,
    )
    world.add_work(record, frames=_frames(rng.choice((40, 60, 80, 100)), kind.frames) if kind.frames else None)
    if index % 33 == 3:
        world.bookmark("illust", work_id, private=True)


def _frames(base_ms: int, count: int) -> list[Frame]:
    """Varied delays with a long last frame, which is the one that gets lost in conversions."""
    delays = [base_ms * (1 + n % 3) for n in range(count - 1)] + [2000]
    return [Frame(f"{n:06d}.jpg", delay) for n, delay in enumerate(delays)]


def _add_novel(world: World, authors: list[Record], seed: int, index: int, anchor: date) -> None:
    created = created_at(index * 2 + 1, anchor)
    by = 0 if index % 4 == 0 else pick_author(seed, "novel", index, len(authors))
    bookmarks, views = popularity(seed, "novel", index)
    rng = stream(seed, "novel", index)
    written = write_novel(world, seed, index, created)
    series = world.series["novel", NOVEL_SERIES + by] if index % 4 == 0 else None
    restricted = 1 if index % 7 == 3 else 0
    tags: list[str | tuple[str, str | None]] = [*rng.sample(vocabulary.NOVEL_TAGS, 3)]
    record = records.novel(
        novel_id(index, seed),
        created,
        authors[by],
        title="花 & 穹 <1>" if index == 0 else _title(seed, 10_000 + index, awkward=index % 5 == 4),
        text_length=len(written.text or ""),
        page_count=1 + (written.text or "").count("[newpage]"),
        tags=[(vocabulary.RATING_TAGS[1], None), *tags] if restricted else tags,
        caption=rng.choice(vocabulary.CAPTIONS),
        x_restrict=restricted,
        ai_type=(1, 1, 0, 2)[index % 4],
        bookmarks=bookmarks,
        views=views,
        bookmarked=index % 3 == 0,
        series={"id": series.id, "title": series.title} if series else None,
        own_cover=index % 6 != 5,
    )
    world.add_novel(record, written)


def dense_records(
    count: int, per_hour: int, newest: datetime, *, tag: str = "オリジナル", first_id: int = 90_000_000
) -> list[Record]:
    """`count` single-page works of one author, `per_hour` of them in each hour back from `newest`.

    Made for the offset wall: more works than a search can page through, spread over many days.
    """
    author = records.user(FIRST_AUTHOR, "dense")
    step = timedelta(seconds=3600 / per_hour)
    return [
        records.illust(
            first_id - index, newest - index * step, author, title=f"no. {index}", tags=[tag], bookmarks=index % 500
        )
        for index in range(count)
    ]
