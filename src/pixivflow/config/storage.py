"""Section `storage`: where the ledger and the files are, and how long cached files stay."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from pixivflow.config.base import PathText, Section

Organization = Literal[
    "flat",
    "byAuthor",
    "byTag",
    "byDate",
    "byDay",
    "byDownloadDate",
    "byDownloadDay",
    "byAuthorAndTag",
    "byDateAndAuthor",
    "byDayAndAuthor",
    "byDownloadDateAndAuthor",
    "byDownloadDayAndAuthor",
]

SQLITE_PREFIX = "sqlite:///"
_POSTGRES = ("postgresql:", "postgres:")


def _check_database_url(text: str) -> str:
    if text.startswith(_POSTGRES):
        raise PydanticCustomError("not_available", "PostgreSQL is not available in this version; use sqlite:///path")
    if not text.startswith(SQLITE_PREFIX) or not text.removeprefix(SQLITE_PREFIX).strip():
        raise PydanticCustomError("database_url", "must have the form sqlite:///path (four slashes: absolute path)")
    return text


DatabaseUrl = Annotated[str, AfterValidator(_check_database_url)]


class StorageConfig(Section):
    """Places on disk. Relative paths count from the base folder of the configuration (see the top of this page)."""

    database_path: PathText = Field(
        default="./data/pixiv-downloader.db", description="File of the ledger. `databaseUrl` wins over it."
    )
    database_url: DatabaseUrl | None = Field(
        default=None, description="The ledger as an address: `sqlite:///relative/path` or `sqlite:////absolute/path`."
    )
    download_directory: PathText = Field(default="./downloads", description="Folder of the library.")
    illustration_directory: PathText | None = Field(
        default=None, description="Folder for illustrations; `illustrations` in the library when not given."
    )
    novel_directory: PathText | None = Field(
        default=None, description="Folder for novels; `novels` in the library when not given."
    )
    illustration_organization: Organization = Field(default="flat", description="Folders below for illustrations.")
    novel_organization: Organization = Field(default="flat", description="Folders below for novels.")
    cache_retention_days: Annotated[int, Field(ge=0)] = Field(
        default=14, description="Days a work of a `cache` target stays; 0 keeps it for ever."
    )
    cache_max_size_mb: Annotated[int, Field(ge=0)] = Field(
        default=0, alias="cacheMaxSizeMB", description="Size limit of cached works, MiB; 0 is no limit."
    )
