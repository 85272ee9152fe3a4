"""What the fetching of one work's files came to, as a value, and what that means for the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pixivflow.collect.ports import KnownState
from pixivflow.collect.retry import VERDICTS, Fault, Miss
from pixivflow.domain.filters import Reject
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, AssetQuality, AssetRole, Frame


@dataclass(frozen=True, slots=True)
class Lack:
    """A file that should be there and is not. `what` names it for people, such as "page 3"."""

    what: str
    reason: Reason
    detail: str
    verdict: bool = False
    """Whether the site itself says that there is no such file for us."""

    @classmethod
    def of(cls, what: str, miss: Miss) -> Lack:
        """A file that could not be fetched."""
        return cls(what, miss.reason, miss.detail, verdict=miss.fault in VERDICTS)


@dataclass(slots=True)
class Parts:
    """The files of one work as far as they got.

    Attributes:
        closed: a restriction's placeholder stood where a file should be.
        refused: the media host said 403.
        frames: an animation's timing, for the description.
        notes: further keys of the description, such as the state of each picture of a novel.
    """

    assets: list[Asset] = field(default_factory=list)
    lacks: list[Lack] = field(default_factory=list)
    closed: bool = False
    refused: bool = False
    frames: tuple[Frame, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

    def miss(self, what: str, miss: Miss) -> None:
        """Note a file that could not be fetched."""
        self.lacks.append(Lack.of(what, miss))
        self.closed = self.closed or miss.fault is Fault.PLACEHOLDER
        self.refused = self.refused or miss.fault is Fault.FORBIDDEN


@dataclass(frozen=True, slots=True)
class Whole:
    """Every file of the work is stored and verified."""

    assets: tuple[Asset, ...]


@dataclass(frozen=True, slots=True)
class Lacking:
    """The work should be there and is not, or not as the original. What was verified stays stored.

    Attributes:
        stands_aside: trying again at once cannot help this work, so another one may have its place meanwhile.
    """

    state: KnownState
    reason: Reason
    message: str
    stands_aside: bool = False


@dataclass(frozen=True, slots=True)
class Gone:
    """The work itself cannot be had; nothing of it is stored.

    Attributes:
        confirmed: False while only the media host says so, which may be the media host's trouble.
    """

    code: Reject
    message: str
    confirmed: bool = True
    reason_if_not: Reason = Reason.DOWNLOAD_FAILED
    """What it is instead when the site still lists the work."""


Outcome: TypeAlias = Whole | Lacking | Gone

_SHOWN_LACKS = 3
# Of several reasons the one that speaks of the widest trouble is told.
_SEVERITY: Sequence[Reason] = (
    Reason.STORAGE_FAILED,
    Reason.RATE_LIMITED,
    Reason.NETWORK_ERROR,
    Reason.DOWNLOAD_TIMEOUT,
    Reason.REMOTE_HTTP_ERROR,
    Reason.METADATA_FAILED,
    Reason.INTERNAL_ERROR,
    Reason.DOWNLOAD_FAILED,
)


def outcome_of(parts: Parts) -> Outcome:
    """What the parts mean for the work."""
    content = [asset for asset in parts.assets if asset.role is not AssetRole.METADATA]
    if parts.lacks:
        only_verdicts = all(lack.verdict for lack in parts.lacks)
        if only_verdicts and not content:
            if parts.closed:
                return Gone(Reject.RESTRICTED_UNKNOWN, _told(parts.lacks))
            # The media host knows no accounts: a 403 from it is a blocked address or a challenge, never the work's.
            otherwise = Reason.REMOTE_HTTP_ERROR if parts.refused else Reason.DOWNLOAD_FAILED
            return Gone(Reject.UNAVAILABLE, _told(parts.lacks), confirmed=False, reason_if_not=otherwise)
        reasons = {lack.reason for lack in parts.lacks if not lack.verdict}
        reason = next((known for known in _SEVERITY if known in reasons), Reason.DOWNLOAD_FAILED)
        return Lacking(KnownState.INCOMPLETE, reason, _told(parts.lacks))
    reduced = [asset for asset in content if asset.role is AssetRole.PAGE and asset.quality is AssetQuality.REDUCED]
    if reduced:
        numbers = ", ".join(str(asset.number + 1) for asset in reduced[:_SHOWN_LACKS])
        more = ", …" if len(reduced) > _SHOWN_LACKS else ""
        return Lacking(
            KnownState.REDUCED,
            Reason.DOWNLOAD_FAILED,
            f"the original of page {numbers}{more} is not on the media host (404); a reduced version is stored "
            "and the original is tried again on the next run",
        )
    return Whole(tuple(parts.assets))


def _told(lacks: Sequence[Lack]) -> str:
    shown = "; ".join(f"{lack.what}: {lack.detail}" for lack in lacks[:_SHOWN_LACKS])
    rest = len(lacks) - _SHOWN_LACKS
    return f"{shown}; and {rest} more" if rest > 0 else shown
