"""Novel texts out of pages whose layout is not ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pixivflow.sources.errors import ShapeChanged, WorkUnavailable
from pixivflow.sources.pixiv.webview import read_ajax, read_webview

IMG = "https://i.pximg.net"


def page(novel: Any, before: Any = "", after: Any = "isOwnWork: false,") -> Any:
    text = novel if isinstance(novel, str) else json.dumps(novel, ensure_ascii=False)
    return (
        f"<html><head><title>t</title>{before}</head><body><script>Object.defineProperty(window,'pixiv',"
        f"{{value:{{isPcBrowser: false,\n novel: {text},\n {after}\n }}}});</script></body></html>"
    )


def novel(**changed: Any) -> Any:
    return {"id": "900", "title": "T", "text": "Words.", "images": [], "illusts": [], "coverUrl": None, **changed}


def test_text_and_cover() -> None:
    read = read_webview(page(novel(coverUrl=f"{IMG}/cover.jpg")), "900")
    assert (read.text, read.cover_url, dict(read.images)) == ("Words.", f"{IMG}/cover.jpg", {})


@pytest.mark.parametrize("after", ["isOwnWork: true", "somethingNew: 1", "", "x,\n"])
def test_what_follows_the_object_does_not_matter(after: Any) -> None:
    assert read_webview(page(novel(text="a},\nisOwnWork: b"), after=after), "900").text == "a},\nisOwnWork: b"


@pytest.mark.parametrize(
    "before",
    [
        '<meta content="novel: {broken">',
        '<meta content=\'novel: {"id":"1","text":"another novel"}\'>',
        "<script>novel: {}</script>",
        "<script>novel: [1]</script>",
        "novel: {" * 40,
    ],
)
def test_look_alikes_before_it_are_passed_over(before: Any) -> None:
    assert read_webview(page(novel(), before), "900").text == "Words."


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html></html>",
        page("null"),
        page('{"id":"900"}'),
        page('{"id":"900","text":"cut'),
        page(novel(id="901")),
        page(novel()).replace("novel:", "story:"),
        page('{"a":' * 100_000),
        "novel: {" * 5000,
    ],
    ids=range(9),
)
def test_another_layout_is_told_and_never_guessed(html: Any) -> None:
    with pytest.raises(ShapeChanged):
        read_webview(html, "900")


@pytest.mark.parametrize("text", [None, "", "   \n", [], 5])
def test_an_empty_novel_is_not_stored_as_one(text: Any) -> None:
    with pytest.raises(WorkUnavailable):
        read_webview(page(novel(text=text)), "900")


def test_uploaded_pictures_best_first() -> None:
    urls = {"240mw": f"{IMG}/240.jpg", "original": f"{IMG}/o.png", "1200x1200": f"{IMG}/1200.jpg", "480mw": ""}
    read = read_webview(
        page(novel(text="a [uploadedimage:777] b [uploadedimage:778]", images={"777": {"urls": urls}, "9": {}})), "900"
    )
    assert read.images["uploadedimage:777"].urls == (f"{IMG}/o.png", f"{IMG}/1200.jpg", f"{IMG}/240.jpg")
    gone = read.images["uploadedimage:778"]
    assert (gone.urls, bool(gone.problem)) == ((), True)
    assert set(read.images) == {"uploadedimage:777", "uploadedimage:778"}


def linked(**changed: Any) -> Any:
    images = {"small": f"{IMG}/12_p0_s.jpg", "medium": f"{IMG}/m/12_p0.jpg", "original": f"{IMG}/o/12_p0.png"}
    return {"visible": True, "availableMessage": None, "illust": {"images": images}, "page": 0, **changed}


def test_linked_works_with_and_without_a_page() -> None:
    text = "[pixivimage:12] [pixivimage:12-3] [pixivimage:13-2]"
    other = linked(illust={"images": {"original": f"{IMG}/o/13_p1.png"}})
    read = read_webview(page(novel(text=text, illusts={"12": linked(), "13-2": other})), "900")
    assert read.images["pixivimage:12"].urls[0] == f"{IMG}/o/12_p0.png"
    assert read.images["pixivimage:12-3"].urls[0] == f"{IMG}/o/12_p2.png"
    assert read.images["pixivimage:13-2"].urls == (f"{IMG}/o/13_p1.png",)


def test_linked_works_that_are_hidden_say_why() -> None:
    hidden = linked(visible=False, availableMessage="Only for\nfriends")
    limit = linked(illust={"images": {"original": "https://s.pximg.net/common/images/limit_mypixiv_360.png"}})
    text = "[pixivimage:12][pixivimage:14][pixivimage:15]"
    read = read_webview(page(novel(text=text, illusts={"12": hidden, "14": limit})), "900")
    assert read.images["pixivimage:12"].problem == "Only for friends"
    assert all(read.images[f"pixivimage:{number}"].urls == () for number in (12, 14, 15))
    assert all(read.images[f"pixivimage:{number}"].problem for number in (12, 14, 15))


def test_maps_may_be_anything() -> None:
    read = read_webview(page(novel(text="[uploadedimage:1][pixivimage:2]", images=None, illusts=[1, 2])), "900")
    assert all(image.problem for image in read.images.values())


def test_lone_surrogates_do_not_reach_a_file() -> None:
    read = read_webview(page(json.dumps(novel()).replace("Words.", "a\\ud800b \\ud83d\\ude00")), "900")
    assert read.text.encode() == "a?b 😀".encode()


def test_the_web_sites_answer() -> None:
    body = {
        "error": False,
        "message": "",
        "body": {
            "content": "T [uploadedimage:5] [pixivimage:6]",
            "textEmbeddedImages": {"5": {"urls": {"original": f"{IMG}/5.png"}}},
            "coverUrl": f"{IMG}/c.jpg",
        },
    }
    read = read_ajax(json.dumps(body).encode(), "900")
    assert read.images["uploadedimage:5"].urls == (f"{IMG}/5.png",)
    assert read.images["pixivimage:6"].problem
    assert read.cover_url == f"{IMG}/c.jpg"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", ShapeChanged),
        (b"[]", ShapeChanged),
        (b'{"body":[]}', ShapeChanged),
        (b'{"body":{}}', ShapeChanged),
        (b'{"error":true,"body":[]}', WorkUnavailable),
        (b'{"body":{"content":""}}', WorkUnavailable),
    ],
)
def test_bad_web_answers(body: Any, error: Any) -> None:
    with pytest.raises(error):
        read_ajax(body, "900")
