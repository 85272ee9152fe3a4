"""Temporary files that a cancel cannot lose."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from pixivflow.library.store import TempFile


async def held(opening: Coroutine[Any, Any, TempFile]) -> TempFile:
    """Await the opening of a temporary file.

    A file is opened in a thread, which a cancel does not stop: without this the file would come into being after its
    only reader has gone. Here it is waited for and removed before the cancel goes on.
    """
    task = asyncio.ensure_future(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_forget)
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:
            await task.result().discard()
        raise


def _forget(task: asyncio.Task[TempFile]) -> None:
    """Take note of an error that nobody is left to hear."""
    if not task.cancelled():
        task.exception()
