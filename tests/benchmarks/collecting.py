"""50 works in 70 files: the whole program next to a bare loop and next to stock gallery-dl, in the same run."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import settings
from benchmarks.figures import ratio, spread
from benchmarks.processes import Run, get_json, python, running, said, timed, until

HERE = Path(__file__).parent
WORKS = 50
FILES = 70
ANIMATIONS = 5
CONNECTIONS = 8
URL = f"https://www.pixiv.net/users/{settings.AUTHOR}/artworks"


@contextmanager
def site(folder: Path, latency_ms: float, animations: int = 0) -> Iterator[dict[str, Any]]:
    """The invented site in a process of its own; gives its addresses."""
    folder.mkdir(parents=True)
    log = folder / "site.log"
    about = folder / "site.json"
    command = python(str(HERE / "site.py"), str(folder), str(latency_ms), str(animations))
    with running(command, log=log) as process:
        until("the site", lambda: about.exists() or None, process, log, seconds=120)
        yield json.loads(about.read_text(encoding="utf-8")) | {"file": str(about)}


def reset_stats(about: dict[str, Any]) -> None:
    """Count requests anew."""
    request = urllib.request.Request(f"{about['base_url']}/__sandbox__/stats", method="DELETE")  # noqa: S310 - loopback
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - loopback


def stats(about: dict[str, Any]) -> dict[str, Any]:
    """Requests since the last reset."""
    found: dict[str, Any] = get_json(f"{about['base_url']}/__sandbox__/stats")
    return found


Contender = Callable[[Path, dict[str, Any]], Run]


def ours(folder: Path, about: dict[str, Any]) -> Run:
    """The whole program, from its start to its end, as delivered but for the pacing."""
    config = settings.pixivflow(folder, about, works=WORKS, connections=CONNECTIONS)
    command = python("-m", "pixivflow", "download", "--config", str(config), "--target", settings.TARGET, "--json")
    return timed(command, cwd=folder)


def bare(folder: Path, about: dict[str, Any]) -> Run:
    """The least a program can do."""
    return timed(python(str(HERE / "bare_loop.py"), about["file"], str(folder / "files"), str(CONNECTIONS)), cwd=folder)


def stock_gallery_dl(peers: Path) -> Contender:
    """gallery-dl as its users have it."""

    def run(folder: Path, about: dict[str, Any]) -> Run:
        config = settings.gallery_dl(folder, about)
        command = [str(peers / "bin" / "gallery-dl"), "--config-ignore", "-c", str(config), URL]
        return timed(command, cwd=folder)

    return run


def measure(
    folder: Path, peers: Path, *, latency_ms: float, animations: int, runs: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """All contenders in turn, `runs` times, against one site. Of the 70 files, `animations` are archives of frames.

    We also make a GIF and a WebP of each animation, which the others do not; so the figures with animations compare
    unlike work, and those without tell how fast files are fetched.
    """
    contenders: dict[str, Contender] = {"pixivflow": ours, "bare_loop": bare, "gallery_dl": stock_gallery_dl(peers)}
    seen: dict[str, list[Run]] = {name: [] for name in contenders}
    requests: dict[str, dict[str, int]] = {}
    label = f"{latency_ms:g}-{animations}"
    with site(folder / f"site-{label}", latency_ms, animations) as about:
        for turn in range(runs):
            for name, contender in contenders.items():
                place = folder / f"{name}-{label}-{turn}"
                place.mkdir(parents=True)
                reset_stats(about)
                run = contender(place, about)
                requests[name] = stats(about)["routes"]
                if run.code != 0 or _media(requests[name]) != FILES:
                    raise RuntimeError(
                        f"{name}: exit {run.code}, {_media(requests[name])} of {FILES} files asked for\n{said(place)}"
                    )
                seen[name].append(run)
                say(f"{latency_ms:g} ms latency, {animations} animations, run {turn + 1}: {name} {run.wall_s:.2f} s")
                shutil.rmtree(place)
    return {
        "latency_ms": latency_ms,
        "works": WORKS,
        "files": FILES,
        "animations": animations,
        **_report(seen, requests),
    }


def _media(routes: dict[str, int]) -> int:
    return sum(count for name, count in routes.items() if name.startswith("media"))


def _report(seen: dict[str, list[Run]], requests: dict[str, dict[str, int]]) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for name, runs in seen.items():
        asked = {route: count for route, count in requests[name].items() if not route.startswith("media")}
        report[name] = {
            "wall_s": spread([run.wall_s for run in runs]),
            "cpu_s": spread([run.cpu_s for run in runs]),
            "peak_rss_mb": spread([run.peak_rss_mb for run in runs], 1),
            "ms_per_work": round(1000 * spread([run.wall_s for run in runs])["median"] / WORKS, 1),
            "requests": {"media": _media(requests[name]), **asked},
            "list_and_detail_per_10_works": round(10 * _questions(asked) / WORKS, 2),
        }
    walls = {name: part["wall_s"]["median"] for name, part in report.items()}
    report["gallery_dl_over_pixivflow"] = ratio(walls["gallery_dl"], walls["pixivflow"])
    report["pixivflow_over_bare_loop"] = ratio(walls["pixivflow"], walls["bare_loop"])
    return report


def _questions(asked: dict[str, int]) -> int:
    """List and detail requests: what is neither a token nor the timing an animation cannot do without."""
    return sum(count for route, count in asked.items() if route != "oauth.token" and "ugoira" not in route)
