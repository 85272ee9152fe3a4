"""The effective configuration as rows to look at: value and origin, nothing secret in clear."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from pixivflow.config.base import Section
from pixivflow.config.check import LoadResult
from pixivflow.config.draft import DEFAULT, Origin
from pixivflow.config.problems import Location, path_text
from pixivflow.config.spec import keys_of

MASK = "***"

_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)


class Row(NamedTuple):
    """One value of the effective configuration.

    Attributes:
        path: e.g. `targets[0].tag`.
        value: plain JSON data; secrets are `***`.
        origin: `default`, `override`, `file NAME` or `env NAME`.
    """

    path: str
    value: Any
    origin: str


def show(result: LoadResult) -> list[Row]:
    """Every value that counts, in the order of the schema; empty when the configuration has errors.

    Inside lists and maps (targets, schedules, routes) only what was set is shown.
    """
    return list(_section(result.config, (), result.origins, every=True)) if result.config is not None else []


def _section(section: Section, above: Location, origins: Mapping[str, Origin], *, every: bool) -> Iterator[Row]:
    names = list(type(section).model_fields)
    for name, (key, place) in zip(names, keys_of(type(section)).items(), strict=True):
        value = getattr(section, name)
        if every or value != place.default:
            yield from _value(value, (*above, key), origins, every=every)


def _value(value: Any, place: Location, origins: Mapping[str, Origin], *, every: bool) -> Iterator[Row]:
    if isinstance(value, Section):
        yield from _section(value, place, origins, every=every)
    elif isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _value(item, (*place, key), origins, every=False)
    elif isinstance(value, tuple) and any(isinstance(item, Section) for item in value):
        for position, item in enumerate(value):
            yield from _value(item, (*place, position), origins, every=False)
    else:
        origin = _origin(place, origins)
        yield Row(path_text(place), _shown(value, origin), str(origin))


def _origin(place: Location, origins: Mapping[str, Origin]) -> Origin:
    """The origin of a value; a list shown in one row has that of its first member."""
    path = path_text(place)
    return origins.get(path) or origins.get(f"{path}[0]") or DEFAULT


def _shown(value: Any, origin: Origin) -> Any:
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if origin.kind == "env" and _SECRET_NAME.search(origin.name):
        return MASK
    if isinstance(value, str) and "://" in value:
        return without_credentials(value)
    if isinstance(value, tuple):
        return [_shown(item, origin) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def without_credentials(url: str) -> str:
    """An address whose user information and query values are masked; they are where people put tokens."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{MASK}@{host}" if host != parts.netloc else host
    query = "&".join(f"{pair.partition('=')[0]}={MASK}" for pair in parts.query.split("&")) if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, "")) if query or netloc != parts.netloc else url
