"""Running a command on an event loop, and what its signals mean."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from pixivflow.cli.exits import Exit
from pixivflow.cli.output import say

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


class Interrupts:
    """The first signal asks to stop, the second to stop at once, the third kills as if we were not here.

    Attributes:
        stop: set by the first signal.
        hurry: set by the second.
        code: the exit status that names the first signal; OK while there was none.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()
        self.code = Exit.OK

    def listen(self, *, told: str = "") -> None:
        """Take over the signals of this process. `told` is said at the first one."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._came, number, told)

    def _came(self, number: signal.Signals, told: str) -> None:
        if not self.stop.is_set():
            self.code = _CODES[number]
            self.stop.set()
            if told:
                say(told)
            return
        self.hurry.set()
        loop = asyncio.get_running_loop()
        for other in SIGNALS:
            loop.remove_signal_handler(other)
            signal.signal(other, signal.SIG_DFL)

    async def guard(self, work: Awaitable[T]) -> T | None:
        """The result of `work`, or None when a signal came first; then it has been cancelled."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return None
        finally:
            stopping.cancel()


def run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command that may be cut off anywhere. A signal cancels it."""

    async def guarded() -> int:
        interrupts = Interrupts()
        interrupts.listen()
        status = await interrupts.guard(main())
        return interrupts.code if status is None else status

    with asyncio.Runner() as runner:
        return runner.run(guarded())


def run_with_signals(main: Callable[[Interrupts], Coroutine[Any, Any, int]], *, told: str = "") -> int:
    """Run a command that stops in two phases by itself, on the quickest loop there is."""

    async def listening() -> int:
        interrupts = Interrupts()
        interrupts.listen(told=told)
        return await main(interrupts)

    with asyncio.Runner(loop_factory=_quick_loop()) as runner:
        return runner.run(listening())


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return None
    return uvloop.new_event_loop
