"""What an answer means: the body first, the status second."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pixivflow.sources.errors import (
    BadQuestion,
    Forbidden,
    NotFound,
    RateLimited,
    ShapeChanged,
    Unavailable,
)
from pixivflow.sources.pixiv.answers import Accepted, Refused, Reply, TokenExpired, classify, retry_after_s

OAUTH = "Error occurred at the OAuth process. Please check your Access Token to fix this. Error Message: invalid_grant"
CHALLENGE = b"<!DOCTYPE html><html><title>Just a moment...</title></html>"
NOW = 1_773_106_200.0  # 2026-03-10T01:30:00Z


def error(message: Any = "", user_message: Any = "", details: Any = None) -> Any:
    envelope = {"user_message": user_message, "message": message, "reason": "", "user_message_details": details or {}}
    return json.dumps({"error": envelope}).encode()


def meaning(
    status: Any, body: Any = b"", content_type: Any = "application/json", retry_after: Any = None, **kwargs: Any
) -> Any:
    return classify(Reply(status, body, content_type, retry_after), endpoint="/v1/x", **kwargs)


@pytest.mark.parametrize(
    ("status", "body"), [(400, error(OAUTH)), (401, error("nope")), (401, b""), (400, b'{"error":"invalid_grant"}')]
)
def test_an_expired_token(status: Any, body: Any) -> None:
    assert isinstance(meaning(status, body), TokenExpired)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (403, error("Rate Limit"), RateLimited),
        (403, error("", "rate LIMIT exceeded"), RateLimited),
        (429, b"", RateLimited),
        (429, CHALLENGE, RateLimited),
        (403, error("", "Artist has made their work private."), Forbidden),
        (403, b"", Forbidden),
        (451, b"", Forbidden),
        (404, error("", "deleted"), NotFound),
        (410, b"", NotFound),
        (404, error("The endpoint not found"), ShapeChanged),
        (404, error("Unknown end-point"), ShapeChanged),
        (400, error(json.dumps({"offset": ["offset must be no more than 5000"]})), BadQuestion),
        (400, error(details={"word": ["required"]}), BadQuestion),
        (403, CHALLENGE, Unavailable),
        (503, CHALLENGE, Unavailable),
        (500, b"", Unavailable),
        (502, b"<html>", Unavailable),
        (302, b"", Unavailable),
        (408, b"", Unavailable),
        (405, b"", BadQuestion),
        (200, b"[]", ShapeChanged),
        (200, b"", ShapeChanged),
        (200, CHALLENGE, ShapeChanged),
    ],
)
def test_refusals(status: Any, body: Any, kind: Any) -> None:
    outcome = meaning(status, body, "text/html" if body == CHALLENGE else "application/json")
    assert isinstance(outcome, Refused)
    assert type(outcome.error) is kind
    assert outcome.error.endpoint == "/v1/x"


def test_only_the_offset_limit_has_its_code() -> None:
    limit = meaning(400, error('{"offset":["offset must be no more than 5000"]}'))
    other = meaning(400, error("Invalid parameter"))
    assert (limit.error.code, other.error.code) == ("offset_limit", None)


@pytest.mark.parametrize(
    ("status", "body", "again"), [(500, b"", True), (503, b"{}", True), (503, CHALLENGE, False), (404, b"", False)]
)
def test_only_trouble_is_worth_another_try(status: Any, body: Any, again: Any) -> None:
    assert meaning(status, body, "text/html").repeat is again


def test_good_answers() -> None:
    assert meaning(200, b' {"a":1}') == Accepted(b' {"a":1}')
    assert meaning(200, CHALLENGE, "text/html", wants_json=False) == Accepted(CHALLENGE)


def test_a_rate_limit_carries_the_pause_that_was_asked_for() -> None:
    outcome = meaning(403, error("Rate Limit"), retry_after=77.0)
    assert (outcome.retry_after_s, outcome.error.retry_after_s) == (77.0, 77.0)


def test_texts_of_the_site_are_short_printable_and_without_secrets() -> None:
    body = error("x\u202e\x00 token abc123 " + "y" * 1000)
    text = str(meaning(400, body, secrets=("abc123", "")).error)
    assert "abc123" not in text
    assert "***" in text
    assert text.isprintable()
    assert len(text) < 260


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"error":[]}', b'{"error":{"message":5}}', b"\xff\xfe", b"null"])
def test_hostile_error_bodies_are_still_classified_by_status(body: Any) -> None:
    assert type(meaning(404, body).error) is NotFound


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("0", 0),
        ("999999999", 86400),
        ("Tue, 10 Mar 2026 01:31:00 GMT", 60),
        ("Tue, 10 Mar 2026 01:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86400),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("12345678901234567890", None),
        ("٣", None),
    ],
)
def test_retry_after_in_both_forms(header: Any, seconds: Any) -> None:
    assert retry_after_s(header, NOW) == seconds
