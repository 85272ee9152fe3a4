"""Section `schedulerRuntime`: how the server runs, its budgets and its port."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from pixivflow.config.base import Millis, Name, Port, Section

MIN_BUDGET_MS = 60_000
DEFAULT_QUEUED_TIMEOUT_MS = 1_800_000
DEFAULT_STALL_TIMEOUT_MS = 900_000
DEFAULT_PORT = 8090

Budget = Annotated[int, Field(ge=MIN_BUDGET_MS)]


class AccountLimit(Section):
    """What one account may do."""

    max_concurrency: Annotated[int, Field(ge=1, le=16)] = Field(default=1, description="Jobs at the same time.")


class ResourceGovernance(Section):
    """Limits by account."""

    pixiv_accounts: Mapping[str, AccountLimit] = Field(default_factory=dict, description="Account name to its limits.")


class TriggerConfig(Section):
    """The port with the Job API, the triggers, the health answers and the console."""

    enabled: bool = Field(default=False, description="Whether the scheduler also opens this port.")
    port: Port = Field(default=DEFAULT_PORT, description="Port to listen on. `PORT` is used when it is not given.")
    host: Name = Field(
        default="127.0.0.1",
        description="Address to listen on. `HOST` is used when it is not given. A public one needs tokens.",
    )
    token: SecretStr | None = Field(
        default=None,
        description="Bearer token of the schedule triggers. `SCHEDULER_TRIGGER_TOKEN` is used when it is not given.",
    )
    grace_minutes: Annotated[int, Field(ge=0)] = Field(
        default=90, description="How long after its time an occurrence may still be triggered, minutes."
    )


class RuntimeConfig(Section):
    """The life of the server."""

    mode: Literal["internal", "external"] = Field(
        default="internal", description="Who owns the clock: this process, or somebody who calls the triggers."
    )
    catch_up_missed_runs: bool = Field(default=True, description="Make up for one missed occurrence at start.")
    watch_config: bool = Field(default=True, description="Read the file again when it changes.")
    reload_debounce_ms: Annotated[int, Field(ge=100)] = Field(
        default=500, description="How long the file must be quiet before it is read again, ms."
    )
    queue_limit: Annotated[int, Field(ge=0, le=100)] = Field(default=8, description="Waiting runs that are kept.")
    queued_timeout_ms: Budget = Field(
        default=DEFAULT_QUEUED_TIMEOUT_MS,
        description="How long a job may wait although it could start, ms. Below 60000 the default is used.",
    )
    stall_timeout_ms: Budget = Field(
        default=DEFAULT_STALL_TIMEOUT_MS,
        description="How long a running job may make no progress, ms. Below 60000 the default is used.",
    )
    exit_when_idle: bool = Field(default=False, description="End the server when nothing is left to do.")
    idle_grace_ms: Millis = Field(default=600_000, description="How long it must have been idle for that, ms.")
    max_lifetime_ms: Millis = Field(default=10_800_000, description="Longest life of a server that ends when idle, ms.")
    resource_governance: ResourceGovernance = Field(
        default_factory=ResourceGovernance, description="Limits by account."
    )
    trigger: TriggerConfig = Field(default_factory=TriggerConfig, description="The port.")
