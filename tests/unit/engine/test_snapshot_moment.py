"""The moment frozen with a planned job; whatever cannot be read is none."""

from __future__ import annotations

from typing import Any

import pytest

from pixivflow.engine.snapshot import Moment, occurrence_of


def test_a_planned_job_knows_when_it_was_due() -> None:
    stored = {"targets": [], "occurrence": {"at": 1_778_407_200_000, "timezone": "Asia/Tokyo"}}
    assert occurrence_of(stored) == Moment(1_778_407_200_000, "Asia/Tokyo")


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "2026-05-10",
        [],
        {},
        {"at": "now", "timezone": "UTC"},
        {"at": 1, "timezone": None},
        {"at": 1, "timezone": "No/Where"},
        {"at": 1, "timezone": "../../etc/passwd"},
        {"at": 1, "timezone": ""},
    ],
)
def test_what_cannot_be_read_is_no_moment(stored: Any) -> None:
    assert occurrence_of({"occurrence": stored}) is None
    assert occurrence_of({}) is None
