"""Every ledger must pass this suite. Time is a number the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ledger_desk import Desk, Motions, Now

from pixivflow.ledger.sqlite import SqliteLedger


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def motions() -> Motions:
    return Motions()


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
async def ledger(ledger_path: Path, now: Now, motions: Motions) -> AsyncIterator[SqliteLedger]:
    opened = SqliteLedger(ledger_path, purpose="a test", now_ms=now, signals=motions)
    opened.open()
    yield opened
    await opened.aclose()


@pytest.fixture
def desk(ledger: SqliteLedger, now: Now) -> Desk:
    return Desk(ledger, now)
