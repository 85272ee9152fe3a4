"""What a person types first answers at once: no server, database or imaging code is imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "PIL", "aiohttp", "apsw", "litestar", "msgspec", "pydantic", "rich", "sqlite3", "ssl", "structlog", "typer",
    "uvicorn", "uvloop",
}  # fmt: skip
PROGRAM = """
import contextlib, io, json, sys
from pixivflow.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as said:
    code = main(sys.argv[1:])
loaded = sorted(sys.modules)
print(json.dumps({"code": code, "said": said.getvalue(), "loaded": loaded}))
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-V"], ["-h"], ["--version", "--json"]])
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["code"] == 0
    assert "pixivflow" in told["said"].lower()
    assert HEAVY.isdisjoint(told["loaded"])
    assert "pixivflow.cli.front" in told["loaded"]
    rooms = {"pixivflow.bootstrap", "pixivflow.wiring", "pixivflow.ledger", "pixivflow.config"}
    assert rooms.isdisjoint(told["loaded"])


@pytest.mark.acceptance
def test_the_module_and_the_command_are_one() -> None:
    by_module = subprocess.run(
        [sys.executable, "-m", "pixivflow", "--version"], capture_output=True, text=True, check=True
    )
    from pixivflow import __version__

    assert by_module.stdout.strip() == f"pixivflow {__version__}"
    assert by_module.stderr == ""
