"""The documentation page names everything there is."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from pixivflow.sandbox import SandboxOptions
from pixivflow.sandbox.fault_schema import ACTIONS, ZIP_VARIANTS, read_rules
from pixivflow.sandbox.receiver import ANSWERS, CHANNELS
from pixivflow.sandbox.routes import NAMES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "sandbox.md").read_text("utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("routes", set(NAMES)),
        ("actions", set(ACTIONS)),
        ("fields of actions", {field for known in ACTIONS.values() for field in known}),
        ("archive variants", set(ZIP_VARIANTS)),
        ("receiver answers", set(ANSWERS)),
        ("channels", {f"/{channel}" for channel in CHANNELS}),
        ("options", {field.name for field in fields(SandboxOptions)}),
    ],
)
def test_the_page_names_all(what: str, names: set[str]) -> None:
    assert names - NAMED == set(), what


def test_the_pages_example_of_a_fault_file_is_good() -> None:
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    rules = next(example for example in examples if isinstance(example, list))
    assert len(read_rules(rules)) == 5
