"""Section `callbacks`: what it accepts, what it refuses, and that its secrets stay inside."""

from __future__ import annotations

from typing import Any

import pytest

from pixivflow.config import check_config
from pixivflow.config.show import show

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOKEN = "an-invented-token"


def problems(section: dict[str, Any], env: dict[str, str] | None = None) -> list[tuple[str, str]]:
    return [(p.path, p.reason) for p in check_config({"callbacks": section}, env or {}).errors]


def test_nothing_is_restricted_or_added_by_default() -> None:
    config = check_config({}, {}).config
    assert config is not None
    given = config.callbacks
    assert (given.allow_hosts, given.block_private, given.allow_addresses) == ((), False, ())
    assert (given.credentials, given.signing_keys, given.secrets) == ((), (), ())


def test_a_whole_section_is_read_and_secrets_come_from_the_environment() -> None:
    section = {
        "allowHosts": ["telepost", "*.example.org", "10.0.0.7", "::1", "${HOST_NAME}"],
        "blockPrivate": True,
        "allowAddresses": ["10.1.0.0/16", "fd00::/8", "127.0.0.1"],
        "credentials": [{"urlPrefix": "http://telepost:8080/api/", "token": "${TOKEN}"}],
        "signingSecrets": ["${KEY}"],
    }
    result = check_config({"callbacks": section}, {"TOKEN": TOKEN, "KEY": KEY, "HOST_NAME": "b.example"})
    assert result.errors == ()
    assert result.config is not None
    given = result.config.callbacks
    assert given.allow_hosts[-1] == "b.example"
    assert given.credentials[0].url_prefix == "http://telepost:8080/api"
    assert [secret.get_secret_value() for secret in given.secrets] == [TOKEN, KEY]
    assert len(given.signing_keys[0]) == 24
    shown = repr([row for row in show(result) if row.path.startswith("callbacks")]) + repr(result.config)
    assert "***" in shown
    assert TOKEN not in shown
    assert KEY[6:] not in shown


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"allowHosts": [""]}, "callbacks.allowHosts[0]"),
        ({"allowHosts": ["http://a.example"]}, "callbacks.allowHosts[0]"),
        ({"allowHosts": ["a.example:80"]}, "callbacks.allowHosts[0]"),
        ({"allowHosts": ["a.*.example"]}, "callbacks.allowHosts[0]"),
        ({"allowHosts": ["*"]}, "callbacks.allowHosts[0]"),
        ({"allowAddresses": ["10.1.2.3/16"]}, "callbacks.allowAddresses[0]"),
        ({"allowAddresses": ["a.example"]}, "callbacks.allowAddresses[0]"),
        ({"blockPrivate": "yes"}, "callbacks.blockPrivate"),
        ({"credentials": [{"urlPrefix": "ftp://a", "token": TOKEN}]}, "callbacks.credentials[0].urlPrefix"),
        ({"credentials": [{"urlPrefix": "http://u:p@a", "token": TOKEN}]}, "callbacks.credentials[0].urlPrefix"),
        ({"credentials": [{"urlPrefix": "http://a/?q", "token": TOKEN}]}, "callbacks.credentials[0].urlPrefix"),
        ({"credentials": [{"urlPrefix": "http://a", "token": "two words"}]}, "callbacks.credentials[0].token"),
        ({"credentials": [{"urlPrefix": "http://a", "token": "line\nbreak"}]}, "callbacks.credentials[0].token"),
        ({"credentials": [{"urlPrefix": "http://a", "token": ""}]}, "callbacks.credentials[0].token"),
        ({"credentials": [{"urlPrefix": "http://a"}]}, "callbacks.credentials[0].token"),
        ({"signingSecrets": ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]}, "callbacks.signingSecrets[0]"),
        ({"signingSecrets": ["whsec_c2hvcnQ="]}, "callbacks.signingSecrets[0]"),
        ({"signingSecrets": ["whsec_!!!"]}, "callbacks.signingSecrets[0]"),
        ({"signingSecret": KEY}, "callbacks.signingSecret"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_no_secret(section: dict[str, Any], path: str) -> None:
    ((where, why),) = problems(section)
    assert where == path
    for secret in (TOKEN, KEY[6:], "two words", "u:p", "c2hvcnQ"):
        assert secret not in why


def test_callbacks_are_repeated_sooner_than_deliveries_unless_a_pause_is_set() -> None:
    def base(**delivery: int) -> int:
        config = check_config({"delivery": delivery}, {}).config
        assert config is not None
        return config.delivery.callback_retry_base_ms

    assert base() == 30_000
    assert base(outboxRetryBaseMs=300_000) == 300_000
    assert base(outboxRetryBaseMs=50) == 50
