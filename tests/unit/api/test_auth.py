from __future__ import annotations

import pytest

from pixivflow.api.auth import NOT_CONFIGURED, UNAUTHORIZED, Guard, Tokens, UnsafeBind, check_bind, is_loopback


def bearer(value: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"x"), (b"authorization", value)]


def test_a_token_is_trimmed_and_compared_whole() -> None:
    guard = Guard("  tök-1 ")
    assert guard.refusal(bearer("Bearer tök-1".encode())) is None
    assert guard.refusal(bearer("Bearer  tök-1 ".encode())) is None
    for wrong in ("bearer tök-1", "Bearer tök-", "Bearer tök-12", "Bearer ", "Bearer", "", "Bearer\ttök-1"):
        assert guard.refusal(bearer(wrong.encode())) is UNAUTHORIZED, wrong
    assert guard.refusal(bearer(b"Bearer t\xf6k-1")) is UNAUTHORIZED
    assert guard.refusal([]) is UNAUTHORIZED
    assert guard.refusal(bearer("Bearer tök-1".encode()) * 2) is UNAUTHORIZED


@pytest.mark.parametrize("token", [None, "", "  "])
def test_a_blank_token_is_none(token: str | None) -> None:
    assert Guard(token).refusal(bearer(b"Bearer ")) is NOT_CONFIGURED
    assert Tokens(token, token) == Tokens()


def test_tokens_do_not_print() -> None:
    assert "hidden" not in repr(Tokens("hidden-one", "hidden-two"))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    check_bind(host, Tokens())


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "", "192.168.0.5", "example.org", "127.0.0.1.example.org", "::ffff:10.0.0.1"],  # noqa: S104 - nothing is bound
)
def test_a_reachable_address_needs_the_manual_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UnsafeBind, match="refusing to listen"):
        check_bind(host, Tokens(trigger="only this one"))
    check_bind(host, Tokens(manual="m"))
