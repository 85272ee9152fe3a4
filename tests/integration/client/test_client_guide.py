"""Every example of the guide runs, against a server on which the ordered jobs succeed by themselves."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path

import pytest

import pixivflow.client as package
from pixivflow.client import AsyncClient, ClientError, Retry
from pixivflow.domain.task import Task

PAGE = (Path(__file__).parents[3] / "docs" / "guide" / "client.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python( sync)?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
async def busy_site(site, jobs) -> str:
    """The address of a server whose jobs succeed as soon as they are ordered."""
    submit = jobs.submit

    async def submit_and_work(task: Task) -> object:
        answer = await submit(task)
        if "no-such-target" in str(site.seen[-1]):
            return answer
        if getattr(answer, "created", False):
            asyncio.get_running_loop().call_soon(jobs.succeed, answer.job.id)
        return answer

    jobs.submit = submit_and_work
    return site.url


@pytest.mark.parametrize(("sync", "text"), BLOCKS, ids=range(len(BLOCKS)))
async def test_every_example_runs(sync: str, text: str, busy_site: str, jobs, capsys) -> None:
    names = {"url": busy_site, "token": "an-invented-token", "storage": {}}
    flags = 0 if sync else ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(text, "client.md", "exec", flags=flags)
    if sync:
        await asyncio.to_thread(exec, code, names)
    else:
        running = eval(code, names)  # noqa: S307 - the project's own page
        if inspect.isawaitable(running):
            await running
    assert "succeeded" in capsys.readouterr().out or not sync
    if "consume" in text:
        assert list(names["storage"].values()) == ["job.accepted", "job.started", "job.succeeded"]
        assert jobs.acked == {"daily@manual-order-17": 3}
    if "stream(" in text:
        assert names["storage"]["place"].endswith("-3")


def test_the_page_names_every_error_and_default() -> None:
    for name in package.__all__:
        kind = getattr(package, name)
        if isinstance(kind, type) and issubclass(kind, ClientError) and kind not in (ClientError, package.ApiError):
            assert f"| `{name}` |" in PAGE
    policy = Retry()
    for number in (policy.base_s, policy.max_s, policy.total_s):
        assert f"{number:g} s" in PAGE
    assert set(re.findall(r"`(\w+)\(job", PAGE)) <= set(vars(AsyncClient))
