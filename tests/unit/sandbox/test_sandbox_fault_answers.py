"""What faults make of answers."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, date, datetime
from typing import Any

import pytest

from pixivflow.sandbox import fault_answers, pictures, records
from pixivflow.sandbox.exchange import Answer
from pixivflow.sandbox.fault_schema import ZIP_VARIANTS, Action
from pixivflow.sandbox.faults import Subject
from pixivflow.sandbox.jst import start_of

NOW = datetime(2026, 3, 10, tzinfo=UTC)
API = Subject("search.illust", "/v1/search/illust", "app-api.pixiv.net")
IMAGE = Subject("media.original", "/img-original/img/x/5_p0.png", "i.pximg.net", 5, 0)
OWN = "https://app-api.pixiv.net/v1/search/illust?word=a"


def _replaced(kind: str, subject: Subject = API, **args: Any) -> Answer:
    answer = fault_answers.replacement(Action(kind, args), subject, NOW)
    assert answer is not None
    return answer


def _changed(answer: Answer, kind: str, **args: Any) -> Answer:
    return fault_answers.changed(answer, Action(kind, args), own_url=OWN)


def _list() -> Answer:
    author = records.user(1, "one")
    made = [records.illust(number, start_of(date(2026, 3, 10)), author) for number in (11, 12, 13)]
    return Answer(200, {"illusts": made, "next_url": OWN + "&offset=30"})


def test_rate_limits() -> None:
    plain = _replaced("rate_limit")
    assert plain.status == 403
    assert plain.document["error"]["message"] == "Rate Limit"
    assert plain.headers == {}
    assert _replaced("rate_limit", status=429, retry_after_s=30).headers == {"Retry-After": "30"}
    dated = _replaced("rate_limit", retry_after_s=30, retry_after_form="date")
    assert dated.headers == {"Retry-After": "Tue, 10 Mar 2026 00:00:30 GMT"}


def test_replacements_fit_the_host() -> None:
    assert _replaced("not_found").document["error"]
    assert _replaced("not_found", IMAGE).content_type.startswith("text/html")
    assert _replaced("html_as_image", IMAGE).content_type == "image/png"
    assert _replaced("html200", IMAGE).status == 200
    assert _replaced("challenge").status == 403
    assert _replaced("redirect", to="https://example.test/").headers["Location"] == "https://example.test/"
    assert _replaced("status", status=500, body={"a": 1}).payload() == b'{"a":1}'
    assert _replaced("status", status=503).content_type.startswith("text/html")
    assert "private" in _replaced("forbidden", message="it is private").document["error"]["user_message"]
    token = Subject("oauth.token", "/auth/token", "oauth.secure.pixiv.net")
    assert _replaced("invalid_grant", token).document["errors"]["system"]["code"] == 1508
    assert _replaced("invalid_grant").document["error"]["message"].endswith("invalid_grant")
    assert fault_answers.replacement(Action("empty"), API, NOW) is None


def test_next_urls() -> None:
    answer = _list()
    foreign = _changed(answer, "next_url_foreign", host="evil.example").document
    assert foreign["next_url"].startswith("https://evil.example/v1/")
    assert _changed(answer, "next_url_repeat").document["next_url"] == OWN
    assert _changed(answer, "next_url_null").document["next_url"] is None
    empty = _changed(answer, "empty_page").document
    assert empty["illusts"] == []
    assert empty["next_url"] is not None
    assert len(answer.document["illusts"]) == 3


def test_bodies() -> None:
    answer = Answer(200, body=bytes(100), content_type="image/png")
    assert _changed(answer, "short_ok", fraction=0.3).payload() == bytes(30)
    assert _changed(answer, "empty").payload() == b""
    assert _changed(answer, "wrong_type", content_type="text/plain").content_type == "text/plain"
    corrupt = _changed(answer, "corrupt").payload()
    assert len(corrupt) == 100
    assert corrupt != bytes(100)
    failed = Answer(404, body=bytes(10))
    assert _changed(failed, "short_ok") is failed


def test_records_can_lose_and_gain_keys_alone() -> None:
    answer = _list()
    dropped = fault_answers.on_records(answer, Action("drop_keys", {"keys": ["type", "user.name", "none.at.all"]}), 12)
    shown = dropped.document["illusts"]
    assert "type" not in shown[1]
    assert "name" not in shown[1]["user"]
    assert "type" in shown[0]
    assert "name" in answer.document["illusts"][1]["user"]
    by_number = fault_answers.on_records(answer, Action("drop_keys", {"keys": ["type"], "numbers": [1, 3]}), None)
    assert ["type" in record for record in by_number.document["illusts"]] == [False, True, False]
    changed = fault_answers.on_records(answer, Action("set_keys", {"values": {"user.id": 0, "series": {}}}), 13)
    assert changed.document["illusts"][2]["user"]["id"] == 0
    assert changed.document["illusts"][2]["series"] == {}
    assert fault_answers.ids_in(answer) == {11, 12, 13}


def test_placeholders_of_any_suffix() -> None:
    answer = fault_answers.on_records(_list(), Action("placeholder", {"reason": "tomorrow"}), 11)
    record = answer.document["illusts"][0]
    assert record["id"] == 11
    url = "https://s.pximg.net/common/images/limit_tomorrow_360.png"
    assert record["meta_single_page"]["original_image_url"] == url
    assert (record["visible"], record["title"], record["width"]) == (False, "", 100)


def test_any_place_of_an_answer_can_be_set_or_dropped() -> None:
    document = {"ugoira_metadata": {"frames": [{"file": "a", "delay": 10}, {"file": "b", "delay": 20}]}}
    answer = Answer(200, document)
    set_to = _changed(answer, "set_in_answer", values={"ugoira_metadata.frames.1.delay": 0, "x.y": 1, "new": 2})
    assert set_to.document["ugoira_metadata"]["frames"][1]["delay"] == 0
    assert set_to.document["new"] == 2
    less = _changed(answer, "drop_in_answer", keys=["ugoira_metadata.frames.0", "ugoira_metadata.frames.9"])
    assert less.document["ugoira_metadata"]["frames"] == [{"file": "b", "delay": 20}]
    assert document["ugoira_metadata"]["frames"][1]["delay"] == 20


@pytest.mark.parametrize("variant", ZIP_VARIANTS)
def test_bad_archives(variant: str) -> None:
    good = pictures.stored_zip([(f"{n:06d}.jpg", bytes([n]) * 50) for n in range(3)])
    bad = fault_answers.spoil_zip(good, variant)
    names: list[str] | None
    try:
        with zipfile.ZipFile(io.BytesIO(bad)) as archive:
            names, broken, size = archive.namelist(), archive.testzip(), sum(i.file_size for i in archive.infolist())
    except zipfile.BadZipFile:
        names, broken, size = None, None, 0
    frames = ["000000.jpg", "000001.jpg", "000002.jpg"]
    expected = {
        "cut": (None, None),
        "not_a_zip": (None, None),
        "bad_crc": (frames, "000000.jpg"),
        "missing_frame": (frames[:-1], None),
        "extra_member": ([*frames, "readme.txt"], None),
        "traversal": (["../../../outside.jpg", *frames[1:]], None),
        "bomb": (frames, None),
    }
    assert (names, broken) == expected[variant]
    assert (size > 50_000_000) is (variant == "bomb")
    assert len(bad) < 200_000
