"""Outcome values shared by every check of this room."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pixivflow.media.kind import Kind


class BrokenReason(StrEnum):
    """Why a file was refused. The values are stable: they are stored, shown and counted."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    TOO_SHORT = "too_short"  # fewer bytes than the sender promised
    TOO_LONG = "too_long"  # more bytes than the sender promised
    CUT = "cut"  # the promised length, or none promised, but the format's own end is not there
    CORRUPT = "corrupt"  # complete, yet damaged inside
    HTML_INSTEAD = "html_instead"
    JSON_INSTEAD = "json_instead"
    XML_INSTEAD = "xml_instead"
    UNKNOWN_KIND = "unknown_kind"
    WRONG_KIND = "wrong_kind"
    TOO_MANY_PIXELS = "too_many_pixels"
    UNDECODABLE = "undecodable"
    # animation archives and frame lists
    NO_FRAMES = "no_frames"
    TOO_MANY_FRAMES = "too_many_frames"
    FRAME_NAME = "frame_name"
    FRAME_DELAY = "frame_delay"
    TOO_LONG_PLAY = "too_long_play"
    UNSAFE_NAME = "unsafe_name"
    DUPLICATE_NAME = "duplicate_name"
    FRAMES_MISSING = "frames_missing"
    FRAMES_UNLISTED = "frames_unlisted"
    ENCRYPTED = "encrypted"
    COMPRESSION = "compression"
    FRAME_TOO_LARGE = "frame_too_large"
    ARCHIVE_TOO_LARGE = "archive_too_large"
    # conversion
    OUTPUT_TOO_LARGE = "output_too_large"
    OUTPUT_MISMATCH = "output_mismatch"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    NOT_WRITABLE = "not_writable"


@dataclass(frozen=True, slots=True)
class Ok:
    """The file is whole. ``width`` and ``height`` are pixels, ``None`` for kinds that have none (archives)."""

    kind: Kind
    bytes: int
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """The file must not be stored as a work. ``detail`` is for people and holds no path and no secret."""

    reason: BrokenReason
    detail: str


Verdict: TypeAlias = Ok | Broken


class DamagedError(Exception):
    """Inside this room only: carries a refusal out of a nested walk to the function that returns it as a value."""

    def __init__(self, reason: BrokenReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.broken = Broken(reason, detail)
