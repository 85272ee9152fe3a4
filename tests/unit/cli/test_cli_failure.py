"""No traceback reaches a user: one line, an exit status, and the details in a file without secrets."""

from __future__ import annotations

import json
from typing import Never

import pytest

from pixivflow.__main__ import main
from pixivflow.cli import config as config_verb
from pixivflow.cli.exits import Exit
from pixivflow.observability.redact import add_secret


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "pixivflow" / "errors.log"


@pytest.fixture
def broken(monkeypatch):
    """`config schema` meets a fault nobody has thought of, with a secret in its text."""

    def fail() -> Never:
        raise ZeroDivisionError("with Bearer planted-secret-1234 and\nmore")

    monkeypatch.setattr("pixivflow.config.schema.json_schema", fail)
    return config_verb


def test_the_unexpected_is_one_line_and_a_log(broken, state, capsys):
    assert main(["config", "schema"]) == Exit.FAILURE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert str(state) in said.err
    log = state.read_text()
    assert "Traceback" in log
    assert "planted-secret-1234" not in said.err + log


def test_debug_shows_the_traceback_without_secrets(broken, state, capsys):
    assert main(["config", "schema", "--debug"]) == Exit.FAILURE
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "planted-secret-1234" not in said
    assert not state.exists()


def test_a_state_folder_that_cannot_be_used_does_not_hide_the_fault(broken, tmp_path, monkeypatch, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    assert main(["config", "schema"]) == Exit.FAILURE
    assert "--debug" in capsys.readouterr().err


def test_json_tells_it_as_a_document(broken, state, capsys):
    assert main(["config", "schema", "--json"]) == Exit.FAILURE
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "failure"


def test_a_known_secret_is_masked_wherever_it_stands(monkeypatch, state, capsys):
    add_secret("word-only-we-know")

    def fail() -> Never:
        raise RuntimeError("the thing word-only-we-know failed")

    monkeypatch.setattr("pixivflow.config.schema.json_schema", fail)
    assert main(["config", "schema"]) == Exit.FAILURE
    assert "word-only-we-know" not in capsys.readouterr().err + state.read_text()


def test_ctrl_c_is_130_and_no_traceback(monkeypatch, capsys):
    def interrupt() -> Never:
        raise KeyboardInterrupt

    monkeypatch.setattr("pixivflow.config.schema.json_schema", interrupt)
    assert main(["config", "schema"]) == Exit.INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err
