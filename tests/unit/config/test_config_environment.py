"""`${NAME}`, variables that set keys, and where each value came from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.config import check_config
from pixivflow.config.environment import Environment, SecretFileError
from pixivflow.config.show import MASK, show, without_credentials
from pixivflow.config.substitute import substitute

BASE = {"pixiv": {"refreshToken": "a-real-refresh-token"}}


@pytest.mark.parametrize(
    ("text", "filled", "whole"),
    [
        ("plain", "plain", False),
        ("${A}", "1", True),
        ("x${A}y${B}", "x1y", False),
        ("${B:-d}", "d", True),
        ("${C:-}", "", True),
        ("${C:-a b:c}", "a b:c", True),
        ("$${A}", "${A}", False),
        ("$${${A}", "${1", False),
        ("$A {A}", "$A {A}", False),
    ],
)
def test_substitution(text: str, filled: str, whole: bool) -> None:
    done = substitute(text, {"A": "1", "B": ""}.get)
    assert (done.text, done.whole, done.missing, done.malformed) == (filled, whole, (), False)


def test_a_missing_variable_is_named_and_a_broken_mark_told() -> None:
    assert substitute("${NOPE}/${NOPE}${ALSO}", {}.get).missing == ("NOPE", "ALSO")
    for broken in ("${", "${A", "${}", "${1A}", "${A B}", "${A-b}"):
        assert substitute(broken, {"A": "1"}.get).malformed, broken


def test_what_a_variable_holds_is_not_filled_in_again() -> None:
    assert substitute("${A}", {"A": "${B}", "B": "x"}.get).text == "${B}"


@given(st.text().filter(lambda text: "${" not in text))
def test_text_without_a_mark_stays(text: str) -> None:
    assert substitute(text, {}.get).text == text


@given(st.text())
def test_escaping_brings_any_text_through(text: str) -> None:
    escaped = text.replace("${", "$${")
    if "$$${" not in escaped:  # a dollar before the mark takes part in the escape
        assert substitute(escaped, {}.get).text == text


def test_missing_variables_are_errors_with_place_and_name_and_nothing_else_is_said_there() -> None:
    data = {
        **BASE,
        "logLevel": "${LEVEL}",
        "delivery": {"targets": {"r": {"type": "httpMultipart", "url": "${URL}/x"}}},
    }
    result = check_config(data, {})
    assert [(p.path, p.code) for p in result.errors] == [
        ("logLevel", "missing_variable"),
        ("delivery.targets.r.url", "missing_variable"),
    ]
    assert "LEVEL" in result.errors[0].reason


def test_a_single_variable_may_be_a_number_or_a_yes() -> None:
    data = {**BASE, "download": {"concurrency": "${N}"}, "scheduler": {"enabled": "${ON:-no}"}}
    config = check_config(data, {"N": "7"}).config
    assert config is not None
    assert config.download.concurrency == 7
    assert config.scheduler.enabled is False
    bad = check_config(data, {"N": "many", "ON": "maybe"})
    assert {p.path: p.source for p in bad.errors} == {"download.concurrency": "env N", "scheduler.enabled": "env ON"}


def test_variables_win_over_the_file_and_are_named_as_origin() -> None:
    env = {
        "PIXIV_REFRESH_TOKEN": "another-refresh-token",
        "PIXIV_CANDIDATE_SCAN_LIMIT": "9",
        "PIXIV_LOG_LEVEL": "debug",
        "PIXIV_SCHEDULER_ENABLED": "1",
        "PIXIV_AUTH_READONLY": "Yes",
        "PIXIV_DATABASE_PATH": "/srv/x.db",
        "CACHE_MAX_SIZE_MB": "",
    }
    data = {**BASE, "logLevel": "error", "storage": {"databaseUrl": "sqlite:///a.db", "cacheMaxSizeMB": 3}}
    result = check_config(data, env, {"logLevel": "info"}, source="c.json")
    config = result.config
    assert config is not None
    assert config.pixiv.usable_refresh_token == "another-refresh-token"
    assert config.download.candidate_scan_limit == 9
    assert config.scheduler.enabled
    assert config.pixiv.auth_read_only
    assert config.log_level == "info"
    assert config.database_path == Path("/srv/x.db")
    assert config.storage.cache_max_size_mb == 3
    assert str(result.origins["pixiv.refreshToken"]) == "env PIXIV_REFRESH_TOKEN"
    assert str(result.origins["logLevel"]) == "override"
    assert str(result.origins["storage.cacheMaxSizeMB"]) == "file c.json"
    assert "storage.databaseUrl" not in result.origins


def test_the_port_of_the_file_wins_over_the_variable() -> None:
    trigger = {"port": 9001, "token": "from-file"}
    env = {"PORT": "9002", "SCHEDULER_TRIGGER_TOKEN": "from-env", "HOST": "0.0.0.0"}  # noqa: S104 - a value, not a bind
    result = check_config({**BASE, "schedulerRuntime": {"trigger": trigger}}, env)
    assert result.config is not None
    assert result.config.scheduler_runtime.trigger.port == 9001
    assert result.config.scheduler_runtime.trigger.host == "0.0.0.0"  # noqa: S104
    assert result.tokens.trigger is not None
    assert result.tokens.trigger.get_secret_value() == "from-file"
    alone = check_config({**BASE, "schedulerRuntime": {"trigger": {"token": "  "}}}, env)
    assert alone.config is not None
    assert alone.config.scheduler_runtime.trigger.port == 9002
    assert alone.tokens.trigger is not None
    assert alone.tokens.trigger.get_secret_value() == "from-env"


def test_tokens_are_trimmed_and_blank_means_none() -> None:
    assert check_config(BASE, {"PIXIVFLOW_REFETCH_TOKEN": "  "}).tokens.manual is None
    manual = check_config(BASE, {"PIXIVFLOW_REFETCH_TOKEN": " abc\n"}).tokens.manual
    assert manual is not None
    assert manual.get_secret_value() == "abc"


def test_secret_files_stand_in_for_their_variable() -> None:
    def read(path: Path) -> str:
        if path.name == "gone":
            raise SecretFileError("cannot be read (No such file or directory)")
        return f"content of {path.name}"

    env = Environment(
        {"A_FILE": "a", "B": "direct", "B_FILE": "b", "C_FILE": "gone", "D_FILE": ""}, Path("/base"), read
    )
    assert env.get("A") == "content of a"
    assert env.get("B") == "direct"
    assert env.get("C") == env.get("C") == ""
    assert env.get("D") is None
    assert [(p.source, p.code) for p in env.problems] == [("env C_FILE", "secret_file")]


def test_overrides_reach_into_sections_and_are_checked() -> None:
    result = check_config(BASE, {}, {"download.concurrency": 2, "storage": {"downloadDirectory": "d", "x": 1}})
    assert [(p.path, p.source) for p in result.errors] == [("storage.x", "override")]


def test_what_is_in_the_way_of_a_variable_is_the_only_finding() -> None:
    result = check_config({"pixiv": 3}, {"PIXIV_REFRESH_TOKEN": "a-real-refresh-token"})
    assert [p.path for p in result.errors] == ["pixiv"]


# --- show -------------------------------------------------------------------------------------------------------


def test_show_gives_value_and_origin_and_masks_secrets() -> None:
    data = {
        "pixiv": {"refreshToken": "${MY_TOKEN}", "clientId": "${CLIENT_SECRET_ID}"},
        "network": {"timeoutMs": 20000},
        "delivery": {
            "targets": {
                "r": {
                    "type": "httpMultipart",
                    "url": "https://user:pw@receiver.example/in?key=abc&x",
                    "headers": {"Authorization": "Bearer ${MY_TOKEN}"},
                    "fields": {"t": "{{title}}", "k": "${API_KEY}"},
                }
            }
        },
        "targets": [{"id": "a", "type": "novel", "tag": "x", "delivery": {"targets": ["r"]}}],
    }
    env = {"MY_TOKEN": "tok-tok-tok-tok", "CLIENT_SECRET_ID": "cid-cid", "API_KEY": "key-key"}
    rows = {row.path: (row.value, row.origin) for row in show(check_config(data, env, source="c.json"))}
    assert rows["pixiv.refreshToken"] == (MASK, "env MY_TOKEN")
    assert rows["pixiv.clientId"] == (MASK, "env CLIENT_SECRET_ID")
    assert rows["network.timeoutMs"] == (20000, "file c.json")
    assert rows["network.retries"] == (3, "default")
    assert rows["delivery.targets.r.url"][0] == f"https://{MASK}@receiver.example/in?key={MASK}&x={MASK}"
    assert rows["delivery.targets.r.headers.Authorization"] == (MASK, "env MY_TOKEN")
    assert rows["delivery.targets.r.fields.k"] == (MASK, "env API_KEY")
    assert rows["delivery.targets.r.fields.t"] == ("{{title}}", "file c.json")
    assert rows["targets[0].delivery.targets"] == (["r"], "file c.json")
    assert rows["download.ugoiraFormats"] == (["gif", "webp"], "default")
    assert "targets[0].limit" not in rows
    for secret in ("tok-tok", "cid-cid", "key-key", "pw@", "abc"):
        assert secret not in str(rows)


def test_show_is_empty_when_there_is_an_error() -> None:
    assert show(check_config({"x": 1}, {})) == []


def test_addresses_without_credentials_stay() -> None:
    assert without_credentials("http://[::1]:80/a#b") == "http://[::1]:80/a#b"
    assert without_credentials("http://[broken/") == MASK
