"""Run coroutines side by side and fail as one: with the first error itself, not with a group of one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from pixivflow.collect.ports import AttemptLost

T = TypeVar("T")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one fails the others are cancelled and waited for; then its error is raised.

    A lost attempt speaks before every other error, because after it nothing else may be written.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        leaves = list(_leaves(errors))
        raise next((leaf for leaf in leaves if isinstance(leaf, AttemptLost)), leaves[0]) from None
    return [task.result() for task in tasks]


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterable[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
