"""What every section of the configuration has in common: its strictness and its value types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
ROUTE_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

_DIGITS = re.compile(r"[1-9][0-9]{0,19}\Z", re.ASCII)


class Section(BaseModel):
    """A part of the configuration.

    Keys are camelCase in the file and snake_case in the code. Values are never coerced: a text where a number belongs
    is a mistake worth hearing about (texts from environment variables are converted before validation). Errors never
    carry the input, because it may be a secret.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # the outermost model builds them all; importing stays quick
    )


def is_http_url(text: str) -> bool:
    """Whether `text` is an absolute http or https URL with a host, a sane port and no white space."""
    if any(char.isspace() or ord(char) < 0x20 for char in text):
        return False
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def _check_http_url(text: str) -> str:
    if not is_http_url(text):
        raise PydanticCustomError("url", "must be an absolute http:// or https:// address")
    return text


def _check_base_url(text: str) -> str:
    _check_http_url(text)
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise PydanticCustomError("url", "must be a base address without query or fragment")
    return text.rstrip("/")


def _check_path(text: str) -> str:
    if any(ord(char) < 0x20 for char in text):
        raise PydanticCustomError("path", "must not hold control characters")
    return text


def _pixiv_id(value: Any) -> Any:
    """Accept an id as a number or as digits, and keep it as text: ids are names, nobody counts with them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and not _DIGITS.match(value):
        raise PydanticCustomError("pixiv_id", "must be a positive whole number")
    return value


def _field_value(value: Any) -> Any:
    """Accept what a form field can carry: a text, a number, a yes or no, or a list of those."""
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple) and all(isinstance(item, (str, int, float)) for item in value):
        return value
    raise PydanticCustomError("field_value", "must be a text, a number, true or false, or a list of those")


_SCALAR_SCHEMA: list[dict[str, Any]] = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]


@dataclass(frozen=True, slots=True)
class Label:
    """What people call a kind of value; read by the reference page only."""

    text: str


_URL_SCHEMA = WithJsonSchema({"type": "string", "format": "uri", "pattern": "^https?://"})

HttpUrl = Annotated[
    str,
    AfterValidator(_check_http_url),
    Label("http(s) address"),
    _URL_SCHEMA,
]
BaseUrl = Annotated[
    str,
    AfterValidator(_check_base_url),
    Label("http(s) address"),
    _URL_SCHEMA,
]
PixivId = Annotated[
    str,
    BeforeValidator(_pixiv_id),
    Label("id, as number or digits"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[1-9][0-9]{0,19}$"}]}),
]
FieldValue = Annotated[
    Any,
    BeforeValidator(_field_value),
    Label("text, number, true or false, or a list of those"),
    WithJsonSchema({"anyOf": [*_SCALAR_SCHEMA, {"type": "array", "items": {"anyOf": _SCALAR_SCHEMA}}]}),
]
Fields = Mapping[str, FieldValue]

Name = Annotated[str, Field(min_length=1)]
PathText = Annotated[str, Field(min_length=1), AfterValidator(_check_path), Label("path")]
SafeId = Annotated[str, Field(pattern=ID_PATTERN)]
Port = Annotated[int, Field(ge=1, le=65535)]
Millis = Annotated[int, Field(ge=0)]
PositiveMillis = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
