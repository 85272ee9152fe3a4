"""Turning samples into figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any


def spread(samples: Sequence[float], digits: int = 3) -> dict[str, Any]:
    """Median, extremes and every run, so that a reader can judge the noise."""
    return {
        "median": round(statistics.median(samples), digits),
        "min": round(min(samples), digits),
        "max": round(max(samples), digits),
        "runs": [round(sample, digits) for sample in samples],
    }


def latency(samples: Sequence[float], digits: int = 2) -> dict[str, float | int]:
    """p50, p99 and the largest of many samples."""
    ordered = sorted(samples)
    return {
        "p50": round(quantile(ordered, 0.50), digits),
        "p99": round(quantile(ordered, 0.99), digits),
        "max": round(ordered[-1], digits),
        "samples": len(ordered),
    }


def quantile(ordered: Sequence[float], part: float) -> float:
    """The smallest sample that is not below `part` of all."""
    return ordered[max(0, math.ceil(len(ordered) * part) - 1)]


def ratio(one: float, other: float) -> float | None:
    """`one` over `other`, None when there is nothing to divide by."""
    return round(one / other, 2) if other else None
