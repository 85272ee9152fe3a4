"""`pixivflow download`: collect here and now, and end 0 only when everything that should be there is there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pixivflow.cli.command import application, command
from pixivflow.cli.download import account as accounts
from pixivflow.cli.download import report
from pixivflow.cli.download.bars import Progress, progress
from pixivflow.cli.download.wanted import Wanted, wanted
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.loading import check_folders, config_of, load
from pixivflow.cli.loop import Interrupts, run_with_signals
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, show
from pixivflow.config import Config
from pixivflow.domain.job import JobRecord
from pixivflow.domain.reason import Reason
from pixivflow.domain.work import Asset, WorkRef

app = application("Collect works by address or by target, here and now.")

TOLD = "stopping; what is complete stays, once more stops at once"
_GRACE_S = 5.0


@command(app, "download")
def download(
    options: Options,
    *,
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...", help="Addresses or numbers of works.")] = None,
    url: Annotated[
        list[str] | None, typer.Option("--url", metavar="URL", help="The same as an option (repeat).")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="ID", help="A configured target (repeat).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Works wanted of each.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be picked; write nothing.")] = False,
) -> int:
    """Collect works, verify and store them. Without addresses and targets: every configured target."""
    result = load(options, warn=not options.json)
    config = config_of(result)
    from pixivflow.engine.clock import SystemClock
    from pixivflow.wiring import jst_day

    asked = wanted(
        config, urls=[*(urls or []), *(url or [])], ids=target or [], limit=limit, today=jst_day(SystemClock())
    )
    _check_account(config)
    if not dry_run:
        check_folders(config)
    _check_free(config)
    from pixivflow.observability import logs

    logs.configure("debug" if options.debug else _level(config), color=options.color)
    run = _plan if dry_run else _collect
    return run_with_signals(lambda interrupts: run(options, config, asked, interrupts), told="" if dry_run else TOLD)


async def _collect(options: Options, config: Config, asked: list[Wanted], interrupts: Interrupts) -> int:
    from pixivflow.bootstrap import Stack
    from pixivflow.wiring import StartupError

    try:
        stack = await Stack.open(config, purpose="pixivflow download")
    except StartupError as error:
        raise Stop(Exit(error.exit_code), clean(error)) from None
    shown = progress(quiet=options.json, color=options.color)
    told: list[accounts.Account] = []
    try:
        await stack.start()
        for one in asked:
            job = await interrupts.guard(_follow(stack, one, shown))
            if job is None or interrupts.stop.is_set():
                break
            told.append(accounts.of_job(one.asked, job, await _files(stack, one, job)))
    finally:
        shown.close()
        await stack.stop(0.0 if interrupts.hurry.is_set() else _GRACE_S)
    if interrupts.stop.is_set():
        return interrupts.code
    return _end(options, config, told)


async def _follow(stack: Any, one: Wanted, shown: Progress) -> JobRecord:
    """Order one target and see it through. What is cut off is cancelled: nobody waits for it any more."""
    last: JobRecord = await stack.order(one.target)
    try:
        async for job in stack.progress(last.id):
            shown.job(one.asked, job, one.target.limit)
            last = job
    except BaseException:
        await stack.service.cancel(last.id)
        raise
    return last


async def _files(stack: Any, one: Wanted, job: JobRecord) -> dict[WorkRef, tuple[Asset, ...]]:
    refs = [pick.ref for cell in job.cells for pick in cell.picks]
    if not refs and one.target.work_ref is not None and job.reason == Reason.DUPLICATE_EXHAUSTED:
        refs = [one.target.work_ref]  # it was there before
    return {ref: await stack.archive.assets(ref) for ref in refs}


def _end(options: Options, config: Config, told: list[accounts.Account]) -> int:
    status = accounts.total(told)
    library = str(config.library_dir)
    if options.json:
        works = [work for account in told for work in account.works]
        emit(
            {
                "complete": status is Exit.OK,
                "exit_code": int(status),
                "library": library,
                "works": sum(account.ready for account in told),
                "files": sum(len(work.files) for work in works),
                "bytes": sum(work.bytes for work in works),
                "targets": [accounts.document(account) for account in told],
            }
        )
    else:
        show(report.text(told, library))
    return status


async def _plan(options: Options, config: Config, asked: list[Wanted], interrupts: Interrupts) -> int:
    from pixivflow.bootstrap import plan_only
    from pixivflow.wiring import StartupError

    statuses: list[accounts.Account] = []
    documents: list[dict[str, Any]] = []
    for one in asked:
        try:
            plan = await interrupts.guard(plan_only(config, one.target))
        except StartupError as error:
            raise Stop(Exit(error.exit_code), clean(error)) from None
        if plan is None:
            return interrupts.code
        works = tuple(accounts.WorkLine(work.ref, work.title, "planned") for work in plan.works)
        gap = plan.incomplete_listing.message if plan.incomplete_listing else ""
        funnel = plan.funnel.as_json()
        statuses.append(accounts.Account(one.asked, None, works, funnel, plan.reason, plan.message, gap))
        documents.append(accounts.document(statuses[-1]))
        if not options.json:
            show(report.plan_text(one.asked, plan))
    status = accounts.total(statuses)
    if options.json:
        emit({"dry_run": True, "complete": status is Exit.OK, "exit_code": int(status), "targets": documents})
    return status


def _check_account(config: Config) -> None:
    """Nothing can be fetched without an account: say so before anything is written."""
    if config.pixiv.usable_refresh_token is not None or config.database_path.exists():
        return
    hint = "set PIXIV_REFRESH_TOKEN or `pixiv.refreshToken`"
    raise Stop(Exit.AUTH, "there is no Pixiv account: no refresh token is configured", hint=hint)


def _check_free(config: Config) -> None:
    from pixivflow.ledger.lock import holder_of

    holder = holder_of(config.database_path)
    if holder is None:
        return
    url = holder.get("url")
    at = f" at {clean(url)}" if url else ""
    who = f"{clean(holder.get('purpose'))} (process {clean(holder.get('pid'))}){at}"
    hint = "order the target there with `pixivflow job submit --target ID`, or stop it" if url else "wait for it"
    raise Stop(Exit.REFUSED, f"the ledger {clean(config.database_path)} is in use by {who}", hint=hint)


def _level(config: Config) -> str:
    """A person at a terminal sees the report; only what is wrong interrupts it."""
    return "warn" if config.log_level == "info" else config.log_level
