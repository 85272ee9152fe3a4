"""Rules across several keys. They read the raw data, so that they speak even when a single value is wrong too."""

from collections.abc import Callable
from typing import Any

from pixivflow.config.cronline import cron_fault
from pixivflow.config.draft import Draft, leaves
from pixivflow.config.guards import is_int, unique_ids
from pixivflow.config.pixiv import MIN_TOKEN_LENGTH, TOKEN_PLACEHOLDER
from pixivflow.config.problems import Location, did_you_mean, quote
from pixivflow.config.target_rules import check_targets
from pixivflow.domain.template import PLACEHOLDERS, unresolved

USUAL_TIMEOUT_MS = (1000, 300_000)


def check_rules(draft: Draft) -> None:
    """Report everything that only shows when keys are looked at together."""
    for rule in RULES:
        rule(draft)


def _account(draft: Draft) -> None:
    token = draft.get("pixiv", "refreshToken")
    place = ("pixiv", "refreshToken")
    hint = "log in, or set PIXIV_REFRESH_TOKEN"
    if token is None or token == "":
        draft.warn(place, "refresh_token_missing", "no refresh token: nothing can be fetched", hint)
    elif token == TOKEN_PLACEHOLDER:
        draft.warn(place, "refresh_token_placeholder", "still the placeholder of the example", hint)
    elif isinstance(token, str) and len(token.strip()) < MIN_TOKEN_LENGTH:
        draft.warn(place, "refresh_token_short", "too short to be a refresh token", hint)


def _network(draft: Draft) -> None:
    timeout = draft.get("network", "timeoutMs")
    low, high = USUAL_TIMEOUT_MS
    if is_int(timeout) and timeout >= 1 and not low <= timeout <= high:
        draft.warn(("network", "timeoutMs"), "unusual", f"outside the usual {low} to {high} ms")
    proxy = draft.mapping("network", "proxy")
    if proxy.get("enabled") is True:
        for key in ("host", "port"):
            if proxy.get(key) is None:
                draft.report(("network", "proxy", key), "required", "is required when the proxy is enabled")


def _storage(draft: Draft) -> None:
    both = [draft.origin(("storage", key)).kind for key in ("databaseUrl", "databasePath")]
    if draft.get("storage", "databaseUrl") is not None and draft.get("storage", "databasePath") is not None:
        loser = "databasePath" if both[0] == both[1] or both[1] == "file" else "databaseUrl"
        draft.warn(("storage", loser), "no_effect", "has no effect beside the other database key")


def _download(draft: Draft) -> None:
    least, most = draft.get("download", "minConcurrency"), draft.get("download", "concurrency")
    if is_int(least) and least > (most if is_int(most) else 3):
        draft.warn(("download", "minConcurrency"), "unusual", "above `download.concurrency`, which limits it")


def _schedules(draft: Draft) -> None:
    ids = [t["id"] for _, t in draft.objects("targets") if isinstance(t.get("id"), str)]
    unique_ids(draft, "schedules")
    for position, plan in draft.objects("schedules"):
        wanted = plan.get("targetIds")
        for index, name in enumerate(wanted if isinstance(wanted, list) else ()):
            if isinstance(name, str) and name not in ids:
                place = ("schedules", position, "targetIds", index)
                shown = draft.shown(place, name)
                draft.report(place, "unknown_target", f"no target has the id {shown}", did_you_mean(name, ids))
        _cron(draft, ("schedules", position, "cron"), plan.get("cron"))
    _cron(draft, ("scheduler", "cron"), draft.get("scheduler", "cron"))
    if draft.get("scheduler", "enabled") is True and not draft.get("schedules") and not ids:
        draft.warn(("targets",), "no_targets", "the scheduler is enabled and there is no target with an id to run")


def _cron(draft: Draft, place: Location, line: Any) -> None:
    if isinstance(line, str) and line and (fault := cron_fault(line)) is not None:
        draft.report(place, "cron", fault)


def _routes(draft: Draft) -> None:
    for name, route in draft.mapping("delivery", "targets").items():
        capabilities = route.get("capabilities") if isinstance(route, dict) else None
        if isinstance(capabilities, dict):
            low, high = capabilities.get("albumMin"), capabilities.get("albumMax")
            if is_int(low) and is_int(high) and low > high:
                place = ("delivery", "targets", name, "capabilities", "albumMin")
                draft.report(place, "range", "must not be above albumMax")


def _placeholders(draft: Draft) -> None:
    tables: list[Location] = [("delivery", "targets", name, "fields") for name in draft.mapping("delivery", "targets")]
    tables += [("targets", position, "delivery", "fields") for position, _ in draft.objects("targets")]
    for table in tables:
        for place, text in leaves(draft.mapping(*table), table):
            for name in unresolved(text) if isinstance(text, str) else ():
                draft.warn(
                    place,
                    "unknown_placeholder",
                    f"{quote('{{' + name + '}}')} is no known placeholder and would be sent as it stands",
                    did_you_mean(name, PLACEHOLDERS),
                )


RULES: tuple[Callable[[Draft], None], ...] = (
    _account,
    _network,
    _storage,
    _download,
    check_targets,
    _schedules,
    _routes,
    _placeholders,
)
