"""The page for people, the schema for editors and the examples say what the validator says."""

import json
from pathlib import Path

import jsonschema
import pytest

from pixivflow.config import check_config
from pixivflow.config.model import Config
from pixivflow.config.reference import render_reference
from pixivflow.config.schema import SCHEMA_ID, json_schema
from pixivflow.config.spec import place_at, places

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.json"))


def test_the_page_is_in_step_with_the_models() -> None:
    page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    assert page == render_reference(), "write it anew: python -m pixivflow.config.reference > docs/reference/config.md"


def test_the_schema_is_valid_and_describes_every_key() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == SCHEMA_ID
    for location, place in places(Config):
        assert place.description, location
    download = schema["$defs"]["DownloadConfig"]["properties"]
    assert download["concurrency"]["default"] == 6
    assert download["concurrency"]["description"]


@pytest.mark.parametrize(
    ("data", "good"),
    [
        ({"$schema": "x", "_a": 1, "pixiv": {"_b": {}}}, True),
        ({"download": {"concurrency": "${N}"}}, True),
        ({"download": {"concurrency": "3"}}, False),
        ({"delivery": {"targets": {"_x": 1, "r": {"type": "httpMultipart", "url": "${BASE}/in"}}}}, True),
        ({"delivery": {"targets": {"r": {"type": "webhook", "url": "https://a.example"}}}}, False),
        ({"delivery": {"targets": {"a b": {"type": "httpMultipart", "url": "https://a.example"}}}}, False),
        ({"schedulerRuntime": {"resourceGovernance": {"pixivAccounts": {"_n": "x", "a": {}}}}}, True),
        ({"targets": [{"type": "novel", "novelId": 5, "fileds": 1}]}, False),
        ({"targets": [{"type": "novel", "novelId": 5}, {"type": "novel", "novelId": "5"}]}, True),
        ({"unknown": 1}, False),
    ],
)
def test_the_schema_agrees_with_the_validator(data: dict[str, object], good: bool) -> None:
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(data) == good
    assert (not check_config(data, {"N": "3", "BASE": "https://a.example"}).errors) == good


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_work_as_they_are(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(json_schema()).iter_errors(data)) == []
    result = check_config(data, {}, source=path.name)
    assert [p.code for p in result.problems] == ["refresh_token_placeholder"]
    assert check_config(data, {"PIXIV_REFRESH_TOKEN": "a-real-refresh-token"}).problems == ()
    assert result.config is not None
    assert all(plan.targets for plan in result.config.enabled_plans())


def test_there_are_examples_and_orders_can_reach_one() -> None:
    data = json.loads((ROOT / "examples" / "orchestrator.json").read_text(encoding="utf-8"))
    config = check_config(data, {}).config
    assert config is not None
    assert [config.wired_for_manual(target) for target in config.targets] == [None, None]


def test_places_are_found_by_their_path() -> None:
    port = place_at(Config, ("schedulerRuntime", "trigger", "port"))
    assert port is not None
    assert (port.kind, port.default) == (int, 8090)
    url = place_at(Config, ("delivery", "targets", "any-name", "url"))
    assert url is not None
    assert place_at(Config, ("targets", "x", "id")) is None
    assert place_at(Config, ("nope", "x")) is None
