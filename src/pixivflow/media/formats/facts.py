"""What a walk over a file's structure finds out, and the bounded reading all walks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from pixivflow.media.verdict import BrokenReason, DamagedError


@dataclass(frozen=True, slots=True)
class Facts:
    """A whole picture. ``total_ms`` is the play time of all frames, 0 for a still one."""

    width: int
    height: int
    frames: int = 1
    total_ms: int = 0


class Steps:
    """A bound on how many pieces a file may consist of, far above any real file.

    Without it a file of a hundred megabytes in pieces of two bytes, made for that purpose, would keep a core busy for
    minutes.
    """

    def __init__(self, size: int) -> None:
        self._left = 100_000 + size // 64

    def take(self) -> None:
        """Count one piece."""
        self._left -= 1
        if self._left < 0:
            raise corrupt("it is split into unreasonably many pieces")


def exactly(stream: BinaryIO, count: int, what: str) -> bytes:
    """Read `count` bytes or refuse the file as cut inside `what`."""
    data = stream.read(count)
    if len(data) < count:
        raise cut(what)
    return data


def cut(what: str) -> DamagedError:
    """The refusal for a file that stops inside `what`."""
    return DamagedError(BrokenReason.CUT, f"the file ends inside {what}")


def corrupt(what: str) -> DamagedError:
    """The refusal for a file that contradicts its format."""
    return DamagedError(BrokenReason.CORRUPT, what)


def sized(facts: Facts) -> Facts:
    """Refuse a picture without an area, whatever the format."""
    if facts.width <= 0 or facts.height <= 0:
        raise corrupt(f"the picture is {facts.width}x{facts.height} pixels")
    return facts
