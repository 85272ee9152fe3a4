"""`pixivflow protocol verify`: hold any producer of Workflow Protocol v1 against the acceptance list."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from pixivflow.cli import loop
from pixivflow.cli.command import command, group
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, say, show

app = group("Workflow Protocol v1: check who speaks it.")


@command(app, "verify", with_config=False)
def verify(
    options: Options,
    *,
    url: Annotated[str, typer.Argument(metavar="URL", help="Base address of the producer.")],
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="A file with the token.")
    ] = None,
    target: Annotated[str | None, typer.Option(metavar="ID", help="Target to order from (params.target_id).")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="What to search for (repeat); as configured without.")] = None,
    account: Annotated[str, typer.Option(help="params.source.account; empty leaves it out.")] = "default",
    submit: Annotated[bool, typer.Option("--submit", help="May submit one job and wait for its end.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="May submit a second job and cancel it.")] = False,
    legacy: Annotated[bool, typer.Option("--legacy", help="May order by the older route (needs --target).")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also ask for more than the protocol demands.")] = False,
    timeout: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Longest life of the job.")] = 600,
    poll: Annotated[float, typer.Option(min=0.05, metavar="SECONDS", help="Pause between two looks at it.")] = 1,
) -> int:
    """Run the acceptance list against a producer: exit 0 when every point that was run holds, 1 otherwise.

    Without --submit, --cancel and --legacy it only reads, and says what the rest would do. The token is
    PIXIVFLOW_REFETCH_TOKEN or in --token-file.
    """
    from pixivflow.cli.job.place import token as read_token
    from pixivflow.protocol.point import Need
    from pixivflow.protocol.session import Plan

    if legacy and target is None:
        raise Stop(Exit.USAGE, "--legacy needs --target: the older route names one")
    may = {Need.SUBMIT: submit, Need.CANCEL: cancel, Need.LEGACY: legacy}
    plan = Plan(
        allowed=frozenset({Need.READ, *(need for need, given in may.items() if given)}),
        strict=strict,
        account=account.strip() or None,
        target=target,
        tags=tuple(tag or ()),
        timeout_s=timeout,
        poll_s=poll,
    )
    base = url if "://" in url else f"http://{url}"
    return loop.run(lambda: _verify(options, base, read_token(token_file), plan))


async def _verify(options: Options, base: str, token: str | None, plan: Any) -> int:
    from pixivflow.protocol import verify as runner
    from pixivflow.protocol.http import HttpProducer
    from pixivflow.protocol.point import Need
    from pixivflow.protocol.session import Unreachable

    def told(outcome: runner.Outcome) -> None:
        if not options.json:
            mark = " (strict)" if outcome.point.strict else ""
            why = f": {clean(outcome.why)}" if outcome.why else ""
            show(f"{outcome.verdict.value}  {outcome.point.id:<20} {outcome.point.title}{mark}{why}")

    async with HttpProducer(base, token) as producer:
        try:
            outcomes = await runner.verify(
                producer, plan, new_key=_new_key, sleep=asyncio.sleep, clock=time.monotonic, told=told
            )
        except Unreachable as error:
            raise Stop(Exit.UNAVAILABLE, clean(error), hint=f"is a producer running at {clean(base)}?") from None
    counts = {one.value: sum(outcome.verdict is one for outcome in outcomes) for one in runner.Verdict}
    if options.json:
        points = [
            {
                "id": outcome.point.id,
                "title": outcome.point.title,
                "section": outcome.point.section,
                "strict": outcome.point.strict,
                "verdict": outcome.verdict.value,
                "why": outcome.why or None,
            }
            for outcome in outcomes
        ]
        emit({"url": base, "counts": counts, "points": points, "task": plan.task("<key>")})
    else:
        if Need.SUBMIT not in plan.allowed:
            say(f"with --submit it would send: {json.dumps(plan.task('<key>'), ensure_ascii=False)}")
        say(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    return Exit.FAILURE if counts["fail"] else Exit.OK


def _new_key() -> str:
    return str(uuid.uuid4())
