"""The page about the routes under `/internal`: its examples are bodies, its table the routes, its words the code's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from pixivflow.api import older_wire
from pixivflow.api.older_paths import internal_paths
from pixivflow.domain.cell import CellState
from pixivflow.domain.slot import BusinessState, SlotStatus, cell_word

PAGE = (Path(__file__).parents[3] / "docs/reference/legacy-api.md").read_text(encoding="utf-8")
EXAMPLES = [
    (name, text)
    for name, text in re.findall(r"^```json (\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    if name != "outcome"
]


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_is_a_body(name: str, text: str) -> None:
    kind = getattr(older_wire, name)
    read = msgspec.json.decode(text, type=kind)
    assert json.loads(msgspec.json.encode(read)) == json.loads(text), "no key that is not there, none left out"


def test_the_table_has_every_route_with_its_token_and_failures() -> None:
    said = {}
    for method, path, token, good, bad in re.findall(
        r"^\| `(\w+) (/\S+)` \| ([\w ]+) \| ([\d, ]+) \| ([\d, ]+) \|", PAGE, re.MULTILINE
    ):
        said[method.lower(), path] = (
            {"manual work": "manual", "trigger": "trigger"}[token],
            {*good.split(", ")},
            {*bad.split(", ")},
        )
    served = {}
    for path, item in internal_paths().items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            (token,) = operation["security"][0]
            statuses = set(operation["responses"])
            good = {status for status in statuses if status < "300"}
            # The token's own refusals hold everywhere and stand above the table; "500" is said where it has its text.
            served[method, path] = (token, good, statuses - good - {"401"})
    assert said.keys() == served.keys()
    for route, (token, good, bad) in served.items():
        assert said[route][:2] == (token, good), route
        assert said[route][2] - bad == set(), route
        assert bad - said[route][2] <= {"500"}, route


@pytest.mark.parametrize("words", [SlotStatus, BusinessState, {cell_word(state) for state in CellState}])
def test_every_word_is_on_the_page(words: object) -> None:
    for word in words:  # type: ignore[attr-defined]
        assert f"`{word}`" in PAGE
