"""The end of a download as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pixivflow.cli.download.account import Account, WorkLine
from pixivflow.cli.exits import Exit
from pixivflow.cli.output import clean, plural, size, table
from pixivflow.collect.outcome import Plan
from pixivflow.domain.projection import work_url
from pixivflow.domain.work import AssetRole, WorkRef


def text(accounts: Sequence[Account], library: str) -> str:
    """Works, what failed and why, where candidates went, and what to do next."""
    lines: list[str] = []
    rows = [_row(work) for account in accounts for work in account.works]
    if rows:
        lines += [table(("WORK", "TITLE", "STATE", "FILES", "SIZE", "WHERE"), rows, widest=70), ""]
    for account in accounts:
        lines += _account(account)
    ready = sum(account.ready for account in accounts)
    files = [asset for account in accounts for work in account.works for asset in work.files]
    total = size(sum(asset.bytes for asset in files))
    lines.append(f"{plural(ready, 'work')}, {plural(len(files), 'file')}, {total} in {clean(library)}")
    return "\n".join(lines)


def plan_text(asked: str, plan: Plan) -> str:
    """What a dry run would pick."""
    lines = [f"{clean(asked)}: {plural(len(plan.works), 'work')} would be collected"]
    rows = [
        (_name(work.ref), work.title, work.author.name, work.page_count, work.bookmarks or "", work_url(work.ref))
        for work in plan.works
    ]
    if rows:
        lines.append(table(("WORK", "TITLE", "AUTHOR", "PAGES", "BOOKMARKS", "ADDRESS"), rows))
    if plan.message:
        lines.append(f"  {clean(plan.message)}")
    return "\n".join([*lines, *funnel_lines(plan.funnel.as_json())])


def funnel_lines(funnel: Mapping[str, Any]) -> Iterable[str]:
    """Where the candidates went; nothing when none was looked at."""
    if not funnel.get("fetched"):
        return
    reasons = ", ".join(f"{reason['count']} {clean(reason['code'])}" for reason in funnel.get("reasons") or [])
    text = f"  looked at {funnel['fetched']}, took {funnel.get('selected', 0)}"
    yield text + (f", left {funnel.get('rejected', 0)} ({reasons})" if reasons else "")
    if funnel.get("quarantined"):
        yield f"  {plural(funnel['quarantined'], 'record')} could not be read"


def _account(account: Account) -> list[str]:
    verdict = "complete" if account.exit is Exit.OK else "NOT COMPLETE"
    lines = [f"{clean(account.asked)}: {verdict}" + (f", {plural(account.ready, 'work')}" if account.ready else "")]
    if account.message and (account.exit is not Exit.OK or not account.ready):
        lines.append(f"  {clean(account.message)}")
    lines += [f"  {_name(work.ref)} failed: {clean(work.failure)}" for work in account.works if work.failure]
    lines += funnel_lines(account.funnel)
    lines += [f"  next: {hint}" for hint in account.next]
    return lines


def _row(work: WorkLine) -> tuple[object, ...]:
    where = next((asset.path for asset in work.files if asset.role is not AssetRole.METADATA), "")
    return (_name(work.ref), work.title, work.state, len(work.files), size(work.bytes), where)


def _name(ref: WorkRef) -> str:
    return f"{ref.type.value} {ref.id}"
