"""Which file is read, and from which folder relative paths count."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pixivflow.config.environment import CONFIG_VARIABLE

DEFAULT_NAMES = ("config/standalone.config.json", "pixivflow.json", "pixivflow.toml")


@dataclass(frozen=True, slots=True)
class Located:
    """The file to read.

    Attributes:
        path: absolute, or None when there is none.
        named: somebody named it, so it must exist.
        base: the folder from which relative paths in it count.
        looked: the places looked at, for the message when nothing was found.
    """

    path: Path | None
    named: bool
    base: Path
    looked: tuple[Path, ...] = ()


def locate(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Located:
    """Find the configuration file.

    Order: the explicit path, `PIXIV_DOWNLOADER_CONFIG`, `config/standalone.config.json`, `pixivflow.json` and
    `pixivflow.toml` in the working folder, `pixivflow/config.json` in the user's configuration folder.
    """
    given = explicit or (Path(env[CONFIG_VARIABLE]) if env.get(CONFIG_VARIABLE, "").strip() else None)
    if given is not None:
        path = cwd / given.expanduser()
        return Located(path, named=True, base=base_of(path))
    candidates = [cwd / name for name in DEFAULT_NAMES]
    if (user := _user_folder(env)) is not None:
        candidates.append(user / "pixivflow" / "config.json")
    for path in candidates:
        if path.is_file():
            return Located(path, named=False, base=base_of(path))
    return Located(None, named=False, base=cwd, looked=tuple(candidates))


def base_of(path: Path) -> Path:
    """The folder from which relative paths in that file count.

    It is the file's own folder; for a file in a folder named `config` it is the folder above, because `config`, `data`
    and `downloads` lie side by side there.
    """
    folder = path.parent
    return folder.parent if folder.name == "config" else folder


def _user_folder(env: Mapping[str, str]) -> Path | None:
    configured = env.get("XDG_CONFIG_HOME", "")
    if configured and Path(configured).is_absolute():  # the XDG rule: relative values are ignored
        return Path(configured)
    home = env.get("HOME", "")
    return Path(home) / ".config" if home else None
