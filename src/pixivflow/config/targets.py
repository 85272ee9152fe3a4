"""Section `targets`: what is collected."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from pixivflow.config.base import FieldValue, Fraction, HttpUrl, Label, Name, PixivId, PositiveMillis, SafeId, Section
from pixivflow.config.days import PLACEHOLDERS, is_day

RankingMode = Literal[
    "day",
    "week",
    "month",
    "day_male",
    "day_female",
    "day_ai",
    "week_original",
    "week_rookie",
    "day_r18",
    "day_male_r18",
    "day_female_r18",
]
TargetType = Literal["illustration", "novel"]
_PLACEHOLDERS = ", ".join(f"`{name}`" for name in PLACEHOLDERS)

Mode = Literal["search", "ranking", "user", "work"]


def _check_day(text: str) -> str:
    if not is_day(text):
        raise PydanticCustomError("day", f"must be a day (YYYY-MM-DD) or one of {', '.join(PLACEHOLDERS)}")
    return text


Day = Annotated[str, AfterValidator(_check_day), Label("day or placeholder")]


class TagRelations(Section):
    """Which related tags may be used."""

    allow_sources: tuple[Literal["seed", "cooccurrence", "autocomplete"], ...] = Field(
        default=("seed", "cooccurrence", "autocomplete"), description="Where a related tag may come from."
    )
    allow: tuple[str, ...] = Field(default=(), description="Tags that are always used.")
    deny: tuple[str, ...] = Field(default=(), description="Tags that are never used.")


class TopicDiscovery(Section):
    """How related tags of a topic are found."""

    max_tags: Annotated[int, Field(ge=1, le=40)] = Field(default=12, description="Tags kept, the seed included.")
    sample_works: Annotated[int, Field(ge=10, le=200)] = Field(default=100, description="Works looked at.")
    cache_days: Annotated[int, Field(ge=1, le=90)] = Field(default=7, description="Life of the resolved profile, days.")
    min_score: Fraction = Field(default=0.22, description="Least score of a related tag.")
    refresh: bool = Field(default=False, description="Ignore the cached profile.")
    include_r18: bool = Field(default=False, description="Look at restricted works too.")
    related_tags: Literal["always", "when_seed_insufficient", "never"] = Field(
        default="always", description="When related tags are searched."
    )
    seed_tier: Literal["off", "on"] = Field(default="off", description="Works that carry the seed come first.")
    tag_relations: TagRelations = Field(default_factory=TagRelations, description="Which related tags may be used.")
    match_translated_names: bool = Field(default=False, description="Match translated tag names too.")


class CandidateCollection(Section):
    """How many candidates of a topic are gathered."""

    max_per_tag: Annotated[int, Field(ge=5, le=100)] = Field(default=40, description="Most candidates of one tag.")
    max_candidates: Annotated[int, Field(ge=20, le=500)] = Field(default=250, description="Most candidates in all.")
    min_metadata_score: Annotated[float, Field(ge=0, le=3)] = Field(default=0.35, description="Least score.")


class Strategy(Section):
    """Weights, accepted and not used upstream either."""

    freshness_weight: Fraction = Field(default=0.4, description="Weight of freshness.")
    popularity_weight: Fraction = Field(default=0.3, description="Weight of popularity.")


class Inventory(Section):
    """Works kept back for thin days."""

    enabled: bool = Field(default=False, description="Whether works are kept back.")
    max_age_days: Annotated[int, Field(ge=1, le=365)] = Field(default=30, description="How long, days.")
    reserve_size: Annotated[int, Field(ge=1, le=365)] = Field(default=20, description="How many.")
    fallback: bool = Field(default=True, description="Use them when a day gave nothing.")


class TopicProfile(Section):
    """Hand-written relations of a topic."""

    primary: tuple[str, ...] = Field(default=(), description="Main tags.")
    related: tuple[str, ...] = Field(default=(), description="Related tags.")
    strategy: Strategy = Field(default_factory=Strategy, description="Weights.")
    inventory: Inventory = Field(default_factory=Inventory, description="Works kept back for thin days.")


class NoMatchPolicy(Section):
    """What happens on a day without a match."""

    lookback_days: Annotated[int, Field(ge=0, le=7)] = Field(default=0, description="Earlier days tried one by one.")
    notify: bool = Field(default=False, description="Send a notice; needs a route with `notificationUrl`.")


class RichNovelPreview(Section):
    """A service that turns a novel into a page."""

    url: HttpUrl = Field(description="Where the novel is posted.")
    headers: Mapping[str, SecretStr] = Field(default_factory=dict, description="Headers of the request.")
    timeout_ms: PositiveMillis = Field(default=60_000, description="Time limit, ms.")
    field: Name = Field(default="novel_preview_url", description="Form field that carries the page's address.")


class TargetDelivery(Section):
    """Where works of the target go."""

    target: Name | None = Field(default=None, description="Name of one route. `targets` wins over it.")
    targets: tuple[Name, ...] | None = Field(
        default=None, description="Names of routes, the primary one first; a work is delivered when all confirmed it."
    )
    fields: Mapping[str, FieldValue] = Field(
        default_factory=dict, description="Form fields of this target; they win over the route's."
    )
    rich_novel_preview: RichNovelPreview | None = Field(default=None, description="A page for each novel.")

    @property
    def routes(self) -> tuple[str, ...]:
        """Route names in order, each once."""
        if self.targets:
            return tuple(dict.fromkeys(self.targets))
        return (self.target,) if self.target else ()


class TargetConfig(Section):
    """One thing to collect, as configured."""

    id: SafeId | None = Field(
        default=None, description="Stable name; plans, delivery and the Job API know the target by it."
    )
    type: TargetType = Field(description="Kind of works.")
    mode: Mode | None = Field(
        default=None, description="How works are found. Without it `illustId`, `novelId` or `userId` tell, else search."
    )
    tag: Name | None = Field(default=None, description="Words searched, separated by spaces; elsewhere a label.")
    limit: Annotated[int, Field(ge=1)] = Field(default=10, description="Works wanted from one run.")
    candidate_scan_limit: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Candidates that may be opened; `download.candidateScanLimit` when not given."
    )
    search_target: Literal["partial_match_for_tags", "exact_match_for_tags", "title_and_caption"] = Field(
        default="partial_match_for_tags", description="What the words are compared with."
    )
    tag_relation: Literal["and", "or"] = Field(default="and", description="All words must match, or any.")
    sort: Literal["date_desc", "date_asc", "popular_desc"] = Field(default="date_desc", description="Order of works.")
    restrict: Literal["public", "private"] | None = Field(default=None, description="Accepted, without effect.")
    r18: bool = Field(default=False, description="Also ask for restricted works; it does not select only them.")
    exclude_ai: bool = Field(default=False, alias="excludeAI", description="Drop works marked as made by AI.")
    ai_metadata_check: bool = Field(default=False, description="Look into the first page for marks of generators.")
    max_page_count: Annotated[int, Field(ge=1)] | None = Field(default=None, description="Drop works with more pages.")
    min_bookmarks: Annotated[int, Field(ge=0)] | None = Field(default=None, description="Drop works with fewer.")
    start_date: Day | None = Field(default=None, description=f"First day (JST), or {_PLACEHOLDERS}.")
    end_date: Day | None = Field(default=None, description="Last day (JST), likewise.")
    ranking_mode: RankingMode = Field(default="day", description="Which ranking.")
    ranking_date: Day | None = Field(default=None, description="Day of the ranking (JST), likewise.")
    filter_tag: Name | None = Field(default=None, description="Only works of the ranking's day with this tag.")
    topic: Name | None = Field(default=None, description="Seed tag of a topic.")
    date: Day | None = Field(default=None, description="Day of a topic.")
    topic_discovery: TopicDiscovery | None = Field(default=None, description="How related tags are found.")
    candidate_collection: CandidateCollection | None = Field(default=None, description="How candidates are gathered.")
    topic_profile: TopicProfile | None = Field(default=None, description="Hand-written relations of a topic.")
    no_match_policy: NoMatchPolicy | None = Field(default=None, description="What happens on a day without a match.")
    random: bool = Field(default=False, description="Shuffle the candidates.")
    series_id: PixivId | None = Field(default=None, description="Novel series.")
    novel_id: PixivId | None = Field(default=None, description="One novel.")
    illust_id: PixivId | None = Field(default=None, description="One illustration, manga or animation.")
    user_id: PixivId | None = Field(default=None, description="All works of this author.")
    language_filter: Literal["chinese", "non-chinese"] | None = Field(default=None, description="Language of novels.")
    detect_language: bool = Field(default=True, description="Detect the language of novels.")
    strict_language_filter: bool = Field(default=False, description="Drop novels of undetected language too.")
    language_candidate_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        default=20, description="How far to look for replacements of novels dropped by language."
    )
    storage_mode: Literal["persistent", "cache"] = Field(
        default="persistent", description="Keep files, or delete them once they are delivered."
    )
    delivery: TargetDelivery | None = Field(default=None, description="Where works go; files only when not given.")

    @property
    def effective_mode(self) -> Mode:
        """How works are found, with the rule of `mode` applied: an id tells more than the default."""
        if self.illust_id or self.novel_id:
            return "work"
        if self.user_id:
            return "user"
        return self.mode or "search"

    @property
    def work_id(self) -> str | None:
        """The id of the one work meant by a single-work target."""
        return self.novel_id if self.type == "novel" else self.illust_id
