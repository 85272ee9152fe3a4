"""Showing how a download goes: bars on a terminal, a line for each change elsewhere. Always on stderr."""

from __future__ import annotations

import sys
from typing import Protocol

from pixivflow.cli.download.account import NOTHING_WANTED
from pixivflow.cli.output import clean, cut, say
from pixivflow.domain.cell import CLOSED
from pixivflow.domain.job import JobRecord, JobState

_ALL = 1000
"""From this limit on, a limit means "everything" and is no total to count against."""


class Progress(Protocol):
    """What a command tells while it runs."""

    def job(self, asked: str, job: JobRecord, wanted: int) -> None:
        """A job moved."""
        ...

    def close(self) -> None:
        """Nothing more comes."""
        ...


def progress(*, quiet: bool, color: bool) -> Progress:
    """Bars where a person watches, lines elsewhere."""
    return Bars(color=color) if sys.stderr.isatty() and not quiet else Lines(quiet=quiet)


class Lines:
    """A line whenever the stage or the count changes."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last: dict[str, tuple[str, int, int]] = {}

    def job(self, asked: str, job: JobRecord, wanted: int) -> None:
        """A job moved."""
        del wanted  # what is really there is counted against what was picked
        picks = [pick for cell in job.cells for pick in cell.picks]
        done = sum(pick.state in CLOSED for pick in picks)
        seen = (_stage(job), done, len(picks))
        if self._quiet or self._last.get(asked) == seen:
            return
        self._last[asked] = seen
        total = f" {done}/{len(picks)}" if picks else ""
        say(
            f"{clean(asked)}: {seen[0]}{total}"
            + (f" - {clean(job.stage_message).strip()}" if job.stage_message else "")
        )

    def close(self) -> None:
        """Nothing to put away."""


class Bars:
    """One bar a target."""

    def __init__(self, *, color: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        console = Console(stderr=True, no_color=not color, highlight=False)
        columns = (
            SpinnerColumn(),
            # Titles are no markup.
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self._progress = RichProgress(*columns, console=console, transient=True)
        self._tasks: dict[str, int] = {}
        self._progress.start()

    def job(self, asked: str, job: JobRecord, wanted: int) -> None:
        """A job moved."""
        picks = [pick for cell in job.cells for pick in cell.picks]
        done = sum(pick.state in CLOSED for pick in picks)
        total = wanted if wanted < _ALL else max(len(picks), 1)
        if asked not in self._tasks:
            self._tasks[asked] = int(self._progress.add_task(cut(clean(asked), 40), total=total, note=""))
        note = f"{_stage(job)} {job.stage_message or ''}" if not job.terminal else _stage(job)
        task = next(task for task in self._progress.task_ids if int(task) == self._tasks[asked])
        self._progress.update(task, completed=done, total=total, note=cut(clean(note), 50))

    def close(self) -> None:
        """Take the bars away; the report follows."""
        self._progress.stop()


def _stage(job: JobRecord) -> str:
    """What goes on, in a word. A job that found nothing to do has failed on the wire only."""
    if job.state is JobState.FAILED:
        return "nothing new" if job.reason in NOTHING_WANTED else f"failed, {clean(job.reason)}"
    return clean(job.stage)
