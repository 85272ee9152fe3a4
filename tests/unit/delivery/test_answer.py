"""Reading a receiver's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.delivery.answer import BODY_LIMIT, AckPaths, one_line, read_answer, retry_after_ms
from pixivflow.domain.backoff import RETRY_AFTER_MAX_MS
from pixivflow.domain.delivery import DETAIL_LIMIT, ERROR_CLASSES, Answer, AnswerClass

KEY = "pixivflow:main:illustration:1:j:t"
NOW = 1_700_000_000_000
C = AnswerClass


def read(status: int, document: Any = None, *, body: bytes | None = None, **headers: str) -> Answer:
    raw = body if body is not None else b"" if document is None else json.dumps(document).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_answer(status, names, raw, ack=AckPaths(), keys={KEY}, now_ms=NOW)


@pytest.mark.parametrize(
    ("status", "document", "expected", "remote_id"),
    [
        (201, {"data": {"review_id": "rv-1", "status": "pending"}}, C.ACCEPTED, "rv-1"),
        (200, {"data": {"message_id": 77}}, C.ACCEPTED, "77"),
        (200, {"review_id": "rv-1"}, C.ACCEPTED, "rv-1"),
        (200, {}, C.ACCEPTED, None),
        (204, None, C.ACCEPTED, None),
        (200, {"data": {"reused": True, "matched_idempotency_key": KEY, "review_id": 5}}, C.REPLAYED, "5"),
        (200, {"data": {"reused": True, "matched_idempotency_key": "other"}}, C.DUPLICATE, None),
        (200, {"data": {"reused": True, "reuse_reason": "idempotency_key"}}, C.REPLAYED, None),
        (200, {"data": {"reused": True}}, C.DUPLICATE, None),
        (200, {"data": {"reused": False, "matched_idempotency_key": KEY}}, C.ACCEPTED, None),
        (200, {"status": "duplicate"}, C.DUPLICATE, None),
        (200, {"status": "duplicate_existing", "data": {"matched_idempotency_key": KEY}}, C.REPLAYED, None),
        (200, {"status": "replayed"}, C.REPLAYED, None),
        (200, {"data": {"status": "failed"}}, C.FAILED_INSIDE, None),
        (201, {"data": {"status": " Rejected ", "review_id": "rv-2"}}, C.FAILED_INSIDE, "rv-2"),
        (200, {"data": {"status": "expired", "reused": True, "matched_idempotency_key": KEY}}, C.FAILED_INSIDE, None),
        # The record is somebody else's: how that ended says nothing about this work.
        (200, {"data": {"status": "expired", "reused": True, "matched_idempotency_key": "x"}}, C.DUPLICATE, None),
        (200, {"status": "invalid", "data": {"review_id": 1}}, C.FAILED_INSIDE, "1"),
        (200, {"status": "error", "data": {"reused": True, "matched_idempotency_key": "x"}}, C.FAILED_INSIDE, None),
        (200, {"ok": False, "error": "no"}, C.FAILED_INSIDE, None),
        (200, {"success": False}, C.FAILED_INSIDE, None),
        (200, False, C.FAILED_INSIDE, None),
        (200, "failed", C.FAILED_INSIDE, None),
        (200, "accepted", C.ACCEPTED, None),
        (200, [], C.ACCEPTED, None),
        (409, None, C.DUPLICATE, None),
        (409, {"error": {"message": "exists"}}, C.DUPLICATE, None),
        (409, {"data": {"matched_idempotency_key": KEY, "review_id": "rv-3"}}, C.REPLAYED, "rv-3"),
        (409, {"data": {"matched_idempotency_key": KEY, "status": "failed"}}, C.FAILED_INSIDE, None),
        (409, {"status": "replayed"}, C.REPLAYED, None),
        (400, {"error": "bad"}, C.PERMANENT, None),
        (401, None, C.PERMANENT, None),
        (413, None, C.PERMANENT, None),
        (302, None, C.PERMANENT, None),
        (408, None, C.RETRYABLE, None),
        (425, None, C.RETRYABLE, None),
        (429, None, C.RETRYABLE, None),
        (500, {"data": {"status": "accepted"}}, C.RETRYABLE, None),
        (503, None, C.RETRYABLE, None),
        (101, None, C.RETRYABLE, None),
    ],
)
def test_an_answer_has_a_class(status: int, document: Any, expected: AnswerClass, remote_id: str | None) -> None:
    answer = read(status, document)
    assert (answer.answer, answer.remote_id, answer.status) == (expected, remote_id, status)


@pytest.mark.parametrize("body", [b"ok", b" OK. \n", b"Accepted"])
def test_a_plain_word_of_consent_is_a_yes(body: bytes) -> None:
    assert read(200, body=body).answer is C.ACCEPTED


@pytest.mark.parametrize(
    "body",
    [b"<html><body>Please log in</body></html>", b'{"data": {"status":', b"\xff\xfe", b"no", b"[" * 60_000],
)
def test_a_body_nobody_can_read_books_nothing(body: bytes) -> None:
    answer = read(200, body=body)
    assert (answer.answer, answer.error_class) == (C.RETRYABLE, "internal_error")


def test_a_body_cut_at_the_limit_books_nothing() -> None:
    whole = json.dumps({"data": {"review_id": 1}}).encode()
    body = whole + b" " * (BODY_LIMIT - len(whole))
    answer = read_answer(200, {}, body, ack=AckPaths(), keys={KEY}, now_ms=NOW, cut=True)
    assert answer.answer is C.RETRYABLE
    assert read_answer(200, {}, b" " * BODY_LIMIT, ack=AckPaths(), keys={KEY}, now_ms=NOW, cut=True).answer is (
        C.RETRYABLE
    )


def test_the_places_in_the_answer_are_configurable() -> None:
    ack = AckPaths("result.entry", "nr", "phase", "seen", "why", "by")
    body = json.dumps({"result": {"entry": {"nr": 9, "seen": True, "by": "mine", "phase": "open"}}}).encode()
    answer = read_answer(200, {}, body, ack=ack, keys={"mine"}, now_ms=NOW)
    assert (answer.answer, answer.remote_id) == (C.REPLAYED, "9")
    flat = read_answer(200, {}, b'{"review_id": 1}', ack=AckPaths(data_path=""), keys={KEY}, now_ms=NOW)
    assert flat.remote_id == "1"


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("90", 90_000),
        (" 0 ", 0),
        ("99999999999999", RETRY_AFTER_MAX_MS),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60_000),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("\u0663", None),
        ("", None),
        (None, None),
        ("Tue, 14 Nov 99999999 22:14:20 GMT", None),
    ],
)
def test_the_pause_asked_for(text: str | None, wait: int | None) -> None:
    assert retry_after_ms(text, NOW) == wait


def test_a_pause_counts_for_every_kind_of_later() -> None:
    for status, error_class in [(408, "network_timeout"), (429, "rate_limited"), (503, "remote_5xx")]:
        answer = read(status, Retry_After="7")
        assert (answer.retry_after_ms, answer.error_class) == (7_000, error_class)


def test_what_the_receiver_says_is_one_short_line() -> None:
    answer = read(400, {"error": {"message": "bad\r\n\x1b[31m field\u2028" + "x" * 500}})
    assert answer.detail is not None
    assert answer.detail.startswith("the receiver answered 400: bad [31m field x")
    assert len(answer.detail) == DETAIL_LIMIT


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["data", "status", "review_id", "reused", "matched_idempotency_key", "error", "ok"]), inner
        )
    ),
    max_leaves=8,
)


@given(status=st.integers(100, 599), document=_JSON, cut=st.booleans())
def test_any_answer_can_be_read(status: int, document: Any, cut: bool) -> None:
    body = json.dumps(document).encode()
    answer = read_answer(status, {}, body, ack=AckPaths(), keys={KEY}, now_ms=NOW, cut=cut)
    assert answer.error_class is None or answer.error_class in ERROR_CLASSES
    assert (answer.error_class is None) == (answer.answer in (C.ACCEPTED, C.REPLAYED))
    if answer.answer in (C.ACCEPTED, C.REPLAYED):
        assert 200 <= status < 300 or status == 409
    if answer.detail is not None:
        assert len(answer.detail) <= DETAIL_LIMIT
        assert answer.detail.isprintable()


@given(st.binary())
def test_any_body_can_be_read(body: bytes) -> None:
    assert read(200, body=body).status == 200


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
