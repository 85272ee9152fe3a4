"""One point of the acceptance list: what has to hold, what checking it does there, and the code that checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixivflow.protocol.session import Session

Run = Callable[["Session"], Awaitable[None]]


class Need(StrEnum):
    """What a check does to the producer, and so has to be allowed."""

    READ = "read"
    SUBMIT = "submit"
    CANCEL = "cancel"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Point:
    """See the module.

    Attributes:
        id: stable; names the point in every report.
        title: what has to hold.
        section: of Workflow Protocol v1.
        strict: whether the protocol leaves room here, or its first producer does something weaker, and we ask for more.
        run: returns when it holds; raises Failed or Skipped otherwise.
    """

    id: str
    title: str
    section: str
    needs: Need
    strict: bool
    run: Run


class Part:
    """Points that belong together, in the order in which they are run."""

    def __init__(self, needs: Need = Need.READ) -> None:
        self._needs = needs
        self._points: list[Point] = []

    def __iter__(self) -> Iterator[Point]:
        return iter(self._points)

    def point(self, ident: str, title: str, *, section: str, strict: bool = False) -> Callable[[Run], Run]:
        """Put a function on the list."""

        def register(run: Run) -> Run:
            self._points.append(Point(ident, title, section, self._needs, strict, run))
            return run

        return register
