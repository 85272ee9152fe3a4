"""The named SQL statements: one file each, read once."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def statement(name: str) -> str:
    """The text of `sql/<name>.sql`. Raises KeyError for a name that is no file."""
    file = resources.files("pixivflow.ledger") / "sql" / f"{name}.sql"
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"no statement named {name!r}") from None
