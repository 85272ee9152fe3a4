"""What stands behind a media path: pure reading of the site's URL patterns, and the index of the paths that exist.

Only paths that some record names (and the sizes derived from them) are served; everything else is 404, as on the
site. A client that guesses a wrong file type or date must not be rewarded with a picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

MediaKind = Literal["original", "master", "square", "frame", "zip", "cover", "uploaded", "avatar", "placeholder"]

_HOSTS: Final = ("https://i.pximg.net/", "https://s.pximg.net/")
_WORK: Final = r"(?P<dir>img/.+)/(?P<id>\d+)(?P<hash>-[0-9a-f]{32})?"
_ORIGINAL: Final = re.compile(rf"/img-original/{_WORK}_p(?P<page>\d{{1,6}})\.\w+$")
_FRAME: Final = re.compile(rf"/img-original/{_WORK}_ugoira(?P<page>\d{{1,6}})\.\w+$")
_ZIP: Final = re.compile(rf"/img-zip-ugoira/{_WORK}_ugoira(?P<size>\d{{1,5}}x\d{{1,5}})\.zip$")
_SIZE_PART: Final = re.compile(r"/c/(?P<w>\d{1,4})x(?P<h>\d{1,4})(?P<rest>_\w+)?(?P<tail>/.+)$")
_COVER: Final = re.compile(r"/novel-cover-(?:master|original)/(?P<dir>img/.+)/(?P<id>\d+)_(?P<hash>[0-9a-f]{32})")
_UPLOADED: Final = re.compile(r"/novel/(?:.+/)?(?P<key>[^/_.]+)(?:_[^/]*)?\.\w+$")
_AVATAR: Final = re.compile(r"/user-profile/img/.+/(?P<id>\d+)_[^/]+\.\w+$")
_GRAPHIC: Final = re.compile(r"/common/images/")
_FORMATS: Final = {"jpg": "jpg", "jpeg": "jpg", "png": "png", "gif": "gif", "webp": "webp"}


@dataclass(frozen=True, slots=True)
class MediaSpec:
    """One file the media hosts can serve. `owner` is the id of the work, novel or user; 0 for site graphics."""

    kind: MediaKind
    owner: int
    name: str
    """Stem of the pixels' identity: all sizes of one page share it."""
    fmt: str
    """jpg, png, gif, webp or zip."""
    page: int = 0
    box: tuple[int, int] | None = None
    """Largest width and height; None is the original size."""


def path_of(url: str) -> str | None:
    """Path of a URL on a media host, None for any other address."""
    for host in _HOSTS:
        if url.startswith(host):
            return url[len(host) - 1 :].split("?", 1)[0]
    return None


def urls_in(value: object) -> Iterator[str]:
    """Every media URL anywhere inside a record."""
    if isinstance(value, str):
        if value.startswith(_HOSTS):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from urls_in(inner)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for inner in value:
            yield from urls_in(inner)


def _format(path: str) -> str:
    return _FORMATS.get(path.rsplit(".", 1)[-1].lower(), "jpg")


_Specs = Iterator[tuple[str, MediaSpec]]


def specs_for(path: str, owner: int) -> _Specs:
    """The path itself and the paths that exist because it does, each with what stands behind it.

    `owner` is used where the path itself names no id. A path with a size part (`/c/...`) names no file of its own: its
    picture is derived at look-up from the full-size path.
    """
    for pattern, read in _READERS:
        match = pattern.match(path)
        if match is not None:
            return read(match, owner)
    return iter([(path, MediaSpec("original", owner, f"path{path}", _format(path)))])


def _masters(match: re.Match[str], stem: str, original: MediaSpec) -> _Specs:
    master = replace(original, kind="master", fmt="jpg", box=(1200, 1200))
    yield f"/img-master/{match['dir']}/{stem}_master1200.jpg", master
    yield f"/img-master/{match['dir']}/{stem}_square1200.jpg", replace(master, kind="square", box=(360, 360))


def _original(match: re.Match[str], _owner: int) -> _Specs:
    page = int(match["page"])
    spec = MediaSpec("original", int(match["id"]), f"work/{match['id']}/p{page}", _format(match.string), page)
    yield match.string, spec
    yield from _masters(match, f"{match['id']}{match['hash'] or ''}_p{match['page']}", spec)


def _frame(match: re.Match[str], _owner: int) -> _Specs:
    page = int(match["page"])
    spec = MediaSpec("frame", int(match["id"]), f"work/{match['id']}/frame{page}", _format(match.string), page)
    yield match.string, spec
    if page == 0:
        yield from _masters(match, f"{match['id']}{match['hash'] or ''}", spec)


def _archives(match: re.Match[str], _owner: int) -> _Specs:
    for size in sorted({match["size"], "600x600", "1920x1080"}):
        width, height = (min(4096, int(part)) for part in size.split("x"))
        path = match.string.replace(f"_ugoira{match['size']}.zip", f"_ugoira{size}.zip")
        yield path, MediaSpec("zip", int(match["id"]), f"work/{match['id']}/zip", "zip", box=(width, height))


def _sized(match: re.Match[str], owner: int) -> _Specs:
    """Full-size paths named only through a resized one: covers and uploaded pictures (works name their originals)."""
    tail = match["tail"]
    if cover := _COVER.match(tail):
        yield from _covers(cover, owner)
    elif uploaded := _UPLOADED.fullmatch(tail):
        yield tail, MediaSpec("uploaded", owner, f"uploaded/{uploaded['key']}", "jpg", box=(1200, 1200))


def _avatar(match: re.Match[str], _owner: int) -> _Specs:
    spec = MediaSpec("avatar", int(match["id"]), f"user/{match['id']}", _format(match.string), box=(170, 170))
    yield match.string, spec


def _graphic(match: re.Match[str], _owner: int) -> _Specs:
    name = match.string.rsplit("/", 1)[-1]
    yield match.string, MediaSpec("placeholder", 0, name, _format(name), box=(360, 360))


def _uploaded(match: re.Match[str], owner: int) -> _Specs:
    yield match.string, MediaSpec("uploaded", owner, f"uploaded/{match['key']}", _format(match.string))


def _covers(match: re.Match[str], _owner: int) -> _Specs:
    stem, name = f"{match['dir']}/{match['id']}_{match['hash']}", f"novel/{match['id']}/cover"
    original = MediaSpec("cover", int(match["id"]), name, "jpg", box=(640, 900))
    yield f"/novel-cover-original/{stem}.jpg", original
    yield f"/novel-cover-master/{stem}_master1200.jpg", original
    yield f"/novel-cover-master/{stem}_square1200.jpg", replace(original, kind="square", box=(360, 360))


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int], _Specs]], ...]] = (
    (_ORIGINAL, _original),
    (_FRAME, _frame),
    (_ZIP, _archives),
    (_SIZE_PART, _sized),
    (_COVER, _covers),
    (_AVATAR, _avatar),
    (_GRAPHIC, _graphic),
    (_UPLOADED, _uploaded),
)


class MediaIndex:
    """The media paths that exist."""

    def __init__(self) -> None:
        self._specs: dict[str, MediaSpec] = {}
        self._paths_of: dict[tuple[str, int], list[str]] = {}
        self._pending: dict[tuple[str, int], tuple[Any, ...]] = {}

    def add(self, kind: str, owner: int, *values: Any) -> None:
        """Index every media URL inside `values`; an earlier index of the same owner is replaced.

        The reading itself waits for the first look-up: worlds of thousands of works are often asked for lists only.
        """
        self.remove(kind, owner)
        self._pending[kind, owner] = values

    def _read_pending(self) -> None:
        pending, self._pending = self._pending, {}
        for (kind, owner), values in pending.items():
            paths = self._paths_of.setdefault((kind, owner), [])
            for url in urls_in(values):
                path = path_of(url)
                for found, spec in specs_for(path, owner) if path else ():
                    if found not in self._specs:
                        self._specs[found] = spec
                        paths.append(found)

    def remove(self, kind: str, owner: int) -> None:
        """Forget the paths of one owner."""
        self._pending.pop((kind, owner), None)
        for path in self._paths_of.pop((kind, owner), ()):
            self._specs.pop(path, None)

    def find(self, path: str) -> MediaSpec | None:
        """What a request for `path` gets, None for 404. Site graphics exist under any name."""
        if self._pending:
            self._read_pending()
        spec = self._specs.get(path)
        if spec is not None:
            return spec
        if path.startswith("/common/images/"):
            return next((spec for _, spec in specs_for(path, 0)), None)
        sized = _SIZE_PART.fullmatch(path)
        base = self._specs.get(sized["tail"]) if sized else None
        if sized is None or base is None or base.kind == "zip":
            return None
        box = (max(1, int(sized["w"])), max(1, int(sized["h"])))
        return replace(base, box=box, fmt="webp" if "webp" in (sized["rest"] or "") else "jpg")

    def paths(self, *kinds: MediaKind) -> list[str]:
        """All indexed full-size paths of the given kinds, in order of insertion."""
        self._read_pending()
        return [path for path, spec in self._specs.items() if spec.kind in kinds]
