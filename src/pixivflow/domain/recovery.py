"""Making up for a missed run by hand, and how far such a run may look beyond its usual limits.

Only limits on effort are ever widened. What makes a work unwanted (its tags, age, dates, rating, language) is a rule,
and no recovery bends one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from pixivflow.domain.target import MAX_SCAN, Target

_SCAN_FACTOR: Final = 3
_LOOKBACK_FACTOR: Final = 3
_LANGUAGE_FACTOR: Final = 2
MAX_LOOKBACK_DAYS: Final = 7


class RetryMode(StrEnum):
    """How a recovery looks for works."""

    NORMAL = "normal"  # as the plan does
    RELAXED = "relaxed"  # further, by the same rules


@dataclass(frozen=True, slots=True)
class SoftLimits:
    """The limits on effort a target sets itself. None means that it does not, and something else decides.

    Attributes:
        scan: candidates that may be opened.
        lookback_days: earlier days tried one by one.
        language_candidates: how far replacements of novels dropped by language are looked for.
    """

    scan: int | None = None
    lookback_days: int | None = None
    language_candidates: int | None = None


def relax(limits: SoftLimits) -> SoftLimits:
    """The limits of a relaxed recovery (Workflow Protocol 15): wider, never narrower, and what is not set stays so."""
    return SoftLimits(
        scan=_widen(limits.scan, _SCAN_FACTOR, MAX_SCAN),
        lookback_days=_widen(limits.lookback_days, _LOOKBACK_FACTOR, MAX_LOOKBACK_DAYS),
        language_candidates=_widen(limits.language_candidates, _LANGUAGE_FACTOR, None),
    )


def recovery_target(target: Target, limits: SoftLimits, mode: RetryMode) -> Target:
    """The target as a recovery collects it. Everything that decides what is wanted stays as it is."""
    if mode is RetryMode.NORMAL:
        return target
    scan = relax(limits).scan
    return target if scan is None else replace(target, scan_limit=max(target.scan_limit, scan))


def recovery_id(plan_id: str, request_id: str) -> str:
    """The id of the job that answers a request for recovery (a UUID in any spelling of its letters)."""
    return f"{plan_id}@recover-{request_id.lower()}"


def _widen(value: int | None, factor: int, most: int | None) -> int | None:
    if value is None:
        return None
    wider = value * factor if most is None else min(value * factor, most)
    return max(value, wider)
