"""Search as the site answers it: pure functions over the indexed works.

Words separated by a space must all be there; `a OR b` accepts either and binds closer than the space; a leading `-`
excludes; brackets group. Days are JST days, both ends included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal

from pixivflow.sandbox.jst import day_of
from pixivflow.sandbox.world import Kind, Work, fold

Target = Literal["partial_match_for_tags", "exact_match_for_tags", "title_and_caption", "keyword", "text"]
TARGETS: Final[frozenset[str]] = frozenset(
    ("partial_match_for_tags", "exact_match_for_tags", "title_and_caption", "keyword", "text")
)
SORTS: Final[frozenset[str]] = frozenset(
    ("date_desc", "date_asc", "popular_desc", "popular_male_desc", "popular_female_desc")
)
DURATIONS: Final[dict[str, timedelta]] = {
    "within_last_day": timedelta(days=1),
    "within_last_week": timedelta(days=7),
    "within_last_month": timedelta(days=30),
}
OFFSET_LIMIT: Final = 5000


class BadParameterError(ValueError):
    """A parameter the site would refuse with status 400; carries its name and what is wrong."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Term:
    """One word, wanted or (with a minus) unwanted."""

    word: str
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the alternatives; each is a list of which all must hold."""

    alternatives: tuple[tuple[Term | AnyOf, ...], ...]


Expression = tuple[Term | AnyOf, ...]


def parse_words(text: str) -> Expression:
    """Read search words. Unbalanced brackets are taken as if they were closed at the end."""
    spaced = text.replace("\u3000", " ").replace("(", " ( ").replace(")", " ) ")
    expression, _ = _parse_group(spaced.split(), 0, depth=0)
    return expression


def _parse_group(tokens: list[str], at: int, *, depth: int) -> tuple[Expression, int]:
    units: list[Term | AnyOf] = []
    joining = False
    while at < len(tokens):
        word = tokens[at]
        at += 1
        if word == ")":
            if depth:
                break
            continue
        if word == "OR":
            joining = bool(units)
            continue
        unit: Term | AnyOf
        if word == "(" and depth < 20:
            inner, at = _parse_group(tokens, at, depth=depth + 1)
            unit = inner[0] if len(inner) == 1 else AnyOf((inner,))
        elif word.startswith("-") and len(word) > 1:
            unit = Term(fold(word[1:]), wanted=False)
        else:
            unit = Term(fold(word))
        units[-1:] = [_either(units[-1], unit)] if joining else [*units[-1:], unit]
        joining = False
    return tuple(units), at


def _either(left: Term | AnyOf, right: Term | AnyOf) -> AnyOf:
    if isinstance(left, AnyOf):
        return AnyOf((*left.alternatives, (right,)))
    return AnyOf(((left,), (right,)))


def holds(expression: Expression, has: Callable[[str], bool]) -> bool:
    """Whether a work for which `has` tells the words it carries satisfies the expression."""
    return all(_holds(unit, has) for unit in expression)


def _holds(unit: Term | AnyOf, has: Callable[[str], bool]) -> bool:
    if isinstance(unit, Term):
        return has(unit.word) is unit.wanted
    return any(holds(alternative, has) for alternative in unit.alternatives)


def word_test(work: Work, target: str, *, translated: bool = True) -> Callable[[str], bool]:
    """How one work is asked for a word under a search target."""
    names = [name for name, _ in work.tags]
    if translated:
        names += [translation for _, translation in work.tags if translation]
    if target == "exact_match_for_tags":
        return lambda word: word in names
    if target == "title_and_caption":
        return lambda word: word in work.prose
    if target == "keyword":
        return lambda word: word in work.prose or any(word in name for name in names)
    if target == "text":
        body = fold(work.novel.text or "") if work.novel else ""
        return lambda word: word in body
    return lambda word: any(word in name for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search with its parameters already checked."""

    kind: Kind
    word: str
    target: str = "partial_match_for_tags"
    sort: str = "date_desc"
    since: datetime | None = None
    start: date | None = None
    end: date | None = None
    hide_ai: bool = False
    all_ages_only: bool = False
    translated: bool = True


def _day(params: Mapping[str, str], name: str) -> date | None:
    text = params.get(name)
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadParameterError(name, "must be a date of the form YYYY-MM-DD") from None


def _choice(params: Mapping[str, str], name: str, allowed: Iterable[str], default: str) -> str:
    value = params.get(name) or default
    if value not in allowed:
        raise BadParameterError(name, "is not one of the known values")
    return value


def read_query(kind: Kind, params: Mapping[str, str], *, now: datetime, premium: bool) -> Query:
    """Check the parameters of a search. Raises BadParameterError for what the site refuses."""
    word = params.get("word", "").strip()
    if not word:
        raise BadParameterError("word", "is required")
    target = _choice(
        params, "search_target", TARGETS - ({"text"} if kind == "illust" else set()), "partial_match_for_tags"
    )
    sort = _choice(params, "sort", SORTS, "date_desc")
    if sort.startswith("popular") and not premium:
        sort = "date_desc"
    duration = params.get("duration")
    if duration and duration not in DURATIONS:
        raise BadParameterError("duration", "is not one of the known values")
    return Query(
        kind=kind,
        word=word,
        target=target,
        sort=sort,
        since=now - DURATIONS[duration] if duration else None,
        start=_day(params, "start_date"),
        end=_day(params, "end_date"),
        hide_ai=params.get("search_ai_type") == "1",
        all_ages_only=params.get("filter") == "for_ios",
        translated=params.get("include_translated_tag_results") != "false",
    )


def run_search(works: Iterable[Work], query: Query) -> list[Work]:
    """Matching works in the asked order. `works` must come newest first."""
    expression = parse_words(query.word)
    found = [work for work in works if _admits(query, work) and holds(expression, word_test(work, query.target, translated=query.translated))]  # fmt: skip  # noqa: E501
    if query.sort == "date_asc":
        found.reverse()
    elif query.sort.startswith("popular"):
        found.sort(key=lambda work: work.bookmarks, reverse=True)
    return found


def _admits(query: Query, work: Work) -> bool:
    if query.hide_ai and work.ai_type == 2:
        return False
    if query.all_ages_only and query.kind == "illust" and work.x_restrict:
        return False
    if query.since is not None and work.created < query.since:
        return False
    if query.start is None and query.end is None:
        return True
    day = day_of(work.created)
    return (query.start is None or day >= query.start) and (query.end is None or day <= query.end)
