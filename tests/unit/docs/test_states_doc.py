"""docs/states.md says what the tables of transitions say."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_what_the_generator_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "gen_states.py"))
    assert (ROOT / "docs" / "states.md").read_text(encoding="utf-8") == generator["render"]()
