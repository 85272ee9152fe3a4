"""Fault rules: reading them with clear errors, matching and counting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.sandbox.fault_schema import ACTIONS, FaultFileError, Nth, read_rules
from pixivflow.sandbox.faults import FaultBook, Subject, subject_of

SUBJECT = Subject("illust.detail", "/v1/illust/detail", "app-api.pixiv.net", 123)


class Clock:
    """Monotonic seconds set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _book(*rules: dict[str, Any], clock: Clock | None = None) -> FaultBook:
    return FaultBook(read_rules(list(rules)), clock=clock or Clock())


def _fired(book: FaultBook, times: int, subject: Subject = SUBJECT) -> list[int]:
    return [number for number in range(1, times + 1) if book.before(subject)]


@pytest.mark.parametrize(
    ("nth", "expected"),
    [
        ("every", [1, 2, 3, 4, 5, 6]),
        (2, [2]),
        ([1, 4], [1, 4]),
        ({"every": 3}, [3, 6]),
        ({"from": 5}, [5, 6]),
        ({"from": 3, "every": 2}, [4, 6]),
    ],
)
def test_which_requests_are_meant(nth: Any, expected: list[int]) -> None:
    assert _fired(_book({"match": "illust.detail", "nth": nth, "action": "empty"}), 6) == expected


def test_count_ends_a_rule() -> None:
    book = _book({"match": "*", "count": 2, "action": "empty"})
    assert _fired(book, 5) == [1, 2]
    assert book.document()[0]["seen"] == 5
    assert book.document()[0]["fired"] == 2


@given(st.lists(st.integers(1, 30), min_size=1), st.integers(1, 40))
def test_numbers_hit_exactly_themselves(numbers: list[int], number: int) -> None:
    assert Nth(frozenset(numbers)).hits(number) is (number in numbers)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("illust.detail", True),
        ("illust.*", True),
        ("*", True),
        ("novel.detail", False),
        ("/v1/illust/*", True),
        ("/v2/*", False),
        ("https://app-api.pixiv.net/*", True),
        ("https://i.pximg.net/*", False),
    ],
)
def test_matching(match: str, expected: bool) -> None:
    assert bool(_book({"match": match, "action": "empty"}).before(SUBJECT)) is expected


def test_a_rule_can_name_one_work_and_page() -> None:
    page = subject_of("media.original", "/img-original/img/2026/03/10/00/00/00/123_p2.jpg", "i.pximg.net", {}, {})
    assert (page.work, page.page) == (123, 2)
    rule = {"match": "media.*", "work": 123, "page": 2, "action": "empty"}
    assert _book(rule).before(page)
    assert not _book({**rule, "page": 1}).before(page)
    assert not _book({**rule, "work": 124}).before(page)


@pytest.mark.parametrize(
    ("route", "path", "query", "params", "work"),
    [
        ("illust.detail", "/v1/illust/detail", {"illust_id": "7"}, {}, 7),
        ("novel.detail", "/v2/novel/detail", {"novel_id": "8"}, {}, 8),
        ("novel.webview", "/webview/v2/novel", {"id": "9"}, {}, 9),
        ("web.illust", "/ajax/illust/10", {}, {"id": "10"}, 10),
        ("media.zip", "/img-zip-ugoira/img/x/11_ugoira600x600.zip", {}, {}, 11),
        ("media.original", f"/img-original/img/x/12-{'b' * 32}_p3.png", {}, {}, 12),
        ("media.resized", "/c/360x360_70/img-master/img/x/13_square1200.jpg", {}, {}, 13),
        ("search.illust", "/v1/search/illust", {"word": "1"}, {}, None),
        ("illust.detail", "/v1/illust/detail", {"illust_id": "x"}, {}, None),
    ],
)
def test_the_work_of_a_request(
    route: str, path: str, query: dict[str, str], params: dict[str, str], work: int | None
) -> None:
    assert subject_of(route, path, "", query, params).work == work


def test_a_rate_limit_can_allow_some_and_recover() -> None:
    clock = Clock()
    action = {"type": "rate_limit", "after_requests": 2, "recover_after_s": 10}
    book = _book({"match": "*", "action": action}, clock=clock)
    assert _fired(book, 4) == [3, 4]
    clock.now += 9.9
    assert _fired(book, 1) == [1]
    clock.now += 0.1
    assert _fired(book, 3) == [3]


def test_a_rate_limit_without_recovery_stays() -> None:
    clock = Clock()
    book = _book({"match": "*", "action": {"type": "rate_limit", "after_requests": 1}}, clock=clock)
    assert _fired(book, 3) == [2, 3]
    clock.now += 1e6
    assert _fired(book, 1) == [1]


def test_rules_on_records_count_answers_that_hold_the_work() -> None:
    book = _book({"match": "search.illust", "work": 5, "nth": 2, "action": {"type": "drop_keys", "keys": ["type"]}})
    search = Subject("search.illust", "/v1/search/illust", "app-api.pixiv.net")
    holds = [{4}, {5}, {6}, {5}, {5}]
    fired = [bool(book.on_records(search, lambda ids=ids: frozenset(ids))) for ids in holds]
    assert fired == [False, False, False, True, False]
    assert book.before(search) == []


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("x", "must hold a list"),
        ({"rule": []}, "'rules'"),
        ([1], r"rules\[0\]: must be an object"),
        ([{"action": "empty"}], r"rules\[0\].match"),
        (
            [{"match": "illust.detial", "action": "empty"}],
            r"no route is called 'illust.detial'; near it:.*illust.detail",
        ),
        ([{"match": "*"}], r"rules\[0\].action"),
        ([{"match": "*", "action": "explode"}], r"rules\[0\].action.type: must be one of status"),
        ([{"match": "*", "action": {"type": "status"}}], r"action.status: is required"),
        ([{"match": "*", "action": {"type": "status", "status": 99}}], r"action.status: must be a status"),
        ([{"match": "*", "action": {"type": "delay", "seconds": -1}}], r"action.seconds: must be a number"),
        ([{"match": "*", "action": {"type": "empty", "x": 1}}], r"action.x: action 'empty' has no such field"),
        ([{"match": "*", "action": {"type": "bad_zip", "variant": "odd"}}], r"variant: must be one of cut"),
        ([{"match": "*", "action": {"type": "drop_keys", "keys": []}}], r"keys: must be a list of texts"),
        ([{"match": "*", "action": {"type": "status", "status": 500, "headers": {"a": "b\n"}}}], r"headers: must be"),
        ([{"match": "*", "action": "empty", "nth": 0}], r"rules\[0\].nth"),
        ([{"match": "*", "action": "empty", "nth": {"every": 0}}], r"nth.every: must be a whole number >= 1"),
        ([{"match": "*", "action": "empty", "count": 0}], r"count: must be a whole number >= 1"),
        ([{"match": "*", "action": "empty", "wrok": 1}], r"unknown key 'wrok'"),
        ([{"match": "*", "action": "empty"}, {"match": "*", "action": {"type": []}}], r"rules\[1\].action.type"),
    ],
)
def test_bad_files_are_told_where(document: Any, told: str) -> None:
    with pytest.raises(FaultFileError, match=told):
        read_rules(document)


def test_actions_without_required_fields_may_be_given_by_name() -> None:
    for name, fields in ACTIONS.items():
        if not any(required for _, required in fields.values()):
            assert read_rules([{"match": "*", "action": name}])[0].action.type == name
