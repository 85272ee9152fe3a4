"""How a command can end: the exit codes, and the one exception that carries one to the outside.

0 ok · 1 failure · 2 usage · 3 not found · 4 refused or conflict · 5 authentication · 6 remote unavailable
7 finished, but not whole · 75 try again · 130 interrupted · 143 terminated
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit statuses of every command. Only added to, never changed: scripts branch on them."""

    OK = 0
    FAILURE = 1
    """It could not be done; the text says why, or where the details are."""
    USAGE = 2
    """The command line or the configuration is wrong; nothing was started or written."""
    NOT_FOUND = 3
    """What was asked about does not exist."""
    REFUSED = 4
    """It exists, and it may not be done now: in use, already ended, a conflict."""
    AUTH = 5
    """A token or account is missing, wrong or refused."""
    UNAVAILABLE = 6
    """The site or the server cannot be reached or does not answer as it should; later may help."""
    INCOMPLETE = 7
    """It finished, and not everything that should be there is there."""
    TRY_AGAIN = 75
    """A temporary state of this machine; the same command may work in a moment."""
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def word(self) -> str:
        """The name programs see in JSON."""
        return self.name.lower()


class Stop(Exception):
    """A command ends here, with one clear text for people.

    Attributes:
        code: the exit status.
        hint: what to do next, shown after the text.
        detail: more for programs; shown in JSON only.
    """

    def __init__(self, code: Exit, text: str, *, hint: str = "", detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.hint = hint
        self.detail = dict(detail or {})
