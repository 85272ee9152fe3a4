"""The project's own checks find what they are for, and only that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
Load = Callable[[str], Any]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import one of the programs in scripts/ by name."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    return import_module


def test_a_registry_is_found_whatever_its_case(program: Load) -> None:
    check = program("check_files")
    found = check.problems_of(ROOT / "x.txt", f"fine\nsee https://{check.REGISTRIES[0].upper()}/simple\n")
    assert [problem.split(": ", 1)[0] for problem in found] == ["x.txt:2"]
    assert check.problems_of(ROOT / "x.txt", "aiohttp==3.14.5\n") == []


def test_a_long_file_needs_a_reason_at_its_top(program: Load) -> None:
    check = program("check_files")
    long = "line\n" * 601
    assert len(check.problems_of(ROOT / "x.py", long)) == 1
    assert check.problems_of(ROOT / "x.py", "# Long file: one table, read as a whole.\n" + long) == []
    assert len(check.problems_of(ROOT / "x.py", long + "# Long file: too late.\n")) == 1
    assert check.problems_of(ROOT / "x.py", "line\n" * 600) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("-- why\nSELECT 1;\n", 1),
        ("-- why\nSELECT 1\n", 1),
        ("-- one; two\nSELECT ';' AS a, \"b;c\" FROM t /* ; */;\n-- after\n", 1),
        ("SELECT 1; SELECT 2;", 2),
        ("SELECT 1; SELECT 2", 2),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;", 1),
        ("-- nothing\n", 0),
    ],
)
def test_statements_are_counted_as_sqlite_would(program: Load, text: str, count: int) -> None:
    assert len(program("check_sql").statements(text)) == count


def test_a_statement_file_says_why(program: Load, tmp_path: Path) -> None:
    path = tmp_path / "one.sql"
    path.write_text("SELECT 1;\n", encoding="utf-8")
    assert len(program("check_sql").problems_of(path)) == 1
    path.write_text("-- One, because.\nSELECT 1;\n", encoding="utf-8")
    assert program("check_sql").problems_of(path) == []


@pytest.mark.parametrize(
    "line", ["aiohttp", "aiohttp>=3", "aiohttp==3,!=4", "aiohttp[speedups]==3.14.5", "aiohttp @ file:///x", "-r other"]
)
def test_a_pin_is_a_name_and_one_version(program: Load, line: str) -> None:
    pins, found = program("check_pins").read_pins(line + "\n")
    assert len(found) == 1
    assert pins == {}


def test_pins_are_sorted_and_named_once(program: Load) -> None:
    read = program("check_pins").read_pins
    assert read("# note\nA==1\nb==2; python_version < '3.12'\n") == ({"a": "1", "b": "2"}, [])
    assert len(read("b==2\na==1\n")[1]) == 1
    assert len(read("a==1\nA==1\n")[1]) == 1
