"""What faults do to answers: pure functions from `Answer` to `Answer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from typing import Any, Final
from zipfile import ZipFile

import msgspec

from pixivflow.sandbox import oauth, pictures, records
from pixivflow.sandbox.exchange import Answer, api_error, html, not_found, oauth_refused, redirect
from pixivflow.sandbox.fault_schema import Action
from pixivflow.sandbox.faults import Subject

CHALLENGE_PAGE: Final = (
    "<!doctype html><html><head><title>Just a moment...</title></head>"
    '<body><div id="challenge-form">Checking your browser before accessing the site.</div></body></html>'
)
_ERROR_PAGE: Final = (
    "<!doctype html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>"
)
_LIST_KEYS: Final = ("illusts", "novels", "user_previews", "comments", "bookmark_tags")
"""Keys under which answers with a `next_url` list things."""
_BOMB_BYTES: Final = 64 * 1024 * 1024
"""Unpacked size of the archive bomb: far over any sane frame, small enough to build in a blink."""


# -- instead of the answer -----------------------------------------------------------------------------------------


def _status(action: Action, _subject: Subject, _now: datetime) -> Answer:
    body, headers = action.args.get("body"), dict(action.args.get("headers", {}))
    status = action.args["status"]
    if body is None:
        answer = html(_ERROR_PAGE, status)
    elif isinstance(body, str):
        answer = html(body, status)
    else:
        answer = Answer(status, body)
    return replace(answer, headers=headers)


def _rate_limit(action: Action, _subject: Subject, now: datetime) -> Answer:
    answer = api_error(action.args.get("status", 403), message="Rate Limit")
    wait = action.args.get("retry_after_s")
    if wait is not None:
        at_date = action.args.get("retry_after_form") == "date"
        answer.headers["Retry-After"] = (
            format_datetime(now + timedelta(seconds=wait), usegmt=True) if at_date else str(int(wait))
        )
    return answer


def _gone(_action: Action, subject: Subject, _now: datetime) -> Answer:
    return (
        html("<!doctype html><title>404 Not Found</title>", 404) if subject.route.startswith("media.") else not_found()
    )


def _html_as_image(action: Action, subject: Subject, _now: datetime) -> Answer:
    kind = pictures.CONTENT_TYPES.get(subject.path.rsplit(".", 1)[-1], "image/jpeg")
    return Answer(200, body=_ERROR_PAGE.encode(), content_type=action.args.get("content_type", kind))


def _invalid_grant(_action: Action, subject: Subject, _now: datetime) -> Answer:
    return oauth.refused("Invalid refresh token") if subject.route == "oauth.token" else oauth_refused()


_Replacement = Callable[[Action, Subject, datetime], Answer]
_REPLACEMENTS: Final[dict[str, _Replacement]] = {
    "status": _status,
    "challenge": lambda action, _subject, _now: html(CHALLENGE_PAGE, action.args.get("status", 403)),
    "rate_limit": _rate_limit,
    "not_found": _gone,
    "forbidden": lambda action, _subject, _now: api_error(
        403, user_message=action.args.get("message", "Your access is currently restricted.")
    ),
    "html200": lambda _action, _subject, _now: html(_ERROR_PAGE),
    "html_as_image": _html_as_image,
    "redirect": lambda action, _subject, _now: redirect(action.args["to"], action.args.get("status", 302)),
    "invalid_grant": _invalid_grant,
}


def replacement(action: Action, subject: Subject, now: datetime) -> Answer | None:
    """The answer an action gives instead of the real one; None if it is not of that sort."""
    make = _REPLACEMENTS.get(action.type)
    return make(action, subject, now) if make else None


# -- changes of the answer -----------------------------------------------------------------------------------------


def _cut(answer: Answer, action: Action) -> Answer:
    body = answer.payload()
    return replace(answer, document=None, body=body[: int(len(body) * action.args.get("fraction", 0.5))])


def _corrupt(answer: Answer, action: Action) -> Answer:
    body = bytearray(answer.payload())
    at = int(len(body) * action.args.get("fraction", 0.5))
    body[at : at + 16] = bytes(byte ^ 0xFF for byte in body[at : at + 16])
    return replace(answer, document=None, body=bytes(body))


def _bad_zip(answer: Answer, action: Action) -> Answer:
    return replace(answer, body=spoil_zip(answer.body, action.args.get("variant", "cut")))


_Members = list[tuple[str, bytes]]


def spoil_zip(body: bytes, variant: str) -> bytes:
    """A bad archive made from a good one. Raises zipfile.BadZipFile if it was not good."""
    if variant == "cut":
        return body[: len(body) // 2]
    if variant == "not_a_zip":
        return _ERROR_PAGE.encode()
    with ZipFile(BytesIO(body)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    if variant == "bad_crc":
        # Members are stored uncompressed, so their bytes stand in the file as they are: change one, the sum is wrong.
        data = members[0][1]
        return body.replace(data, bytes((data[0] ^ 0xFF,)) + data[1:], 1)
    return _bomb(members) if variant == "bomb" else pictures.stored_zip(_OTHER_MEMBERS[variant](members))


_OTHER_MEMBERS: Final[dict[str, Callable[[_Members], _Members]]] = {
    "missing_frame": lambda members: members[:-1],
    "extra_member": lambda members: [*members, ("readme.txt", b"not a frame")],
    "traversal": lambda members: [("../../../outside.jpg", members[0][1]), *members[1:]],
}


def _bomb(members: _Members) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", compression=8, compresslevel=9) as archive:
        for name, _ in members[:-1]:
            archive.writestr(name, b"")
        archive.writestr(members[-1][0], bytes(_BOMB_BYTES))
    return out.getvalue()


def _copied(answer: Answer) -> Any:
    """A copy of the document that may be changed: the records in it belong to the world."""
    return msgspec.json.decode(msgspec.json.encode(answer.document))


def _with_next(answer: Answer, change: Callable[[dict[str, Any]], None]) -> Answer:
    document = answer.document
    if not isinstance(document, dict) or "next_url" not in document:
        return answer
    shallow = dict(document)
    change(shallow)
    return replace(answer, document=shallow)


def _foreign(answer: Answer, action: Action) -> Answer:
    host = action.args.get("host", "foreign.example")

    def change(document: dict[str, Any]) -> None:
        url = document["next_url"] or "https://app-api.pixiv.net/v1/search/illust?offset=30"
        document["next_url"] = url.replace("app-api.pixiv.net", host)

    return _with_next(answer, change)


def _empty_page(answer: Answer, _action: Action) -> Answer:
    return _with_next(answer, lambda document: document.update({key: [] for key in _LIST_KEYS if key in document}))


def _viewer_changed(answer: Answer, change: Callable[[dict[str, Any]], None]) -> Answer:
    """Change the novel viewer's object, or the novel body of the web JSON."""
    if answer.viewer is not None:
        viewer, author, render = answer.viewer
        changed = dict(viewer)
        change(changed)
        return replace(answer, body=render(changed, author).encode(), viewer=(changed, author, render))
    document = answer.document
    if isinstance(document, dict) and isinstance(document.get("body"), dict):
        body = dict(document["body"])
        change(body)
        return replace(answer, document={**document, "body": body})
    return answer


def _novel_text(answer: Answer, action: Action) -> Answer:
    key = "text" if answer.viewer is not None else "content"
    return _viewer_changed(answer, lambda viewer: viewer.update({key: action.args["text"]}))


def _maps_as_lists(answer: Answer, _action: Action) -> Answer:
    keys = ("illusts", "images", "textEmbeddedImages", "seriesNavData")
    return _viewer_changed(answer, lambda viewer: viewer.update({key: [] for key in keys if key in viewer}))


def _webview_layout(answer: Answer, _action: Action) -> Answer:
    page = answer.body.decode().replace("novel: {", "novelData = {").replace("isOwnWork", "ownWork")
    return replace(answer, body=page.encode())


def _set_in_answer(answer: Answer, action: Action) -> Answer:
    document = _copied(answer)
    for path, value in action.args["values"].items():
        set_at(document, path, value)
    return replace(answer, document=document)


def _drop_in_answer(answer: Answer, action: Action) -> Answer:
    document = _copied(answer)
    for path in action.args["keys"]:
        drop_at(document, path)
    return replace(answer, document=document)


_Change = Callable[[Answer, Action], Answer]
_CHANGES: Final[dict[str, _Change]] = {
    "empty": lambda answer, _action: replace(answer, document=None, body=b""),
    "wrong_type": lambda answer, action: replace(answer, content_type=action.args["content_type"]),
    "short_ok": _cut,
    "corrupt": _corrupt,
    "bad_zip": _bad_zip,
    "next_url_foreign": _foreign,
    "next_url_null": lambda answer, _action: _with_next(answer, lambda document: document.update(next_url=None)),
    "empty_page": _empty_page,
    "webview_layout": _webview_layout,
    "novel_text": _novel_text,
    "maps_as_lists": _maps_as_lists,
    "set_in_answer": _set_in_answer,
    "drop_in_answer": _drop_in_answer,
}


def changed(answer: Answer, action: Action, *, own_url: str) -> Answer:
    """The answer after an action that changes it; the same one for any other action.

    `own_url` is the request's address on the site.
    """
    if action.type == "next_url_repeat":
        return _with_next(answer, lambda document: document.update(next_url=own_url))
    change = _CHANGES.get(action.type)
    return change(answer, action) if change and answer.status < 300 else answer


# -- changes of the records inside the answer ----------------------------------------------------------------------


def _steps(path: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in path.split(".")]


def set_at(document: Any, path: str, value: Any) -> None:
    """Set a value at a dotted path (`frames.0.delay`); a path that leads nowhere changes nothing."""
    *way, last = _steps(path)
    for step in way:
        document = _step(document, step)
    if isinstance(document, dict):
        document[str(last)] = value
    elif isinstance(document, list) and isinstance(last, int) and last < len(document):
        document[last] = value


def drop_at(document: Any, path: str) -> None:
    """Remove a key at a dotted path; one that is not there is no error."""
    *way, last = _steps(path)
    for step in way:
        document = _step(document, step)
    if isinstance(document, dict):
        document.pop(str(last), None)
    elif isinstance(document, list) and isinstance(last, int) and last < len(document):
        del document[last]


def _step(document: Any, step: str | int) -> Any:
    if isinstance(document, dict):
        return document.get(str(step))
    if isinstance(document, list) and isinstance(step, int) and step < len(document):
        return document[step]
    return None


def records_in(document: Any) -> Iterator[tuple[int, Any, str | int]]:
    """Work records of an answer: number on the page (from 1), the object that holds each, and its key there."""
    if not isinstance(document, dict):
        return
    for key in ("illust", "novel"):
        if isinstance(document.get(key), dict):
            yield 1, document, key
    for key in ("illusts", "novels"):
        if isinstance(document.get(key), list):
            yield from ((number, document[key], number - 1) for number in range(1, len(document[key]) + 1))
    for preview in document.get("user_previews") or ():
        yield from records_in(preview)


def ids_in(answer: Answer) -> frozenset[int]:
    """Ids of the works an answer holds."""
    found = (holder[key].get("id") for _, holder, key in records_in(answer.document) if isinstance(holder[key], dict))
    return frozenset(work for work in found if isinstance(work, int))


def on_records(answer: Answer, action: Action, work: int | None) -> Answer:
    """The answer with the action applied to its records: those of `work`, those with the given numbers, or all."""
    if answer.document is None:
        return answer
    document = _copied(answer)
    numbers = action.args.get("numbers")
    for number, holder, key in list(records_in(document)):
        record = holder[key]
        if (work is None or record.get("id") == work) and (numbers is None or number in numbers):
            holder[key] = _changed_record(record, action)
    return replace(answer, document=document)


def _changed_record(record: dict[str, Any], action: Action) -> dict[str, Any]:
    if action.type == "placeholder":
        return records.restricted(record, action.args.get("reason", "sanity_level"))
    if action.type == "drop_keys":
        for path in action.args["keys"]:
            drop_at(record, path)
    else:
        for path, value in action.args["values"].items():
            set_at(record, path, value)
    return record
