"""From what was typed to targets: addresses, numbers, and ids of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean
from pixivflow.config import Config
from pixivflow.config.convert import to_domain_target
from pixivflow.domain.target import DEFAULT_LIMIT, Mode, Target
from pixivflow.domain.work import WorkRef, WorkType
from pixivflow.sources.pixiv.urls import (
    Link,
    Problem,
    RankingLink,
    TagLink,
    UserRef,
    parse_url,
    why_unsupported,
)

AUTHOR_LIMIT = 5000
"""A pasted author means all of their works; this only bounds what one command may take on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to collect. `asked` is what the user wrote."""

    asked: str
    target: Target


def wanted(config: Config, *, urls: Sequence[str], ids: Sequence[str], limit: int | None, today: date) -> list[Wanted]:
    """Everything that was asked for; without addresses and ids every target of the configuration.

    Raises:
        Stop: USAGE for an address that cannot be collected, NOT_FOUND for an unknown target.
    """
    asked = [one for url in urls for one in _of_address(url, limit)]
    names = list(ids)
    if not urls and not ids:
        names = [target.id for target in config.targets if target.id]
        if not names:
            hint = "give an address (--url), or configure `targets`"
            raise Stop(Exit.USAGE, "there is nothing to download", hint=hint)
    asked += [Wanted(name, _configured(config, name, limit, today)) for name in names]
    return list({one.target.id: one for one in asked}.values())


def _of_address(text: str, limit: int | None) -> list[Wanted]:
    targets = of_url(text, limit)
    if len(targets) == 1:
        return [Wanted(text, targets[0])]
    return [Wanted(f"{text} ({target.type.value}s)", target) for target in targets]


def of_url(text: str, limit: int | None) -> list[Target]:
    """What an address means. An author's page without a kind means both kinds.

    Raises:
        Stop: USAGE; the text says why.
    """
    link = parse_url(text)
    if isinstance(link, Problem):
        raise Stop(Exit.USAGE, f"{link.text} ({_short(text)})")
    why = why_unsupported(link)
    if why is not None:
        raise Stop(Exit.USAGE, f"{why} ({_short(text)})")
    return _targets(link, limit)


def _targets(link: Link, limit: int | None) -> list[Target]:
    match link:
        case WorkRef():
            return [Target(f"work-{link.type}-{link.id}", link.type, Mode.WORK, work_id=link.id, limit=1, scan_limit=1)]
        case UserRef():
            kinds = [link.type] if link.type else list(WorkType)
            most = limit or AUTHOR_LIMIT
            return [
                Target(f"user-{link.id}-{kind}", kind, Mode.USER, user_id=link.id, limit=most, scan_limit=most)
                for kind in kinds
            ]
        case TagLink():
            kind, most = link.type or WorkType.ILLUSTRATION, limit or DEFAULT_LIMIT
            return [Target(f"tag-{kind}", kind, Mode.SEARCH, tag=link.word, limit=most, scan_limit=most)]
        case RankingLink():
            most = limit or DEFAULT_LIMIT
            return [
                Target(
                    f"ranking-{link.type}-{link.mode}",
                    link.type,
                    Mode.RANKING,
                    ranking_mode=link.mode,
                    ranking_date=link.day,
                    limit=most,
                    scan_limit=most,
                )
            ]
        case _:
            raise Stop(Exit.USAGE, "this kind of page cannot be collected in this version")


def _configured(config: Config, name: str, limit: int | None, today: date) -> Target:
    found = config.target(name)
    if found is None:
        from difflib import get_close_matches

        known = [target.id for target in config.targets if target.id]
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {clean(near[0])}?" if near else f"known: {', '.join(map(clean, known)) or 'none'}"
        raise Stop(Exit.NOT_FOUND, f"the configuration has no target {_short(name)}", hint=hint)
    target = to_domain_target(found, today=today, default_scan_limit=config.download.candidate_scan_limit)
    if limit is None or target.mode is Mode.WORK:
        return target
    return replace(target, limit=limit, scan_limit=max(target.scan_limit, limit))


def _short(text: str) -> str:
    shown = clean(text)
    return shown if len(shown) <= 100 else shown[:100] + "…"
