"""The demo's own folder: fresh each time, and nothing in it is removed that the demo has not made."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean

MARKER = ".pixivflow-demo"
MARKER_TEXT = "Made by `pixivflow demo`. While this file is here, the next demo removes what the last one made.\n"
OURS = ("config.json", "token", "report.json", "data", "library", "logs")
"""Everything a demo makes beside its marker."""
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Folder:
    """Where things are in a demo's folder."""

    root: Path

    @property
    def config(self) -> Path:
        """The configuration the server reads."""
        return self.root / "config.json"

    @property
    def token(self) -> Path:
        """The bearer token of the Job API, for trying more by hand."""
        return self.root / "token"

    @property
    def report(self) -> Path:
        """The demo's result as JSON."""
        return self.root / "report.json"

    @property
    def library(self) -> Path:
        """The works."""
        return self.root / "library"

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.root / "data" / "ledger.db"

    def log(self, name: str) -> Path:
        """The log of a process."""
        return self.root / "logs" / f"{name}.log"


def prepare(root: Path, *, keep: bool) -> Folder:
    """An empty folder for a demo.

    Args:
        root: the wished place.
        keep: leave an earlier demo there alone and take the next free name beside it (`demo-2`).

    Raises:
        Stop: REFUSED when something that is not a demo's is in the way, or the folder cannot be made.
    """
    root = root.absolute()
    if keep and _taken(root):
        root = _free_name(root)
    try:
        _empty(root)
        root.mkdir(parents=True, exist_ok=True)
        (root / MARKER).write_text(MARKER_TEXT, encoding="utf-8")
        (root / "logs").mkdir()
    except OSError as error:
        why = clean(error.strerror or type(error).__name__)
        raise Stop(Exit.REFUSED, f"cannot use the folder {clean(root)}: {why}", hint="choose one with --dir") from None
    return Folder(root)


def _taken(root: Path) -> bool:
    return root.is_symlink() or (root.exists() and not (root.is_dir() and not any(root.iterdir())))


def _free_name(root: Path) -> Path:
    for number in range(2, _MOST):
        place = root.with_name(f"{root.name}-{number}")
        if not place.exists() and not place.is_symlink():
            return place
    raise Stop(Exit.REFUSED, f"no free name beside {clean(root)}", hint="choose one with --dir")


def _empty(root: Path) -> None:
    if not _taken(root):
        return
    marker = root / MARKER
    if root.is_symlink() or not root.is_dir() or marker.is_symlink() or not marker.is_file():
        hint = "it is not a demo's; choose another with --dir"
        raise Stop(Exit.REFUSED, f"the folder {clean(root)} is not empty", hint=hint)
    for name in OURS:
        place = root / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
