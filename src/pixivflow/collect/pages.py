"""The pages of an illustration or manga: all of them, or the work is not complete."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pixivflow.collect.download import Address, Downloader, Got, Wish
from pixivflow.collect.names import FileNames
from pixivflow.collect.parts import Lack, Parts
from pixivflow.collect.retry import ACTIONS, Action, Miss
from pixivflow.collect.shelf import Shelf, Slot
from pixivflow.collect.together import together
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Page, Work
from pixivflow.media.kind import IMAGE_KINDS

EXTENSIONS = ("jpg", "png", "gif")
_ORIGINAL = re.compile(r"(?P<head>.*)/img-original/(?P<path>img/.*_p\d+)\.(?P<extension>jpe?g|png|gif)", re.IGNORECASE)
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,5})\Z")


def addresses_of(page: Page) -> list[Address]:
    """Where a page may be: the original, the same under the other extensions, then the reduced versions.

    The reduced version in full width (`master1200`) lies beside the original under a derived name; the one named by the
    record is smaller still.
    """
    found = [Address(page.original_url)]
    match = _ORIGINAL.fullmatch(page.original_url)
    if match is not None:
        head, path, extension = match["head"], match["path"], match["extension"].lower()
        stem = page.original_url.rpartition(".")[0]
        others = (other for other in EXTENSIONS if other != extension.replace("jpeg", "jpg"))
        found += [Address(f"{stem}.{other}") for other in others]
        found.append(Address(f"{head}/img-master/{path}_master1200.jpg", AssetQuality.REDUCED))
    if page.reduced_url is not None and all(address.url != page.reduced_url for address in found):
        found.append(Address(page.reduced_url, AssetQuality.REDUCED))
    return found


def extension_of(url: str, otherwise: str) -> str:
    """The extension a file at `url` is likely to have."""
    found = _EXTENSION.search(urlsplit(url).path)
    return found[1].lower() if found is not None else otherwise


def page_paths(work: Work, names: FileNames) -> list[str]:
    """The paths a work's pages will have, as far as their addresses tell."""
    return [names.page(page.number, extension_of(page.original_url, "jpg")) for page in work.pages]


async def fetch_pages(work: Work, shelf: Shelf, downloader: Downloader, *, max_pages: int) -> Parts:
    """Fetch every page that is not stored yet. A page that fails does not stop the others."""
    parts = Parts()
    if len(work.pages) > max_pages:
        parts.lacks.append(Lack("pages", Reason.DOWNLOAD_FAILED, f"{len(work.pages)} pages, allowed are {max_pages}"))
        return parts
    if len(work.pages) < work.page_count:
        told = f"the record counts {work.page_count} pages and gives addresses of {len(work.pages)}"
        parts.lacks.append(Lack("pages", Reason.METADATA_FAILED, told))
    outcomes = await together(_page(page, work, shelf, downloader) for page in work.pages)
    for page, outcome in zip(work.pages, outcomes, strict=True):
        if isinstance(outcome, Asset):
            parts.assets.append(outcome)
        else:
            parts.miss(f"page {page.number + 1}", outcome)
    return parts


async def _page(page: Page, work: Work, shelf: Shelf, downloader: Downloader) -> Asset | Miss:
    slot = Slot(AssetRole.PAGE, page.number)
    addresses = addresses_of(page)
    # Addresses carry the time of the upload: a stored file of another address is an earlier picture of this page.
    known = {address.url: address.quality for address in addresses}
    stored = await shelf.standing(slot, IMAGE_KINDS)
    stand_in = None
    if stored is not None and stored.source_url in known:
        if stored.quality is AssetQuality.ORIGINAL:
            return stored
        stand_in = stored
        addresses = [address for address in addresses if address.quality is AssetQuality.ORIGINAL]
    got = await downloader.fetch(Wish(addresses, IMAGE_KINDS, size=_promised_size(page, work)))
    if isinstance(got, Got):
        return await shelf.keep(slot, shelf.names.page(page.number, got.facts.kind.extension), got)
    return stand_in if stand_in is not None and ACTIONS[got.fault] is Action.NEXT else got


def _promised_size(page: Page, work: Work) -> tuple[int, int] | None:
    """The record tells the size of the first page only."""
    return (work.width, work.height) if page.number == 0 and work.width and work.height else None
