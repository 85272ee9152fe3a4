"""What can go wrong with the library's disk, in words an operator can act on."""

from __future__ import annotations

import errno
from enum import StrEnum


class LibraryCode(StrEnum):
    """Stable names of the faults. All are faults of the place, never of a work."""

    NO_SPACE = "no_space"
    NOT_WRITABLE = "not_writable"
    OUTSIDE = "outside_library"
    EXISTS = "exists"
    NAME_TOO_LONG = "name_too_long"
    NOT_FOUND = "not_found"
    IO = "io_error"


class LibraryError(Exception):
    """A file could not be stored, read or removed.

    Attributes:
        code: what kind of fault it is.
        message: one sentence for the operator; paths in it are relative to the library.
    """

    def __init__(self, code: LibraryCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


_CODES = {
    errno.ENOSPC: LibraryCode.NO_SPACE,
    errno.EDQUOT: LibraryCode.NO_SPACE,
    errno.EFBIG: LibraryCode.NO_SPACE,
    errno.EACCES: LibraryCode.NOT_WRITABLE,
    errno.EPERM: LibraryCode.NOT_WRITABLE,
    errno.EROFS: LibraryCode.NOT_WRITABLE,
    errno.EEXIST: LibraryCode.EXISTS,
    errno.ENAMETOOLONG: LibraryCode.NAME_TOO_LONG,
    errno.ENOENT: LibraryCode.NOT_FOUND,
    # A link or a file where a folder of ours should be.
    errno.ELOOP: LibraryCode.OUTSIDE,
    errno.ENOTDIR: LibraryCode.OUTSIDE,
}

_WORDS = {
    LibraryCode.NO_SPACE: "the disk or the quota is full",
    LibraryCode.NOT_WRITABLE: "the process may not write there",
    LibraryCode.OUTSIDE: "a link or a file stands where a folder is expected",
    LibraryCode.EXISTS: "another file has that name",
    LibraryCode.NAME_TOO_LONG: "the file system does not take so long a name",
    LibraryCode.NOT_FOUND: "it does not exist",
    LibraryCode.IO: "the disk failed",
}


def from_os_error(error: OSError, doing: str) -> LibraryError:
    """Name what the system said. `doing` completes "could not …"."""
    code = _CODES.get(error.errno or 0, LibraryCode.IO)
    reason = _WORDS[code]
    if code is LibraryCode.IO:
        reason = f"{reason} ({error.strerror or type(error).__name__})"
    return LibraryError(code, f"could not {doing}: {reason}")
