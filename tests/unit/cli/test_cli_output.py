"""Texts on a terminal: harmless, aligned, short."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.cli.output import clean, cut, moment, plural, size, table, width

texts = st.text(max_size=80)


@given(texts)
def test_clean_text_is_one_harmless_line(text):
    shown = clean(text)
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


@given(texts, st.integers(min_value=1, max_value=60))
def test_cut_keeps_to_its_columns(text, columns):
    shown = cut(clean(text), columns)
    assert width(shown) <= columns
    assert shown == clean(text) or shown.endswith("…")


@given(st.lists(st.tuples(texts, texts), max_size=6))
def test_columns_of_a_table_begin_at_the_same_place(rows):
    lines = table(("FIRST", "SECOND"), rows).split("\n")
    assert len(lines) == len(rows) + 1
    first = max([width("FIRST"), *(width(cut(clean(a), 60)) for a, _ in rows)])
    for line, (_, second) in zip(lines[1:], rows, strict=True):
        shown = cut(clean(second), 60).rstrip()
        assert line.endswith(shown)
        if shown and not unicodedata.combining(shown[0]):
            assert width(line) == first + 2 + width(shown)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_234_567, "1.2 MB"), (5 * 10**15, "5000.0 TB")]
)
def test_size(count, text):
    assert size(count) == text


def test_small_words():
    assert plural(1, "work") == "1 work"
    assert plural(2, "work") == "2 works"
    assert moment(None) == ""
    assert moment(0) == "1970-01-01 00:00:00Z"
