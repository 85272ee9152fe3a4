"""Values that are put right instead of refused. Each correction is a warning."""

import math
from typing import Any

from pixivflow.config.delivery import Capabilities
from pixivflow.config.draft import Draft
from pixivflow.config.problems import Location, did_you_mean
from pixivflow.config.runtime import DEFAULT_QUEUED_TIMEOUT_MS, DEFAULT_STALL_TIMEOUT_MS, MIN_BUDGET_MS
from pixivflow.config.spec import keys_of

BUDGETS = {"queuedTimeoutMs": DEFAULT_QUEUED_TIMEOUT_MS, "stallTimeoutMs": DEFAULT_STALL_TIMEOUT_MS}
SCAN_LIMITS = (1, 100)


def soften(draft: Draft) -> None:
    """Put right what may be wrong without stopping the server."""
    runtime = draft.get("schedulerRuntime")
    if isinstance(runtime, dict):
        for key, default in BUDGETS.items():
            if key in runtime:
                runtime[key] = _budget(draft, ("schedulerRuntime", key), runtime[key], default)
    for position, target in draft.objects("targets"):
        if isinstance(target, dict) and "candidateScanLimit" in target:
            place: Location = ("targets", position, "candidateScanLimit")
            target["candidateScanLimit"] = _scan_limit(draft, place, target["candidateScanLimit"])
    for name, route in draft.mapping("delivery", "targets").items():
        if isinstance(route, dict) and isinstance(capabilities := route.get("capabilities"), dict):
            _drop_unknown_capabilities(draft, ("delivery", "targets", name, "capabilities"), capabilities)


def effective_budget(value: Any, default: int) -> int:
    """The budget that counts, ms: fractions are cut off; no number, or one below a minute, gives the default.

    Workflow Protocol 1, liveness budgets: a slip in a budget must neither stop the server nor make it sweep at once.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    if isinstance(value, float) and not math.isfinite(value):
        return default
    whole = int(value)
    return whole if whole >= MIN_BUDGET_MS else default


def _budget(draft: Draft, location: Location, value: Any, default: int) -> int:
    effective = effective_budget(value, default)
    if isinstance(value, bool) or not isinstance(value, int) or effective != value:
        used = "the default" if effective == default else "the whole part"
        draft.warn(
            location,
            "budget",
            f"should be a whole number of at least {MIN_BUDGET_MS}",
            f"{used}, {effective}, is used instead",
        )
    return effective


def _scan_limit(draft: Draft, location: Location, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    low, high = SCAN_LIMITS
    clamped = max(low, min(high, value))
    if clamped != value:
        draft.warn(location, "clamped", f"should lie between {low} and {high}", f"{clamped} is used instead")
    return clamped


def _drop_unknown_capabilities(draft: Draft, location: Location, capabilities: dict[str, Any]) -> None:
    known = keys_of(Capabilities)
    for key in [key for key in capabilities if key not in known]:
        draft.warn((*location, key), "unknown_capability", "unknown capability, ignored", did_you_mean(key, known))
        del capabilities[key]
