"""What an upstream file may ask for and this version does not do.

Two tables: things that would make a run do something else than asked are errors; keys that would only be without effect
are warnings. Nothing is ignored in silence. A feature that arrives takes its line out.
"""

from collections.abc import Mapping
from typing import Any

from pixivflow.config.draft import Draft
from pixivflow.config.model import Config
from pixivflow.config.problems import Location
from pixivflow.config.spec import REQUIRED, place_at

IN_VERSION = "is not available in this version"

MODES: Mapping[str, str] = {"topic": "topic", "series": "series", "random": "random", "bookmarks": "bookmarks"}
"""Modes by name; also those that an own key switches on."""

ROUTE_TYPES = ("webhook", "telegram")
SOCKS = ("socks4", "socks5")

INERT_TARGET_KEYS: tuple[str, ...] = (
    "restrict",
    "aiMetadataCheck",
    "filterTag",
    "topic",
    "date",
    "topicDiscovery",
    "candidateCollection",
    "topicProfile",
    "noMatchPolicy",
    "languageFilter",
    "detectLanguage",
    "strictLanguageFilter",
    "languageCandidateLimit",
)

INERT: tuple[Location, ...] = (
    ("download", "materializationPolicy"),
    ("download", "novelCover", "unknown"),
    ("download", "novelCover", "probeFailed"),
)

INERT_ROUTE_KEYS: Mapping[str, str] = {
    "success": "`ack` and the HTTP status decide",
    "maxAttempts": "the outbox's own policy decides",
    "retryDelayMs": "`delivery.outboxRetryBaseMs` decides",
}


def report_unavailable(draft: Draft) -> None:
    """Report modes, route types and proxies that do not exist here. Their places are then silent for later checks."""
    for position, target in draft.objects("targets"):
        mode, key = _wanted_mode(target)
        if mode is not None:
            place: Location = ("targets", position, key)
            draft.report(
                place, "mode_not_available", f"target mode {mode} {IN_VERSION}", "use search, ranking, user or work"
            )
            draft.silent.add(place)
            draft.silent.add(("targets", position, "mode"))
    for name, route in draft.mapping("delivery", "targets").items():
        if isinstance(route, dict) and route.get("type") in ROUTE_TYPES:
            draft.report(
                ("delivery", "targets", name, "type"),
                "route_type_not_available",
                f"delivery type {route['type']} {IN_VERSION}",
                "use httpMultipart",
            )
            draft.silent.add(("delivery", "targets", name))
    proxy = draft.mapping("network", "proxy")
    if proxy.get("enabled") is True and proxy.get("protocol") in SOCKS:
        # Going out without the proxy that was asked for would be worse than not going out.
        place = ("network", "proxy", "protocol")
        draft.report(place, "proxy_not_available", f"proxy kind {proxy['protocol']} {IN_VERSION}", "use http or https")


def report_inert(draft: Draft) -> None:
    """Warn of keys that are set to something else than their default and have no effect here."""
    for location in INERT:
        _warn_if_set(draft, location)
    for position, _ in draft.objects("targets"):
        if ("targets", position, "mode") in draft.silent:
            continue  # the whole target is refused
        for key in INERT_TARGET_KEYS:
            _warn_if_set(draft, ("targets", position, key))
        _warn_if_set(draft, ("targets", position, "delivery", "richNovelPreview"))
    for name in draft.mapping("delivery", "targets"):
        for key, instead in INERT_ROUTE_KEYS.items():
            _warn_if_set(draft, ("delivery", "targets", name, key), instead)


def _wanted_mode(target: Mapping[str, Any]) -> tuple[str | None, str]:
    mode = target.get("mode")
    if isinstance(mode, str) and mode in MODES:
        return MODES[mode], "mode"
    if target.get("seriesId") is not None:
        return "series", "seriesId"
    if target.get("random") is True:
        return "random", "random"
    return None, ""


def _warn_if_set(draft: Draft, location: Location, instead: str | None = None) -> None:
    value = draft.get(*location)
    place = place_at(Config, location)
    if value is None or place is None or (place.default is not REQUIRED and value == place.default):
        return
    draft.warn(
        location, "no_effect", f"has no effect: it {IN_VERSION}" if instead is None else "has no effect", instead
    )
