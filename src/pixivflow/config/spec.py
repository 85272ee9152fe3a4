"""The schema as data: which keys a place knows and what belongs there. Read from the models, so it cannot differ."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from pixivflow.config.base import Section
from pixivflow.config.problems import Location

REQUIRED: Any = object()
"""Stands for "no default"."""


@dataclass(frozen=True, slots=True)
class Place:
    """What belongs at one place of the document.

    Attributes:
        kind: the annotation without its `None` and its constraints.
        optional: whether `None` (leaving it out) is a value of its own.
        default: the value when it is left out, or REQUIRED.
    """

    kind: Any
    optional: bool = False
    default: Any = REQUIRED
    description: str = ""
    info: FieldInfo | None = None

    @property
    def section(self) -> type[Section] | None:
        """The model of an object with fixed keys."""
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, Section) else None

    @property
    def secret(self) -> bool:
        """Whether the value must never be shown."""
        return self.kind is SecretStr

    @property
    def member(self) -> "Place | None":
        """What belongs into a map or a list, or None when this is neither."""
        origin, args = get_origin(self.kind), get_args(self.kind)
        if origin is tuple:
            return _place(args[0])
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return _place(args[1])
        return None

    @property
    def is_list(self) -> bool:
        """Whether a list belongs here."""
        return get_origin(self.kind) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words, where there is a fixed set."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@cache
def keys_of(model: type[Section]) -> Mapping[str, Place]:
    """Keys of an object as the file spells them, in the order of the model."""
    return {(info.alias or name): _field(info) for name, info in model.model_fields.items()}


def place_at(model: type[Section], location: Location) -> Place | None:
    """What belongs at a location, or None when the schema knows no such place."""
    place: Place | None = Place(model)
    for part in location:
        if place is None:
            return None
        if place.section is not None:
            place = keys_of(place.section).get(part) if isinstance(part, str) else None
        else:
            place = place.member if isinstance(part, int) == place.is_list else None
    return place


def places(model: type[Section], above: Location = ()) -> Iterator[tuple[Location, Place]]:
    """Every place of a model with fixed keys, depth first; maps and lists are places, their members are not entered."""
    for key, place in keys_of(model).items():
        yield (*above, key), place
        if place.section is not None:
            yield from places(place.section, (*above, key))


def marks(info: FieldInfo | None) -> list[Any]:
    """What is attached to a field's type; for an optional value it stands inside the union."""
    if info is None:
        return []
    found = list(info.metadata)
    for nested in get_args(info.annotation):
        found.extend(getattr(nested, "__metadata__", ()))
    return found


def bounds(info: FieldInfo | None) -> tuple[Any, Any]:
    """Least and greatest allowed value of a field, None where there is none."""
    low = high = None
    for mark in marks(info):
        for inner in (mark, *getattr(mark, "metadata", ())):
            low = getattr(inner, "ge", low)
            high = getattr(inner, "le", high)
    return low, high


def _field(info: FieldInfo) -> Place:
    bare = _place(info.annotation)
    default = REQUIRED if info.is_required() else info.get_default(call_default_factory=True, validated_data={})
    return Place(bare.kind, bare.optional, default, info.description or "", info)


def _place(annotation: Any) -> Place:
    optional = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            rest = [arg for arg in get_args(annotation) if arg is not NoneType]
            optional = optional or len(rest) < len(get_args(annotation))
            if len(rest) != 1:
                return Place(annotation, optional)
            annotation = rest[0]
        else:
            return Place(annotation, optional)
