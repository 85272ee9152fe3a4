"""`pixivflow job submit | list | show | wait | cancel | events`: orders to a running server."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pixivflow.cli import loop
from pixivflow.cli.command import command, group
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.job import place, show
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, say
from pixivflow.cli.output import show as line

app = group(
    "Order works from a running server and follow the jobs. The server is --server, PIXIVFLOW_URL, or the one that "
    "runs on the configured ledger; the token is PIXIVFLOW_REFETCH_TOKEN or in --token-file."
)

Server = Annotated[str | None, typer.Option("--server", metavar="URL", help="The server; found when not given.")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="A file with the token.")]
Job = Annotated[str, typer.Argument(metavar="JOB", help="Id or idempotency key of the job.")]


@command(app)
def submit(
    options: Options,
    *,
    target: Annotated[str, typer.Option(metavar="ID", help="Target of an enabled plan.")],
    key: Annotated[str | None, typer.Option(help="Idempotency key; a fresh one when not given.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Search this instead of the target's words (repeat).")] = None,
    expand: Annotated[bool, typer.Option(help="Any of the tags instead of all.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Works wanted.")] = None,
    scan_limit: Annotated[int | None, typer.Option(min=1, help="Candidates that may be opened.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="KIND:ID", help="Never pick it: work:ID or tag:WORD (repeat).")
    ] = None,
    correlation_id: Annotated[str | None, typer.Option(help="Your own name for what this belongs to.")] = None,
    deadline: Annotated[float | None, typer.Option(min=1, metavar="SECONDS", help="Longest life of the job.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exit 7 without success.")] = False,
    timeout: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Longest wait.")] = None,
    server: Server = None,
    token_file: TokenFile = None,
) -> int:
    """Order works of one target. The same key never makes a second job."""
    key = key or str(uuid.uuid4())
    params: dict[str, Any] = {"target_id": target}
    if tag:
        params["query"] = {"tags": tag, **({"expand": True} if expand else {})}
    constraints: dict[str, Any] = {"limit": limit, "scan_limit": scan_limit, "exclude": _exclusions(exclude)}
    if given := {name: value for name, value in constraints.items() if value}:
        params["constraints"] = given
    task: dict[str, Any] = {
        "protocol_version": "1",
        "job_type": "candidate_search",
        "idempotency_key": key,
        "params": params,
    }
    if correlation_id:
        task["correlation_id"] = correlation_id
    if deadline:
        task["deadline_ms"] = int(deadline * 1000)

    async def order(client: Any) -> int:
        job, created = await client.submit(task)
        if not options.json or wait:
            say(f"job {clean(job.get('job_id'))} " + ("accepted" if created else "was there already") + f", key {key}")
        status = Exit.OK
        if wait:
            job, status = await _waited(client, job, options, timeout)
        if options.json:
            emit({"job": job, "created": created, "idempotency_key": key})
        else:
            line(show.job_text(job) if wait else clean(job.get("job_id")))
        return status

    return _with_client(options, server, token_file, order)


@command(app, "list")
def list_jobs(
    options: Options,
    *,
    status: Annotated[str | None, typer.Option(help="Only jobs in this state.")] = None,
    correlation_id: Annotated[str | None, typer.Option(help="Only jobs that belong to this.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at once.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where an earlier page ended.")] = None,
    server: Server = None,
    token_file: TokenFile = None,
) -> int:
    """List jobs."""
    asked = {"status": status, "correlation_id": correlation_id, "limit": str(limit), "cursor": cursor}

    async def ask(client: Any) -> int:
        page = await client.jobs(**{name: value for name, value in asked.items() if value})
        if options.json:
            emit(page)
            return Exit.OK
        line(show.jobs_table(page.get("jobs") or []))
        if page.get("next_cursor"):
            say(f"more with --cursor {clean(page['next_cursor'])}")
        return Exit.OK

    return _with_client(options, server, token_file, ask)


@command(app, "show")
def show_job(options: Options, *, job: Job, server: Server = None, token_file: TokenFile = None) -> int:
    """Show one job."""

    async def ask(client: Any) -> int:
        found = await client.find(job)
        if options.json:
            emit(found)
        else:
            line(show.job_text(found))
        return Exit.OK

    return _with_client(options, server, token_file, ask)


@command(app)
def wait(
    options: Options,
    *,
    job: Job,
    timeout: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Longest wait; exit 75 then.")] = None,
    server: Server = None,
    token_file: TokenFile = None,
) -> int:
    """Wait until a job has ended: exit 0 when it succeeded, 7 otherwise."""

    async def ask(client: Any) -> int:
        ended, status = await _waited(client, await client.find(job), options, timeout)
        if options.json:
            emit(ended)
        else:
            line(show.job_text(ended))
        return status

    return _with_client(options, server, token_file, ask)


@command(app)
def cancel(options: Options, *, job: Job, server: Server = None, token_file: TokenFile = None) -> int:
    """Cancel a job; exit 4 when it had ended before."""

    async def ask(client: Any) -> int:
        found = await client.find(job)
        ended = await client.cancel(str(found.get("job_id")))
        if options.json:
            emit(ended)
        done = ended.get("status") == "cancelled"
        if not options.json or not done:
            (line if done else say)(
                f"{clean(ended.get('job_id'))}: " + ("" if done else "had ended before, ") + clean(ended.get("status"))
            )
        return Exit.OK if done else Exit.REFUSED

    return _with_client(options, server, token_file, ask)


@command(app)
def events(
    options: Options,
    *,
    job: Job,
    after: Annotated[str | None, typer.Option(metavar="EVENT", help="Only what came after this event.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    ack: Annotated[bool, typer.Option("--ack", help="Acknowledge what was shown.")] = False,
    server: Server = None,
    token_file: TokenFile = None,
) -> int:
    """Show the events of a job."""

    async def ask(client: Any) -> int:
        from pixivflow.cli.job.follow import pages

        job_id = str((await client.find(job)).get("job_id"))
        shown: list[dict[str, Any]] = []
        unacked = None
        async for page in pages(client, job_id, after=after, follow=follow):
            unacked = page.get("unacked")
            for event in page.get("events") or []:
                shown.append(event)
                if not options.json:
                    line(show.event_line(event))
                elif follow:
                    emit(event)
            if ack and shown:
                unacked = (await client.ack(job_id, str(shown[-1].get("event_id")))).get("unacked")
        if options.json and not follow:
            emit({"job_id": job_id, "events": shown, "unacked": unacked})
        return Exit.OK

    return _with_client(options, server, token_file, ask)


def _with_client(
    options: Options, server: str | None, token_file: Path | None, use: Callable[[Any], Awaitable[int]]
) -> int:
    url, token = place.server_url(options, server), place.token(token_file)

    async def main() -> int:
        from pixivflow.cli.http import JobClient

        async with JobClient(url, token) as client:
            return await use(client)

    return loop.run(main)


async def _waited(
    client: Any, job: dict[str, Any], options: Options, timeout: float | None
) -> tuple[dict[str, Any], Exit]:
    from pixivflow.cli.job.follow import until_ended

    ended = await until_ended(
        client, str(job.get("job_id")), timeout_s=timeout, live=not options.json, color=options.color
    )
    return ended, Exit.OK if ended.get("status") == "succeeded" else Exit.INCOMPLETE


def _exclusions(given: list[str] | None) -> list[dict[str, str]]:
    out = []
    for text in given or []:
        kind, colon, ident = text.partition(":")
        if not colon or kind not in ("work", "candidate", "tag") or not ident:
            raise Stop(Exit.USAGE, f"not an exclusion: {clean(text)!r}", hint="write work:ID or tag:WORD")
        out.append({"kind": kind, "id": ident})
    return out
