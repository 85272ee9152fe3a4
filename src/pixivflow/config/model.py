"""The whole configuration: one immutable snapshot, and the questions the engine asks it.

A reload makes a new snapshot and swaps it in; a run keeps the one it started with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from pixivflow.config.base import Millis, Section
from pixivflow.config.callbacks import CallbacksConfig
from pixivflow.config.delivery import DeliveryConfig, Route
from pixivflow.config.download import DownloadConfig
from pixivflow.config.network import NetworkConfig
from pixivflow.config.pixiv import PixivConfig
from pixivflow.config.runtime import RuntimeConfig
from pixivflow.config.schedules import ScheduleConfig, SimpleSchedule
from pixivflow.config.storage import SQLITE_PREFIX, StorageConfig
from pixivflow.config.targets import TargetConfig
from pixivflow.domain.template import REQUEST_ID, REQUEST_ID_FIELD

DEFAULT_PLAN = "default"
DEFAULT_DEADLINE_MS = 1_800_000
CORRELATION_TEMPLATE = "{{" + REQUEST_ID + "}}"

LogLevel = Literal["debug", "info", "warn", "error"]
WiringFault = Literal["delivery_outcome_not_configured", "delivery_correlation_field_not_configured"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Some targets and when they run.

    Attributes:
        cron: None for a plan without a clock: only orders run it.
        targets: in the order of the configuration; each has an id.
        timeout_ms: the time one run may take, ms.
    """

    id: str
    name: str
    cron: str | None
    timezone: str
    targets: tuple[TargetConfig, ...]
    timeout_ms: int = DEFAULT_DEADLINE_MS
    max_executions: int | None = None
    min_interval_ms: int = 0
    max_consecutive_failures: int | None = None
    failure_retry_delay_ms: int = 0


class Config(Section):
    """A valid configuration."""

    log_level: LogLevel = Field(default="info", description="Least level that is logged.")
    initial_delay: Millis = Field(default=0, description="Pause before the first run after start, ms.")
    pixiv: PixivConfig = Field(default_factory=PixivConfig, description="The account, and where the site is.")
    network: NetworkConfig = Field(default_factory=NetworkConfig, description="Time limits, retries, pacing, proxy.")
    storage: StorageConfig = Field(default_factory=StorageConfig, description="Places on disk.")
    scheduler: SimpleSchedule = Field(default_factory=SimpleSchedule, description="One clock for every target.")
    schedules: tuple[ScheduleConfig, ...] = Field(default=(), description="Plans.")
    scheduler_runtime: RuntimeConfig = Field(default_factory=RuntimeConfig, description="The life of the server.")
    delivery: DeliveryConfig = Field(default_factory=DeliveryConfig, description="Where works go.")
    callbacks: CallbacksConfig = Field(
        default_factory=CallbacksConfig, description="What goes with a job's callbacks, and where they may go."
    )
    download: DownloadConfig = Field(default_factory=DownloadConfig, description="Limits of one run.")
    targets: tuple[TargetConfig, ...] = Field(default=(), description="What is collected.")

    _base: Path = PrivateAttr(default=Path())

    def model_post_init(self, context: Any, /) -> None:
        """Remember the folder from which relative paths count (validation context key `base`)."""
        if isinstance(context, Mapping) and isinstance(base := context.get("base"), Path):
            self._base = base

    # --- places ------------------------------------------------------------------------------------------------

    @property
    def base(self) -> Path:
        """The folder from which relative paths count."""
        return self._base

    def place(self, text: str) -> Path:
        """A path of the configuration made absolute; `~` is the home folder."""
        try:
            path = Path(text).expanduser()
        except RuntimeError:  # no such user: then it is a strange name of a folder
            path = Path(text)
        return self._base / path

    @property
    def database_path(self) -> Path:
        """The file of the embedded ledger."""
        url = self.storage.database_url
        return self.place(url.removeprefix(SQLITE_PREFIX) if url else self.storage.database_path)

    @property
    def library_dir(self) -> Path:
        """The folder of the library."""
        return self.place(self.storage.download_directory)

    @property
    def illustration_dir(self) -> Path:
        """The folder for illustrations."""
        configured = self.storage.illustration_directory
        return self.place(configured) if configured else self.library_dir / "illustrations"

    @property
    def novel_dir(self) -> Path:
        """The folder for novels."""
        configured = self.storage.novel_directory
        return self.place(configured) if configured else self.library_dir / "novels"

    # --- targets, plans and routes -----------------------------------------------------------------------------

    def target(self, target_id: str) -> TargetConfig | None:
        """The target of that id, or None."""
        return next((target for target in self.targets if target.id == target_id), None)

    def enabled_plans(self) -> tuple[Plan, ...]:
        """The plans that may run, in the order of the configuration.

        Without `schedules` there is one plan, `default`, with every target that has an id. It has a clock when
        `scheduler.enabled` is true; otherwise only orders (the Job API, the command line) run it.
        """
        if self.schedules:
            return tuple(self._plan(schedule) for schedule in self.schedules if schedule.enabled)
        simple = self.scheduler
        return (
            Plan(
                id=DEFAULT_PLAN,
                name=DEFAULT_PLAN,
                cron=simple.cron if simple.enabled else None,
                timezone=simple.timezone,
                targets=tuple(target for target in self.targets if target.id is not None),
                timeout_ms=simple.timeout or DEFAULT_DEADLINE_MS,
                max_executions=simple.max_executions,
                min_interval_ms=simple.min_interval,
                max_consecutive_failures=simple.max_consecutive_failures,
                failure_retry_delay_ms=simple.failure_retry_delay,
            ),
        )

    def plan(self, plan_id: str) -> Plan | None:
        """The enabled plan of that id, or None."""
        return next((plan for plan in self.enabled_plans() if plan.id == plan_id), None)

    def _plan(self, schedule: ScheduleConfig) -> Plan:
        wanted = frozenset(schedule.target_ids)
        return Plan(
            id=schedule.id,
            name=schedule.name or schedule.id,
            cron=schedule.cron,
            timezone=schedule.timezone,
            targets=tuple(target for target in self.targets if target.id in wanted),
            timeout_ms=schedule.timeout or self.scheduler.timeout or DEFAULT_DEADLINE_MS,
            max_executions=schedule.max_executions,
            min_interval_ms=schedule.min_interval,
            max_consecutive_failures=schedule.max_consecutive_failures,
            failure_retry_delay_ms=schedule.failure_retry_delay,
        )

    def routes_of(self, target: TargetConfig) -> tuple[str, ...]:
        """Names of the target's routes, the primary one first; empty when its files are the result."""
        return target.delivery.routes if target.delivery else ()

    def route(self, name: str) -> Route | None:
        """The route of that name, or None."""
        return self.delivery.targets.get(name)

    def wired_for_manual(self, target: TargetConfig) -> WiringFault | None:
        """Why an order cannot be answered for this target, or None when it can (Workflow Protocol 1, "wired").

        The primary route must say where an outcome without a work goes, and the form must carry the request's id. The
        target's own form field wins over the route's, even when it is the wrong one.
        """
        names = self.routes_of(target)
        route = self.route(names[0]) if names else None
        if route is None or not (route.refetch_outcome_url or "").strip():
            return "delivery_outcome_not_configured"
        own = target.delivery.fields if target.delivery else {}
        template = own[REQUEST_ID_FIELD] if REQUEST_ID_FIELD in own else route.fields.get(REQUEST_ID_FIELD)
        return None if template == CORRELATION_TEMPLATE else "delivery_correlation_field_not_configured"

    @property
    def account_concurrency(self) -> int:
        """How many jobs of the configured account may run at the same time."""
        limits = self.scheduler_runtime.resource_governance.pixiv_accounts.get(self.pixiv.account)
        return limits.max_concurrency if limits is not None else 1

    # --- budgets -----------------------------------------------------------------------------------------------

    @property
    def default_deadline_ms(self) -> int:
        """The longest time limit given to any enabled plan, else the scheduler's, ms."""
        given = [s.timeout for s in self.schedules if s.enabled and s.timeout]
        return max(given, default=0) or self.scheduler.timeout or DEFAULT_DEADLINE_MS

    @property
    def queued_timeout_ms(self) -> int:
        """How long a job may wait although it could start, ms."""
        return self.scheduler_runtime.queued_timeout_ms

    @property
    def stall_timeout_ms(self) -> int:
        """How long a running job may make no progress, ms."""
        return self.scheduler_runtime.stall_timeout_ms
