"""Where adapters are joined to ports: the only module that knows every room.

`Stack` is everything that runs on one ledger without HTTP; `serve` adds the port. Both raise `StartupError` with one
clear line before anything has been written that was not there.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from pixivflow._version import __version__
from pixivflow.api.auth import Tokens, UnsafeBind, check_bind
from pixivflow.api.internal import InternalPorts
from pixivflow.api.ports import Drained
from pixivflow.collect.collector import Collector
from pixivflow.collect.memory import MemoryArchive
from pixivflow.collect.outcome import Plan as DryRun
from pixivflow.collect.ports import Archive
from pixivflow.config import Config, LoadResult
from pixivflow.delivery.cleanup import CacheCleaner
from pixivflow.delivery.errand import Patience
from pixivflow.delivery.ports import OutboxRow, Route
from pixivflow.delivery.worker import DeliveryWorker, WorkerSettings
from pixivflow.domain.job import JobRecord
from pixivflow.domain.target import Target
from pixivflow.domain.task import CANDIDATE_SEARCH
from pixivflow.engine.admission import DEFAULT_ACCOUNT
from pixivflow.engine.clock import Clock, SystemClock
from pixivflow.engine.dispatch import InlineDispatch
from pixivflow.engine.legacy import LegacyOrders
from pixivflow.engine.occurrences import Occurrences
from pixivflow.engine.runner import Limits, Runner
from pixivflow.engine.service import Service
from pixivflow.engine.snapshot import freeze
from pixivflow.engine.sweeper import Sweeper
from pixivflow.ledger import attempts, jobs, sweep
from pixivflow.ledger.callbacks import CALLBACK_KIND
from pixivflow.ledger.errors import LedgerError, LedgerInUse
from pixivflow.ledger.outbox_port import Backoff, LedgerOutbox
from pixivflow.ledger.outcomes import OUTCOME_KIND
from pixivflow.ledger.ports import Tx
from pixivflow.ledger.sqlite import SqliteLedger
from pixivflow.ledger.state import LedgerAccountStore
from pixivflow.ledger.works import LedgerArchive, LedgerCacheRecords
from pixivflow.library.errors import LibraryError
from pixivflow.library.store import Library
from pixivflow.sources.ports import AccountStore, MemoryAccountStore
from pixivflow.wiring import (
    EXIT_REFUSED,
    EXIT_TEMPFAIL,
    EXIT_USAGE,
    ConfigCatalog,
    StartupError,
    build_callbacks,
    build_outcomes,
    build_routes,
    build_source,
    collect_settings,
    jst_day,
    library_folders,
)

if TYPE_CHECKING:
    # The web framework costs half a second; only a process that serves pays it (see `Stack.app` and `serve`).
    from pixivflow.api.app import Application
    from pixivflow.api.server import HttpServer

log = logging.getLogger(__name__)


class Stack:
    """Everything that runs on one ledger, in this process."""

    def __init__(self, config: Config, ledger: SqliteLedger, dispatch: InlineDispatch, clock: Clock) -> None:
        self.config = config
        self.ledger = ledger
        self.dispatch = dispatch
        self.clock = clock
        self.catalog = ConfigCatalog(config, lambda: jst_day(clock))
        self.service = Service(ledger, lambda: self.catalog, version=__version__, news=dispatch)
        self.orders = LegacyOrders(self.service, ledger, lambda: self.catalog)
        self.clocks = Occurrences(ledger, lambda: self.catalog, clock, draining=lambda: self.service.draining)
        self.library = Library(config.library_dir)
        self.archive = LedgerArchive(ledger)
        account = config.pixiv.account.strip() or DEFAULT_ACCOUNT
        self.source = build_source(config, LedgerAccountStore(ledger, account), clock, self._waits)
        self.collector = Collector(self.source, self.library, self.archive, collect_settings(config), clock)
        self.routes: dict[str, Route] = build_routes(config, now_ms=clock.now_ms)
        self.callbacks = build_callbacks(config, now_ms=clock.now_ms)
        self.outcomes = build_outcomes(lambda: self.config, now_ms=clock.now_ms)
        self.cleaner = CacheCleaner(self.library, LedgerCacheRecords(ledger))
        self._cleaning: set[asyncio.Task[int]] = set()
        self.worker = self._worker()
        self.sweeper = Sweeper(ledger, lambda: self.catalog, clock, dispatch.sweep_wake)
        self.runner = Runner(
            ledger,
            self.collector,
            self.library,
            clock=clock,
            owner=f"run-{uuid.uuid4().hex[:12]}",
            limits=Limits(self._places, lambda: self.catalog.budgets.stall_ms),
        )
        self.broken = asyncio.Event()
        ledger.on_broken = self._ledger_broke

    @classmethod
    async def open(cls, config: Config, *, purpose: str, clock: Clock | None = None) -> Stack:
        """Lock the ledger and look at everything the run will need.

        Raises:
            StartupError: one clear line; the ledger is free again.
        """
        clock = clock or SystemClock()
        library_folders(config)
        dispatch = InlineDispatch()
        ledger = SqliteLedger(config.database_path, purpose=purpose, now_ms=clock.now_ms, signals=dispatch)
        try:
            ledger.open()
        except LedgerInUse as error:
            raise StartupError(f"{error}; stop it, or use its address", EXIT_REFUSED) from None
        except LedgerError as error:
            raise StartupError(str(error)) from None
        stack = cls(config, ledger, dispatch, clock)
        try:
            await stack.library.check_writable()
        except LibraryError as error:
            await ledger.aclose()
            raise StartupError(f"the library cannot be used: {error}") from None
        return stack

    async def start(self) -> None:
        """Take over what an earlier process left, then work."""
        lost = await self.ledger.write(sweep.take_over)
        removed = await self.library.clear_incoming(keep=())
        if lost or removed:
            log.info("took over %d attempts and removed %d folders of unfinished files", lost, removed)
        await self.cleaner.sweep()
        self.dispatch.work(self.runner.run)
        await self.ledger.write(lambda tx: sweep.grant_all(tx, places=self.catalog.places))
        self.sweeper.start()
        await self.worker.start()  # also without routes: any job may have a callback address

    async def stop(self, grace_s: float) -> None:
        """Stop in two phases: nothing new, then what runs is finished within the grace or handed back."""
        self.service.draining = True
        await self.sweeper.stop()
        cut = await self.dispatch.shut_down(grace_s)
        await self.runner.closed()
        if cut:
            log.info("%d attempts were handed back; the next start goes on with them", cut)
        await self.worker.stop()
        if self._cleaning:
            await asyncio.wait(self._cleaning)
        await self.source.aclose()
        for route in self.routes.values():
            await route.aclose()
        await self.callbacks.aclose()
        await self.outcomes.aclose()
        await self.ledger.aclose()

    def app(self, tokens: Tokens) -> Application:
        from pixivflow.api.app import create_app

        """Everything that is served on the port."""
        internal = InternalPorts(self.orders, self.clocks, self.drain)
        return create_app(self.service, tokens, now_ms=self.clock.now_ms, internal=internal)

    async def drain(self) -> Drained:
        """Send every row that is due."""
        done = await self.worker.drain()
        return Drained(done.processed, done.done, done.retried, done.dead)

    async def order(self, target: Target, *, trigger: str = "cli", plan_id: str = "cli") -> JobRecord:
        """Admit a job for a target that no plan has to know."""
        account = self.catalog.account.strip() or DEFAULT_ACCOUNT
        new = jobs.NewJob(
            id=f"{plan_id}@{trigger}-{uuid.uuid4().hex}",
            type=CANDIDATE_SEARCH,
            plan_id=plan_id,
            account=account,
            trigger=trigger,
            cells=[(target.id, target.type.value)],
            snapshot={"targets": [freeze(target)]},
        )

        def admit(tx: Tx) -> JobRecord:
            job = jobs.insert(tx, new)
            attempts.grant(tx, account, places=self.catalog.places)
            return job

        return await self.ledger.write(admit)

    async def progress(self, job_id: str, *, every_s: float = 0.5) -> AsyncIterator[JobRecord]:
        """The job whenever it changes, until it has ended. Nothing for a job that does not exist."""
        moved = self.dispatch.watch(job_id)
        seen: JobRecord | None = None
        try:
            while True:
                moved.clear()
                job = await self.service.get(job_id)
                if job is None:
                    return
                if job != seen:
                    seen = job
                    yield job
                if job.terminal:
                    return
                try:
                    await asyncio.wait_for(moved.wait(), every_s)
                except TimeoutError:
                    continue
        finally:
            self.dispatch.unwatch(job_id, moved)

    async def wait(self, job_id: str) -> JobRecord:
        """The job once it has ended.

        Raises:
            KeyError: there is no such job.
        """
        last: JobRecord | None = None
        async for job in self.progress(job_id, every_s=5.0):
            last = job
        if last is None:
            raise KeyError(job_id)
        return last

    def _places(self) -> int:
        """Places that may be granted anew; none while stopping, since nobody would take them."""
        return 0 if self.service.draining else self.catalog.places

    def _worker(self) -> DeliveryWorker:
        delivery = self.config.delivery

        def backoff(row: OutboxRow) -> Backoff:
            callback = row.kind in (CALLBACK_KIND, OUTCOME_KIND)
            base_ms = delivery.callback_retry_base_ms if callback else delivery.outbox_retry_base_ms
            return Backoff(base_ms, delivery.outbox_retry_max_ms)

        outbox = LedgerOutbox(
            self.ledger,
            backoff,
            random.random,
            self._clean,
        )
        return DeliveryWorker(
            outbox,
            self.routes,
            self.library.root,
            clock=self.clock,
            random=random.random,
            wake=self.dispatch.outbox_wake,
            senders={CALLBACK_KIND: self.callbacks, OUTCOME_KIND: self.outcomes},
            settings=WorkerSettings(patience=Patience(send_s=delivery.request_timeout_ms / 1000 + 30)),
        )

    def _clean(self) -> None:
        """A delivery has ended: files of cache targets may be free to go."""
        if not self.config.delivery.delete_after_delivery or self._cleaning:
            return
        task = asyncio.ensure_future(self.cleaner.sweep())
        self._cleaning.add(task)
        task.add_done_callback(self._cleaned)

    def _cleaned(self, task: asyncio.Task[int]) -> None:
        self._cleaning.discard(task)
        if not task.cancelled() and task.exception() is None and task.result():
            self._clean()  # something may have become free while this ran

    def _waits(self, why: str, seconds: float) -> None:
        self.runner.waits(why, seconds)

    def _ledger_broke(self, error: BaseException) -> None:
        log.critical("a commit failed and its outcome is unknown; stopping so that the truth is read back: %s", error)
        self.service.broken = "a commit failed; the process must restart"
        self.broken.set()


async def plan_only(config: Config, target: Target, *, clock: Clock | None = None) -> DryRun:
    """What collecting a target would pick, with nothing written: not even a ledger is made where there is none.

    A ledger that exists is opened under its lock. A token that was rotated on the way and the state of the gate are
    kept there, because forgetting them would cost the account; nothing about works or jobs is written.

    Raises:
        StartupError: the ledger is in use or cannot be read.
    """
    clock = clock or SystemClock()
    ledger: SqliteLedger | None = None
    archive: Archive = MemoryArchive()
    store: AccountStore = MemoryAccountStore()
    if config.database_path.exists():
        ledger = SqliteLedger(config.database_path, purpose="a dry run", now_ms=clock.now_ms)
        try:
            ledger.open()
        except LedgerInUse as error:
            raise StartupError(f"{error}; stop it, or use its address", EXIT_REFUSED) from None
        except LedgerError as error:
            raise StartupError(str(error)) from None
        archive = LedgerArchive(ledger)
        store = LedgerAccountStore(ledger, config.pixiv.account.strip() or DEFAULT_ACCOUNT)
    source = build_source(config, store, clock)
    try:
        collector = Collector(source, Library(config.library_dir), archive, collect_settings(config), clock)
        return await collector.plan(target)
    finally:
        await source.aclose()
        if ledger is not None:
            await ledger.aclose()


async def serve(
    result: LoadResult,
    *,
    ready: Callable[[str], None],
    stop: asyncio.Event,
    hurry: asyncio.Event,
    host: str | None = None,
    port: int | None = None,
    grace_s: float = 25.0,
    clock: Clock | None = None,
) -> int:
    """Serve until `stop` is set; `hurry` cuts the stopping short. Returns the exit code.

    The address is bound before anything is written; `ready` is called with the URL once everything runs.

    Raises:
        StartupError: one clear line; nothing was started.
    """
    config = result.config
    if config is None:
        raise StartupError("the configuration has errors", EXIT_USAGE)
    trigger = config.scheduler_runtime.trigger
    tokens = Tokens(_clear(result.tokens.manual), _clear(result.tokens.trigger))
    address = host or trigger.host
    try:
        check_bind(address, tokens)
    except UnsafeBind as error:
        raise StartupError(str(error), EXIT_USAGE) from None
    from pixivflow.api.server import CannotListen, HttpServer, PortInUse

    server = HttpServer(address, trigger.port if port is None else port, None)
    try:
        await server.bind()
    except (PortInUse, CannotListen) as error:
        raise StartupError(str(error), EXIT_REFUSED) from None
    try:
        stack = await Stack.open(config, purpose="pixivflow serve", clock=clock)
    except BaseException:
        server.release()
        raise
    server.app = stack.app(tokens)
    try:
        await stack.start()
        await server.start()
        stack.ledger.lock.annotate(url=server.url)
        ready(server.url)
        await _first(stop.wait(), stack.broken.wait(), server.wait())
        stack.service.draining = True
    finally:
        await _wind_down(stack, server, hurry, grace_s)
    return EXIT_TEMPFAIL if stack.broken.is_set() else 0


async def _wind_down(stack: Stack, server: HttpServer, hurry: asyncio.Event, grace_s: float) -> None:
    """Answer requests until the work has stopped, so that readiness can be seen to be off."""
    stopping = asyncio.ensure_future(stack.stop(0.0 if hurry.is_set() else grace_s))
    hurrying = asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait({stopping, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            await stack.dispatch.shut_down(0.0)
        await stopping
    finally:
        hurrying.cancel()
        await server.stop(2.0)


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _clear(token: SecretStr | None) -> str | None:
    return token.get_secret_value() if token is not None else None
