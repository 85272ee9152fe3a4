"""No statement of the hot paths walks through history: each is asked how SQLite would run it."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from pixivflow.ledger.migrate import migrate
from pixivflow.ledger.sqlite import open_connection
from pixivflow.ledger.statements import statement

NAMES = sorted(
    file.name.removesuffix(".sql")
    for file in (resources.files("pixivflow.ledger") / "sql").iterdir()
    if file.name.endswith(".sql")
)
LISTS = ("skip", "works", "paths")

# These read everything on purpose: they count, or they page from the newest with a LIMIT.
WHOLE = {
    "counters_all",
    "files_counts",
    "jobs_counts",
    "outbox_counts",
    "works_counts",
    "works_recent",
    "jobs_list",
    "outbox_list",
}
# Partial indexes that hold only what is live, waiting or open stay small however long the history is.
SMALL = ("attempts_live_job", "attempts_live_slot", "jobs_to_collect", "jobs_open", "deliveries_in_cache", "outbox_due")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHOLE])
def test_a_statement_finds_what_it_needs_through_an_index(name: str, tmp_path: object) -> None:
    connection = open_connection(f"{tmp_path}/plan.db")  # type: ignore[arg-type]
    migrate(connection, now_ms=1)
    text = statement(name)
    given = {key: "[]" if key in LISTS else 1 for key in re.findall(r":(\w+)", text)}
    steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", given)]
    connection.close()
    scans = [
        step
        for step in steps
        if step.startswith("SCAN")
        and not re.search(r"json_each|VIRTUAL TABLE|CONSTANT ROW|SCAN \(|" + "|".join(SMALL), step)
    ]
    assert scans == [], steps


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_is_one_statement_and_says_why(name: str) -> None:
    text = statement(name)
    assert text.startswith("-- ")
    assert ";" not in re.sub(r"--.*", "", text)
