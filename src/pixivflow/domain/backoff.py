"""How long to wait before trying again."""

from __future__ import annotations

RETRY_AFTER_MAX_MS = 21_600_000
"""What a receiver may ask for at most (6 h, the outbox's default longest pause); a longer wish would park a row."""

_MAX_DOUBLINGS = 40  # more than any bound in milliseconds needs; keeps the arithmetic small for absurd counts


def backoff_ms(
    attempt: int, *, base_ms: int, max_ms: int, unit_random: float, retry_after_ms: int | None = None
) -> int:
    """Milliseconds to wait after the failed try number `attempt` (from 1).

    The pause doubles with each try up to `max_ms` and is then scaled into [0.5, 1.0] by `unit_random` (0 up to 1), so
    that rows that failed together do not come back together. `retry_after_ms`, what the receiver asked for, is a floor:
    coming earlier only earns another refusal. Its own bound is `RETRY_AFTER_MAX_MS`, not `max_ms`, because a short
    configured pause must not override a receiver that begs for a longer one.

    Raises:
        ValueError: an attempt below 1, or a negative time.
    """
    if attempt < 1 or base_ms < 0 or max_ms < 0:
        raise ValueError("attempt counts from 1 and times are not negative")
    whole = min(max_ms, base_ms * 2 ** min(attempt - 1, _MAX_DOUBLINGS))
    share = 0.5 + 0.5 * min(max(unit_random, 0.0), 1.0)
    pause = int(whole * share)
    if retry_after_ms is None:
        return pause
    return max(pause, min(max(retry_after_ms, 0), RETRY_AFTER_MAX_MS))
