"""Novel markers are found where they are whole and left alone where they are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.media.novel import (
    Chapter,
    EmptyNovel,
    Image,
    ImageRef,
    Jump,
    JumpUri,
    NewPage,
    NovelHeader,
    PixivImageRef,
    Rendered,
    Ruby,
    Text,
    UploadedImageRef,
    image_refs,
    render_markdown,
    render_txt,
    tokenise,
)

HEADER = NovelHeader(
    title="花 & 穹 <1>",
    author="Aoi",
    author_id="7",
    url="https://www.pixiv.net/novel/show.php?id=1",
    tags=("a", "b"),
    created="2025-02-03T00:03:17+09:00",
)
PIECES = st.sampled_from(
    ["[newpage]", "[chapter:", "[pixivimage:1-2]", "[uploadedimage:7]", "[[rb:a > b]]", "[[jumpuri:t > u]]", "[jump:2]"]
)


def test_every_marker_becomes_its_token() -> None:
    text = (
        "A[newpage][chapter:One [1]x[chapter:Two ][pixivimage:12][pixivimage:12-3][uploadedimage:9_a]"
        "[jump:4][[jumpuri:Site > https://e.example/?a=b]][[rb:漢字 > かんじ]]"
    )
    assert tokenise(text) == (
        Text("A"),
        NewPage("[newpage]"),
        Text("[chapter:One [1]x"),
        Chapter("[chapter:Two ]", "Two"),
        Image("[pixivimage:12]", PixivImageRef("12", 1)),
        Image("[pixivimage:12-3]", PixivImageRef("12", 3)),
        Image("[uploadedimage:9_a]", UploadedImageRef("9_a")),
        Jump("[jump:4]", 4),
        JumpUri("[[jumpuri:Site > https://e.example/?a=b]]", "Site", "https://e.example/?a=b"),
        Ruby("[[rb:漢字 > かんじ]]", "漢字", "かんじ"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "[pixivimage:]",
        "[pixivimage:x]",
        "[pixivimage:1-0]",
        "[pixivimage:1-]",
        "[pixivimage:\u0661]",
        "[uploadedimage:../../etc]",
        "[[rb:a]]",
        "[[rb:a > ]",
        "[[jumpuri:a > b]",
        "[chapter:a\nb]",
        "[NEWPAGE]",
        "[jump:]",
        "[[rb:[newpage",
    ],
)
def test_broken_markers_stay_text(text: str) -> None:
    assert tokenise(text) == (Text(text),)


def test_a_marker_inside_a_marker_leaves_the_outer_one_as_text() -> None:
    assert tokenise("[chapter:[[rb:a > b]]]") == (Text("[chapter:"), Ruby("[[rb:a > b]]", "a", "b"), Text("]"))


@given(st.lists(st.one_of(PIECES, st.text(alphabet="[]:>-\n1ab ", max_size=6))).map("".join))
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(token.raw for token in tokenise(text)) == text


def test_references_are_unique_and_in_order() -> None:
    text = "[uploadedimage:2][pixivimage:5-1][uploadedimage:1][pixivimage:5][uploadedimage:2]"
    assert image_refs(text) == (UploadedImageRef("2"), PixivImageRef("5", 1), UploadedImageRef("1"))
    assert PixivImageRef("5", 1).keys == ("5", "5-1")
    assert PixivImageRef("5", 2).keys == ("5-2",)


def test_markdown_replaces_every_occurrence_and_keeps_what_is_missing() -> None:
    images: dict[ImageRef, str | None] = {UploadedImageRef("777"): "images/a (1).png", PixivImageRef("5"): None}
    assert render_markdown("A[uploadedimage:777]B[uploadedimage:777]C[pixivimage:5][pixivimage:6]", images) == Rendered(
        "A![uploadedimage:777](images/a%20%281%29.png)B![uploadedimage:777](images/a%20%281%29.png)C"
        "[pixivimage:5][pixivimage:6]\n"
    )


def test_the_text_file_has_its_head_and_its_markers() -> None:
    rendered = render_txt(HEADER, "one\r\n[newpage]\rtwo\n")
    assert isinstance(rendered, Rendered)
    head, _, body = rendered.text.partition("-" * 40 + "\n\n")
    assert head.splitlines() == [
        "Title: 花 & 穹 <1>",
        "Author: Aoi",
        "Author ID: 7",
        "Tags: a, b",
        "Original URL: https://www.pixiv.net/novel/show.php?id=1",
        "Created: 2025-02-03T00:03:17+09:00",
    ]
    assert body == "one\n[newpage]\ntwo\n"


def test_a_title_cannot_forge_a_line_of_the_head() -> None:
    rendered = render_txt(NovelHeader("x\nAuthor ID: 1\u2028y", "a", "2", "u"), "t")
    assert isinstance(rendered, Rendered)
    assert rendered.text.splitlines()[0] == "Title: x Author ID: 1 y"


@pytest.mark.parametrize("text", [None, "", " \n\u3000\t", "\u200b\ufeff", "[newpage]\n[jump:1]", "\x00"])
def test_nothing_to_read_is_no_file(text: str | None) -> None:
    assert isinstance(render_txt(HEADER, text), EmptyNovel)
    assert isinstance(render_markdown(text, {}), EmptyNovel)


@pytest.mark.parametrize("text", ["[unknown:1]", "[uploadedimage:1]", "[chapter:a]", "。"])
def test_something_to_read_is_kept(text: str) -> None:
    assert isinstance(render_markdown(text, {}), Rendered)


@given(st.text(st.characters(), max_size=50))
def test_any_text_can_be_written_as_utf8(text: str) -> None:
    for rendered in (render_txt(NovelHeader(text, text, text, text, (text,)), "x" + text + "\ud83d"),):
        assert isinstance(rendered, Rendered)
        assert rendered.text.encode("utf-8").endswith(b"\n")
        assert "\r" not in rendered.text
