"""Signed questions to the app API, each through the account's gate, with the repeats a question deserves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pixivflow.sources.errors import AuthFailed, RateLimited, SourceError, Unavailable
from pixivflow.sources.pixiv.answers import Accepted, Outcome, Refused, Reply, TokenExpired, classify
from pixivflow.sources.pixiv.auth import Authenticator, back_off_s
from pixivflow.sources.pixiv.config import PixivSourceConfig, app_headers
from pixivflow.sources.pixiv.endpoints import API_HOST, OAUTH_HOST, WEB_HOST, site_url
from pixivflow.sources.pixiv.gate import Clock, Gate, Turn, Waiting
from pixivflow.sources.pixiv.transport import Transport
from pixivflow.sources.ports import AccountStore

LIMITS_PER_CALL = 4
"""How often one call sits out a rate limit before it gives up; by then the circuit is open as a rule."""
_LONGEST_POLITE_S = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """One GET. `signed` sends the account's token, which goes to the app API only."""

    path: str
    query: Mapping[str, str] | str = ""
    host: str = API_HOST
    signed: bool = True
    wants_json: bool = True
    timeout_s: float = 30.0

    @property
    def url(self) -> str:
        """The site's address of it."""
        return site_url(self.host, self.path, self.query)


class Client:
    """The app API, seen through one account."""

    def __init__(
        self,
        config: PixivSourceConfig,
        store: AccountStore,
        clock: Clock,
        random: Callable[[], float],
        *,
        on_wait: Waiting | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._headers = app_headers(config.user_agent)
        if config.accept_language:
            self._headers["Accept-Language"] = config.accept_language
        self.transport = Transport(config, clock)
        self.gate = Gate(store, clock, random, pacing_s=config.pacing_s, max_wait_s=config.max_wait_s, on_wait=on_wait)
        self.auth = Authenticator(config, store, clock, self._post_token)

    async def api(self, path: str, query: Mapping[str, str] | str, *, detail: bool = False) -> bytes:
        """A JSON object of the app API.

        Raises AuthFailed, RateLimited, Unavailable, ShapeChanged, BadQuestion, NotFound, Forbidden.
        """
        seconds = self._config.detail_timeout_s if detail else self._config.timeout_s
        return await self.ask(Question(path, query, timeout_s=seconds))

    async def page(self, path: str, query: Mapping[str, str]) -> str:
        """A web page of the app API, as text."""
        question = Question(path, query, wants_json=False, timeout_s=self._config.detail_timeout_s)
        return (await self.ask(question)).decode("utf-8", "replace")

    async def web(self, path: str) -> bytes:
        """A JSON object of the web site, asked without any token."""
        return await self.ask(Question(path, host=WEB_HOST, signed=False, timeout_s=self._config.detail_timeout_s))

    async def ask(self, question: Question) -> bytes:
        """Send until there is a final outcome: an expired token is renewed once, trouble is tried again a few times,
        a rate limit is sat out at the gate, a verdict is a verdict at once.
        """
        failures = limits = 0
        rejected: str | None = None
        while True:
            async with self.gate.turn() as turn:
                token = await self._token(turn, rejected) if question.signed else None
                if self.gate.remaining_s() > 0:
                    continue  # a pause began while the token was fetched
                outcome = await self._send(question, token)
                _report(turn, outcome)
            if isinstance(outcome, Accepted):
                return outcome.body
            if isinstance(outcome, TokenExpired):
                if rejected is not None or token is None:
                    raise AuthFailed(f"account {self._config.account}: {outcome.message} although it is new")
                rejected = token
            elif isinstance(outcome.error, RateLimited):
                limits += 1
                if limits >= LIMITS_PER_CALL:
                    raise RateLimited(
                        str(outcome.error),
                        retry_after_s=round(self.gate.remaining_s(), 3),
                        status=outcome.error.status,
                        endpoint=question.path,
                    )
            elif outcome.repeat and failures < self._config.retries:
                await self._clock.sleep(max(back_off_s(failures), min(outcome.retry_after_s or 0, _LONGEST_POLITE_S)))
                failures += 1
            else:
                raise outcome.error

    async def aclose(self) -> None:
        """Finish a running token call and close the connections."""
        await self.auth.aclose()
        await self.transport.aclose()

    async def _token(self, turn: Turn, rejected: str | None) -> str:
        # The token call is a part of the turn: it waits for the same pauses, and its failure is the turn's.
        try:
            return await self.auth.access_token(rejected=rejected)
        except RateLimited as error:
            turn.limited(error.retry_after_s)
            raise
        except Unavailable:
            turn.failed()
            raise

    async def _send(self, question: Question, token: str | None) -> Outcome:
        headers = dict(self._headers)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        url = self._config.endpoints.route(question.url)
        try:
            reply = await self.transport.get(url, headers=headers, timeout_s=question.timeout_s, endpoint=question.path)
        except Unavailable as error:
            return Refused(error, repeat=True)
        except SourceError as error:
            return Refused(error)
        secrets = (token,) if token is not None else ()
        return classify(reply, endpoint=question.path, wants_json=question.wants_json, secrets=secrets)

    async def _post_token(self, form: Mapping[str, str], headers: Mapping[str, str]) -> Reply:
        return await self.transport.post(
            self._config.endpoints.route(site_url(OAUTH_HOST, "/auth/token")),
            form,
            headers={**self._headers, **headers},
            timeout_s=self._config.timeout_s,
            endpoint="/auth/token",
        )


def _report(turn: Turn, outcome: Outcome) -> None:
    """Tell the gate what matters to it."""
    if isinstance(outcome, Refused) and isinstance(outcome.error, RateLimited):
        turn.limited(outcome.retry_after_s)
    elif isinstance(outcome, Refused) and isinstance(outcome.error, Unavailable):
        turn.failed()
    else:
        turn.answered()
