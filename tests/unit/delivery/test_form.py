"""The multipart form, as a strict parser reads it."""

from __future__ import annotations

import email
import email.policy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.delivery.form import FILE_NAME_BYTES, build_form, file_name, mime_type, quoted, text_fields
from pixivflow.delivery.limits import Limits, limit_fault
from pixivflow.delivery.ports import DeliveryItem
from pixivflow.domain.work import Asset, AssetQuality, AssetRole

BOUNDARY = "b0undary"


def asset(
    path: str = "a/1.jpg", role: AssetRole = AssetRole.PAGE, size: int = 3, mime: str = "image/jpeg", **more: Any
) -> Asset:
    return Asset(role, 0, path, size, "00" * 32, mime, **more)


def item(*assets: Asset, values: dict[str, str] | None = None, extra: dict[str, Any] | None = None) -> DeliveryItem:
    files = tuple((Path("/library") / one.path, one) for one in assets or (asset(),))
    return DeliveryItem("key", "main", {"type": "illustration", "id": "7"}, files, values or {}, extra or {}, assets)


def parse(item_: DeliveryItem, fields: list[tuple[str, str]]) -> tuple[list[email.message.Message], int]:
    """Write the form with three bytes for each file and read it back with the standard library's parser."""
    form = build_form(fields, item_.files, boundary=BOUNDARY, file_field="files", preview_field="previews")
    whole = form.opening + b"".join(part.head + b"abc" + b"\r\n" for part in form.files) + form.closing
    head = f"Content-Type: {form.content_type}\r\n\r\n".encode()
    message = email.message_from_bytes(head + whole, policy=email.policy.HTTP)
    assert not message.defects
    assert len(whole) == form.length
    return list(message.iter_parts()), form.length


def test_fields_and_files_stand_in_the_form() -> None:
    parts, _ = parse(
        item(asset(), asset("a/c.png", AssetRole.COVER, mime="image/png")), [("title", "夜"), ("empty", "")]
    )
    names = [part.get_param("name", header="content-disposition") for part in parts]
    assert names == ["title", "empty", "files", "previews"]
    assert parts[0].get_payload(decode=True) == "夜".encode()
    assert parts[2].get_content_type() == "image/jpeg"
    assert parts[3].get_payload(decode=True) == b"abc"


@given(
    name=st.text(min_size=1).map(lambda text: "n" + text),
    value=st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
    title=st.text(min_size=1),
)
def test_no_text_can_add_a_header_or_a_part(name: str, value: str, title: str) -> None:
    form = build_form(
        [(name, value)],
        [(Path("/x"), asset(f"folder/{title}.jpg", mime=title))],
        boundary="0123456789abcdef" * 2,
        file_field=name,
        preview_field="previews",
    )
    head, rest = form.opening.split(b"\r\n\r\n", 1)
    assert head.count(b"\r\n") == 1
    assert head.count(b'"') == 2
    assert rest == value.encode() + b"\r\n"
    (part,) = form.files
    lines = part.head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert [line.split(b":")[0] for line in lines[1:]] == [b"Content-Disposition", b"Content-Type"]
    assert lines[1].count(b'"') == 4
    assert b"\n" not in lines[1] + lines[2]


def test_the_key_and_the_assets_are_added_unless_configured() -> None:
    parts = dict(text_fields(item(), {"title": "{{title}}"}, "comma", auto_key=True))
    assert parts["idempotency_key"] == "key"
    (entry,) = json.loads(parts["media_assets"])
    assert entry["kind"] == "image"
    own = text_fields(item(), {"idempotency_key": "k2", "media_assets": "-"}, "comma", auto_key=True)
    assert own == [("idempotency_key", "k2"), ("media_assets", "-")]
    assert "idempotency_key" not in dict(text_fields(item(), {}, "comma", auto_key=False))


def test_every_asset_is_described() -> None:
    made = asset("a/7.mp4", AssetRole.ANIMATION, mime="video/mp4", quality=AssetQuality.DERIVED, duration_ms=900)
    stays = asset("a/7.zip", AssetRole.ARCHIVE, mime="application/zip", source_url="https://i.pximg.net/7.zip")
    sent = item(made)
    described = text_fields(
        DeliveryItem(sent.key, sent.route, sent.work, sent.files, assets=(stays, made)), {}, "comma", auto_key=True
    )
    first, second = json.loads(dict(described)["media_assets"])
    assert (first["asset_id"], first["source"], first["duration_ms"], first["sent"]) == (
        "pixiv:illustration:7:animation:0",
        "generated",
        900,
        True,
    )
    assert (second["size"], second["mime"], second["source_url"], second["sent"]) == (
        3,
        "application/zip",
        "https://i.pximg.net/7.zip",
        False,
    )


@pytest.mark.parametrize(
    ("array_format", "expected"),
    [("comma", ["海,3,true,x"]), ("repeat", ["海", "3", "true", "x"]), ("json", ['["海",3,true,"x"]'])],
)
def test_a_list_has_three_forms(array_format: Any, expected: list[str]) -> None:
    value = ["{{tag}}", "{{topic}}", 3, True, "x"]
    parts = text_fields(item(values={"tag": "海"}), {"tags": value}, array_format, auto_key=False)
    assert [text for name, text in parts if name == "tags"] == expected


@pytest.mark.parametrize(("array_format", "expected"), [("comma", [""]), ("repeat", []), ("json", ["[]"])])
def test_an_empty_list_has_three_forms_too(array_format: Any, expected: list[str]) -> None:
    parts = text_fields(item(), {"tags": []}, array_format, auto_key=False)
    assert [text for name, text in parts if name == "tags"] == expected


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b/夜の海.jpg", "夜の海.jpg"),
        ('a/q"uo\r\nte.png', "q_uo_te.png"),
        ("a/..", "file"),
        ("a/ .jpg", "file.jpg"),
        ("a/x;filename=evil.exe", "x_filename=evil.exe"),
        ("a/" + "あ" * 200 + ".jpg", "あ" * 65 + ".jpg"),
        ("a/no-suffix", "no-suffix"),
        ("a/\ud800.gif", "_.gif"),
    ],
)
def test_a_file_has_a_safe_name(path: str, name: str) -> None:
    assert file_name(path) == name


@given(st.text())
def test_any_name_is_short_and_plain(path: str) -> None:
    name = file_name(path)
    assert 0 < len(name.encode()) <= FILE_NAME_BYTES
    assert not set(name) & set('"\r\n/\\;')


def test_names_are_quoted_as_browsers_do() -> None:
    assert quoted('a"b\r\nc') == "a%22b%0D%0Ac"


@pytest.mark.parametrize(
    ("mime", "sent"),
    [
        ("Image/PNG", "image/png"),
        ("text/plain; charset=utf-8", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_a_media_type_is_plain_or_none(mime: str, sent: str) -> None:
    assert mime_type(asset(mime=mime)) == sent


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(max_upload_bytes=8), "9 bytes"),
        (Limits(max_attachments=2), "3 files"),
        (Limits(image=False), "images"),
        (Limits(video=False), "videos"),
        (Limits(file=False), "files"),
        (Limits(album=False), "several images"),
    ],
)
def test_what_a_receiver_cannot_take_is_refused(limits: Limits, word: str) -> None:
    mixed = [asset(), asset("a/2.mp4", AssetRole.ANIMATION), asset("a/3.txt", AssetRole.TEXT)]
    two = [asset(), asset("a/2.jpg")] if word == "several images" else mixed
    fault = limit_fault(item(*two), limits)
    assert fault is not None
    assert word in fault
    assert limit_fault(item(*two), Limits(max_upload_bytes=9, max_attachments=3)) is None
