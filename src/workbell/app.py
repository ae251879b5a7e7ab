"""The composition root: puts a Workbell together from its settings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from workbell.agents.verbs import Agents
from workbell.bulk.job import bulk_job
from workbell.claims.claiming import FairClaims
from workbell.claims.selection import FRESH
from workbell.client.client import nothing
from workbell.client.declaring import Declaring
from workbell.engine.engine import Engine
from workbell.engine.handler_processes.entry import entry
from workbell.engine.role import Role
from workbell.engine.tallies import write_at_once
from workbell.errors import MissingPackage, SettingsError, WorkbellError
from workbell.events.emitting import source_of
from workbell.events.lifecycle import QUIET
from workbell.handlers.registry import Registry
from workbell.handlers.resources import Resources
from workbell.job_files.jobs_engine import JobsEngine
from workbell.notices.bus import Bus, Notice
from workbell.notices.listeners import LifecycleEvent, listen
from workbell.notices.run_log import log_all
from workbell.queues.opening import open_beside
from workbell.settings import Settings, find_file, load, warn_of_misspelt
from workbell.stores.opening import open_store
from workbell.stores.port import Store
from workbell.stores.publisher import Pair
from workbell.webhooks.alerts import alert_job
from workbell.webhooks.clear_secrets import stored_in_clear
from workbell.webhooks.delivery import delivery_job

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI

    from workbell.boot.recipe import Recipe
    from workbell.http.server import Listening
    from workbell.http.service import AuthHook, Service

Stop = Callable[[bool], object]

FOR_WORKER = 3  # connections of a process that only works: it claims, books, and listens

log = logging.getLogger("workbell")


class Workbell(Declaring):
    """Background jobs and schedules: `bell = Workbell("sqlite:///workbell.db")`.

    Without a URL it is taken from WORKBELL_URL or `workbell.toml`. Nothing is opened until the first use.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | None = None,
        settings: Settings | None = None,
        store: Store | None = None,
    ) -> None:
        if settings is None:
            settings = load({"url": url, "tenant": tenant}, file=find_file())
            warn_of_misspelt()
        self.settings = settings
        self.bus = Bus()
        self._engine: Engine | None = None
        self._thread: threading.Thread | None = None  # of the event loop that the engine runs on
        self._end_run: Callable[[], None] = nothing
        self._end_log: Callable[[], None] = nothing
        self.interrupted = False  # a signal has ended `serve`
        self._services: list[Service] = []  # of the applications that `asgi` made
        self.recipe: Recipe | None = None  # how to make it again in another process, where the command line made it
        super().__init__(
            store or open_store(self.settings.url, self.settings.keep, self.settings.connections),
            Registry(Resources.from_settings(self.settings)),
            tenant=tenant or self.settings.tenant,
            keep=self.settings.keep,
            reschedules=self.settings.reschedules,
            timezone=self.settings.timezone,
            event_source=source_of(self.settings.project) if self.settings.project else None,
        )
        self.post = self.bus.tell
        self._queue = open_beside(self.settings.queue_url, self.store)
        if self._queue is not None:
            self.announce = self._queue.announce
        self.agents = Agents(self, self.settings.lease_span)
        delivery = delivery_job(self)
        for job in (delivery, alert_job(self), bulk_job(self)):
            if job is not None:
                self.registry.add_built_in(job)
        self.engine = JobsEngine(self, self.settings, self.shut_down)
        self.telling.describe = self.engine.describe
        self.booking.tally = self._tally
        self.booking.notify = self._notify

    # Listen

    def listen(self, pattern: str, listener: Callable[[LifecycleEvent], None]) -> Callable[[], None]:
        """Hear of what happens in this process: `bell.listen("job.failed", tell)`, or `job.*` for all about jobs.

        There are `job.started`, `job.completed`, `job.failed`, `run.canceled`, `run.chain_ended`, `schedule.skipped`
        and `worker.lost`, by the patterns that events have. The answer ends the listening. A listener is called on a
        thread of the engine and must be quick; what it raises is logged and never touches the run.
        """
        return listen(self.bus, pattern, listener, self.engine.describe, leave_out=QUIET)

    def _tally(self, ended: Sequence[Pair]) -> None:
        """Count what a verb of this process has ended."""
        if self._engine is not None:
            self._engine.tallies.add(ended)
        else:
            write_at_once(self.store, ended)

    def _notify(self, written: Sequence[Pair]) -> None:
        """Tell the listeners of this process what a verb has moved."""
        told = [Notice(change.move, change.after(run), change.ended) for run, change in written]
        wanted = [notice for notice in told if self.bus.wants(notice.move)]
        if wanted:
            self.bus.publish(wanted)

    # Run

    def shut_down(self) -> bool:
        """Stop the engine that runs here, from any thread; handlers have the grace of the settings to end.

        The answer is whether there was one.
        """
        engine = self._engine
        if engine is None:
            return False
        stopping = threading.Thread(target=engine.stop, args=[self.settings.grace], name="workbell-stop", daemon=True)
        stopping.start()
        self.stop_soon()
        if threading.current_thread() is not self._thread:  # the loop must go on, so that async handlers can end
            stopping.join()
        return True

    def stop_soon(self) -> bool:
        """Have `run` end as at a first Ctrl-C, from any thread and without waiting for it; whether an engine runs."""
        engine = self._engine
        if engine is not None:
            engine.loop.call_soon_threadsafe(self._end_run)
        return engine is not None

    def run(self, *, queues: Sequence[str] | None = None, concurrency: int | None = None) -> None:
        """Schedule and work here, until SIGTERM or SIGINT; a second one stops without waiting for handlers."""
        asyncio.run(self.serve(Role(queues, concurrency)))

    async def serve(
        self,
        role: Role,
        started: Callable[[Engine, Stop], None] | None = None,
        grace: float | None = None,
        http: socket.socket | None = None,
    ) -> int:
        """Run an engine until it is asked to stop; the answer is how many runs were handed back.

        By SIGTERM or SIGINT, the second of which stops without waiting for handlers. Or, if `started` is given, by
        what it is handed: from any thread, and with True if there is no time to lose. With a socket, the API is served
        there meanwhile.
        """
        loop = asyncio.get_running_loop()
        grace = self.settings.grace if grace is None else grace
        stop, force = asyncio.Event(), asyncio.Event()

        def end(at_once: bool) -> None:
            stop.set()
            if at_once:
                force.set()

        def on_signal() -> None:
            self.interrupted = True
            if not stop.is_set():
                log.info("stopping: handlers have %g s to end; a second signal stops at once", grace)
            end(stop.is_set())

        self._end_run = stop.set
        with _signals(loop, on_signal) if started is None else contextlib.nullcontext():
            listening = None if http is None else self._listen(http)  # first: it may be refused
            engine = self._start(loop, role)
            if listening is not None:
                try:
                    await listening.start()
                    await self.hop(listening.note)
                except BaseException:
                    await self._stop(engine, grace)
                    raise
            if started is not None:
                started(engine, lambda at_once: loop.call_soon_threadsafe(end, at_once))
            await stop.wait()
            if listening is not None:
                await listening.stop()
            stopping = asyncio.ensure_future(self._stop(engine, grace))
            forced = asyncio.ensure_future(force.wait())
            await asyncio.wait({stopping, forced}, return_when=asyncio.FIRST_COMPLETED)
            forced.cancel()
            if not stopping.done():
                log.warning("stopping at once; what is running is handed back")
                engine.hurry()
            return await stopping

    # Serve

    def _listen(self, http: socket.socket) -> Listening:
        from workbell.http.server import Listening

        return Listening(self._service(listen=http.getsockname()[0]), http)

    def _service(self, *, auth: AuthHook | None = None, listen: str | None = None) -> Service:
        from workbell.http.service import Service

        return Service(self, self.settings, self.bus, self.engine, auth=auth, listen=listen)

    def asgi(self, *, auth: AuthHook | None = None) -> FastAPI:
        """The API and its page as an ASGI application, to be mounted in yours: `app.mount("/jobs", bell.asgi())`.

        `auth` is asked first, with the request: it answers an `Access`, or None to have a token asked for.
        """
        try:
            from workbell.http.app import make_app
        except ImportError as error:
            raise MissingPackage("The HTTP API needs its packages: pip install 'workbell[server]'.") from error

        if self.settings.http_auth == "none" and auth is None:
            raise SettingsError(
                "http_auth = 'none' lets everybody in, and an application may be reached from other machines; give "
                "asgi an `auth` hook, or use tokens (http_auth = 'token')."
            )
        service = self._service(auth=auth)
        self._services.append(service)
        return make_app(service)

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """Schedule and work for as long as an ASGI application runs: `FastAPI(lifespan=bell.lifespan)`.

        What `asgi` made ends with it, open streams and sockets too.
        """
        async with self.running():
            for service in self._services:
                if service.stopping.is_set():  # an application may be started again after its end
                    service.begin_again()
            try:
                yield
            finally:
                for service in self._services:
                    await service.close()

    @contextlib.asynccontextmanager
    async def running(
        self, *, queues: Sequence[str] | None = None, concurrency: int | None = None
    ) -> AsyncIterator[Workbell]:
        """Schedule and work inside an asyncio application, for as long as the block lasts."""
        loop = asyncio.get_running_loop()
        role, here = Role(queues, concurrency), threading.current_thread()
        starting = asyncio.ensure_future(self.hop(self._start, loop, role, here))
        try:
            await asyncio.shield(starting)
            yield self
        finally:
            # Also if the caller was cancelled while it was starting: then it is running all the same.
            await asyncio.shield(self._stop_started(starting))

    async def _stop_started(self, starting: asyncio.Future[Engine]) -> None:
        await asyncio.wait([starting])
        if starting.exception() is None:
            await self._stop(starting.result(), self.settings.grace)

    def _start(
        self,
        loop: asyncio.AbstractEventLoop,
        role: Role,
        thread: threading.Thread | None = None,
    ) -> Engine:
        if self._engine is not None:
            raise WorkbellError("This Workbell is running already; make another one, or raise its concurrency.")
        from multiprocessing import current_process  # rarely needed, and not light

        if getattr(current_process(), "_inheriting", False):
            raise WorkbellError(
                "The main program was loaded again by a process that it started, and would run itself there; put what "
                'starts it below if __name__ == "__main__":'
            )
        engine = Engine(
            self,
            FairClaims(self.store, fresh=min(self.settings.poll / 2, FRESH)),
            self._queue,
            self.bus,
            self.settings,
            loop,
            role=role,
            declare_again=self.engine.declare_again,
            isolated=lambda: entry(self.settings, self.engine.folder, self.recipe),
            # What the worker itself was made from will do for another process too.
            apart=self.recipe is not None and self.settings.url != "memory://",
        )
        if not role.schedules and self.settings.connections is None:
            self.store.limit_connections(FOR_WORKER)
        self.store.check()
        self.store.measure_time()  # for when it was that triggers were declared: others read that
        self.engine.start()
        if role.schedules:  # one process of many is enough
            clear = stored_in_clear(self.store, self.registry)
            if clear is not None:
                log.warning("%s", clear)
        end_log = log_all(self.bus) if role.logs_runs else nothing
        try:
            engine.start()
        except BaseException:
            end_log()
            raise
        self._engine, self._end_log = engine, end_log
        self._thread = thread or threading.current_thread()
        self.nudge = engine.nudge
        return engine

    async def _stop(self, engine: Engine, grace: float) -> int:
        loop = asyncio.get_running_loop()
        handed_back = await loop.run_in_executor(None, engine.stop, grace)
        if handed_back:
            log.info("handed back to the queue: %d", handed_back)
        self._engine = None
        self._end_log()
        return handed_back

    def close(self) -> None:
        """Let go of the store's connections."""
        self.engine.close()
        super().close()
        if self._queue is not None:
            self._queue.close()
        self.store.close()

    def __enter__(self) -> Workbell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, handle: Callable[[], None]) -> Iterator[None]:
    """Stop signals go to `handle`; where they cannot be set (not the main thread), the caller stops us."""
    wanted = (signal.SIGTERM, signal.SIGINT)
    set_here = []
    for number in wanted:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, handle)
            set_here.append(number)
    try:
        yield
    finally:
        for number in set_here:
            loop.remove_signal_handler(number)
