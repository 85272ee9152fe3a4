"""The validator: every problem at once, each with its place, none with a secret."""

import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixivflow.config import Problem, check_config, render_problem, render_problems
from pixivflow.config.convert import to_domain_target
from pixivflow.config.soft import effective_budget

ROUTE = {"type": "httpMultipart", "url": "https://receiver.example/in"}
GOOD = {
    "pixiv": {"refreshToken": "a-real-refresh-token"},
    "targets": [{"id": "a", "type": "illustration", "tag": "x"}],
}


def found(data: dict[str, Any], env: dict[str, str] | None = None) -> dict[str, Problem]:
    """Problems by path, leaving out the warning about a missing refresh token."""
    result = check_config(data, env or {}, source="config.json")
    return {p.path: p for p in result.problems if not p.code.startswith("refresh_token")}


def test_a_good_configuration_has_no_problem() -> None:
    result = check_config(GOOD, {})
    assert result.problems == ()
    assert result.config is not None
    assert result.config.targets[0].effective_mode == "search"


def test_everything_wrong_is_told_at_once() -> None:
    data = {
        "logLevel": "warning",
        "requestDelay": 4,
        "pixiv": {"refreshTokn": "x"},
        "network": {"timeoutMs": "fast", "retries": 11},
        "download": {"concurrency": 0, "connections": 9, "ugoiraFormats": ["gif", "mp4"]},
        "delivery": {"targets": {"tp": {**ROUTE, "url": "ftp://x"}}},
        "targets": [
            {"id": "one", "typ": "novel"},
            {"id": "one", "type": "novell", "tag": "x", "delivery": {"targets": ["tq"]}},
            {"id": "bad id!", "type": "illustration", "tag": "x", "startDate": "2026-02-30"},
        ],
        "schedules": [{"id": "p", "cron": "61 * * * *", "timezone": "Asia/Shangai", "targetIds": ["won"]}],
    }
    problems = found(data)
    codes = {path: problem.code for path, problem in problems.items()}
    assert codes == {
        "logLevel": "unknown_value",
        "requestDelay": "unknown_key",
        "pixiv.refreshTokn": "unknown_key",
        "network.timeoutMs": "wrong_type",
        "network.retries": "out_of_range",
        "download.concurrency": "out_of_range",
        "download.connections": "out_of_range",
        "download.ugoiraFormats[1]": "unknown_value",
        "delivery.targets.tp.url": "url",
        "targets[0].type": "required",
        "targets[0].typ": "unknown_key",
        "targets[0].tag": "required",
        "targets[1].id": "duplicate_id",
        "targets[1].type": "unknown_value",
        "targets[1].delivery.targets[0]": "unknown_route",
        "targets[2].id": "bad_form",
        "targets[2].startDate": "day",
        "schedules[0].cron": "cron",
        "schedules[0].timezone": "timezone",
        "schedules[0].targetIds[0]": "unknown_target",
    }
    assert problems["requestDelay"].suggestion == 'did you mean "download.requestDelay"?'
    assert problems["logLevel"].suggestion == 'did you mean "warn"?'
    assert problems["schedules[0].timezone"].suggestion == 'did you mean "Asia/Shanghai"?'
    assert problems["targets[1].delivery.targets[0]"].suggestion is None
    assert check_config(data, {}).config is None


def test_a_line_says_file_place_reason_and_suggestion() -> None:
    problem = found({**GOOD, "targets": [{"id": "a", "typ": "novel", "type": "novel", "tag": "x"}]})["targets[0].typ"]
    assert render_problem(problem) == 'config.json: targets[0].typ: unknown key; did you mean "type"?'


def test_errors_are_rendered_before_warnings_one_line_each() -> None:
    result = check_config({"pixiv": {"a\nb": 1}}, {}, source="c.json")
    lines = render_problems(result.problems).split("\n")
    assert len(lines) == 2
    assert lines[0] == 'c.json: pixiv["a\\nb"]: unknown key'
    assert lines[1].startswith("c.json: warning: pixiv.refreshToken: ")


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [("refresh_token", "refreshToken"), ("RefreshToken", "refreshToken"), ("useragent", "userAgent")],
)
def test_case_and_underscores_are_no_distance(key: str, suggestion: str) -> None:
    problem = found({"pixiv": {key: "x"}})[f"pixiv.{key}"]
    assert problem.suggestion == f'did you mean "{suggestion}"?'


def test_comments_and_nulls_are_no_values() -> None:
    data = {
        "$schema": "x",
        "_why": {"deep": [1]},
        "pixiv": {"refreshToken": "a-real-refresh-token", "_note": "n", "userAgent": None},
        "targets": [{"_": "", "id": "a", "type": "novel", "tag": "x", "delivery": {"target": "r", "_x": 1}}],
        "delivery": {"targets": {"_later": {"type": "nonsense"}, "r": {**ROUTE, "fields": {"_c": "${NOT_THERE}"}}}},
    }
    result = check_config(data, {})
    assert result.problems == ()
    assert result.config is not None
    assert list(result.config.delivery.targets) == ["r"]


@pytest.mark.parametrize(
    ("section", "value", "expected"),
    [
        ("pixiv", 3, "expected an object, found 3"),
        ("targets", {}, "expected a list, found an object"),
        ("scheduler", {"enabled": "yes"}, "expected true or false, found a text"),
        ("download", {"concurrency": 2.5}, "expected a whole number, found 2.5"),
        ("download", {"concurrency": True}, "expected a whole number, found true"),
        ("storage", {"databasePath": 7}, "expected a text, found 7"),
        ("storage", {"downloadDirectory": ""}, "must not be empty"),
        ("storage", {"downloadDirectory": "a\0b"}, "must not hold control characters"),
        ("pixiv", {"refreshToken": 123456}, "expected a text, found a number"),
    ],
)
def test_wrong_types_say_what_was_expected_and_found(section: str, value: object, expected: str) -> None:
    problems = [p for p in check_config({section: value}, {}).problems if p.severity == "error"]
    assert [p.reason for p in problems] == [expected]


# --- secrets ----------------------------------------------------------------------------------------------------


def test_no_secret_is_ever_said() -> None:
    secret = "s3cr3t-value-nobody-may-see"
    data = {
        "logLevel": "${LEVEL}",
        "pixiv": {"refreshToken": [secret], "clientSecret": {"a": secret}, "refreshTokem": secret},
        "network": {"proxy": {"password": 12345678901, "port": "${PW}"}},
        "delivery": {
            "targets": {"r": {**ROUTE, "url": "${URL}", "headers": {"X": [secret]}, "fields": {"a": {"b": secret}}}}
        },
        "targets": [{"id": "${ID}", "type": "novel", "tag": "x", "delivery": {"target": "${ROUTE}"}}] * 2,
    }
    env = {"LEVEL": secret, "PW": secret, "URL": secret, "ROUTE": secret, "ID": secret}
    result = check_config(data, env, {"schedulerRuntime.trigger.token": secret})
    text = render_problems(result.problems) + repr(result)
    assert "env LEVEL: logLevel: must be one of" in text
    assert secret not in text
    assert "12345678901" not in text


# --- targets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "mode"),
    [
        ({"mode": "topic", "topic": "x"}, "topic"),
        ({"seriesId": 5, "type": "novel"}, "series"),
        ({"random": True, "tag": "x"}, "random"),
        ({"mode": "series"}, "series"),
    ],
)
def test_modes_of_later_versions_are_named(extra: dict[str, object], mode: str) -> None:
    problems = list(found({"targets": [{"id": "a", "type": "illustration", **extra}]}).values())
    assert [p.code for p in problems] == ["mode_not_available"]
    assert problems[0].reason == f"target mode {mode} is not available in this version"


@pytest.mark.parametrize(
    ("target", "path", "code"),
    [
        ({"type": "illustration"}, "tag", "required"),
        ({"type": "illustration", "tag": "  "}, "tag", "required"),
        ({"type": "illustration", "mode": "user"}, "userId", "required"),
        ({"type": "novel", "mode": "work"}, "novelId", "required"),
        ({"type": "illustration", "mode": "work"}, "illustId", "required"),
        ({"type": "illustration", "novelId": 4}, "novelId", "conflict"),
        ({"type": "novel", "novelId": 4, "userId": "5"}, "userId", "conflict"),
        ({"type": "illustration", "userId": 4, "mode": "ranking"}, "mode", "no_effect"),
        ({"type": "illustration", "userId": "4x"}, "userId", "pixiv_id"),
        ({"type": "illustration", "userId": 0}, "userId", "pixiv_id"),
        ({"type": "illustration", "tag": "x", "limit": 0}, "limit", "out_of_range"),
        ({"type": "illustration", "tag": "x", "limit": 1001}, "limit", "unusual"),
        ({"type": "illustration", "tag": "x", "candidateScanLimit": 500}, "candidateScanLimit", "clamped"),
        ({"type": "illustration", "mode": "ranking", "rankingMode": "dayly"}, "rankingMode", "unknown_value"),
        ({"type": "illustration", "tag": "x", "startDate": "TODAY", "endDate": "YESTERDAY"}, "startDate", "date_order"),
        (
            {"type": "novel", "tag": "x", "startDate": "2026-03-02", "endDate": "2026-03-01"},
            "startDate",
            "date_order",
        ),
        ({"type": "novel", "tag": "x", "languageFilter": "chinese"}, "languageFilter", "no_effect"),
        ({"type": "novel", "tag": "x", "restrict": "public"}, "restrict", "no_effect"),
        ({"type": "novel", "tag": "x", "delivery": {"target": "nope"}}, "delivery.target", "unknown_route"),
    ],
)
def test_rules_of_targets(target: dict[str, object], path: str, code: str) -> None:
    problems = found({"targets": [{"id": "a", **target}]})
    assert {p: problem.code for p, problem in problems.items()} == {f"targets[0].{path}": code}


def test_a_key_without_effect_is_quiet_at_its_default() -> None:
    target = {"id": "a", "type": "novel", "tag": "x", "detectLanguage": True, "languageCandidateLimit": 20}
    assert found({"targets": [target]}) == {}


def test_targets_without_id_are_warned_about_and_refused_with_delivery() -> None:
    problems = found(
        {
            "delivery": {"targets": {"r": ROUTE}},
            "targets": [
                {"type": "novel", "tag": "x"},
                {"type": "novel", "tag": "x", "delivery": {"target": "r"}},
            ],
        }
    )
    assert {p: (x.severity, x.code) for p, x in problems.items()} == {
        "targets[0].id": ("warning", "target_without_id"),
        "targets[1].id": ("error", "required"),
    }


def test_a_target_becomes_one_of_the_domain() -> None:
    data = {
        "delivery": {"targets": {"r": ROUTE, "s": ROUTE}},
        "targets": [
            {
                "id": "a",
                "type": "novel",
                "tag": "x y",
                "tagRelation": "or",
                "limit": 30,
                "startDate": "LAST_7_DAYS",
                "endDate": "2026-12-31",
                "excludeAI": True,
                "storageMode": "cache",
                "delivery": {"targets": ["s", "r", "s"], "fields": {"k": [1, "v"]}},
            },
            {"id": "w", "type": "illustration", "illustId": 77},
        ],
    }
    config = check_config(data, {}).config
    assert config is not None
    first, second = (to_domain_target(t, today=date(2026, 3, 8), default_scan_limit=5) for t in config.targets)
    assert (first.tags, first.limit, first.scan_limit, first.routes) == (("x", "y"), 30, 30, ("s", "r"))
    assert (first.filters.start_date, first.filters.end_date) == (date(2026, 3, 1), date(2026, 12, 31))
    assert first.fields == {"k": (1, "v")}
    assert first.filters.exclude_ai
    assert second.work_ref is not None
    assert (second.mode, second.work_ref.id) == ("work", "77")


# --- delivery ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["webhook", "telegram"])
def test_route_types_of_later_versions_are_named_and_still_known_by_name(kind: str) -> None:
    data = {
        "delivery": {"targets": {"r": {"type": kind, "botToken": "x"}}},
        "targets": [{"id": "a", "type": "novel", "tag": "x", "delivery": {"target": "r"}}],
    }
    problems = found(data)
    assert list(problems) == ["delivery.targets.r.type"]
    assert problems["delivery.targets.r.type"].code == "route_type_not_available"


def test_rules_of_routes() -> None:
    route = {
        **ROUTE,
        "success": {"statuses": [200]},
        "capabilities": {"albumMin": 5, "albumMax": 2, "txt": True, "maxTextLength": -1},
        "fields": {"a": "{{titel}} {{author}}", "b": ["{{link}}", "{{zzz}}"]},
    }
    problems = found({"delivery": {"targets": {"r": route}, "outboxRetryBaseMs": 10, "outboxRetryMaxMs": 5}})
    at = "delivery.targets.r"
    assert {p: (x.severity, x.code) for p, x in problems.items()} == {
        f"{at}.capabilities.txt": ("warning", "unknown_capability"),
        f"{at}.capabilities.maxTextLength": ("error", "out_of_range"),
        f"{at}.capabilities.albumMin": ("error", "range"),
        f"{at}.fields.a": ("warning", "unknown_placeholder"),
        f"{at}.fields.b[1]": ("warning", "unknown_placeholder"),
        f"{at}.success": ("warning", "no_effect"),
    }
    assert problems[f"{at}.fields.a"].suggestion == 'did you mean "title"?'
    assert problems[f"{at}.capabilities.txt"].suggestion == 'did you mean "text"?'


def test_the_longest_pause_is_not_below_the_first() -> None:
    problems = found({"delivery": {"outboxRetryBaseMs": 10, "outboxRetryMaxMs": 5}})
    assert {p: x.code for p, x in problems.items()} == {"delivery": "range"}


def test_a_proxy_that_cannot_be_used_is_refused_not_skipped() -> None:
    assert (
        found({"network": {"proxy": {"enabled": True, "host": "p", "port": 1, "protocol": "socks5"}}})[
            "network.proxy.protocol"
        ].code
        == "proxy_not_available"
    )
    assert list(found({"network": {"proxy": {"enabled": True}}})) == ["network.proxy.host", "network.proxy.port"]
    assert found({"network": {"proxy": {"enabled": False, "protocol": "socks5"}}}) == {}


def test_the_proxy_address_escapes_its_credentials() -> None:
    proxy = {"enabled": True, "host": "::1", "port": 3128, "username": "a@b", "password": "p:/?"}
    config = check_config({"network": {"proxy": proxy}}, {}).config
    assert config is not None
    url = config.network.proxy.url
    assert url is not None
    assert url.get_secret_value() == "http://a%40b:p%3A%2F%3F@[::1]:3128"
    assert "p%3A" not in repr(url)


def test_postgres_is_named_as_a_later_thing() -> None:
    problem = found({"storage": {"databaseUrl": "postgresql://u:pw@h/db"}})["storage.databaseUrl"]
    assert problem.code == "not_available"
    assert "pw" not in problem.reason
    assert found({"storage": {"databaseUrl": "mysql://x"}})["storage.databaseUrl"].code == "database_url"


# --- values that are put right ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "effective"),
    [
        (59_999, 900_000),
        (60_000, 60_000),
        ("abc", 900_000),
        (math.nan, 900_000),
        (math.inf, 900_000),
        (90_000.9, 90_000),
        (True, 900_000),
        ([], 900_000),
        (-5, 900_000),
    ],
)
def test_budgets_are_put_right_and_never_refused(value: object, effective: int) -> None:
    result = check_config({**GOOD, "schedulerRuntime": {"stallTimeoutMs": value}}, {})
    assert result.errors == ()
    assert result.config is not None
    assert result.config.stall_timeout_ms == effective
    assert [p.code for p in result.warnings] == ([] if value == effective else ["budget"])


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_a_budget_is_always_usable(value: object) -> None:
    effective = effective_budget(value, 900_000)
    assert isinstance(effective, int)
    assert effective >= 60_000
    assert effective == 900_000 or (isinstance(value, (int, float)) and effective == int(value))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_SECTIONS = (
    "pixiv",
    "network",
    "storage",
    "scheduler",
    "schedules",
    "schedulerRuntime",
    "delivery",
    "download",
    "targets",
    "logLevel",
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(_SECTIONS), _JSON))
def test_any_json_gives_a_configuration_or_a_reason(data: dict[str, object]) -> None:
    result = check_config(data, {})
    assert (result.config is None) == bool(result.errors)
    assert all("\n" not in render_problem(problem) for problem in result.problems)


_VALUE = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3), max_size=2)
_TARGET_KEYS = ("id", "type", "mode", "tag", "limit", "startDate", "delivery")


@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.sampled_from(_TARGET_KEYS), _VALUE), max_size=3))
def test_any_targets_give_a_configuration_or_a_reason(targets: list[dict[str, object]]) -> None:
    result = check_config({"targets": targets, "schedules": targets}, {})
    assert (result.config is None) == bool(result.errors)


def test_a_flood_of_problems_is_cut() -> None:
    result = check_config({"pixiv": {f"k{n}": n for n in range(5000)}}, {})
    assert len(result.problems) < 300
    assert any(p.code == "too_many" for p in result.problems)
