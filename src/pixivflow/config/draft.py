"""A configuration while it is being put together: plain data, where each value came from, and what is wrong so far."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pixivflow.config.problems import Location, Problem, Severity, path_text, quote

OriginKind = Literal["file", "env", "default", "override"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: a file (name), the environment (variables), the caller, or the schema."""

    kind: OriginKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind


DEFAULT = Origin("default")
OVERRIDE = Origin("override")


@dataclass
class Draft:
    """Data under construction.

    Attributes:
        source: name of the file, for messages; empty without one.
        origins: origin of each value that is not a default.
        silent: places already reported; further findings at or below them would only repeat the first.
    """

    data: dict[str, Any]
    source: str = ""
    origins: dict[Location, Origin] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    silent: set[Location] = field(default_factory=set)

    def origin(self, location: Location) -> Origin:
        """Where the value at a place came from; a place inside a value shares its origin."""
        for length in range(len(location), 0, -1):
            if (found := self.origins.get(location[:length])) is not None:
                return found
        return DEFAULT

    def report(
        self,
        location: Location,
        code: str,
        reason: str,
        suggestion: str | None = None,
        *,
        severity: Severity = "error",
        source: str | None = None,
    ) -> None:
        """Add a finding, unless the place was reported already."""
        if any(location[:length] in self.silent for length in range(1, len(location) + 1)):
            return
        if source is None:
            origin = self.origin(location)
            source = str(origin) if origin.kind in ("env", "override") else self.source
        self.problems.append(Problem(severity, path_text(location), code, reason, suggestion, source))

    def warn(self, location: Location, code: str, reason: str, suggestion: str | None = None) -> None:
        """Add a finding that does not keep the configuration from being used."""
        self.report(location, code, reason, suggestion, severity="warning")

    def put(self, location: Location, value: Any, origin: Origin) -> bool:
        """Set a value, making the objects above it. False when something else than an object is in the way."""
        node: Any = self.data
        for key in location[:-1]:
            if not isinstance(node, dict):
                return False
            node = node.setdefault(key, {})
        if not isinstance(node, dict):
            return False
        node[location[-1]] = value
        for known in [place for place in self.origins if place[: len(location)] == location]:
            del self.origins[known]
        for place, _ in leaves(value, location):
            self.origins[place] = origin
        return True

    def get(self, *location: str | int) -> Any:
        """The value at a place, or None when it is not there."""
        node: Any = self.data
        for part in location:
            inside = isinstance(node, dict) or (isinstance(node, (list, tuple)) and isinstance(part, int))
            if not inside:
                return None
            try:
                node = node[part]
            except (KeyError, IndexError):
                return None
        return node

    def mapping(self, *location: str | int) -> Mapping[str, Any]:
        """The object at a place, or an empty one when there is something else."""
        found = self.get(*location)
        return found if isinstance(found, dict) else {}

    def objects(self, *location: str | int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The objects in the list at a place, with their positions."""
        found = self.get(*location)
        for position, item in enumerate(found if isinstance(found, (list, tuple)) else ()):
            if isinstance(item, dict):
                yield position, item

    def shown(self, location: Location, text: str) -> str:
        """A text of the document for a message; what came from the environment is named, not shown."""
        origin = self.origin(location)
        return f"the value of {origin.name}" if origin.kind == "env" else quote(text)

    def has_errors(self) -> bool:
        """Whether anything found so far keeps the configuration from being used."""
        return any(problem.severity == "error" for problem in self.problems)


def leaves(value: Any, location: Location = ()) -> Iterator[tuple[Location, Any]]:
    """Every value that is not a container, with its place; an empty container is a value too."""
    if isinstance(value, (dict, list, tuple)) and value:
        entries: Iterable[tuple[str | int, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in entries:
            yield from leaves(item, (*location, key))
    else:
        yield location, value


def without_comments(value: Any, *, top: bool = True) -> Any:
    """A copy without keys that start with `_`, without `$schema` at the top and without nulls ("not set")."""
    if isinstance(value, dict):
        return {
            key: without_comments(item, top=False)
            for key, item in value.items()
            if not key.startswith("_") and not (top and key == "$schema") and item is not None
        }
    if isinstance(value, list):
        return [without_comments(item, top=False) for item in value]
    return value


def frozen(value: Any) -> Any:
    """A copy with tuples for lists, the form in which the models keep them."""
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return value
