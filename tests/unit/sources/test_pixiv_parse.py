"""Records become works; what is broken is set aside alone."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.domain.work import AgeRating, AiType, IllustKind, Restriction, WorkRef, WorkType
from pixivflow.sources.errors import ShapeChanged
from pixivflow.sources.pixiv.parse import BadRecord, parse_listing, parse_ugoira, parse_user, parse_work
from pixivflow.sources.pixiv.parse import read_illust as read_illust_bytes
from pixivflow.sources.pixiv.parse import read_novel as read_novel_bytes

IMG = "https://i.pximg.net"
ORIGINAL = f"{IMG}/img-original/img/2025/02/03/00/03/17/101_p0.png"
LARGE = f"{IMG}/c/600x1200_90/img-master/img/2025/02/03/00/03/17/101_p0_master1200.jpg"
LIMIT = "https://s.pximg.net/common/images/limit_{}_360.png"


def illust(**changed: Any) -> Any:
    record = {
        "id": 101,
        "type": "illust",
        "title": "A title",
        "caption": "<b>c</b>",
        "user": {"id": 7, "name": "Aoi", "account": "aoi"},
        "image_urls": {"square_medium": f"{IMG}/s.jpg", "medium": f"{IMG}/m.jpg", "large": LARGE},
        "tags": [{"name": "空", "translated_name": "sky"}, {"name": "B", "translated_name": None}],
        "create_date": "2025-02-03T00:03:17+09:00",
        "page_count": 1,
        "width": 600,
        "height": 800,
        "x_restrict": 0,
        "series": None,
        "meta_single_page": {"original_image_url": ORIGINAL},
        "meta_pages": [],
        "total_view": 12,
        "total_bookmarks": 3,
        "visible": True,
        "is_muted": False,
        "illust_ai_type": 1,
        **changed,
    }
    return {key: value for key, value in record.items() if value is not ...}


def read_illust(**changed: Any) -> Any:
    return read_illust_bytes(json.dumps(illust(**changed)).encode())


def read_novel(**changed: Any) -> Any:
    record = {
        "id": 900,
        "title": "N",
        "user": {"id": 7, "name": "Aoi", "account": "aoi"},
        "image_urls": {"large": f"{IMG}/c/240x480_80/novel-cover-master/img/900_master1200.jpg"},
        "tags": [],
        "create_date": "2025-02-03T00:03:17+09:00",
        "page_count": 2,
        "text_length": 1234,
        "x_restrict": 1,
        "series": {},
        "total_bookmarks": 5,
        "visible": True,
        "novel_ai_type": 2,
        **changed,
    }
    return read_novel_bytes(json.dumps(record).encode())


def listing(*records: Any, **more: Any) -> Any:
    return json.dumps({"illusts": list(records), "next_url": None, **more}).encode()


def several(count: Any, **changed: Any) -> Any:
    pages = [
        {"image_urls": {"original": ORIGINAL.replace("_p0", f"_p{n}"), "large": LARGE.replace("_p0", f"_p{n}")}}
        for n in range(count)
    ]
    return illust(**{"page_count": count, "meta_pages": pages, "meta_single_page": {}, **changed})


def test_a_whole_record() -> None:
    work = read_illust()
    assert work.ref == WorkRef(WorkType.ILLUSTRATION, "101")
    assert (work.title, work.author.id, work.author.name) == ("A title", "7", "Aoi")
    assert [(tag.name, tag.translated_name) for tag in work.tags] == [("空", "sky"), ("B", None)]
    assert work.created_at == datetime(2025, 2, 3, 0, 3, 17, tzinfo=timezone(timedelta(hours=9)))
    assert [(page.number, page.original_url, page.reduced_url) for page in work.pages] == [(0, ORIGINAL, LARGE)]
    assert (work.bookmarks, work.views, work.width, work.height) == (3, 12, 600, 800)
    assert work.complete_record
    assert work.restriction is None


def test_only_id_type_and_media_are_needed() -> None:
    work = read_illust_bytes(
        json.dumps({"id": "55", "type": "manga", "meta_single_page": {"original_image_url": ORIGINAL}}).encode()
    )
    assert (work.id, work.kind, work.author.id, work.created_at) == ("55", IllustKind.MANGA, "0", None)
    assert work.complete_record
    assert work.restriction is None


def test_one_broken_record_of_thirty_is_set_aside_alone() -> None:
    records = [illust(id=number) for number in range(1, 31)]
    del records[6]["create_date"]
    del records[8]["type"]
    page = parse_listing(listing(*records), WorkType.ILLUSTRATION)
    assert len(page.works) == 29
    assert [(q.id, q.why) for q in page.quarantined] == [("9", "no known type")]


@pytest.mark.parametrize(
    "broken",
    [
        7,
        "text",
        None,
        [],
        {},
        illust(id=None),
        illust(id=0),
        illust(id=True),
        illust(id=-4),
        illust(id="12abc"),
        illust(id=1e300),
        illust(type=["illust"]),
        illust(type="hologram"),
        illust(meta_single_page={}, image_urls={}),
    ],
)
def test_what_cannot_be_a_record_is_quarantined_beside_a_good_one(broken: Any) -> None:
    page = parse_listing(listing(broken, illust(id=5)), WorkType.ILLUSTRATION)
    assert [work.id for work in page.works] == ["5"]
    assert len(page.quarantined) == 1


@pytest.mark.parametrize("name", sorted(set(illust()) - {"id", "type"}))
@pytest.mark.parametrize("value", [None, {}, [], "", 0, "x", [None], {"id": None}, ...], ids=repr)
def test_any_optional_field_may_be_anything(name: Any, value: Any) -> None:
    if name == "meta_single_page":
        work = read_illust(**{name: value, "meta_pages": [{"image_urls": {"original": ORIGINAL}}]})
    else:
        work = read_illust(**{name: value})
    assert work.id == "101"
    assert [page.original_url for page in work.pages] == [ORIGINAL]


@pytest.mark.parametrize(
    ("title", "read"),
    [
        (b"cut \\ud83d", "cut \ufffd"),
        (b"\\ude00\\ud83d\\ude00\\\\ud800", "\ufffd\U0001f600\\ud800"),
        (b"a\xffb", "a\ufffdb"),
    ],
)
def test_half_characters_are_replaced_and_cost_no_page(title: bytes, read: str) -> None:
    body = b'{"illusts":[%s,%s]}' % (json.dumps(illust(title="TITLE")).encode(), json.dumps(illust(id=5)).encode())
    page = parse_listing(body.replace(b"TITLE", title), WorkType.ILLUSTRATION)
    assert [work.title for work in page.works] == [read, "A title"]


def test_broken_json_is_the_pages_fault() -> None:
    with pytest.raises(ShapeChanged):
        parse_listing(b'{"illusts":[%s, {]}' % json.dumps(illust()).encode(), WorkType.ILLUSTRATION)


def test_deep_nesting_is_unreadable_and_not_a_crash() -> None:
    with pytest.raises(ShapeChanged):
        parse_listing(b'{"illusts":[{"id":' + b"[" * 200_000 + b"]" * 200_000 + b"}]}", WorkType.ILLUSTRATION)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'{"illusts":null}', b'{"illusts":{}}', b'{"novels":[]}', b"<p>"]
)
def test_a_page_without_a_list_has_another_shape(body: Any) -> None:
    with pytest.raises(ShapeChanged):
        parse_listing(body, WorkType.ILLUSTRATION)


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        ("sanity_level", Restriction.SANITY),
        ("mypixiv", Restriction.FRIENDS_ONLY),
        ("unviewable", Restriction.UNVIEWABLE),
        ("unknown", Restriction.UNKNOWN),
        ("tomorrow", Restriction.UNKNOWN),
    ],
)
@pytest.mark.parametrize("where", ["single", "pages", "large"])
def test_a_placeholder_is_never_a_page(suffix: Any, kind: Any, where: Any) -> None:
    url = LIMIT.format(suffix)
    changes = {
        "single": {"meta_single_page": {"original_image_url": url}},
        "pages": {"meta_single_page": {}, "meta_pages": [{"image_urls": {"original": url}}]},
        "large": {"image_urls": {"large": url}},
    }[where]
    work = read_illust(**changes)
    assert work.restriction is kind
    assert work.pages == ()


def test_a_placeholder_of_an_animation_is_seen() -> None:
    work = read_illust(type="ugoira", meta_single_page={"original_image_url": LIMIT.format("sanity_level")})
    assert work.restriction is Restriction.SANITY


def test_invisible_works_and_withdrawn_authors_are_restricted() -> None:
    assert read_illust(visible=False).restriction is Restriction.UNVIEWABLE
    assert read_illust(user={"id": 0, "name": ""}).restriction is Restriction.UNVIEWABLE
    assert read_illust(user=...).restriction is None


@pytest.mark.parametrize(("value", "kind"), [(0, AiType.UNKNOWN), (1, AiType.NO), (2, AiType.YES), (3, AiType.UNKNOWN)])
def test_ai_type_one_means_not_ai(value: Any, kind: Any) -> None:
    assert read_illust(illust_ai_type=value).ai is kind


@pytest.mark.parametrize(
    ("value", "kind"), [(0, AgeRating.ALL), (1, AgeRating.R18), (2, AgeRating.R18G), (9, AgeRating.R18G)]
)
def test_ratings(value: Any, kind: Any) -> None:
    assert read_illust(x_restrict=value).rating is kind


def test_many_pages_in_order_and_gif_originals() -> None:
    record = several(200)
    record["meta_pages"][3]["image_urls"]["original"] = ORIGINAL.replace("_p0.png", "_p3.gif")
    work = read_illust_bytes(json.dumps(record).encode())
    assert [page.number for page in work.pages] == list(range(200))
    assert work.pages[3].original_url.endswith("_p3.gif")
    assert work.pages[7].reduced_url == LARGE.replace("_p0", "_p7")
    assert work.complete_record


def test_a_page_without_an_original_leaves_a_gap() -> None:
    record = several(3)
    del record["meta_pages"][1]["image_urls"]["original"]
    work = read_illust_bytes(json.dumps(record).encode())
    assert [page.number for page in work.pages] == [0, 2]
    assert not work.complete_record


@pytest.mark.parametrize("count", [2, 3, 200])
def test_a_record_that_knows_fewer_pages_than_there_are_is_incomplete(count: Any) -> None:
    assert not read_illust(page_count=count).complete_record


def test_reduced_pictures_alone_do_not_make_pages() -> None:
    work = read_illust(meta_single_page={})
    assert work.pages == ()
    assert not work.complete_record


def test_an_animation_has_no_pages_and_is_complete() -> None:
    work = read_illust(type="ugoira", meta_single_page={"original_image_url": f"{IMG}/101_ugoira0.jpg"})
    assert work.is_ugoira
    assert work.pages == ()
    assert work.complete_record


@pytest.mark.parametrize("stamp", ["", "yesterday", "2025-13-01T00:00:00+09:00", "0000-01-01", 12])
def test_unreadable_dates_are_absent(stamp: Any) -> None:
    assert read_illust(create_date=stamp).created_at is None


def test_a_date_without_a_zone_is_japanese() -> None:
    moment = read_illust(create_date="2025-02-03T00:03:17").created_at
    assert moment is not None
    assert moment.utcoffset() == timedelta(hours=9)


def test_a_novel() -> None:
    work = read_novel()
    assert work.ref == WorkRef(WorkType.NOVEL, "900")
    assert (work.text_length, work.rating, work.ai, work.series, work.kind) == (
        1234,
        AgeRating.R18,
        AiType.YES,
        None,
        None,
    )
    assert work.cover_url is not None
    assert read_novel(series={"id": 3, "title": "S"}).series.id == "3"


def test_restricted_novels() -> None:
    assert read_novel(visible=False, is_mypixiv_only=True).restriction is Restriction.FRIENDS_ONLY
    hidden = read_novel(image_urls={"large": LIMIT.format("mypixiv")})
    assert (hidden.restriction, hidden.cover_url) == (Restriction.FRIENDS_ONLY, None)


def test_a_listing_knows_whether_its_owner_is_there() -> Any:
    def missing(**user: Any) -> Any:
        return parse_listing(listing(**user), WorkType.ILLUSTRATION).owner_missing

    assert missing(user={"id": None})
    assert missing(user={})
    assert missing(user=[])
    assert missing(user=None)
    assert not missing(user={"id": 7})
    assert not missing()


def test_details_must_be_about_the_work_that_was_asked_for() -> None:
    body = json.dumps({"illust": illust()}).encode()
    assert parse_work(body, WorkRef(WorkType.ILLUSTRATION, "101")).title == "A title"
    with pytest.raises(ShapeChanged, match="got illustration:101"):
        parse_work(body, WorkRef(WorkType.ILLUSTRATION, "102"))
    with pytest.raises(ShapeChanged, match="no record"):
        parse_work(body, WorkRef(WorkType.NOVEL, "101"))
    with pytest.raises(ShapeChanged):
        parse_work(b'{"illust":{"id":101}}', WorkRef(WorkType.ILLUSTRATION, "101"))


def test_users() -> None:
    assert parse_user(b'{"user":{"id":7,"name":"Aoi"}}').name == "Aoi"
    for body in (b'{"user":{}}', b'{"user":null}', b"{}", b"[]", b""):
        with pytest.raises(ShapeChanged):
            parse_user(body)


def test_ugoira_metadata_puts_the_larger_archive_first() -> None:
    url = f"{IMG}/img-zip-ugoira/img/2025/02/03/00/03/17/101_ugoira600x600.zip"
    frames = [{"file": "000000.jpg", "delay": 16}, {"file": "000001.jpg", "delay": 0}]
    body = json.dumps({"ugoira_metadata": {"zip_urls": {"medium": url}, "frames": frames}}).encode()
    info = parse_ugoira(body)
    assert info.archive_urls == (url.replace("600x600", "1920x1080"), url)
    assert [(frame.file, frame.delay_ms) for frame in info.frames] == [("000000.jpg", 16), ("000001.jpg", 0)]


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        {},
        {"zip_urls": {}, "frames": [{"file": "a", "delay": 1}]},
        {"zip_urls": {"medium": "u"}, "frames": []},
        {"zip_urls": {"medium": "u"}, "frames": [{"file": "a"}]},
        {"zip_urls": {"medium": "u"}, "frames": [{"file": "a", "delay": -1}]},
        {"zip_urls": {"medium": "u"}, "frames": [{"delay": 1}]},
        {"zip_urls": {"medium": "u"}, "frames": [None]},
    ],
)
def test_animations_without_archive_or_timing_have_another_shape(metadata: Any) -> None:
    with pytest.raises(ShapeChanged):
        parse_ugoira(json.dumps({"ugoira_metadata": metadata}).encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(illust())), json_values))
def test_hostile_fields_make_a_work_or_a_bad_record_and_nothing_else(changed: Any) -> None:
    raw = json.dumps(illust(**changed)).encode("utf-8", "surrogatepass")
    try:
        work = read_illust_bytes(raw)
    except BadRecord:
        return
    assert work.id.isdigit()
    assert all(isinstance(page.original_url, str) for page in work.pages)
    assert all("limit_" not in page.original_url for page in work.pages) or work.restriction is None
