"""From bytes to data: what cannot be read is said with line and column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.config.read import parse


def test_json_errors_have_line_column_and_a_hint() -> None:
    (problem,) = parse("c.json", b'{\n  "a": 1,\n}').problems
    assert problem.code == "syntax"
    assert problem.reason.startswith("line ")
    assert problem.suggestion == "remove the last comma"
    (problem,) = parse("c.json", b'{\n  // why\n  "a": 1\n}').problems
    assert problem.reason.startswith("line 2, column 3:")
    assert problem.suggestion == 'JSON has no comments; use a key that starts with "_"'


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "the file is empty; the least configuration is {}"),
        ("{'a': 1}", "JSON wants double quotes"),
        ('{"a": 1 "b": 2}', None),
        ('{"a": "x" "b": 2}', "a comma is missing here"),
    ],
)
def test_hints(text: str, hint: str | None) -> None:
    (problem,) = parse("c.json", text.encode()).problems
    assert problem.suggestion == hint


def test_a_syntax_error_never_quotes_the_file() -> None:
    (problem,) = parse("c.json", b'{"pixiv": {"refreshToken": "very-secret" oops}}').problems
    assert "very-secret" not in f"{problem}"
    (problem,) = parse("c.toml", b"[pixiv]\nrefreshToken = very-secret\n").problems
    assert problem.reason.startswith("line 2, column ")
    assert "very-secret" not in f"{problem}"


def test_a_key_that_is_there_twice_is_found_at_its_place() -> None:
    parsed = parse("c.json", b'{"targets": [{"id": "a", "id": "b"}], "_c": 1, "_c": 2, "x": {"_n": {}, "_n": {}}}')
    assert [(p.path, p.code) for p in parsed.problems] == [("targets[0].id", "duplicate_key")]
    (problem,) = parse("c.toml", b"a = 1\na = 2\n").problems
    assert problem.code == "syntax"


def test_toml_gives_the_same_data_with_days_as_text() -> None:
    text = b'[[targets]]\nid = "a"\nstartDate = 2026-01-02\n[download]\nconcurrency = 2\n'
    assert parse("c.TOML", text).data == {
        "targets": [{"id": "a", "startDate": "2026-01-02"}],
        "download": {"concurrency": 2},
    }


@pytest.mark.parametrize(
    ("name", "raw", "code"),
    [
        ("c.yaml", b"a: 1", "format_not_available"),
        ("c.YML", b"a: 1", "format_not_available"),
        ("c.json", b"[]", "wrong_type"),
        ("c.json", b"3", "wrong_type"),
        ("c.json", b'{"a": "\xff"}', "encoding"),
        ("c.json", b'{"a": "\\ud800"}', "encoding"),
        ("c.json", b'{"\\ud800": 1}', "encoding"),
        ("c.json", b'{"a":' * 60 + b"1" + b"}" * 60, "too_deep"),
        ("c.json", b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "too_deep"),
        ("c.json", b'{"a": ' + b"9" * 5000 + b"}", "syntax"),
        ("c.json", b" " * (4 * 1024 * 1024 + 1), "too_large"),
        ("c.toml", b"a = 2026-13-01", "syntax"),
    ],
)
def test_what_cannot_be_read(name: str, raw: bytes, code: str) -> None:
    assert {p.code for p in parse(name, raw).problems} == {code}


def test_a_byte_order_mark_is_no_trouble() -> None:
    assert parse("c.json", b'\xef\xbb\xbf{"a": 1}').data == {"a": 1}


@given(st.binary(max_size=200), st.sampled_from(["c.json", "c.toml"]))
def test_any_bytes_give_data_or_a_problem(raw: bytes, name: str) -> None:
    parsed = parse(name, raw)
    assert (parsed.data is None) <= bool(parsed.problems)
