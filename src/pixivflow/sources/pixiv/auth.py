"""The account's tokens: when a new one is fetched, by whom, and what is kept.

Rules, each from a report of tools that got it wrong: one token call at a time; a rotated refresh token is stored before
it is used; a refused refresh token is asked about once and never again; a page or a 5xx is trouble, not a refusal.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

import msgspec

from pixivflow.sources.errors import AuthFailed, NetworkFailed, RateLimited, SourceError, TimedOut, Unavailable
from pixivflow.sources.pixiv import fields
from pixivflow.sources.pixiv.answers import Reply
from pixivflow.sources.pixiv.config import PUBLIC_HASH_SALT, PixivSourceConfig
from pixivflow.sources.pixiv.gate import Clock
from pixivflow.sources.ports import AccountStore, AccountTokens

MARGIN_S = 60.0
_DEFAULT_LIFE_S = 3600
_LONGEST_LIFE_S = 30 * 24 * 3600
_PLACEHOLDERS = frozenset({"", "YOUR_REFRESH_TOKEN"})

PostToken = Callable[[Mapping[str, str], Mapping[str, str]], Awaitable[Reply]]
"""Send a form with extra headers to the token endpoint. Raises NetworkFailed or TimedOut."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A good answer of the token endpoint."""

    access_token: str
    refresh_token: str | None
    life_s: int
    user_id: str | None

    def __repr__(self) -> str:
        return f"Granted(life_s={self.life_s})"


@dataclass(frozen=True, slots=True)
class Dead:
    """The refresh token is refused for good."""


def chain_of(configured: str | None) -> str | None:
    """The name of a token chain: SHA-256 of the configured token it began with, None without a real one."""
    if configured is None or configured.strip() in _PLACEHOLDERS:
        return None
    return hashlib.sha256(configured.strip().encode("utf-8", "replace")).hexdigest()


def choose(stored: AccountTokens, configured: str | None) -> AccountTokens:
    """The tokens to go on with: the stored chain while it began with the configured token, else a new chain.

    A chain whose refresh token is None has been refused; it stays dead until another token is configured.
    """
    chain = chain_of(configured)
    if chain is None or configured is None or stored.configured_from == chain:
        return stored
    return AccountTokens(refresh_token=configured.strip(), configured_from=chain)


def client_headers(now: float, salt: str = PUBLIC_HASH_SALT) -> dict[str, str]:
    """The time and its salted hash, as the app sends them with a token call. `now` is epoch seconds."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
    digest = hashlib.md5((stamp + salt).encode("ascii"), usedforsecurity=False).hexdigest()
    return {"X-Client-Time": stamp, "X-Client-Hash": digest}


def read_grant(  # noqa: PLR0911 - one answer class a line
    reply: Reply, account: str
) -> Granted | Dead | SourceError:
    """What the token endpoint's answer means. No text of the answer is repeated: it may quote the token."""
    try:
        value = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    status = reply.status
    record: dict[str, Any] = value if isinstance(value, dict) else {}
    if status == 429:
        return RateLimited("the token endpoint limits the rate", retry_after_s=reply.retry_after_s, status=status)
    if not record or status >= 500:
        return Unavailable(f"the token endpoint gives no answer that can be read (HTTP {status})", status=status)
    if 200 <= status < 300:
        return _granted(record) or Unavailable("the token endpoint's answer holds no access token", status=status)
    system = fields.mapping(fields.mapping(record.get("errors")).get("system"))
    said = f"{fields.text(record.get('error'))} {fields.text(system.get('message'))}".lower()
    if "invalid_client" in said:
        return AuthFailed(f"account {account}: the client id and secret are refused", status=status)
    if "rate limit" in said:
        return RateLimited("the token endpoint limits the rate", retry_after_s=reply.retry_after_s, status=status)
    if status == 400 and ("invalid_grant" in said or "refresh token" in said):
        return Dead()
    if 400 <= status < 500:
        return AuthFailed(f"account {account}: the login is refused (HTTP {status})", status=status)
    return Unavailable(f"the token endpoint answers HTTP {status}", status=status)


def _granted(record: Mapping[str, Any]) -> Granted | None:
    # Readers in the wild use either the top level or `response`; both are sent, either may go missing.
    for part in (fields.mapping(record.get("response")), record):
        access = part.get("access_token")
        if isinstance(access, str) and access:
            refresh = part.get("refresh_token")
            life = fields.count(part.get("expires_in"))
            return Granted(
                access_token=access,
                refresh_token=refresh if isinstance(refresh, str) and refresh else None,
                life_s=min(life, _LONGEST_LIFE_S) if life else _DEFAULT_LIFE_S,
                user_id=fields.identity(fields.mapping(part.get("user")).get("id")),
            )
    return None


class Authenticator:
    """Gives out the account's access token, and fetches a new one when it must."""

    def __init__(self, config: PixivSourceConfig, store: AccountStore, clock: Clock, post: PostToken) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._post = post
        self._tokens: AccountTokens | None = None
        self._fresh_until = 0.0
        self._refused: AuthFailed | None = None
        self._refresh: asyncio.Task[str] | None = None

    @property
    def user_id(self) -> str | None:
        """The account's own user number, once a token has been seen."""
        return self._tokens.user_id if self._tokens is not None else None

    async def access_token(self, *, rejected: str | None = None) -> str:
        """A token that is good for a while yet.

        Args:
            rejected: a token the API has just refused; it is not given out again.

        Raises AuthFailed when the account must log in again, Unavailable (NetworkFailed, TimedOut) or RateLimited when
        a new token cannot be had now.
        """
        if self._refresh is None:
            tokens = self._tokens
            if (
                tokens is not None
                and tokens.access_token
                and tokens.access_token != rejected
                and self._clock.now() < self._fresh_until
            ):
                return tokens.access_token
            if self._refused is not None:
                raise self._again(self._refused)
            self._refresh = asyncio.create_task(self._renew(rejected), name="pixiv-token")
            self._refresh.add_done_callback(self._forget)
        # The call belongs to all who wait for it, and a rotated token must reach the store even when they all give up.
        return await asyncio.shield(self._refresh)

    async def aclose(self) -> None:
        """Let a running token call come to its end, so that a rotated token is not lost."""
        if self._refresh is not None:
            await asyncio.wait({self._refresh})

    def _forget(self, task: asyncio.Task[str]) -> None:
        self._refresh = None
        if not task.cancelled():
            task.exception()  # seen: those who waited have it, and with nobody waiting there is nobody to tell

    def _again(self, error: AuthFailed) -> AuthFailed:
        return AuthFailed(str(error), status=error.status)

    async def _renew(self, rejected: str | None) -> str:
        now = self._clock.now()
        tokens = choose(await self._store.load_tokens(), self._config.refresh_token)
        self._tokens = tokens
        # The store may hold a good one: from before a restart, or from a process that shares the account.
        if tokens.access_token and tokens.access_token != rejected and tokens.access_expires_at - MARGIN_S > now:
            self._fresh_until = tokens.access_expires_at - MARGIN_S
            return tokens.access_token
        if not tokens.refresh_token:
            told = "is refused; log in again" if tokens.configured_from else "is not configured"
            raise AuthFailed(f"account {self._config.account}: the refresh token {told}")
        if self._config.read_only_auth:
            raise Unavailable(f"account {self._config.account}: its token is old and this process may not renew it")
        outcome = await self._ask(tokens.refresh_token)
        if isinstance(outcome, Dead):
            await self._bury(tokens)
        if isinstance(outcome, AuthFailed):
            self._refused = outcome
        if isinstance(outcome, SourceError):
            raise outcome
        return await self._keep(tokens, outcome)

    async def _bury(self, tokens: AccountTokens) -> NoReturn:
        """Remember a refused chain in the store, where a later login, from any process, can replace it."""
        refused = AuthFailed(f"account {self._config.account}: the refresh token is refused; log in again", status=400)
        self._refused = refused
        self._tokens = AccountTokens(user_id=tokens.user_id, configured_from=tokens.configured_from)
        await self._store.save_tokens(self._tokens)
        self._refused = None
        raise refused

    async def _keep(self, tokens: AccountTokens, granted: Granted) -> str:
        now = self._clock.now()
        kept = replace(
            tokens,
            refresh_token=granted.refresh_token or tokens.refresh_token,
            access_token=granted.access_token,
            access_expires_at=now + granted.life_s,
            user_id=granted.user_id or tokens.user_id,
        )
        await self._store.save_tokens(kept)
        self._tokens = kept
        # A life shorter than the margin would make every request fetch a token of its own.
        self._fresh_until = kept.access_expires_at - min(MARGIN_S, granted.life_s / 2)
        return granted.access_token

    async def _ask(self, refresh_token: str) -> Granted | Dead | SourceError:
        """Call the token endpoint; trouble is tried again a few times, an answer never."""
        form = {
            "client_id": self._config.client_id,
            "client_secret": self._config.client_secret,
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "include_policy": "true",
            "get_secure_url": "1",
        }
        tries = 0
        while True:
            try:
                reply = await self._post(form, client_headers(self._clock.now()))
            except (NetworkFailed, TimedOut) as error:
                outcome: Granted | Dead | SourceError = error
                trouble = True
            else:
                outcome = read_grant(reply, self._config.account)
                trouble = isinstance(outcome, Unavailable) and reply.status >= 500
            if not trouble or tries >= self._config.retries:
                return outcome
            await self._clock.sleep(back_off_s(tries))
            tries += 1


def back_off_s(tries: int) -> float:
    """The pause after `tries` repeats: one second more each time, five at most."""
    return min(1.0 * (tries + 1), 5.0)
