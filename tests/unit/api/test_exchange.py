from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.api.exchange import BodyTooLarge, Call, CallerGone, path_segments, request_id


def scope(raw_path: bytes, **more: Any) -> dict[str, Any]:
    return {"raw_path": raw_path, "path": raw_path.decode(errors="replace"), **more}


@given(st.text(min_size=1, max_size=20))
def test_any_id_survives_in_a_path(ident: str) -> None:
    raw = f"/jobs/{quote(ident, safe='')}/events".encode()
    assert path_segments(scope(raw)) == ["jobs", ident, "events"]


@given(st.binary(max_size=30))
def test_no_path_makes_it_raise(raw: bytes) -> None:
    for segment in path_segments(scope(b"/" + raw)):
        assert isinstance(segment, str)


def test_paths() -> None:
    assert path_segments(scope(b"/jobs/")) == ["jobs"]
    assert path_segments(scope(b"/jobs//")) == ["jobs", ""]
    assert path_segments(scope(b"/")) == [""]
    assert path_segments(scope(b"/jobs/%FF%2f")) == ["jobs", "\ufffd/"]
    assert path_segments(scope(b"/base/jobs/x", root_path="/base")) == ["jobs", "x"]
    assert path_segments({"path": "/jobs/é"}) == ["jobs", "é"]


def test_request_ids() -> None:
    def made() -> str:
        return "made"

    assert request_id([(b"x-request-id", b"a\r\nb;c d")], made) == b"abcd"
    assert request_id([(b"x-request-id", b"\xff")], made) == b"made"
    assert request_id([], made) == b"made"


def call(messages: list[dict[str, Any]], *headers: tuple[bytes, bytes]) -> Call:
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    return Call({"headers": list(headers)}, receive, "", 10)


def part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_is_put_together_up_to_the_limit() -> None:
    assert await call([part(b"12345", more=True), part(b"", more=True), part(b"67890", more=False)]).body() == (
        b"1234567890"
    )
    assert await call([{"type": "http.request"}]).body() == b""
    with pytest.raises(BodyTooLarge):
        await call([part(b"12345", more=True), part(b"678901", more=True)]).body()


@pytest.mark.parametrize("length", [b"11", b"9" * 5000])
async def test_an_announced_body_over_the_limit_is_not_read(length: bytes) -> None:
    with pytest.raises(BodyTooLarge):
        await call([], (b"content-length", length)).body()


async def test_a_body_that_never_ends_is_the_caller_s_leaving() -> None:
    with pytest.raises(CallerGone):
        await call([part(b"1", more=True), {"type": "http.disconnect"}]).body()
