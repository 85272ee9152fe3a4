"""The two tokens of the port. Each guards its own routes, and neither stands in for the other."""

from dataclasses import dataclass

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class Tokens:
    """Bearer tokens, trimmed; None means "not configured": those routes then answer 503.

    Attributes:
        manual: guards the Job API and the target routes (`PIXIVFLOW_REFETCH_TOKEN`).
        trigger: guards the schedule triggers (`schedulerRuntime.trigger.token`, else `SCHEDULER_TRIGGER_TOKEN`).
    """

    manual: SecretStr | None = None
    trigger: SecretStr | None = None


def token(text: str | SecretStr | None) -> SecretStr | None:
    """A token as configured, trimmed; blank counts as not configured."""
    clear = text.get_secret_value() if isinstance(text, SecretStr) else text
    trimmed = (clear or "").strip()
    return SecretStr(trimmed) if trimmed else None
