"""What acceptance tests share: an invented world with one tag for each work, a real configuration, and orders.

One tag for one work means that an order for a tag can only end in that work, whatever ran before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pixivflow.sandbox import Frame, NovelText, Sandbox, SandboxOptions, World, records
from pixivflow.sandbox.world import original_urls, zip_url

Kind = Literal["single", "pages", "ugoira", "novel"]

AUTHOR = 4001
REFRESH_TOKEN = "invented-refresh-token-of-the-tests"
API_TOKEN = "invented-token-of-the-job-api"
SECRETS = (REFRESH_TOKEN, API_TOKEN)
PAGES = 3
PICTURE = (60, 80)
_NEWEST = datetime(2026, 3, 1, 12, tzinfo=UTC)
_FRAMES = (Frame("000000.jpg", 80), Frame("000001.jpg", 130), Frame("000002.jpg", 70), Frame("000003.jpg", 220))
TARGET_OF: Mapping[Kind, str] = {"single": "pictures", "pages": "pictures", "ugoira": "pictures", "novel": "novels"}


@dataclass(frozen=True, slots=True)
class Subject:
    """One work of the world, found by its tag."""

    id: int
    kind: Kind
    tag: str

    @property
    def target(self) -> str:
        """The target whose orders can find it."""
        return TARGET_OF[self.kind]

    @property
    def files(self) -> int:
        """How many media files make it complete."""
        return PAGES if self.kind == "pages" else 1


def build_world(kinds: Iterable[Kind]) -> tuple[World, list[Subject]]:
    """A world of one work for each kind named, in that order."""
    author = records.user(AUTHOR, "scene author")
    made = World.from_records(authors=[author])
    subjects = []
    for number, kind in enumerate(kinds):
        created = _NEWEST - timedelta(hours=number)
        ident, tag, title = 90_000_001 + number, f"scene{number:04d}", f"work {number:04d}"
        subjects.append(Subject(ident, kind, tag))
        if kind == "novel":
            key = str(5_000_000 + number)
            text = f"[chapter:One]\nIt was night {number}.\n[uploadedimage:{key}]\n[newpage]\nIt was day {number}.\n"
            record = records.novel(ident, created, author, title=title, text_length=len(text), tags=[tag])
            made.add_novel(record, NovelText(text, images={key: records.uploaded_image(key, created)}))
            continue
        record = records.illust(
            ident,
            created,
            author,
            title=title,
            kind="ugoira" if kind == "ugoira" else "illust",
            pages=PAGES if kind == "pages" else 1,
            ext="jpg" if kind == "ugoira" or number % 2 else "png",
            tags=[tag],
            size=PICTURE,
        )
        made.add_work(record, frames=_FRAMES if kind == "ugoira" else None)
    return made, subjects


def options(**changes: Any) -> SandboxOptions:
    """A small and quick sandbox."""
    return SandboxOptions(**{"picture_size": PICTURE, "media_cache_mb": 64, "refresh_token": REFRESH_TOKEN, **changes})


@dataclass(frozen=True, slots=True)
class Truth:
    """What the files of a world really are.

    Attributes:
        sha256: of every original picture, archive and uploaded picture, by its address on the site.
        texts: the text of every novel by its id.
    """

    sha256: Mapping[str, str]
    texts: Mapping[str, str]


async def truth_of(sandbox: Sandbox) -> Truth:
    """Read the truth from the site itself. Faults do not touch it."""
    world = sandbox.world
    urls = [url for work in world.illusts.values() for url in original_urls(work.record)]
    sizes = ("600x600", "1920x1080")
    urls += [zip_url(work, size) for work in world.illusts.values() if work.frames for size in sizes]
    for work in world.novels.values():
        for image in work.novel.images.values() if work.novel else ():
            urls.append(image["urls"]["original"])
    sha256 = {}
    for url in urls:
        sha256[url] = hashlib.sha256(await sandbox.media_bytes(url)).hexdigest()
    texts = {str(work.id): work.novel.text or "" for work in world.novels.values() if work.novel}
    return Truth(sha256, texts)


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """A receiver in the configuration.

    Attributes:
        url: where works are sent; the sandbox's receiver of the route's name when None.
        ready: whether the receiver is asked for its readiness first.
    """

    name: str = "main"
    url: str | None = None
    ready: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


def config_document(
    sandbox: Sandbox,
    *,
    port: int = 0,
    routes: Iterable[RouteSpec] = (RouteSpec(),),
    storage_mode: str = "persistent",
    sections: Mapping[str, Mapping[str, Any]] | None = None,
    target: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A configuration as a user would write it: two targets that take orders, and short pauses.

    `sections` adds keys to sections, `target` to both targets.
    """
    specs = list(routes)
    names = [spec.name for spec in specs]
    delivery = {"targets": names, "fields": {"title": "{{displayTitle}}"}} if names else None
    shared: dict[str, Any] = {"limit": 1, "storageMode": storage_mode, **(target or {})}
    if delivery is not None:
        # A target's fields replace the route's of the same name only, so the route keeps the request's id.
        shared["delivery"] = delivery
    document: dict[str, Any] = {
        "pixiv": {"refreshToken": REFRESH_TOKEN, "endpoints": sandbox.endpoints()},
        "network": {"requestPacingMs": 0, "retries": 1, "timeoutMs": 30_000},
        "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
        "download": {"requestDelay": 0, "maxRetries": 1, "ugoiraFormats": ["gif"]},
        "delivery": {
            "outboxRetryBaseMs": 20,
            "outboxRetryMaxMs": 80,
            "requestTimeoutMs": 20_000,
            "targets": {spec.name: _route(sandbox, spec) for spec in specs},
        },
        "targets": [
            {"id": "pictures", "type": "illustration", "tag": "nothing-has-this-tag", **shared},
            {"id": "novels", "type": "novel", "tag": "nothing-has-this-tag", **shared},
        ],
        "schedules": [{"id": "orders", "cron": "0 3 1 1 *", "timezone": "UTC", "targetIds": ["pictures", "novels"]}],
        "schedulerRuntime": {
            "mode": "external",
            "watchConfig": False,
            "trigger": {"enabled": True, "host": "127.0.0.1", "port": port or 8090},
        },
    }
    for name, keys in (sections or {}).items():
        document[name] = {**document.get(name, {}), **keys}
    return document


def write_config(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write a configuration file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def task(subject: Subject, key: str, **changes: Any) -> dict[str, Any]:
    """The order that can only end in this work. `changes` replace keys of the body."""
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": {"target_id": subject.target, "query": {"tags": [subject.tag]}},
        **changes,
    }


def _route(sandbox: Sandbox, spec: RouteSpec) -> dict[str, Any]:
    route: dict[str, Any] = {
        "type": "httpMultipart",
        "url": spec.url or sandbox.receiver_url(spec.name),
        "refetchOutcomeUrl": sandbox.receiver_url(spec.name, "outcome"),
        "fields": {"title": "{{displayTitle}}", "refetch_request_id": "{{refetchRequestId}}"},
        **spec.extra,
    }
    if spec.ready:
        route["readinessUrl"] = sandbox.receiver_url(spec.name, "ready")
    return route
