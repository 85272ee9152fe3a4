"""The pure parts of a callback: what an answer means, which token goes where, and the signature."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError
from yarl import URL

from pixivflow.config.callbacks import signing_key
from pixivflow.delivery.callback import read_callback_answer
from pixivflow.delivery.credentials import Credentials
from pixivflow.delivery.signature import signature_headers
from pixivflow.domain.delivery import ERROR_CLASSES, AnswerClass

C = AnswerClass
NOW = 1_700_000_000_000
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


@pytest.mark.parametrize(
    ("status", "answer", "error_class"),
    [
        (200, C.ACCEPTED, None),
        (202, C.ACCEPTED, None),
        (204, C.ACCEPTED, None),
        (299, C.ACCEPTED, None),
        (409, C.REPLAYED, None),
        (429, C.RETRYABLE, "rate_limited"),
        (500, C.RETRYABLE, "remote_5xx"),
        (503, C.RETRYABLE, "remote_5xx"),
        (400, C.PERMANENT, "remote_4xx"),
        (401, C.PERMANENT, "remote_4xx"),
        (404, C.PERMANENT, "remote_4xx"),
        (408, C.PERMANENT, "remote_4xx"),
        (410, C.PERMANENT, "remote_4xx"),
        (425, C.PERMANENT, "remote_4xx"),
        (300, C.RETRYABLE, "internal_error"),
        (303, C.RETRYABLE, "internal_error"),
        (304, C.RETRYABLE, "internal_error"),
    ],
)
def test_a_status_means_what_the_protocol_says(status: int, answer: AnswerClass, error_class: str | None) -> None:
    read = read_callback_answer(status, {}, now_ms=NOW)
    assert (read.answer, read.error_class, read.status) == (answer, error_class, status)


def test_a_pause_that_is_asked_for_is_kept() -> None:
    for status in (429, 503):
        assert read_callback_answer(status, {"Retry-After": "90"}, now_ms=NOW).retry_after_ms == 90_000
    assert read_callback_answer(404, {"Retry-After": "90"}, now_ms=NOW).retry_after_ms is None


@given(st.integers(100, 999), st.text(max_size=40))
def test_every_status_has_an_answer(status: int, wait: str) -> None:
    read = read_callback_answer(status, {"Retry-After": wait}, now_ms=NOW)
    assert read.error_class in {None, *ERROR_CLASSES}


TOKENS = Credentials(
    [
        ("https://a.example", "whole"),
        ("https://a.example/api/", "api"),
        ("https://a.example/api/v1", "v1"),
        ("http://telepost:8080/api", "internal"),
        ("https://exämple.org/x", "idn"),
    ]
)


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("https://a.example/", "whole"),
        ("https://a.example", "whole"),
        ("https://A.Example:443/other?x=1", "whole"),
        ("https://a.example/api", "api"),
        ("https://a.example/api/", "api"),
        ("https://a.example/api/v2", "api"),
        ("https://a.example/apiary", "whole"),
        ("https://a.example/api/v1", "v1"),
        ("https://a.example/api/v1/events", "v1"),
        ("https://a.example/api/v1?x#y", "v1"),
        ("https://a.example/api/v10", "api"),
        ("https://a.example/api/%76%31/x", "v1"),
        ("https://a.example/api/v1/../v2", "api"),
        ("http://telepost:8080/api/bot1", "internal"),
        ("https://xn--exmple-cua.org/x", "idn"),
        ("http://a.example/api", None),
        ("https://a.example:444/api", None),
        ("https://a.example./api", None),
        ("https://b.a.example/api", None),
        ("https://a.example.evil/api", None),
        ("http://telepost/api", None),
        ("http://telepost:8080/", None),
        ("http://telepost:8080/%61pi2", None),
        ("http://telepost:8080//api", None),
        ("http://telepost:8080/api/..%2Fsecret", None),
        ("http://telepost:8080/api/%2e%2e%2fsecret", None),
        ("http://telepost:8080/api/..%5csecret", None),
        ("http://telepost:8080/api/%252e%252e%252fsecret", None),
    ],
)
def test_a_token_goes_to_the_longest_prefix_and_nowhere_else(url: str, token: str | None) -> None:
    assert TOKENS.token_for(URL(url)) == token


@given(st.binary(max_size=300), st.from_regex(r"evt-[0-9]{1,13}-[0-9]{1,9}", fullmatch=True))
def test_the_stock_library_verifies_every_signature(noise: bytes, ident: str) -> None:
    body = json.dumps({"event_id": ident, "noise": noise.hex(), "text": "夜"}, ensure_ascii=False).encode()
    now = int(datetime.now(UTC).timestamp())
    headers = signature_headers([signing_key(SECRET), signing_key(OTHER)], ident, now, body)
    assert headers["webhook-id"] == ident
    assert headers["webhook-timestamp"] == str(now)
    for secret in (SECRET, OTHER):
        assert Webhook(secret).verify(body, headers) == json.loads(body)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, {**headers, "webhook-id": ident + "1"})
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, signature_headers([signing_key(OTHER)], ident, now, body))


def test_an_old_timestamp_is_refused_so_it_must_be_that_of_the_try() -> None:
    old = int(datetime.now(UTC).timestamp()) - 301
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(SECRET).verify(b"{}", signature_headers([signing_key(SECRET)], "evt-1-1", old, b"{}"))


@pytest.mark.parametrize("ident", ["", "evt.1", "."])
def test_an_id_that_could_hide_another_message_is_not_signed(ident: str) -> None:
    with pytest.raises(ValueError, match="full stop"):
        signature_headers([b"k" * 24], ident, 1, b"{}")
