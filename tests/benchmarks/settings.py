"""Configurations of the programs that are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

AUTHOR = 1001
TOKEN = "bench-token-of-the-job-api"
TARGET = "bench-author"
ORDERED = "bench-order"
ROUTE = "bench"


def pixivflow(folder: Path, about: dict[str, Any], *, works: int, connections: int, port: int = 0) -> Path:
    """Our configuration: no pacing (the invented site needs none), everything else as delivered."""
    config: dict[str, Any] = {
        "pixiv": {"refreshToken": "invented-refresh-token", "endpoints": about["endpoints"]},
        "network": {"requestPacingMs": 0},
        "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
        "download": {
            "concurrency": 10,
            "connections": connections,
            "requestDelay": 0,
            "candidateScanLimit": works,
        },
        "delivery": {
            "targets": {
                ROUTE: {
                    "type": "httpMultipart",
                    "url": about["receiver"],
                    "refetchOutcomeUrl": about["outcome"],
                    "fields": {"title": "{{displayTitle}}", "refetch_request_id": "{{refetchRequestId}}"},
                }
            }
        },
        "targets": [
            {"id": TARGET, "type": "illustration", "mode": "user", "userId": str(AUTHOR), "limit": works},
            {
                "id": ORDERED,
                "type": "illustration",
                "tag": "benchmark",
                "limit": 1,
                "delivery": {"target": ROUTE},
            },
        ],
        "schedules": [
            {"id": "bench", "cron": "0 3 1 1 *", "timezone": "UTC", "targetIds": [TARGET, ORDERED], "timeout": 3600000}
        ],
        "schedulerRuntime": {"mode": "external", "watchConfig": False},
    }
    if port:
        config["schedulerRuntime"]["trigger"] = {"enabled": True, "host": "127.0.0.1", "port": port}
    return _written(folder / "config.json", config)


def gallery_dl(folder: Path, about: dict[str, Any]) -> Path:
    """gallery-dl with what makes the runs alike: originals, a metadata file each, an archive of known works."""
    config = {
        "extractor": {
            "base-directory": str(folder / "files"),
            "proxy": about["proxy_url"],
            "verify": about["ca_file"],
            "archive": str(folder / "archive.sqlite3"),
            "postprocessors": [{"name": "metadata", "mode": "json"}],
            "pixiv": {"refresh-token": "invented-refresh-token", "sanity": False},
        },
        "cache": {"file": ":memory:"},
    }
    return _written(folder / "gallery-dl.json", config)


def _written(path: Path, config: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return path
