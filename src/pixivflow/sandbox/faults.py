"""Which faults a request meets: matching and counting. Pure but for the counters it keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from pixivflow.sandbox.fault_schema import RECORD_ACTIONS, Action, Rule

_MEDIA_ID: Final = re.compile(r"/(?P<id>\d+)(?:-[0-9a-f]{32})?_(?:p(?P<page>\d+)|ugoira|master|square|[0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Subject:
    """A request as fault rules see it."""

    route: str
    path: str
    host: str
    work: int | None = None
    page: int | None = None


def subject_of(route: str, path: str, host: str, query: Mapping[str, str], params: Mapping[str, str]) -> Subject:
    """Read the work (illustration or novel) and the page of it that a request is about."""
    media = _MEDIA_ID.search(path) if route.startswith("media.") else None
    if media is not None:
        return Subject(route, path, host, int(media["id"]), int(media["page"]) if media["page"] else None)
    values = (query.get("illust_id"), query.get("novel_id"), query.get("id"), params.get("id"))
    named = next((value for value in values if value and value.isascii() and value.isdigit() and len(value) < 19), None)
    return Subject(route, path, host, int(named) if named else None)


def matches(rule: Rule, subject: Subject) -> bool:
    """Whether a rule's `match` and `page` fit; its `work` is a question of its own."""
    if rule.page is not None and rule.page != subject.page:
        return False
    if rule.match.startswith("/"):
        return fnmatchcase(subject.path, rule.match)
    if rule.match.startswith("https://"):
        return fnmatchcase(f"https://{subject.host}{subject.path}", rule.match)
    return fnmatchcase(subject.route, rule.match)


@dataclass(slots=True)
class _Counter:
    seen: int = 0
    fired: int = 0
    passed: int = 0
    limited_since: float | None = None


class FaultBook:
    """The rules in force, each with its own count. `clock` is monotonic seconds (for limits that recover)."""

    def __init__(self, rules: Sequence[Rule] = (), *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rules: list[tuple[Rule, _Counter]] = []
        self.replace(rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def replace(self, rules: Iterable[Rule]) -> None:
        """Put other rules in force, all counts at zero."""
        self._rules = [(rule, _Counter()) for rule in rules]

    def document(self) -> list[dict[str, Any]]:
        """Rules with how often each matched (`seen`) and acted (`fired`)."""
        return [{**rule.document(), "seen": count.seen, "fired": count.fired} for rule, count in self._rules]

    def before(self, subject: Subject) -> list[Action]:
        """Actions that can be decided on the request alone, in the order of the rules."""
        return [
            rule.action
            for rule, count in self._rules
            if rule.action.type not in RECORD_ACTIONS
            and matches(rule, subject)
            and (rule.work is None or rule.work == subject.work)
            and self._fires(rule, count)
        ]

    def on_records(self, subject: Subject, ids: Callable[[], frozenset[int]]) -> list[tuple[Action, int | None]]:
        """Actions on records inside the answer, each with the one work it is limited to.

        A rule with `work` counts only answers that hold that work; `ids` tells which works an answer holds.
        """
        return [
            (rule.action, rule.work)
            for rule, count in self._rules
            if rule.action.type in RECORD_ACTIONS
            and matches(rule, subject)
            and (rule.work is None or rule.work == subject.work or rule.work in ids())
            and self._fires(rule, count)
        ]

    def _fires(self, rule: Rule, count: _Counter) -> bool:
        count.seen += 1
        if rule.count is not None and count.fired >= rule.count:
            return False
        if not rule.nth.hits(count.seen) or not self._limit_reached(rule, count):
            return False
        count.fired += 1
        return True

    def _limit_reached(self, rule: Rule, count: _Counter) -> bool:
        """For a rate limit with an allowance: whether it is used up and has not recovered yet. True for all else."""
        allowed = rule.action.args.get("after_requests") if rule.action.type == "rate_limit" else None
        if allowed is None:
            return True
        now, recover = self._clock(), rule.action.args.get("recover_after_s")
        if count.limited_since is not None and recover is not None and now - count.limited_since >= recover:
            count.limited_since, count.passed = None, 0
        if count.limited_since is None and count.passed < allowed:
            count.passed += 1
            return False
        if count.limited_since is None:
            count.limited_since = now
        return True
