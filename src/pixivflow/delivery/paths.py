"""From a recorded path to a file inside the library, and never to one outside."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

MAX_PATH = 4096


class OutsideLibrary(ValueError):
    """A recorded path is not a plain relative path below the library's root."""


def inside(root: Path, recorded: str) -> Path:
    """The absolute path of a recorded one.

    Symbolic links are followed before the check: a link inside the library that leads out of it is refused like `..`.
    Nothing needs to exist.

    Raises:
        OutsideLibrary: absolute, empty, climbing, with a drive, a backslash or a control character, or leading outside.
    """
    parts = PurePosixPath(recorded).parts
    if (
        not parts
        or len(recorded) > MAX_PATH
        or recorded.startswith("/")
        or ".." in parts
        or "\\" in recorded
        or PureWindowsPath(recorded).drive
        or any(ord(char) < 0x20 or ord(char) == 0x7F for char in recorded)
    ):
        raise OutsideLibrary("a recorded path is not a plain path inside the library")
    try:
        base = root.resolve()
        whole = base.joinpath(*parts).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name no file system takes
        raise OutsideLibrary("a recorded path cannot be resolved") from error
    if whole == base or not whole.is_relative_to(base):
        raise OutsideLibrary("a recorded path leads outside the library")
    return whole
