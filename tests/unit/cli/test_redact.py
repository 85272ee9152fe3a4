"""Planted secrets do not come out, and what is no secret stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.observability.redact import MASK, add_secret, redact, redact_text

SECRET = "pL4nt3d-S3cret_value"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"authorization={SECRET}",
        f"'Authorization': 'Basic {SECRET}=='",
        f'{{"refresh_token": "{SECRET}"}}',
        f"refresh_token={SECRET}&grant_type=refresh_token",
        f"access_token='{SECRET}'",
        f"client_secret={SECRET}",
        f"code_verifier={SECRET}",
        f"GET https://host/path?X-Amz-Signature={SECRET}&x=1",
        f"https://host/p?a=1&sig={SECRET}",
        f"https://host/p?token={SECRET}#part",
        f"https://user:{SECRET}@proxy.example:8080/",
        f"socks5://{SECRET}@10.0.0.1",
        f"password: {SECRET}",
        f"Cookie: {SECRET}",
        f"https://api.telegram.org/bot123456789:{SECRET}{SECRET}/send",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
    ],
)
def test_a_planted_secret_is_gone(text):
    assert SECRET not in redact_text(text)
    assert MASK in redact_text(text)
    assert SECRET not in str(redact({"deep": [{"event": text}]}))


@pytest.mark.parametrize(
    "text",
    [
        "job default@manual-1 accepted, idempotency_key=abc-123-def",
        "https://www.pixiv.net/artworks/123?lang=en",
        "1 works were found and none was taken (1 already_downloaded).",
        "no refresh token: nothing can be fetched",
        "the tokens are fine",
        "attempt=3 route=review status=201",
    ],
)
def test_ordinary_text_stays(text):
    assert redact_text(text) == text


def test_members_named_like_secrets_are_masked_whatever_they_hold():
    found = redact({"refresh_token": "x", "Authorization": ["y"], "password": "", "status": 200, "n": None})
    assert found == {"refresh_token": MASK, "Authorization": MASK, "password": "", "status": 200, "n": None}


def test_odd_values_become_texts():
    class Odd:
        def __str__(self) -> str:
            return f"token={SECRET}"

    assert SECRET not in redact(Odd())
    assert SECRET not in redact(f"token={SECRET}".encode())
    nested: list[object] = []
    nested.append(nested)
    assert MASK in str(redact(nested))


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=8, max_size=40), st.text(), st.text())
def test_a_known_secret_never_comes_out(secret, before, after):
    add_secret(secret)
    assert secret not in redact_text(before + secret + after).replace(MASK, "\0")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_any_structure_can_be_redacted(value):
    redact(value)
