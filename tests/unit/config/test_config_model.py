"""The snapshot: defaults, immutability, plans, wiring, budgets and places."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pixivflow.config import Config, check_config

OUTCOME = "https://receiver.example/outcome"


def config_of(data: dict[str, Any], base: Path | None = None) -> Config:
    result = check_config(data, {}, base=base)
    assert result.errors == ()
    assert result.config is not None
    return result.config


def route(**extra: object) -> dict[str, object]:
    return {"type": "httpMultipart", "url": "https://receiver.example/in", **extra}


def target(ident: str | None = "a", **extra: object) -> dict[str, object]:
    return {"type": "illustration", "tag": "x", **({"id": ident} if ident else {}), **extra}


def test_defaults_are_the_documented_ones() -> None:
    config = config_of({})
    assert config.network.timeout_ms == 30_000
    assert config.network.request_pacing_ms == 1000
    assert config.storage.cache_retention_days == 14
    assert config.download.connections == 6
    assert config.download.candidate_scan_limit == 5
    assert config.download.ugoira_formats == ("gif", "webp")
    assert config.scheduler.cron == "0 3 * * *"
    assert config.scheduler.timezone == "Asia/Shanghai"
    assert config.scheduler_runtime.trigger.port == 8090
    assert config.scheduler_runtime.trigger.host == "127.0.0.1"
    assert config.delivery.outbox_retry_base_ms == 300_000
    assert config.delivery.outbox_retry_max_ms == 21_600_000
    assert (config.queued_timeout_ms, config.stall_timeout_ms) == (1_800_000, 900_000)


def test_the_snapshot_cannot_be_changed() -> None:
    config = config_of({})
    with pytest.raises(ValidationError):
        config.log_level = "debug"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        config.download.concurrency = 9  # type: ignore[misc]


def test_secrets_do_not_print() -> None:
    config = config_of({"pixiv": {"refreshToken": "a-real-refresh-token"}})
    assert "a-real-refresh" not in repr(config)
    assert "a-real-refresh" not in config.model_dump_json(by_alias=True)
    assert config.pixiv.usable_refresh_token == "a-real-refresh-token"


@pytest.mark.parametrize("text", ["", "   ", "YOUR_REFRESH_TOKEN", "short"])
def test_a_placeholder_is_no_token(text: str) -> None:
    result = check_config({"pixiv": {"refreshToken": text}}, {})
    assert result.config is not None
    assert result.config.pixiv.usable_refresh_token is None
    assert [p.severity for p in result.problems] == ["warning"]


# --- plans ------------------------------------------------------------------------------------------------------


def test_without_any_clock_there_is_a_plan_for_orders() -> None:
    (plan,) = config_of({"targets": [target("a"), target(None), target("b")]}).enabled_plans()
    assert (plan.id, plan.cron) == ("default", None)
    assert [t.id for t in plan.targets] == ["a", "b"]


def test_the_simple_scheduler_is_the_default_plan_with_a_clock() -> None:
    simple = {"enabled": True, "cron": "5 4 * * *", "timezone": "UTC", "timeout": 7000, "minInterval": 3}
    config = config_of({"scheduler": simple, "targets": [target("a")]})
    (plan,) = config.enabled_plans()
    assert (plan.id, plan.cron, plan.timezone, plan.timeout_ms, plan.min_interval_ms) == (
        "default",
        "5 4 * * *",
        "UTC",
        7000,
        3,
    )
    assert config.plan("default") == plan
    assert config.default_deadline_ms == 7000


def test_schedules_replace_the_default_plan_and_keep_the_order_of_targets() -> None:
    data = {
        "scheduler": {"enabled": True},
        "targets": [target("a"), target("b"), target("c")],
        "schedules": [
            {"id": "one", "cron": "0 1 * * *", "targetIds": ["c", "a"], "timeout": 5000},
            {"id": "off", "cron": "0 1 * * *", "targetIds": ["b"], "enabled": False, "timeout": 99_000},
            {"id": "two", "name": "Two", "cron": "0 2 * * *", "targetIds": ["a"], "timeout": 0},
        ],
    }
    config = config_of(data)
    one, two = config.enabled_plans()
    assert ([t.id for t in one.targets], one.name, one.timeout_ms) == (["a", "c"], "one", 5000)
    assert ([t.id for t in two.targets], two.name, two.timeout_ms) == (["a"], "Two", 1_800_000)
    assert config.plan("off") is None
    assert config.default_deadline_ms == 5000
    assert config.target("b") is not None
    assert config.target("zzz") is None


def test_the_deadline_falls_back() -> None:
    assert config_of({}).default_deadline_ms == 1_800_000
    assert config_of({"scheduler": {"timeout": 0}}).default_deadline_ms == 1_800_000


# --- wiring -----------------------------------------------------------------------------------------------------

NO_OUTCOME = "delivery_outcome_not_configured"
NO_FIELD = "delivery_correlation_field_not_configured"
EXACT = {"refetch_request_id": "{{refetchRequestId}}"}


@pytest.mark.parametrize(
    ("first", "delivery", "expected"),
    [
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), {"target": "r"}, None),
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), {"targets": ["r", "s"]}, None),
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), {"targets": ["s", "r"]}, NO_OUTCOME),
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), {"targets": [], "target": "r"}, None),
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), None, NO_OUTCOME),
        (route(fields=EXACT), {"target": "r"}, NO_OUTCOME),
        (route(refetchOutcomeUrl=OUTCOME), {"target": "r"}, NO_FIELD),
        (route(refetchOutcomeUrl=OUTCOME), {"target": "r", "fields": EXACT}, None),
        (route(refetchOutcomeUrl=OUTCOME, fields=EXACT), {"target": "r", "fields": {**EXACT, "x": 1}}, None),
        (
            route(refetchOutcomeUrl=OUTCOME, fields=EXACT),
            {"target": "r", "fields": {"refetch_request_id": "x{{refetchRequestId}}"}},
            NO_FIELD,
        ),
        (
            route(refetchOutcomeUrl=OUTCOME, fields={"refetch_request_id": "{{ refetchRequestId }}"}),
            {"target": "r"},
            NO_FIELD,
        ),
    ],
)
def test_wired_for_orders(first: object, delivery: object, expected: str | None) -> None:
    item = target("a", **({"delivery": delivery} if delivery is not None else {}))
    config = config_of({"delivery": {"targets": {"r": first, "s": route()}}, "targets": [item]})
    assert config.wired_for_manual(config.targets[0]) == expected


def test_routes_are_a_list_without_repeats_and_the_list_wins() -> None:
    item = target("a", delivery={"targets": ["s", "r", "s"], "target": "r"})
    config = config_of({"delivery": {"targets": {"r": route(), "s": route()}}, "targets": [item, target("b")]})
    assert config.routes_of(config.targets[0]) == ("s", "r")
    assert config.routes_of(config.targets[1]) == ()
    assert config.route("r") is not None
    assert config.route("nope") is None


# --- places and limits ------------------------------------------------------------------------------------------


def test_relative_places_count_from_the_base() -> None:
    base = Path("/srv/app")
    config = config_of({}, base=base)
    assert config.database_path == base / "data/pixiv-downloader.db"
    assert config.library_dir == base / "downloads"
    assert config.illustration_dir == base / "downloads/illustrations"
    assert config.novel_dir == base / "downloads/novels"


def test_the_database_address_has_a_relative_and_an_absolute_form() -> None:
    base = Path("/srv/app")
    assert config_of({"storage": {"databaseUrl": "sqlite:///x/l.db"}}, base=base).database_path == base / "x/l.db"
    assert config_of({"storage": {"databaseUrl": "sqlite:////v/l.db"}}, base=base).database_path == Path("/v/l.db")


def test_a_home_that_nobody_has_is_a_plain_name() -> None:
    config = config_of({"storage": {"downloadDirectory": "~no-such-user-here/x"}}, base=Path("/srv"))
    assert config.library_dir == Path("/srv/~no-such-user-here/x")


def test_the_limit_of_the_account() -> None:
    governance = {"resourceGovernance": {"pixivAccounts": {"main": {"maxConcurrency": 3}}}}
    config = config_of({"pixiv": {"accountId": " main "}, "schedulerRuntime": governance})
    assert config.pixiv.account == "main"
    assert config.account_concurrency == 3
    assert config_of({"pixiv": {"accountId": " "}}).pixiv.account == "default"
    assert config_of({}).account_concurrency == 1
