"""Rules across several keys. They read the raw data, so that they speak even when a single value is wrong too."""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from pixivflow.config.cronline import cron_fault
from pixivflow.config.days import is_day, surely_after
from pixivflow.config.draft import Draft
from pixivflow.config.pixiv import MIN_TOKEN_LENGTH, TOKEN_PLACEHOLDER
from pixivflow.config.problems import Location, did_you_mean, quote

MAX_USUAL_LIMIT = 1000
USUAL_TIMEOUT_MS = (1000, 300_000)
WORK_KEYS = {"illustration": "illustId", "novel": "novelId"}


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
    if _is_int(timeout) and timeout >= 1 and not low <= timeout <= high:
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
    if _is_int(least) and least > (most if _is_int(most) else 3):
        draft.warn(("download", "minConcurrency"), "unusual", "above `download.concurrency`, which limits it")


def _target_ids(draft: Draft) -> None:
    first: dict[str, int] = {}
    for position, target in draft.objects("targets"):
        ident, place = target.get("id"), ("targets", position, "id")
        if isinstance(ident, str):
            if ident in first:
                draft.report(place, "duplicate_id", f"the id {quote(ident)} is already that of targets[{first[ident]}]")
            first.setdefault(ident, position)
        elif ident is None and target.get("delivery") is not None:
            draft.report(place, "required", "is required for a target with delivery")
        elif ident is None:
            draft.warn(
                place, "target_without_id", "without an id no plan and no job can run this target", "give it an id"
            )


def _target_modes(draft: Draft) -> None:
    for position, target in draft.objects("targets"):
        _target_mode(draft, ("targets", position), target)


def _target_mode(draft: Draft, at: Location, target: Mapping[str, Any]) -> None:
    kind, mode = target.get("type"), target.get("mode")
    given = [key for key in ("illustId", "novelId", "userId") if target.get(key) is not None]
    if len(given) > 1:
        draft.report(
            (*at, given[1]), "conflict", f"a target follows one id, and {given[0]} is there too", "make two targets"
        )
    if isinstance(kind, str) and kind in WORK_KEYS:
        wrong = WORK_KEYS["novel" if kind == "illustration" else "illustration"]
        if wrong in given:
            draft.report((*at, wrong), "conflict", f"does not fit type {kind}", f"use {WORK_KEYS[kind]}")
    by_id = "user" if given == ["userId"] else "work" if given else None
    if by_id is not None and isinstance(mode, str) and mode != by_id:
        draft.warn((*at, "mode"), "no_effect", f"has no effect: {given[0]} makes this a target of mode {by_id}")
    if by_id is None and mode == "user":
        draft.report((*at, "userId"), "required", "is required for mode user")
    if by_id is None and mode == "work":
        draft.report((*at, WORK_KEYS.get(str(kind), "illustId")), "required", "is required for mode work")
    tag = target.get("tag")
    if by_id is None and mode in (None, "search") and (tag is None or (isinstance(tag, str) and not tag.strip())):
        draft.report((*at, "tag"), "required", "is required for mode search")


def _target_values(draft: Draft) -> None:
    for position, target in draft.objects("targets"):
        limit, start, end = target.get("limit"), target.get("startDate"), target.get("endDate")
        if _is_int(limit) and limit > MAX_USUAL_LIMIT:
            draft.warn(("targets", position, "limit"), "unusual", f"more than {MAX_USUAL_LIMIT} works in one run")
        if _is_day(start) and _is_day(end) and surely_after(start, end):
            draft.report(("targets", position, "startDate"), "date_order", "lies after endDate")


def _target_routes(draft: Draft) -> None:
    routes = draft.mapping("delivery", "targets")
    for position, target in draft.objects("targets"):
        at: Location = ("targets", position, "delivery")
        delivery = target.get("delivery")
        if not isinstance(delivery, dict):
            continue
        names: list[tuple[Location, Any]] = []
        listed = delivery.get("targets")
        if isinstance(listed, list):
            names += [((*at, "targets", index), name) for index, name in enumerate(listed)]
        if delivery.get("target") is not None:
            names.append(((*at, "target"), delivery["target"]))
        for place, name in names:
            if isinstance(name, str) and name not in routes:
                draft.report(
                    place, "unknown_route", f"no delivery target is called {quote(name)}", did_you_mean(name, routes)
                )
        if listed and delivery.get("target") is not None:
            draft.warn((*at, "target"), "no_effect", "has no effect: `targets` wins")


def _schedules(draft: Draft) -> None:
    ids = [t["id"] for _, t in draft.objects("targets") if isinstance(t.get("id"), str)]
    first: dict[str, int] = {}
    for position, plan in draft.objects("schedules"):
        ident, wanted = plan.get("id"), plan.get("targetIds")
        if isinstance(ident, str):
            if ident in first:
                draft.report(
                    ("schedules", position, "id"),
                    "duplicate_id",
                    f"the id {quote(ident)} is already that of schedules[{first[ident]}]",
                )
            first.setdefault(ident, position)
        for index, name in enumerate(wanted if isinstance(wanted, list) else ()):
            if isinstance(name, str) and name not in ids:
                draft.report(
                    ("schedules", position, "targetIds", index),
                    "unknown_target",
                    f"no target has the id {quote(name)}",
                    did_you_mean(name, ids),
                )
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
            if _is_int(low) and _is_int(high) and low > high:
                place = ("delivery", "targets", name, "capabilities", "albumMin")
                draft.report(place, "range", "must not be above albumMax")


RULES: tuple[Callable[[Draft], None], ...] = (
    _account,
    _network,
    _storage,
    _download,
    _target_ids,
    _target_modes,
    _target_values,
    _target_routes,
    _schedules,
    _routes,
)


def _is_int(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_day(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and is_day(value)
