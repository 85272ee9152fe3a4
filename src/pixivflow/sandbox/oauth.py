"""Tokens, codes and the rules of the token endpoint.

Time comes in as an argument; nothing is secret, all is invented.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from pixivflow.sandbox.exchange import Answer, Call, html, redirect
from pixivflow.sandbox.options import SandboxOptions
from pixivflow.sandbox.seeded import digest
from pixivflow.sandbox.world import VIEWER_ID

CALLBACK: Final = "https://app-api.pixiv.net/web/v1/users/auth/pixiv/callback"
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_CLIENT_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)")


def challenge_of(verifier: str) -> str:
    """The S256 code challenge of a PKCE verifier (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class _Code:
    challenge: str
    valid_until: datetime


class TokenBook:
    """Which codes, access tokens and refresh tokens are alive.

    Invalid refresh tokens are those never accepted or killed by rotation; with no configured token, any unknown
    non-empty one counts as a log-in made elsewhere and is accepted.
    """

    def __init__(self, options: SandboxOptions) -> None:
        self._options = options
        self._access: dict[str, datetime] = {}
        self._codes: dict[str, _Code] = {}
        self._refresh: set[str] = {options.refresh_token} if options.refresh_token else set()
        self._dead: set[str] = set()
        self._count = 0

    def knows_access(self, token: str, now: datetime) -> bool:
        """Whether an access token was issued here and still lives."""
        until = self._access.get(token)
        return until is not None and now < until

    def expire_all(self) -> None:
        """End the life of every access token now."""
        self._access.clear()

    def revoke_refresh(self, token: str) -> None:
        """Make a refresh token invalid, as a password change does."""
        self._dead.add(token)

    def accepts_refresh(self, token: str) -> bool:
        """Whether a refresh with this token succeeds."""
        if not token or token in self._dead:
            return False
        return token in self._refresh or self._options.refresh_token is None

    def new_code(self, challenge: str, now: datetime) -> str:
        """A one-time code for a PKCE log-in."""
        code = self._next("code")
        self._codes[code] = _Code(challenge, now + timedelta(seconds=self._options.code_life_s))
        return code

    def take_code(self, code: str, verifier: str, now: datetime) -> bool:
        """Use a code up; True only for a living code with the verifier that belongs to it."""
        known = self._codes.pop(code, None)
        if known is None or now >= known.valid_until or not _VERIFIER.fullmatch(verifier):
            return False
        return hmac.compare_digest(known.challenge, challenge_of(verifier))

    def issue(self, refresh: str | None, now: datetime) -> tuple[str, str]:
        """A new access token and the refresh token to use from now on (None starts a new line)."""
        access = self._next("access")
        self._access[access] = now + timedelta(seconds=self._options.token_life_s)
        follow = refresh
        if follow is None or self._options.rotate_refresh:
            follow = self._next("refresh")
            if refresh is not None and self._options.old_refresh_dies:
                self._dead.add(refresh)
        self._refresh.add(follow)
        return access, follow

    def _next(self, kind: str) -> str:
        self._count += 1
        return f"sandbox-{kind}-{digest(self._options.seed, kind, self._count)}"


def refused(message: str, code: int = 1508, *, error: str = "invalid_grant", status: int = 400) -> Answer:
    """The token endpoint's error form."""
    errors = {"system": {"message": message, "code": code}}
    return Answer(status, {"has_error": True, "errors": errors, "error": error})


_BAD_REQUEST: Final = "Invalid grant_type parameter or parameter missing"


def token(call: Call) -> Answer:
    """`POST /auth/token`."""
    form, options = call.form, call.options
    if options.strict_hash and not _hash_ok(call.headers, options.hash_salt):
        return refused(_BAD_REQUEST)
    pair = (form.get("client_id", ""), form.get("client_secret", ""))
    if options.client is not None and pair != options.client:
        return refused("Invalid client credentials", error="invalid_client")
    match form.get("grant_type"):
        case "refresh_token":
            presented = form.get("refresh_token", "")
            if not call.tokens.accepts_refresh(presented):
                return refused("Invalid refresh token")
            return _granted(*call.tokens.issue(presented, call.now), options)
        case "authorization_code":
            return _code_grant(call)
        case _:
            return refused(_BAD_REQUEST)


def _code_grant(call: Call) -> Answer:
    form = call.form
    code, verifier = form.get("code", ""), form.get("code_verifier", "")
    if not code or not verifier or form.get("redirect_uri", CALLBACK) != CALLBACK:
        return refused(_BAD_REQUEST)
    if not call.tokens.take_code(code, verifier, call.now):
        return refused("Invalid authorization code", 918)
    return _granted(*call.tokens.issue(None, call.now), call.options)


def _hash_ok(headers: Mapping[str, str], salt: str | None) -> bool:
    time, given = headers.get("X-Client-Time", ""), headers.get("X-Client-Hash", "").lower()
    if not _CLIENT_TIME.fullmatch(time) or not re.fullmatch(r"[0-9a-f]{32}", given):
        return False
    return salt is None or given == hashlib.md5((time + salt).encode(), usedforsecurity=False).hexdigest()


def account(*, premium: bool) -> dict[str, Any]:
    """The account every token belongs to, in the token endpoint's form (the id is text there)."""
    sizes = {f"px_{size}": "https://s.pximg.net/common/images/no_profile.png" for size in ("16x16", "50x50", "170x170")}
    return {
        "profile_image_urls": sizes,
        "id": str(VIEWER_ID),
        "name": "sandbox",
        "account": "sandbox",
        "mail_address": "sandbox@example.test",
        "is_premium": premium,
        "x_restrict": 2,
        "is_mail_authorized": True,
        "require_policy_agreement": False,
    }


def _granted(access: str, refresh: str, options: SandboxOptions) -> Answer:
    life = int(options.token_life_s) if float(options.token_life_s).is_integer() else options.token_life_s
    grant: dict[str, Any] = {
        "access_token": access,
        "expires_in": life,
        "token_type": "bearer",
        "scope": "",
        "refresh_token": refresh,
        "user": account(premium=options.premium),
    }
    # Some clients read the top level, others only `response`.
    return Answer(200, {**grant, "response": grant})


def login_page(call: Call) -> Answer:
    """`GET /web/v1/login`: takes the challenge and approves at once."""
    challenge = call.query.get("code_challenge", "")
    if call.query.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        return html("<!doctype html><title>Error</title><p>The log-in request is not valid.</p>", 400)
    code = call.tokens.new_code(challenge, call.now)
    state = call.query.get("state") or digest("state", code)
    return redirect(f"{CALLBACK}?{urlencode({'state': state, 'code': code})}")


def callback_page(call: Call) -> Answer:
    """The page the log-in ends on; it hands the code to the app's own scheme, which a desktop browser cannot open."""
    code = call.query.get("code", "")
    target = "pixiv://account/login?" + urlencode({"code": code, "via": "login"})
    return redirect(target) if code else html("<!doctype html><title>Error</title><p>No code.</p>", 400)


def accounts_page(_call: Call) -> Answer:
    """The log-in form's host: a plain page, since the sandbox approves by itself."""
    return html("<!doctype html><title>Log in</title><p>This sandbox approves every log-in at /web/v1/login.</p>")
