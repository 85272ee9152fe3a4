"""Asking the sandbox's own addresses: its world, its statistics and what its receiver got."""

from __future__ import annotations

from typing import Any

import aiohttp

from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.output import clean


async def ask(base: str, path: str) -> dict[str, Any]:
    """One JSON object of the sandbox. `path` is below its own root.

    Raises:
        Stop: FAILURE when it does not answer.
    """
    url = f"{base}/__sandbox__/{path}"
    try:
        timeout = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            answer.raise_for_status()
            document: dict[str, Any] = await answer.json()
            return document
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Stop(Exit.FAILURE, f"the sandbox does not answer: {clean(type(error).__name__)}") from None
