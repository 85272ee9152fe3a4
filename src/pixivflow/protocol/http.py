"""The acceptance list's way to a real producer."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from pixivflow.protocol.session import Answer, Token, Unreachable

_ANSWER_MAX: Final = 16 * 1024 * 1024
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, connect=10)
_ANOTHER: Final = "x-not-the-token-x"


class HttpProducer:
    """A producer at a base URL, spoken to with one token. Redirects are answers, not followed: the token stays here."""

    def __init__(self, url: str, token: str | None) -> None:
        self._base = url.rstrip("/")
        self._token = token
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=False)

    async def __call__(self, method: str, path: str, body: bytes | None, token: Token) -> Answer:
        """Send one request."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        sent = {Token.RIGHT: self._token, Token.WRONG: _ANOTHER, Token.NONE: None}[token]
        if sent:
            headers["Authorization"] = f"Bearer {sent}"
        try:
            url = URL(self._base + path, encoded=True)
            async with self._session.request(method, url, data=body, headers=headers, allow_redirects=False) as answer:
                raw = bytearray()
                async for part in answer.content.iter_chunked(65_536):
                    raw += part
                    if len(raw) > _ANSWER_MAX:
                        raise Unreachable(f"{method} {path} is answered with more than {_ANSWER_MAX} bytes")
                names = {name.lower(): value for name, value in answer.headers.items()}
                return Answer(answer.status, names, bytes(raw))
        except TimeoutError:
            raise Unreachable(f"{method} {path} is not answered in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = getattr(getattr(error, "os_error", error), "strerror", None) or type(error).__name__
            raise Unreachable(f"{method} {path} is not answered: {why}") from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
