"""What the ledger can refuse or fail with.

LedgerError
├── LedgerInUse       another process holds the file lock
├── LedgerNewer       the file was written by a later version
├── LedgerUnusable    the file cannot be opened or is not ours
├── LedgerBusy        another program held the file's write lock too long; nothing was written
├── LedgerClosed      the ledger is shutting down
└── OutcomeUnknown    a commit raised: it may or may not be there. The process must stop and read back.
"""

from __future__ import annotations


class LedgerError(Exception):
    """Base of all; the text is for people."""


class LedgerInUse(LedgerError):
    """Another process holds the ledger."""


class LedgerNewer(LedgerError):
    """The ledger has migrations this version does not know."""


class LedgerUnusable(LedgerError):
    """The ledger cannot be opened."""


class LedgerBusy(LedgerError):
    """Another program kept the write lock for longer than the busy timeout. Nothing was written; try again."""


class LedgerClosed(LedgerError):
    """The ledger is closed or closing."""


class OutcomeUnknown(LedgerError):
    """A commit raised. Whether its changes are durable is not known until the file is opened again."""
