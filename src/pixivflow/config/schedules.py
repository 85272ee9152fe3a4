"""Sections `scheduler` and `schedules`: when targets run by themselves."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from pixivflow.config.base import Millis, Name, SafeId, Section
from pixivflow.config.days import is_timezone

DEFAULT_CRON = "0 3 * * *"
DEFAULT_TIMEZONE = "Asia/Shanghai"


def _check_timezone(text: str) -> str:
    if not is_timezone(text):
        raise PydanticCustomError("timezone", "must be the name of a time zone, e.g. Asia/Shanghai or UTC")
    return text


Timezone = Annotated[str, AfterValidator(_check_timezone)]
Count = Annotated[int, Field(ge=1)]


class SimpleSchedule(Section):
    """One clock for every target. It counts only when `schedules` is empty."""

    enabled: bool = Field(default=False, description="Whether this clock runs.")
    cron: Name = Field(default=DEFAULT_CRON, description="When: minute, hour, day of month, month, day of week.")
    timezone: Timezone = Field(default=DEFAULT_TIMEZONE, description="Zone in which `cron` is read.")
    max_executions: Count | None = Field(default=None, description="Stop after so many runs.")
    min_interval: Millis = Field(default=0, description="Least time between two runs, ms.")
    timeout: Millis | None = Field(default=None, description="Time limit of one run, ms; 0 means the default (30 min).")
    max_consecutive_failures: Count | None = Field(default=None, description="Stop after so many failures in a row.")
    failure_retry_delay: Millis = Field(default=0, description="Pause after a failure, ms.")


class ScheduleConfig(Section):
    """One plan: some targets and when they run."""

    id: SafeId = Field(description="Stable name of the plan; part of every job id it makes.")
    name: str | None = Field(default=None, description="What people call it; the id when not given.")
    enabled: bool = Field(default=True, description="Whether the plan exists for the clock and for the Job API.")
    cron: Name = Field(description="When: minute, hour, day of month, month, day of week.")
    timezone: Timezone = Field(default=DEFAULT_TIMEZONE, description="Zone in which `cron` is read.")
    target_ids: Annotated[tuple[str, ...], Field(min_length=1)] = Field(description="Ids of the targets it runs.")
    max_executions: Count | None = Field(default=None, description="Stop after so many runs.")
    min_interval: Millis = Field(default=0, description="Least time between two runs, ms.")
    timeout: Millis | None = Field(default=None, description="Time limit of one run, ms; 0 means the default (30 min).")
    max_consecutive_failures: Count | None = Field(default=None, description="Pause after so many failures in a row.")
    failure_retry_delay: Millis = Field(default=0, description="Pause after a failure, ms.")
