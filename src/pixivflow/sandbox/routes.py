"""From host and path to an endpoint: which site host a request means, and the table of all addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pixivflow.sandbox import oauth
from pixivflow.sandbox.endpoints import illusts, novels, tags, users, web
from pixivflow.sandbox.exchange import Answer, Call

Site = Literal["oauth", "app", "accounts", "web", "media", "static", "control", "unknown"]
Endpoint = Callable[[Call], Answer]

HOSTS: Final[dict[str, Site]] = {
    "oauth.secure.pixiv.net": "oauth",
    "app-api.pixiv.net": "app",
    "accounts.pixiv.net": "accounts",
    "www.pixiv.net": "web",
    "pixiv.net": "web",
    "i.pximg.net": "media",
    "s.pximg.net": "static",
}
# First parts of a path that stand for a host and are taken off.
_PREFIXES: Final[dict[str, Site]] = {
    "oauth": "oauth",
    "app": "app",
    "api": "app",
    "accounts": "accounts",
    "web": "web",
    "media": "media",
    "static": "static",
}
# First parts that name their host by themselves, for clients that can only replace the scheme and host of an address.
_BARE: Final[dict[str, Site]] = {
    "auth": "oauth",
    "webview": "app",
    "v1": "app",
    "v2": "app",
    "v3": "app",
    "ajax": "web",
    "artworks": "web",
    "users": "web",
    "img-original": "media",
    "img-master": "media",
    "img-zip-ugoira": "media",
    "c": "media",
    "novel-cover-original": "media",
    "novel-cover-master": "media",
    "novel": "media",
    "user-profile": "media",
    "common": "static",
    "login": "accounts",
}
# Two paths that the first part alone would send astray.
_ASTRAY: Final[tuple[tuple[str, Site], ...]] = (("/web/v1/", "app"), ("/novel/show.php", "web"))
CONTROL_ROOT: Final = "/__sandbox__"


def locate(host: str, path: str) -> tuple[Site, str]:
    """The site host a request means and its path there. `host` is the Host header, with or without a port."""
    if path == CONTROL_ROOT or path.startswith(CONTROL_ROOT + "/"):
        return "control", path
    named = HOSTS.get(host.rsplit(":", 1)[0].lower() if not host.endswith("]") else host)
    if named is not None:
        return named, path
    for start, site in _ASTRAY:
        if path.startswith(start):
            return site, path
    head, _, rest = path[1:].partition("/")
    if head in _PREFIXES:
        return _PREFIXES[head], "/" + rest
    return _BARE.get(head, "unknown"), path


@dataclass(frozen=True, slots=True)
class Route:
    """One address. `name` is what statistics count under and what fault rules match."""

    name: str
    site: Site
    path: str
    endpoint: Endpoint
    method: str = "GET"
    token: bool = False
    """Whether an access token is demanded."""


def _app(name: str, endpoint: Endpoint, *paths: str) -> list[Route]:
    return [Route(name, "app", path, endpoint, token=True) for path in paths]


def _web(name: str, path: str, endpoint: Endpoint) -> Route:
    return Route(name, "web", path, endpoint)


ROUTES: Final[tuple[Route, ...]] = (
    Route("oauth.token", "oauth", "/auth/token", oauth.token, method="POST"),
    Route("login.page", "app", "/web/v1/login", oauth.login_page),
    Route("login.callback", "app", "/web/v1/users/auth/pixiv/callback", oauth.callback_page),
    Route("login.form", "accounts", "/login", oauth.accounts_page),
    *_app("search.illust", illusts.search_illust, "/v1/search/illust"),
    *_app("search.novel", novels.search, "/v1/search/novel"),
    *_app("search.user", users.search, "/v1/search/user"),
    *_app("search.autocomplete", tags.autocomplete, "/v2/search/autocomplete"),
    *_app("search.autocomplete", tags.autocomplete_v1, "/v1/search/autocomplete"),
    *_app("illust.detail", illusts.detail, "/v1/illust/detail"),
    *_app("illust.ranking", illusts.illust_ranking, "/v1/illust/ranking"),
    *_app("illust.related", illusts.related, "/v2/illust/related", "/v1/illust/related"),
    *_app("illust.recommended", illusts.recommended, "/v1/illust/recommended"),
    Route("illust.recommended", "app", "/v1/illust/recommended-nologin", illusts.recommended),
    *_app("illust.series", illusts.series, "/v1/illust/series"),
    *_app("illust.new", illusts.illust_new, "/v1/illust/new"),
    *_app("illust.follow", illusts.follow, "/v2/illust/follow"),
    *_app("illust.comments", illusts.comments, "/v1/illust/comments", "/v3/illust/comments"),
    *_app("illust.bookmark_detail", illusts.bookmark_detail, "/v2/illust/bookmark/detail"),
    *_app("ugoira.metadata", illusts.ugoira_metadata, "/v1/ugoira/metadata"),
    *_app("novel.detail", novels.detail, "/v2/novel/detail", "/v1/novel/detail"),
    *_app("novel.ranking", novels.ranking, "/v1/novel/ranking"),
    *_app("novel.series", novels.series, "/v2/novel/series", "/v1/novel/series"),
    *_app("novel.webview", novels.webview, "/webview/v2/novel"),
    *_app("novel.text", novels.text, "/v1/novel/text"),
    *_app("novel.follow", novels.follow, "/v1/novel/follow"),
    *_app("novel.recommended", novels.recommended, "/v1/novel/recommended"),
    *_app("novel.new", novels.new, "/v1/novel/new"),
    *_app("novel.comments", novels.comments, "/v1/novel/comments"),
    *_app("user.detail", users.detail, "/v1/user/detail"),
    *_app("user.illusts", users.illusts, "/v1/user/illusts"),
    *_app("user.novels", users.novels, "/v1/user/novels"),
    *_app("user.bookmarks_illust", users.bookmarks_illust, "/v1/user/bookmarks/illust"),
    *_app("user.bookmarks_novel", users.bookmarks_novel, "/v1/user/bookmarks/novel"),
    *_app("user.bookmark_tags", users.bookmark_tags_illust, "/v1/user/bookmark-tags/illust"),
    *_app("user.bookmark_tags", users.bookmark_tags_novel, "/v1/user/bookmark-tags/novel"),
    *_app("user.following", users.following, "/v1/user/following"),
    *_app("user.follower", users.follower, "/v1/user/follower"),
    *_app("user.mypixiv", users.mypixiv, "/v1/user/mypixiv"),
    *_app("user.recommended", users.recommended, "/v1/user/recommended"),
    *_app("tags.trending_illust", tags.trending_illust, "/v1/trending-tags/illust"),
    *_app("tags.trending_novel", tags.trending_novel, "/v1/trending-tags/novel"),
    _web("web.unlisted", "/ajax/illust/unlisted/{id}", web.unlisted),
    _web("web.ugoira_meta", "/ajax/illust/{id}/ugoira_meta", web.ugoira_meta),
    _web("web.illust_pages", "/ajax/illust/{id}/pages", web.illust_pages),
    _web("web.illust", "/ajax/illust/{id}", web.illust),
    _web("web.novel", "/ajax/novel/{id}", web.novel),
    _web("web.user_works", "/ajax/user/{id}/profile/all", web.user_works),
    _web("web.user", "/ajax/user/{id}", web.user),
    _web("web.artwork", "/artworks/{id}", web.page),
    _web("web.user_page", "/users/{id}", web.page),
    _web("web.novel_page", "/novel/show.php", web.page),
)
MEDIA_ROUTES: Final[tuple[str, ...]] = (
    "media.original",
    "media.resized",
    "media.zip",
    "media.cover",
    "media.uploaded",
    "media.avatar",
    "media.placeholder",
    "media.other",
)
OTHER: Final = "unknown"


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.escape(path).replace(r"\{id\}", "(?P<id>[^/]+)"))


_EXACT: Final = {(route.site, route.path): route for route in ROUTES if "{" not in route.path}
_PATTERNS: Final = [(route.site, _pattern(route.path), route) for route in ROUTES if "{" in route.path]
NAMES: Final[frozenset[str]] = frozenset((*(route.name for route in ROUTES), *MEDIA_ROUTES, OTHER))


def find(site: Site, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a path on a host, with the parts the path names."""
    exact = _EXACT.get((site, path)) or _EXACT.get((site, path.rstrip("/")))
    if exact is not None:
        return exact, {}
    for at, pattern, route in _PATTERNS:
        match = pattern.fullmatch(path) if at == site else None
        if match:
            return route, match.groupdict()
    return None


_MEDIA_NAMES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"/img-original/", "media.original"),
        (r"/img-zip-ugoira/", "media.zip"),
        (r"/common/images/", "media.placeholder"),
        (r"(/c/[^/]+)?/novel-cover-", "media.cover"),
        (r"/user-profile/", "media.avatar"),
        (r"(/c/[^/]+)?/novel/", "media.uploaded"),
        (r"(/c/[^/]+)?/img-master/", "media.resized"),
    )
)


def media_route(path: str) -> str:
    """Route name of a media path."""
    return next((name for pattern, name in _MEDIA_NAMES if pattern.match(path)), "media.other")
