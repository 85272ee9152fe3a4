"""The front door: what is answered from the table, and that the table says what the verbs are."""

from __future__ import annotations

import importlib
import json

import pytest
import typer

from pixivflow import __version__
from pixivflow.__main__ import main
from pixivflow.cli import table
from pixivflow.cli.exits import Exit


def commands_of(verb: table.Verb) -> list[str]:
    app: typer.Typer = importlib.import_module(verb.module).app
    return [info.name or info.callback.__name__ for info in app.registered_commands]


@pytest.mark.parametrize("verb", table.VERBS, ids=lambda verb: verb.name)
def test_the_table_is_in_step_with_the_verbs(verb):
    found = commands_of(verb)
    assert found == (list(verb.nouns) or [verb.name])


def test_every_first_word_is_there_once():
    assert len(table.words()) == len(set(table.words()))


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == Exit.OK
    out = capsys.readouterr().out
    assert all(f"  {verb.name} " in out and verb.help in out for verb in table.VERBS)
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("args", [["-h"], ["help"], ["--no-color", "--help"]])
def test_help_in_its_other_forms(args, capsys):
    assert main(args) == Exit.OK
    assert capsys.readouterr().out == table.help_text() + "\n"


@pytest.mark.parametrize("args", [["--version"], ["-V"], ["version"]])
def test_version(args, capsys):
    assert main(args) == Exit.OK
    assert capsys.readouterr().out == f"pixivflow {__version__}\n"


def test_version_as_json(capsys):
    assert main(["--json", "--version"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {"name": "pixivflow", "version": __version__}


def test_no_command_shows_the_help_and_is_a_mistake(capsys):
    assert main([]) == Exit.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert "Usage:" in said.err


@pytest.mark.parametrize(
    ("word", "near"), [("jbo", "job"), ("downlaod", "download"), ("sandbx", "sandbox"), ("SERVE", "serve")]
)
def test_an_unknown_command_names_the_nearest(word, near, capsys):
    assert main([word]) == Exit.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert f"did you mean {near}" in said.err


def test_an_unknown_command_cannot_write_to_the_terminal(capsys):
    assert main(["\x1b[31mred\nline"]) == Exit.USAGE
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "\x1b" not in said


@pytest.mark.parametrize("args", [["--nope", "job"], ["--config"], ["-x"]])
def test_wrong_options_before_the_verb(args, capsys):
    assert main(args) == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("verb", [verb for verb in table.VERBS if verb.nouns], ids=lambda verb: verb.name)
def test_a_group_without_a_noun_shows_what_there_is(verb, capsys):
    assert main([verb.name]) == Exit.USAGE
    out = capsys.readouterr().out
    assert all(noun in out for noun in verb.nouns)


@pytest.mark.parametrize(
    "words", [[verb.name, *noun] for verb in table.VERBS for noun in ([[n] for n in verb.nouns] or [[]])], ids=" ".join
)
def test_every_command_has_help_and_the_shared_options(words, capsys):
    for flag in ("-h", "--help"):
        assert main([*words, flag]) == Exit.OK
        out = capsys.readouterr().out
        assert f"Usage: pixivflow {' '.join(words)}" in out
        assert "--json" in out
        assert "--no-color" in out


def test_aliases_lead_to_their_verb():
    assert table.find("scheduler") is table.find("serve")
    assert table.find("stats") is table.find("status")
    assert table.find("nothing") is None


def test_a_wrong_option_of_a_command_is_one_line_and_says_where_help_is(capsys):
    assert main(["job", "submit", "--tarket", "x"]) == Exit.USAGE
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "pixivflow job submit --help" in said.err


def test_a_failure_in_json_is_one_document(capsys):
    assert main(["job", "submit", "--json"]) == Exit.USAGE
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["exit_code"] == Exit.USAGE
    assert error["code"] == "usage"
    assert "--target" in error["message"]


def test_the_exit_codes_are_the_documented_ones():
    assert {code.name: int(code) for code in Exit} == {
        "OK": 0,
        "FAILURE": 1,
        "USAGE": 2,
        "NOT_FOUND": 3,
        "REFUSED": 4,
        "AUTH": 5,
        "UNAVAILABLE": 6,
        "INCOMPLETE": 7,
        "TRY_AGAIN": 75,
        "INTERRUPTED": 130,
        "TERMINATED": 143,
    }
