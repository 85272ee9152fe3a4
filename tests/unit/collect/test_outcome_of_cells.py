"""What a cell's counts mean: outages speak first, and every ending without a work says why and what to do."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixivflow.collect.outcome import FailedPick, Gap, conclude, conclude_plan
from pixivflow.collect.pages import addresses_of, extension_of
from pixivflow.collect.parts import Gone, Lack, Lacking, Parts, Whole, outcome_of
from pixivflow.collect.ports import KnownState
from pixivflow.collect.retry import Fault, Miss
from pixivflow.domain.filters import Reject
from pixivflow.domain.ranking import Funnel
from pixivflow.domain.reason import OUTAGES, Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Page, Work, WorkRef, WorkType

REF = WorkRef(WorkType.ILLUSTRATION, "15")


def funnel(**rejected: int) -> Funnel:
    return Funnel(fetched=sum(rejected.values()), rejected=Counter(rejected))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (Funnel(), Reason.NO_CANDIDATE),
        (Funnel(quarantined=3), Reason.METADATA_FAILED),
        (funnel(already_downloaded=3, repeated=1), Reason.DUPLICATE_EXHAUSTED),
        (funnel(already_delivered=1, taken=1), Reason.DUPLICATE_EXHAUSTED),
        (funnel(few_bookmarks=3), Reason.FILTER_EXHAUSTED),
        (funnel(few_bookmarks=1, already_downloaded=3), Reason.FILTER_EXHAUSTED),
        (funnel(restricted_sanity=1, unavailable=2), Reason.WORK_UNAVAILABLE),
    ],
)
def test_why_nothing_was_taken(counts: Funnel, reason: Reason) -> None:
    outcome = conclude(ready=0, settled=0, failed=[], funnel=counts, gap=None, wanted=1)
    assert outcome.reason is reason
    assert outcome.message.endswith(".")
    for code in counts.rejected:
        assert code in outcome.message


@given(
    st.lists(st.sampled_from([Reason.WORK_UNAVAILABLE, *sorted(OUTAGES)]), max_size=4),
    st.sampled_from([*sorted(OUTAGES)]) | st.none(),
    st.dictionaries(st.sampled_from([code.value for code in Reject]), st.integers(1, 5), max_size=4),
)
def test_an_outage_is_never_hidden_by_no_candidate(
    failures: list[Reason], gap: Reason | None, rejected: dict[str, int]
) -> None:
    outcome = conclude(
        ready=0,
        settled=0,
        failed=[FailedPick(REF, reason, "x") for reason in failures],
        funnel=funnel(**rejected),
        gap=Gap(gap, "x") if gap is not None else None,
        wanted=1,
    )
    outages = {reason for reason in (*failures, gap) if reason in OUTAGES}
    assert outcome.message
    assert outcome.reason is not None
    if outages and (not failures or any(reason in OUTAGES for reason in failures)):
        assert outcome.reason in outages
    if not failures and gap is None:
        assert outcome.reason not in OUTAGES


def test_a_success_with_losses_tells_them() -> None:
    failed = [FailedPick(REF, Reason.NETWORK_ERROR, "page 2: reset")]
    gap = Gap(Reason.REMOTE_HTTP_ERROR, "search: HTTP 503")
    outcome = conclude(ready=2, settled=0, failed=failed, funnel=Funnel(), gap=gap, wanted=5)
    assert outcome.reason is None
    assert outcome.incomplete_listing is gap
    assert "page 2: reset." in outcome.message
    assert "HTTP 503" in outcome.message


def test_works_of_an_earlier_attempt_are_a_success() -> None:
    assert conclude(ready=0, settled=1, failed=[], funnel=Funnel(), gap=None, wanted=1).reason is None


def test_a_plan_without_works_explains_itself() -> None:
    assert conclude_plan([], funnel(ai=2), None).reason is Reason.FILTER_EXHAUSTED
    assert conclude_plan([Work(REF)], Funnel(), None).reason is None


def asset(number: int, quality: AssetQuality = AssetQuality.ORIGINAL, role: AssetRole = AssetRole.PAGE) -> Asset:
    return Asset(role, number, f"{number}.png", 1, "00", "image/png", quality=quality)


def test_all_originals_make_a_whole_work() -> None:
    parts = Parts(assets=[asset(0), asset(1)])
    assert outcome_of(parts) == Whole(tuple(parts.assets))


def test_a_reduced_page_makes_a_reduced_work() -> None:
    outcome = outcome_of(Parts(assets=[asset(0), asset(1, AssetQuality.REDUCED)]))
    assert isinstance(outcome, Lacking)
    assert outcome.state is KnownState.REDUCED
    assert "page 2 " in outcome.message


def test_a_reduced_picture_of_a_novel_does_not() -> None:
    assert isinstance(outcome_of(Parts(assets=[asset(0, AssetQuality.REDUCED, AssetRole.EMBEDDED)])), Whole)


def test_verdicts_of_the_media_host_alone_ask_for_the_sites_word() -> None:
    parts = Parts()
    parts.miss("page 1", Miss(Fault.GONE, "HTTP 404"))
    assert outcome_of(parts) == Gone(Reject.UNAVAILABLE, "page 1: HTTP 404", confirmed=False)
    parts.assets.append(asset(1))
    assert isinstance(outcome_of(parts), Lacking)


def test_the_widest_trouble_is_told() -> None:
    parts = Parts()
    parts.miss("page 1", Miss(Fault.BROKEN, "cut"))
    parts.miss("page 2", Miss(Fault.NETWORK, "reset"))
    parts.miss("page 3", Miss(Fault.GONE, "HTTP 404"))
    parts.lacks.append(Lack("page 4", Reason.DOWNLOAD_FAILED, "cut"))
    outcome = outcome_of(parts)
    assert isinstance(outcome, Lacking)
    assert outcome.reason is Reason.NETWORK_ERROR
    assert outcome.message.endswith("; and 1 more")


def test_a_page_is_looked_for_under_other_extensions_and_then_reduced() -> None:
    base = "https://i.pximg.net/img-original/img/2026/03/01/00/00/00/15_p0"
    master = "https://i.pximg.net/img-master/img/2026/03/01/00/00/00/15_p0_master1200.jpg"
    large = "https://i.pximg.net/c/600x1200_90/img-master/img/2026/03/01/00/00/00/15_p0_master1200.jpg"
    found = addresses_of(Page(0, f"{base}.png", large))
    assert [(a.url, a.quality.value) for a in found] == [
        (f"{base}.png", "original"),
        (f"{base}.jpg", "original"),
        (f"{base}.gif", "original"),
        (master, "reduced"),
        (large, "reduced"),
    ]
    assert [a.url for a in addresses_of(Page(0, f"{base}.jpeg", master))].count(master) == 1


def test_an_address_of_another_shape_is_taken_as_it_is() -> None:
    assert [a.url for a in addresses_of(Page(0, "https://i.pximg.net/odd/15.png"))] == [
        "https://i.pximg.net/odd/15.png"
    ]
    assert extension_of("https://i.pximg.net/odd/15.PNG?x=.zip", "jpg") == "png"
    assert extension_of("https://i.pximg.net/odd/15", "jpg") == "jpg"
