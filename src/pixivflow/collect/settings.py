"""How much is collected at once and where the bounds are; values in, no reading of configuration here."""

from __future__ import annotations

from dataclasses import dataclass, field

from pixivflow.collect.names import Organisation
from pixivflow.collect.retry import RetryPolicy
from pixivflow.media.convert import Format

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """Bounds of one collector.

    Attributes:
        concurrency: works fetched at the same time; connections to the media hosts are bounded by the source's gate.
        max_fallback_stages: how often the bound on records read doubles while none of them was accepted.
        max_file_bytes: a larger file of the site is refused while it arrives.
        max_novel_chars: a longer text is refused.
        max_pages: a work with more pages is not fetched; the site itself allows 200.
        conversions: animations converted at the same time; each keeps a core busy.
        illustrations, novels: how the two kinds are organised in the library.
        ugoira_formats: files made from an animation beside its archive.
    """

    concurrency: int = 3
    max_fallback_stages: int = 3
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    max_file_bytes: int = 200 * _MIB
    max_novel_chars: int = 20_000_000
    max_novel_images: int = 500
    max_pages: int = 1000
    ugoira_formats: tuple[Format, ...] = ("gif", "webp")
    conversions: int = 1
    conversion_timeout_s: float = 270.0
    illustrations: Organisation = field(default_factory=Organisation)
    novels: Organisation = field(default_factory=Organisation)
