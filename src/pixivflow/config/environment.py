"""The environment: which variables set which keys, and secrets that come in files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pixivflow.config.problems import Location, Problem

MAX_SECRET_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that sets a key.

    Attributes:
        wins: over the file; otherwise it counts only where the file says nothing.
    """

    name: str
    location: Location
    wins: bool = True


VARIABLES: tuple[Variable, ...] = (
    Variable("PIXIV_REFRESH_TOKEN", ("pixiv", "refreshToken")),
    Variable("PIXIV_CLIENT_ID", ("pixiv", "clientId")),
    Variable("PIXIV_CLIENT_SECRET", ("pixiv", "clientSecret")),
    Variable("PIXIV_AUTH_READONLY", ("pixiv", "authReadOnly")),
    Variable("PIXIV_DOWNLOAD_DIR", ("storage", "downloadDirectory")),
    Variable("PIXIV_DATABASE_PATH", ("storage", "databasePath")),
    Variable("PIXIV_ILLUSTRATION_DIR", ("storage", "illustrationDirectory")),
    Variable("PIXIV_NOVEL_DIR", ("storage", "novelDirectory")),
    Variable("PIXIV_LOG_LEVEL", ("logLevel",)),
    Variable("PIXIV_SCHEDULER_ENABLED", ("scheduler", "enabled")),
    Variable("PIXIV_CANDIDATE_SCAN_LIMIT", ("download", "candidateScanLimit")),
    Variable("CACHE_RETENTION_DAYS", ("storage", "cacheRetentionDays")),
    Variable("CACHE_MAX_SIZE_MB", ("storage", "cacheMaxSizeMB")),
    # The protocol fixes the order for the port: the file first.
    Variable("SCHEDULER_TRIGGER_TOKEN", ("schedulerRuntime", "trigger", "token"), wins=False),
    Variable("PORT", ("schedulerRuntime", "trigger", "port"), wins=False),
    Variable("HOST", ("schedulerRuntime", "trigger", "host"), wins=False),
)

CONFIG_VARIABLE = "PIXIV_DOWNLOADER_CONFIG"
MANUAL_TOKEN_VARIABLE = "PIXIVFLOW_REFETCH_TOKEN"  # noqa: S105 - the name of a variable


class SecretFileError(Exception):
    """A file named by a `*_FILE` variable cannot be read. The text gives the reason, never the content."""


def read_secret_file(path: Path) -> str:
    """The content of a secret's file without its last line ends.

    Raises:
        SecretFileError: the file is missing, unreadable, too large or not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_SECRET_BYTES + 1)
        if len(raw) > MAX_SECRET_BYTES:
            raise SecretFileError("is larger than 64 KiB")
        return raw.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise SecretFileError("is not UTF-8") from None
    except OSError as error:
        raise SecretFileError(f"cannot be read ({error.strerror or type(error).__name__})") from None


@dataclass
class Environment:
    """Lookup of variables; `NAME_FILE` gives the content of a file where `NAME` is not set.

    Args:
        values: the variables, usually `os.environ`.
        base: the folder from which relative file names count.
        read: reads a secret's file.
    """

    values: Mapping[str, str]
    base: Path
    read: Callable[[Path], str] = read_secret_file
    problems: list[Problem] = field(default_factory=list)
    _seen: dict[str, str | None] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        """The value of a variable, or None when neither it nor its file is there; a bad file is a problem, once."""
        if name in self._seen:
            return self._seen[name]
        value = self.values.get(name)
        file_name = self.values.get(f"{name}_FILE")
        if value is None and file_name:
            try:
                value = self.read(self.base / file_name)
            except SecretFileError as error:
                self.problems.append(
                    Problem("error", "", "secret_file", f"the file it names {error}", source=f"env {name}_FILE")
                )
                value = ""
        self._seen[name] = value
        return value

    def setting(self, name: str) -> str | None:
        """Like `get`, but an empty value counts as not set: that is how containers leave a variable out."""
        value = self.get(name)
        return value if value is not None and value.strip() else None
