"""Section `download`: how much is fetched at once, and what becomes of it."""

from typing import Annotated, Literal

from pydantic import Field

from pixivflow.config.base import Millis, PositiveMillis, Section

UgoiraFormat = Literal["gif", "webp"]


class NovelCover(Section):
    """What to do with a novel's cover when nobody can tell whether the author made it."""

    unknown: Literal["skip", "keep"] = Field(default="skip", description="The cover's origin is unknown.")
    probe_failed: Literal["skip", "keep"] = Field(default="skip", description="The cover could not be measured.")


class DownloadConfig(Section):
    """Limits of one run."""

    concurrency: Annotated[int, Field(ge=1, le=10)] = Field(default=6, description="Works fetched at the same time.")
    connections: Annotated[int, Field(ge=4, le=8)] = Field(
        default=6, description="Connections to the media hosts at the same time, over all works."
    )
    request_delay: Millis = Field(default=500, description="Pause between two pages of a list, ms.")
    dynamic_concurrency: bool = Field(default=True, description="Fetch fewer works at once after the site said 429.")
    min_concurrency: Annotated[int, Field(ge=1, le=10)] = Field(default=1, description="Least works at once then.")
    max_retries: Annotated[int, Field(ge=0, le=10)] = Field(default=3, description="Repeats of one file.")
    retry_delay: Millis = Field(default=2000, description="Pause before a work is tried again, ms.")
    timeout: PositiveMillis = Field(default=60_000, description="Time without progress after which a file fails, ms.")
    candidate_scan_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        default=5, description="Candidates that may be opened to fill a target's `limit`; never below that limit."
    )
    max_fallback_stages: Annotated[int, Field(ge=0, le=10)] = Field(
        default=3, description="How often the scan limit may double when every candidate was known or filtered."
    )
    materialization_policy: Literal["eager", "on-demand"] = Field(
        default="eager", description="When files are fetched: at once, or when a receiver asks."
    )
    novel_cover: NovelCover = Field(default_factory=NovelCover, description="Covers of uncertain origin.")
    asset_namespace: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")] = Field(
        default="pixiv", description="First part of asset ids."
    )
    ugoira_formats: Annotated[tuple[UgoiraFormat, ...], Field(min_length=1)] = Field(
        default=("gif", "webp"), description="Files made from an animation, beside its original zip."
    )
