"""Tokens, codes and the token endpoint's rules, by a clock set by hand."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pixivflow.sandbox import oauth
from pixivflow.sandbox.exchange import Answer, Call
from pixivflow.sandbox.options import SandboxOptions
from pixivflow.sandbox.world import World

NOW = datetime(2026, 3, 10, tzinfo=UTC)
VERIFIER = "v" * 43


def _token(
    book: oauth.TokenBook,
    options: SandboxOptions,
    form: dict[str, str],
    *,
    headers: dict[str, str] | None = None,
    now: datetime = NOW,
) -> Answer:
    call = Call(
        route="oauth.token",
        path="/auth/token",
        form=form,
        headers=headers or {},
        now=now,
        world=World(),
        options=options,
        tokens=book,
    )
    return oauth.token(call)


def _refresh(book: oauth.TokenBook, options: SandboxOptions, token: str, **more: Any) -> Answer:
    return _token(book, options, {"grant_type": "refresh_token", "refresh_token": token}, **more)


def _pair(**changes: Any) -> tuple[oauth.TokenBook, SandboxOptions]:
    options = SandboxOptions(**changes)
    return oauth.TokenBook(options), options


def test_the_known_example_of_a_challenge() -> None:
    # RFC 7636, appendix B.
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert oauth.challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_refresh_answers_twice_in_one_document() -> None:
    book, options = _pair()
    answer = _refresh(book, options, "anything")
    assert answer.status == 200
    grant = answer.document
    assert grant["refresh_token"] == "anything"
    assert grant["expires_in"] == 3600
    assert grant["user"]["id"] == "900"
    assert grant["response"]["access_token"] == grant["access_token"]
    assert book.knows_access(grant["access_token"], NOW + timedelta(seconds=3599))
    assert not book.knows_access(grant["access_token"], NOW + timedelta(seconds=3600))


def test_expiring_everything() -> None:
    book, options = _pair()
    token = _refresh(book, options, "a").document["access_token"]
    book.expire_all()
    assert not book.knows_access(token, NOW)


@pytest.mark.parametrize("token", ["", "other"])
def test_a_wrong_refresh_token(token: str) -> None:
    book, options = _pair(refresh_token="right")
    answer = _refresh(book, options, token)
    assert answer.status == 400
    assert answer.document == {
        "has_error": True,
        "errors": {"system": {"message": "Invalid refresh token", "code": 1508}},
        "error": "invalid_grant",
    }


@pytest.mark.parametrize(("dies", "status"), [(True, 400), (False, 200)])
def test_rotation(dies: bool, status: int) -> None:
    book, options = _pair(rotate_refresh=True, old_refresh_dies=dies)
    first = _refresh(book, options, "old").document["refresh_token"]
    assert first != "old"
    assert _refresh(book, options, "old").status == status
    assert _refresh(book, options, first).status == 200


def test_revoked_tokens_stay_dead() -> None:
    book, options = _pair()
    book.revoke_refresh("gone")
    assert _refresh(book, options, "gone").status == 400


def test_a_wrong_client_pair() -> None:
    book, options = _pair(client=("id", "secret"))
    form = {"grant_type": "refresh_token", "refresh_token": "a", "client_id": "id", "client_secret": "other"}
    assert _token(book, options, form).document["error"] == "invalid_client"
    assert _token(book, options, {**form, "client_secret": "secret"}).status == 200


def test_unknown_grants_and_missing_fields() -> None:
    book, options = _pair()
    for form in ({}, {"grant_type": "password"}, {"grant_type": "authorization_code", "code": "a"}):
        assert _token(book, options, form).document["errors"]["system"]["code"] == 1508


def _with_code(
    book: oauth.TokenBook, options: SandboxOptions, code: str, verifier: str = VERIFIER, **more: Any
) -> Answer:
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "redirect_uri": oauth.CALLBACK}
    return _token(book, options, form, **more)


def test_a_code_works_once_with_its_verifier() -> None:
    book, options = _pair()
    code = book.new_code(oauth.challenge_of(VERIFIER), NOW)
    assert _with_code(book, options, code).status == 200
    assert _with_code(book, options, code).document["errors"]["system"]["code"] == 918


def test_codes_die_by_time_by_a_wrong_verifier_and_by_a_short_one() -> None:
    book, options = _pair(code_life_s=60)
    late = book.new_code(oauth.challenge_of(VERIFIER), NOW)
    assert _with_code(book, options, late, now=NOW + timedelta(seconds=60)).status == 400
    wrong = book.new_code(oauth.challenge_of(VERIFIER), NOW)
    assert _with_code(book, options, wrong, "w" * 43).status == 400
    assert _with_code(book, options, wrong).status == 400
    short = book.new_code(oauth.challenge_of("short"), NOW)
    assert _with_code(book, options, short, "short").status == 400


def test_a_foreign_redirect_is_refused() -> None:
    book, options = _pair()
    code = book.new_code(oauth.challenge_of(VERIFIER), NOW)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": VERIFIER,
        "redirect_uri": "https://x.test",
    }
    assert _token(book, options, form).status == 400


def test_the_strict_hash() -> None:
    book, options = _pair(strict_hash=True, hash_salt="salt")
    time = "2026-03-10T00:00:00+00:00"
    good = hashlib.md5((time + "salt").encode(), usedforsecurity=False).hexdigest()
    assert _refresh(book, options, "a").status == 400
    assert _refresh(book, options, "a", headers={"X-Client-Time": time, "X-Client-Hash": "0" * 32}).status == 400
    assert _refresh(book, options, "a", headers={"X-Client-Time": time, "X-Client-Hash": good}).status == 200


def test_secrets_do_not_show_in_the_options() -> None:
    shown = repr(SandboxOptions(hash_salt="the-salt", proxy_auth=("u", "the-password")))
    assert "the-salt" not in shown
    assert "the-password" not in shown
