"""Promise: what is stored as a work *is* the work, and what could not be had is named and repaired by the next run.

Each case is one job while the site's media host misbehaves in one way, then one more order without the fault. In the
first, no file counts as an original that is not the site's own byte for byte (the judge compares all of them), nothing
that is not whole is delivered, and the job says what happened. In the second, the work is whole, and only what was
missing is fetched again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scene
from judge_record import read_record
from place import Place, open_local

PLACEHOLDER = "https://s.pximg.net/common/images/limit_unknown_360.png"


@dataclass(frozen=True, slots=True)
class Case:
    """One fault.

    Attributes:
        says: a word of the job's message.
        refetched: how many media files the repairing run asks for; None when it does not matter.
    """

    kind: scene.Kind
    rules: tuple[dict[str, Any], ...]
    internal: str
    says: str
    known: str = "incomplete"
    refetched: int | None = 1
    code: str = "source_error"


def _page(action: Any, *, match: str = "media.*") -> tuple[dict[str, Any], ...]:
    return ({"match": match, "page": 1, "action": action},)


def _zip(action: Any) -> tuple[dict[str, Any], ...]:
    return ({"match": "media.zip", "action": action},)


LASTING: dict[str, Case] = {
    "half sent, then cut off": Case("pages", _page("short_body"), "network_error", "page 2"),
    "cut file of an honest length": Case("pages", _page("short_ok"), "download_failed", "cut"),
    "HTML declared as the image": Case("pages", _page("html_as_image"), "download_failed", "html"),
    "HTML page": Case("pages", _page("html200"), "download_failed", "html"),
    "empty body": Case("pages", _page("empty"), "download_failed", "empty"),
    "one page is 404 in every size": Case("pages", _page("not_found"), "download_failed", "404"),
    "one original is 404": Case(
        "pages", _page("not_found", match="media.original"), "download_failed", "reduced", known="reduced"
    ),
    "one page is refused": Case("pages", _page("forbidden"), "download_failed", "403"),
    "leads to a placeholder": Case(
        "pages", _page({"type": "redirect", "to": PLACEHOLDER}), "download_failed", "placeholder"
    ),
    "connection reset": Case("single", ({"match": "media.*", "action": "reset"},), "network_error", "page 1"),
    "cut zip": Case("ugoira", _zip({"type": "bad_zip", "variant": "cut"}), "download_failed", "archive"),
    "zip of an honest length, cut": Case("ugoira", _zip("short_ok"), "download_failed", "archive"),
    "zip without a frame": Case(
        "ugoira", _zip({"type": "bad_zip", "variant": "missing_frame"}), "download_failed", "frames_missing"
    ),
    "zip with a damaged frame": Case(
        "ugoira", _zip({"type": "bad_zip", "variant": "bad_crc"}), "download_failed", "archive"
    ),
    "zip that climbs out": Case(
        "ugoira", _zip({"type": "bad_zip", "variant": "traversal"}), "download_failed", "archive"
    ),
    "no zip at all": Case("ugoira", _zip({"type": "bad_zip", "variant": "not_a_zip"}), "download_failed", "archive"),
    "picture of a novel cut off": Case(
        "novel", ({"match": "media.*", "action": "short_body"},), "network_error", "picture"
    ),
}


def _media(place: Place[Any]) -> int:
    return sum(count for name, count in place.sandbox.stats()["routes"].items() if name.startswith("media."))


async def _order(place: Place[Any], key: str) -> dict[str, Any]:
    job_id = await place.client.order(scene.task(place.subjects[0], key))
    job = await place.client.wait_until_terminal(job_id)
    await place.client.events(job_id)
    return job


@pytest.mark.parametrize("name", LASTING)
async def test_a_lasting_fault_is_named_and_repaired_once_it_is_gone(tmp_path: Path, name: str) -> None:
    case = LASTING[name]
    async with open_local(tmp_path, [case.kind]) as place:
        place.sandbox.set_faults(case.rules)
        job = await _order(place, "while it lasts")
        error = job.get("error", {})
        assert (job["status"], error.get("code")) == ("failed", case.code), job
        assert error["detail"]["internal_code"] == case.internal
        assert case.says in error["message"]
        assert [work["state"] for work in read_record(place.ledger).works] == [case.known]
        assert place.receiver().requests == []
        place.assert_clean()

        place.sandbox.clear_faults()
        place.sandbox.reset_stats()
        job = await _order(place, "afterwards")
        record = read_record(place.ledger)
        assert job["status"] == "succeeded", job
        assert [work["state"] for work in record.works] == ["complete"]
        assert not [row["path"] for row in record.files if row["state"] == "complete" and row["quality"] == "reduced"]
        assert len(place.receiver().items) == 1
        assert _media(place) == case.refetched, "what stood already is not fetched again"
        place.assert_clean()


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("pages", {"type": "rate_limit", "status": 429, "retry_after_s": 1}),
        ("pages", {"type": "status", "status": 500}),
        ("pages", {"type": "short_body"}),
        ("pages", {"type": "html_as_image"}),
        ("pages", {"type": "reset"}),
        ("ugoira", {"type": "bad_zip", "variant": "cut"}),
        ("novel", {"type": "status", "status": 503}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["type"],
)
async def test_a_passing_fault_costs_a_repeat_and_nothing_else(tmp_path: Path, kind: scene.Kind, action: Any) -> None:
    """Above all no smaller picture: the original is there a moment later."""
    async with open_local(tmp_path, [kind]) as place:
        place.sandbox.set_faults([{"match": "media.*", "nth": 1, "action": action}])
        job = await _order(place, "with a hiccup")
        record = read_record(place.ledger)
        assert job["status"] == "succeeded", job
        assert place.sandbox.faults()[0]["fired"] == 1
        assert _media(place) == place.subjects[0].files + 1
        assert [work["state"] for work in record.works] == ["complete"]
        assert "reduced" not in {row["quality"] for row in record.files}
        place.assert_clean()


async def test_a_work_shown_as_a_placeholder_is_a_verdict_and_not_an_outage(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["pages"]) as place:
        place.sandbox.set_faults([{"match": name, "action": "placeholder"} for name in ("search.*", "illust.detail")])
        job = await _order(place, "restricted")
        assert (job["status"], job["error"]["code"]) == ("failed", "no_candidate")
        assert job["error"]["detail"]["filtered"] == {"unavailable": 1}
        assert read_record(place.ledger).files == []
        assert _media(place) == 0
        place.assert_clean()
        place.sandbox.clear_faults()
        job = await _order(place, "allowed again")
        assert job["status"] == "succeeded"
        place.assert_clean()


async def test_an_empty_novel_is_no_work(tmp_path: Path) -> None:
    async with open_local(tmp_path, ["novel"]) as place:
        place.sandbox.set_faults([{"match": "*", "action": {"type": "novel_text", "text": ""}}])
        job = await _order(place, "without a text")
        assert (job["status"], job["error"]["code"]) == ("failed", "no_candidate")
        assert not [row for row in read_record(place.ledger).files if row["state"] == "complete"]
        place.assert_clean()
        place.sandbox.clear_faults()
        assert (await _order(place, "with its text"))["status"] == "succeeded"
        place.assert_clean()


async def test_a_broken_work_does_not_hide_a_whole_one(tmp_path: Path) -> None:
    """Two works wanted, one broken: the whole one is delivered, the other is named in the result."""
    async with open_local(tmp_path, ["single", "single"], target={"limit": 2}) as place:
        broken, whole = place.subjects
        place.sandbox.set_faults([{"match": "media.*", "work": broken.id, "action": "html_as_image"}])
        both = scene.task(broken, "both")
        both["params"]["query"] = {"tags": [broken.tag, whole.tag], "expand": True}
        job_id = await place.client.order(both)
        job = await place.client.wait_until_terminal(job_id)
        assert job["status"] == "succeeded", job
        assert [found["work_id"] for found in job["result"]["candidates"]] == [str(whole.id)]
        (lack,) = job["result"]["incomplete"]
        assert (lack["work_id"], lack["reason"]) == (str(broken.id), "source_error")
        assert lack["message"]
        assert len(place.receiver().items) == 1
        place.assert_clean()
