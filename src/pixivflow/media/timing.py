"""How long each frame of an animation is shown: the rules for delays, and GIF's coarser clock. Pure."""

from __future__ import annotations

from collections.abc import Iterable

DELAY_MS_MIN = 10
DELAY_MS_MAX = 60_000
PLAY_MS_MAX = 600_000
BROWSER_FLOOR_MS = 20
"""Browsers show GIF frames shorter than this for about 100 ms, so such an animation plays too slowly there."""


def effective_delay(delay_ms: int) -> int:
    """The delay that is written: at least `DELAY_MS_MIN`.

    The site sends 0 now and then, which its own player shows for one tick of its timer. Players of files disagree on
    zero (GIF viewers take it as 100 ms, some WebP viewers drop the frame), so it becomes the shortest delay that means
    the same everywhere. All totals are sums of effective delays.
    """
    return max(DELAY_MS_MIN, delay_ms)


def centiseconds(delays_ms: Iterable[int]) -> list[int]:
    """Delays on GIF's clock of 10 ms, the rounding error carried from frame to frame.

    The sum is the exact sum rounded to the nearest 10 ms (half up), and no frame of at least 10 ms becomes 0. Rounding
    each frame on its own would let 16 ms frames play as 10 or 20 ms for the whole length.
    """
    result: list[int] = []
    exact = written = 0
    for delay in delays_ms:
        exact += delay
        now = (exact + 5) // 10
        result.append(now - written)
        written = now
    return result
