from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.client.errors import (
    ApiError,
    BadAnswer,
    Conflict,
    InvalidParams,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    api_error,
)
from pixivflow.client.retry import NEVER, Retry, may_work_later, retry_after


def told(status: int, code: str, *, retryable: bool, **detail: object) -> ApiError:
    error: dict[str, object] = {"code": code, "message": "m", "retryable": retryable}
    if detail:
        error["detail"] = detail
    return api_error(status, {"error": error})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidParams),
        (401, Unauthorized),
        (403, Unauthorized),
        (404, NotFound),
        (409, Conflict),
        (413, InvalidParams),
        (418, InvalidParams),
        (429, TooManyRequests),
        (500, ServerError),
        (502, ServerError),
        (503, Unavailable),
        (301, InvalidParams),
    ],
)
def test_a_status_is_one_kind_of_error(status: int, kind: type[ApiError]) -> None:
    error = api_error(status, None)
    assert type(error) is kind
    assert (error.status, error.code, error.detail, error.reason) == (status, "", {}, "")


def test_an_error_carries_what_the_server_said() -> None:
    body = {"error": {"code": "resource_busy", "message": "stopping", "retryable": True, "detail": {"reason": "d"}}}
    error = api_error(503, body, retry_after_s=5, request_id="r1")
    assert isinstance(error, Unavailable)
    assert (error.code, error.message, error.retryable, error.reason) == ("resource_busy", "stopping", True, "d")
    assert (error.retry_after_s, error.request_id, error.body) == (5, "r1", body)
    assert str(error) == "stopping (HTTP 503, resource_busy)"


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Unreachable("x"), True),
        (BadAnswer("x"), False),
        (api_error(429, None), True),
        (api_error(502, "<html>"), True),
        (api_error(504, None), True),
        (told(503, "resource_busy", retryable=True, reason="draining"), True),
        (told(500, "internal_error", retryable=False), True),
        (told(500, "internal_error", retryable=False, reason="delivery_outcome_not_configured"), False),
        (told(503, "internal_error", retryable=False, reason="job_api_disabled"), False),
        (api_error(503, {"status": "error", "error": "endpoint disabled: token not configured"}), False),
        (api_error(401, {"status": "error", "error": "unauthorized"}), False),
        (told(409, "idempotency_conflict", retryable=False), False),
        (told(404, "invalid_params", retryable=False), False),
    ],
)
def test_what_may_work_later_is_tried_again(error: Exception, again: bool) -> None:
    assert may_work_later(error) is again  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", [{}, [], None, {"error": None}, {"error": {"code": 7, "retryable": "yes", "detail": []}}]
)
def test_no_body_can_break_it(body: object) -> None:
    error = api_error(500, body)
    assert error.retryable
    assert error.detail == {}


@given(st.integers(1, 40), st.floats(0, 1), st.floats(0, 200))
def test_pauses_grow_within_their_bounds_and_end_with_the_total(failures: int, chance: float, elapsed: float) -> None:
    policy = Retry(attempts=30, base_s=0.5, max_s=8, total_s=60)
    pause = policy.pause(failures, elapsed, Unreachable("x"), lambda: chance)
    if pause is None:
        assert failures >= 30 or elapsed + 8 > 60
    else:
        assert 0 <= pause <= min(8, 0.5 * 2**failures)
        assert elapsed + pause <= 60


def test_the_server_s_patience_counts_more() -> None:
    error = api_error(503, None, retry_after_s=20)
    assert Retry(base_s=1).pause(1, 0, error, lambda: 0.5) == 21
    assert Retry(total_s=20).pause(1, 0, error, lambda: 0.5) is None


def test_never_is_once() -> None:
    assert NEVER.pause(1, 0, Unreachable("x"), lambda: 0) is None


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("5", 5),
        (" 7 ", 7),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("99999999999999", 3600),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
        ("\N{ARABIC-INDIC DIGIT FIVE}", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds
