"""Rules about targets: how they find works, and where the works go."""

from collections.abc import Callable, Mapping
from typing import Any

from pixivflow.config.days import surely_after
from pixivflow.config.draft import Draft
from pixivflow.config.guards import is_day_text, is_int, unique_ids
from pixivflow.config.problems import Location, did_you_mean

MAX_USUAL_LIMIT = 1000
WORK_KEYS = {"illustration": "illustId", "novel": "novelId"}


def check_targets(draft: Draft) -> None:
    """Report what is wrong with targets when their keys are looked at together."""
    for rule in RULES:
        rule(draft)


def _target_ids(draft: Draft) -> None:
    unique_ids(draft, "targets")
    for position, target in draft.objects("targets"):
        if target.get("id") is not None:
            continue
        place = ("targets", position, "id")
        if target.get("delivery") is not None:
            draft.report(place, "required", "is required for a target with delivery")
        else:
            draft.warn(place, "target_without_id", "without an id no plan and no job can run it", "give it an id")


def _target_modes(draft: Draft) -> None:
    for position, target in draft.objects("targets"):
        if ("targets", position, "mode") in draft.silent:
            continue  # a mode of a later version: its needs are not known here
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
        if is_int(limit) and limit > MAX_USUAL_LIMIT:
            draft.warn(("targets", position, "limit"), "unusual", f"more than {MAX_USUAL_LIMIT} works in one run")
        if is_day_text(start) and is_day_text(end) and surely_after(start, end):
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
                    place,
                    "unknown_route",
                    f"no delivery target is called {draft.shown(place, name)}",
                    did_you_mean(name, routes),
                )
        if listed and delivery.get("target") is not None:
            draft.warn((*at, "target"), "no_effect", "has no effect: `targets` wins")


RULES: tuple[Callable[[Draft], None], ...] = (_target_ids, _target_modes, _target_values, _target_routes)
