"""Names are safe on every platform, keep the id, and are cut where a reader would cut them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.library import naming
from pixivflow.library.graphemes import clusters, cut

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FLAG = "\U0001f1ef\U0001f1f5"
WAVE = "\U0001f44b\U0001f3fd"
HEART = "\u2764\ufe0f\u200d\U0001f525"
ANY_TEXT = st.text(
    st.one_of(st.characters(), st.characters(exclude_categories=()), st.sampled_from('/\\?:*"<>|. \u200d\u202e\0')),
    max_size=80,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Fate/GrandOrder", "Fate_GrandOrder"),
        ("16:9", "16_9"),
        ("a\\b", "a_b"),
        ('?*"<>|', "______"),
        ("..", "untitled"),
        (".", "untitled"),
        ("...そして", "そして"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("CON", "_CON"),
        ("AUX.txt", "_AUX.txt"),
        ("com1", "_com1"),
        ("nul .tar.gz", "_nul .tar.gz"),
        ("LPT\u00b2", "_LPT\u00b2"),
        ("CONSOLE", "CONSOLE"),
        ("", "untitled"),
        ("   \t\n", "untitled"),
        ("a \u3000\n b", "a b"),
        ("name. . .", "name"),
        ("x\x00\x1by\x7f", "x__y_"),
        ("\ud83d", "_"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("zero\u200bwidth\ufeff\u00ad", "zerowidth"),
        ("e\u200b\u0301", "\u00e9"),
        ("か\u3099", "が"),
        (FAMILY, FAMILY),
        (HEART, HEART),
        ("a\u200db", "ab"),
        (FAMILY + "\u200d", FAMILY),
    ],
)
def test_a_segment_is_made_safe(value: str, expected: str) -> None:
    assert naming.safe_segment(value) == expected


@given(ANY_TEXT, st.integers(8, 300))
def test_whatever_comes_in_a_plain_name_comes_out(value: str, max_bytes: int) -> None:
    name = naming.safe_segment(value, max_bytes)
    size = len(name.encode("utf-8"))
    assert 0 < size <= min(max_bytes, 255)
    assert not set(name) & set('/\\?:*"<>|\0')
    assert name == name.strip(". ")
    assert name.isprintable() or any(unicodedata.category(char) in {"Cf", "Cn", "Co"} for char in name)
    assert not any(unicodedata.category(char) == "Cf" and char != "\u200d" for char in name)
    assert name.split(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9"}
    assert unicodedata.is_normalized("NFC", name)


@given(ANY_TEXT)
def test_a_safe_segment_stays_as_it_is(value: str) -> None:
    once = naming.safe_segment(value)
    assert naming.safe_segment(once) == once


def test_a_long_title_keeps_id_and_ending_and_whole_characters() -> None:
    title = "あ" * 120 + FAMILY * 20
    stem = naming.work_stem("123456789", title)
    for name in (naming.page_name(stem, 9999, "jpeg"), naming.ugoira_name(stem, "webp"), naming.sidecar_name(stem)):
        assert len(name.encode("utf-8")) <= naming.NAME_BYTES_MAX
        assert name.startswith("123456789_ああ")
    families = naming.work_stem("1", FAMILY * 30).removeprefix("1_")
    assert families == FAMILY * (len(families) // len(FAMILY))
    assert len(families) >= 7 * len(FAMILY)


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 10**4), st.integers(60, 400))
def test_every_name_of_a_work_keeps_within_the_bound(work_id: str, title: str, number: int, max_bytes: int) -> None:
    stem = naming.work_stem(work_id, title, max_bytes=max(max_bytes, 130))
    for name in (
        naming.page_name(stem, number, ".PNG"),
        naming.text_name(stem, "txt"),
        naming.ugoira_name(stem, "zip"),
        naming.frames_name(stem),
        naming.sidecar_name(stem),
    ):
        assert len(name.encode("utf-8")) <= min(max(max_bytes, 130), 255)
        assert "/" not in name


def test_the_names_are_the_documented_ones() -> None:
    stem = naming.work_stem("42", "花 & 穹 <1>")
    assert stem == "42_花 & 穹 _1_"
    assert naming.page_name(stem, 0, "jpg") == f"{stem}_1.jpg"
    assert naming.text_name(stem, "md") == f"{stem}.md"
    assert naming.ugoira_name(stem, "zip") == f"{stem}_ugoira.zip"
    assert naming.frames_name(stem) == f"{stem}_frames.json"
    assert naming.sidecar_name(stem) == f"{stem}.json"
    assert naming.embedded_name("42", "uploadedimage:7/../x", "png") == "images/42_uploadedimage_7_.._x.png"


@pytest.mark.parametrize(
    ("extension", "expected"),
    [("jpg", "jpg"), (".PNG", "png"), ("", "bin"), ("p/../x", "bin"), ("\uff4a\uff50\uff47", "bin")],
)
def test_an_extension_is_plain(extension: str, expected: str) -> None:
    assert naming.safe_extension(extension) == expected


def test_a_taken_path_gets_a_number_before_its_extension() -> None:
    taken = {"a/b_1.jpg", "a/b_1_2.jpg", "a/.hidden", "n" * 250 + ".json"}
    assert naming.unique_path("a/c.jpg", taken.__contains__) == "a/c.jpg"
    assert naming.unique_path("a/b_1.jpg", taken.__contains__) == "a/b_1_3.jpg"
    assert naming.unique_path("a/.hidden", taken.__contains__) == "a/.hidden_2"
    long = naming.unique_path("n" * 250 + ".json", taken.__contains__)
    assert long == "n" * 248 + "_2.json"
    with pytest.raises(ValueError, match="no free name"):
        naming.unique_path("x", lambda _: True)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("abc", 3),
        (FAMILY * 2, 2),
        (FLAG * 3, 3),
        (WAVE + "a", 2),
        (HEART, 1),
        ("e\u0301e", 2),
        ("ｶﾞ", 1),
        ("\u1100\u1161\u11a8", 1),
        ("\u0e01\u0e34", 1),
        ("\U0001f3f4\U000e0067\U000e007f!", 2),
        ("", 0),
    ],
)
def test_clusters_are_what_a_reader_counts(text: str, count: int) -> None:
    assert len(list(clusters(text))) == count


@given(ANY_TEXT.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)), st.integers(0, 60))
def test_a_cut_is_the_longest_beginning_that_fits(text: str, max_bytes: int) -> None:
    shown = cut(text, max_bytes)
    assert text.startswith(shown)
    assert len(shown.encode("utf-8")) <= max_bytes
    pieces = list(clusters(text))
    assert "".join(pieces) == text
    if pieces and len(pieces[0].encode("utf-8")) <= max_bytes:
        kept = len(list(clusters(shown)))
        assert pieces[:kept] == list(clusters(shown))
        assert kept == len(pieces) or len("".join(pieces[: kept + 1]).encode("utf-8")) > max_bytes
