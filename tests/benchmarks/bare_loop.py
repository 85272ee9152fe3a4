"""The least a program can do for the same bytes: ask, fetch eight at a time, write. The floor to compare with.

    python bare_loop.py SITE_JSON FOLDER CONNECTIONS

It checks, syncs, renames, remembers and describes nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

AUTHOR = 1001


class Loop:
    """One run against one site."""

    def __init__(self, session: aiohttp.ClientSession, endpoints: dict[str, str], folder: Path) -> None:
        self._session = session
        self._at = endpoints
        self._folder = folder
        self._auth: dict[str, str] = {}

    async def login(self) -> None:
        """One token call."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": "invented-token",
            "client_id": "x",
            "client_secret": "y",
        }
        async with self._session.post(f"{self._at['oauth']}/auth/token", data=form) as answer:
            self._auth = {"Authorization": f"Bearer {(await answer.json())['access_token']}"}

    async def ask(self, path: str) -> dict:
        """One call of the app API."""
        async with self._session.get(self._at["api"] + path, headers=self._auth) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def works(self) -> list[dict]:
        """Every page of the author's list."""
        path, found = f"/v1/user/illusts?user_id={AUTHOR}&type=illust", []
        while path:
            page = await self.ask(path)
            found += page["illusts"]
            following = urlsplit(page["next_url"]) if page["next_url"] else None
            path = f"{following.path}?{following.query}" if following else ""
        return found

    async def urls(self, work: dict) -> list[str]:
        """The files of one work; an animation costs a call more."""
        if work["type"] == "ugoira":
            info = await self.ask(f"/v1/ugoira/metadata?illust_id={work['id']}")
            return [info["ugoira_metadata"]["zip_urls"]["medium"]]
        single = work["meta_single_page"].get("original_image_url")
        return [single] if single else [page["image_urls"]["original"] for page in work["meta_pages"]]

    async def fetch(self, url: str) -> None:
        """One file, written as it comes."""
        path = urlsplit(url).path
        headers = {"Referer": "https://app-api.pixiv.net/"}
        async with self._session.get(self._at["media"] + path, headers=headers) as answer:
            answer.raise_for_status()
            with (self._folder / path.rsplit("/", 1)[1]).open("wb") as file:
                async for piece in answer.content.iter_chunked(65536):
                    file.write(piece)


async def main(endpoints: dict[str, str], folder: Path, connections: int) -> None:
    """Everything of the author, `connections` at a time."""
    gate = asyncio.Semaphore(connections)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        loop = Loop(session, endpoints, folder)
        await loop.login()

        async def collect(work: dict) -> None:
            async with gate:
                urls = await loop.urls(work)
            await asyncio.gather(*(bounded(url) for url in urls))

        async def bounded(url: str) -> None:
            async with gate:
                await loop.fetch(url)

        await asyncio.gather(*(collect(work) for work in await loop.works()))


if __name__ == "__main__":
    site = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(site["endpoints"], out, int(sys.argv[3])))
