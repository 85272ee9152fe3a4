"""A request as an endpoint sees it and an answer as a value. Nothing here knows a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import msgspec

from pixivflow.sandbox.search import OFFSET_LIMIT, BadParameterError

if TYPE_CHECKING:
    from pixivflow.sandbox.oauth import TokenBook
    from pixivflow.sandbox.options import SandboxOptions
    from pixivflow.sandbox.world import World

_JSON = msgspec.json.Encoder()
_T = TypeVar("_T")
API_HOST = "https://app-api.pixiv.net"
Viewer = tuple[dict[str, Any], dict[str, Any], Callable[[dict[str, Any], dict[str, Any]], str]]
"""Novel object, author, and the function that renders the page: kept so that a fault can change the object."""


@dataclass(slots=True)
class Answer:
    """What goes back. Either `document` (encoded as JSON at the end, so that faults can still change it) or `body`."""

    status: int = 200
    document: Any = None
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    viewer: Viewer | None = None
    """For a novel's viewer page: what it was rendered from."""

    def payload(self) -> bytes:
        """The bytes to send."""
        return self.body if self.document is None else _JSON.encode(self.document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, already routed. `query` and `form` keep the first value of a repeated key; `pairs` keeps all."""

    route: str
    path: str
    method: str = "GET"
    params: Mapping[str, str] = field(default_factory=dict)
    """Parts of the path that the route names."""
    query: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    now: datetime
    world: World
    options: SandboxOptions
    tokens: TokenBook

    def whole(self, name: str, *, least: int = 0) -> int:
        """A required whole-number parameter. Raises BadParameterError."""
        return read_whole(name, self.query.get(name) or self.params.get(name), least=least)

    def offset(self) -> int:
        """The paging offset. Raises BadParameterError beyond the site's limit."""
        value = read_whole("offset", self.query.get("offset") or "0")
        if value > OFFSET_LIMIT:
            raise BadParameterError("offset", f"offset must be no more than {OFFSET_LIMIT}")
        return value


def read_whole(name: str, text: str | None, *, least: int = 0) -> int:
    """A whole number in ASCII digits. Raises BadParameterError when it is missing, malformed or too small."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadParameterError(name, "must be a whole number")
    if int(text) < least:
        raise BadParameterError(name, f"must be at least {least}")
    return int(text)


def next_url(call: Call, **changes: object) -> str:
    """Address of the next page: the same call with some parameters replaced, always on the site's own host."""
    pairs = [(key, value) for key, value in call.pairs if key not in changes]
    pairs += [(key, str(value)) for key, value in changes.items()]
    return f"{API_HOST}{call.path}?{urlencode(pairs)}"


def paged(call: Call, items: list[_T], *, size: int | None = None) -> tuple[list[_T], str | None]:
    """One page of a list by `offset`, with the address of the next."""
    offset, step = call.offset(), size or call.options.page_size
    more = offset + step < len(items)
    return items[offset : offset + step], next_url(call, offset=offset + step) if more else None


def api_error(status: int, *, message: str = "", user_message: str = "", reason: str = "") -> Answer:
    """The app API's error envelope."""
    details: dict[str, Any] = {}
    error = {"user_message": user_message, "message": message, "reason": reason, "user_message_details": details}
    return Answer(status, {"error": error})


def bad_parameter(error: BadParameterError) -> Answer:
    """Status 400 as the site words it: the message is itself a JSON text that names the parameter."""
    return api_error(400, message=_JSON.encode({error.name: [error.problem]}).decode())


def not_found() -> Answer:
    """A work, user or series that is gone, private or never was."""
    return api_error(404, user_message="該当するコンテンツは見つかりませんでした。")


def no_such_endpoint() -> Answer:
    """A path the app API does not serve."""
    return api_error(404, message="The requested end-point does not exist")


def oauth_refused(status: int = 400) -> Answer:
    """A missing, wrong or expired access token on an API call."""
    text = (
        "Error occurred at the OAuth process. Please check your Access Token to fix this. Error Message: invalid_grant"
    )
    return api_error(status, message=text)


def html(text: str, status: int = 200) -> Answer:
    """A page."""
    return Answer(status, body=text.encode(), content_type="text/html; charset=utf-8")


def redirect(location: str, status: int = 302) -> Answer:
    """A redirection."""
    return Answer(status, content_type="text/html; charset=utf-8", headers={"Location": location})
