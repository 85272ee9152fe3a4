"""What the demo collects and how its server is configured: chosen from the invented world, written as a real file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pixivflow.cli.exits import Exit, Stop

SEED: Final = "1"
WORKS: Final = "60"
ROUTE: Final = "demo-receiver"
RECEIVER: Final = "demo"
PACING_MS: Final = 20


@dataclass(frozen=True, slots=True)
class Order:
    """One of the three jobs.

    Attributes:
        name: target id and idempotency key's last part.
        kind: what is ordered, for people.
        pages: files of the site the work has, for the checks.
    """

    name: str
    kind: str
    work_type: str
    work_id: str
    title: str
    pages: int = 1

    @property
    def key(self) -> str:
        """The idempotency key."""
        return f"demo-{self.name}"


def choose(world: Mapping[str, Any]) -> tuple[Order, ...]:
    """An illustration of several pages, an animation and a novel of the sandbox's world.

    Raises:
        Stop: FAILURE when the world has none of them.
    """
    works: Sequence[Mapping[str, Any]] = [work for work in world.get("works", ()) if not work.get("x_restrict")]
    novels: Sequence[Mapping[str, Any]] = [work for work in world.get("novels", ()) if not work.get("x_restrict")]
    pages = next((work for work in works if work["type"] == "illust" and work["pages"] > 1), None)
    ugoira = next((work for work in works if work["type"] == "ugoira"), None)
    novel = next((work for work in novels if work.get("images")), novels[0] if novels else None)
    if pages is None or ugoira is None or novel is None:
        raise Stop(Exit.FAILURE, "the sandbox's world has no illustration with pages, no animation or no novel")
    return (
        Order(
            "illustration", "illustration", "illustration", str(pages["id"]), str(pages["title"]), int(pages["pages"])
        ),
        Order("ugoira", "animation", "illustration", str(ugoira["id"]), str(ugoira["title"])),
        Order("novel", "novel", "novel", str(novel["id"]), str(novel["title"])),
    )


def config(orders: Sequence[Order], endpoints: Mapping[str, str], receiver: str) -> dict[str, Any]:
    """The server's configuration: an ordinary one, with the site's addresses pointing at the sandbox."""
    return {
        "_about": "Written by `pixivflow demo`. The pacing is small because the sandbox is not a real site; "
        "leave network.requestPacingMs and download.requestDelay at their defaults for the real one.",
        "pixiv": {"refreshToken": "the-sandbox-takes-any-token", "endpoints": dict(endpoints)},
        "network": {"requestPacingMs": PACING_MS},
        "download": {"requestDelay": PACING_MS, "ugoiraFormats": ["gif", "webp"]},
        "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
        "delivery": {
            "targets": {
                ROUTE: {
                    "type": "httpMultipart",
                    "url": f"{receiver}/{RECEIVER}/submit",
                    "refetchOutcomeUrl": f"{receiver}/{RECEIVER}/outcome",
                    "fields": {
                        "title": "{{displayTitle}}",
                        "author": "{{author}}",
                        "source": "{{link}}",
                        "tags": "{{workTags}}",
                        "work_id": "{{workId}}",
                        "refetch_request_id": "{{refetchRequestId}}",
                    },
                }
            }
        },
        "targets": [_target(order) for order in orders],
        "schedulerRuntime": {"mode": "external", "watchConfig": False},
    }


def _target(order: Order) -> dict[str, Any]:
    ident = {"novelId" if order.work_type == "novel" else "illustId": order.work_id}
    return {"id": order.name, "type": order.work_type, **ident, "limit": 1, "delivery": {"target": ROUTE}}


def task(order: Order) -> dict[str, Any]:
    """The order as an outside program sends it."""
    return {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": order.key,
        "correlation_id": f"demo:{order.name}",
        "params": {"target_id": order.name},
    }
