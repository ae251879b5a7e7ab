"""The host of an engine: starts one in this process, runs it until it is asked to stop, and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol

import msgspec

from workbell.claims.claiming import SURVEY_VALID, FairClaims
from workbell.engine.engine import Engine
from workbell.engine.handler_processes.entry import Entry, entry, hook_names
from workbell.engine.role import Role
from workbell.errors import WorkbellError
from workbell.handlers.current_run import current_run
from workbell.job_files.job_folder import JobFolder
from workbell.model.clock import seconds
from workbell.notices.run_log import log_all
from workbell.process.interpreter import set_for_work
from workbell.process.verb_threads import on_own_thread
from workbell.queues.guarded import GuardedQueue
from workbell.runs.runtime import Runtime, nothing
from workbell.settings import Settings
from workbell.webhooks.clear_secrets import stored_in_clear

Stop = Callable[[bool], object]

FOR_WORKER = 3  # connections of a process that only works: it claims, books, and listens

log = logging.getLogger("workbell")


class Server(Protocol):
    """The HTTP API on a socket, beside the engine."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def note(self) -> None: ...


class EngineHost:
    """Has at most one engine at a time. For the command line and the supervisor's children: `bell.host`."""

    def __init__(
        self,
        runtime: Runtime,
        settings: Callable[[], Settings],
        queue: GuardedQueue | None,
        folder: JobFolder,
        listen: Callable[[socket.socket], Server],
        recipe: Callable[[], msgspec.Struct | None],
    ) -> None:
        self.bus = runtime.publisher.bus
        self.interrupted = False  # a signal has ended `serve`
        self.running: Engine | None = None
        self._runtime = runtime
        self._settings = settings
        self._queue = queue
        self._folder = folder
        self._listen = listen
        self._recipe = recipe
        self._thread: threading.Thread | None = None  # of the event loop that the engine runs on
        self._end_serve: Callable[[], object] = nothing
        self._end_soon: Callable[[], object] = nothing
        self._end_log: Callable[[], object] = nothing

    # For executors

    def isolated(self) -> Entry:
        """Entry of a process that executes handlers of this Workbell."""
        return entry(self._settings(), self._folder.folder, self._recipe(), hook_names(self._runtime.registry))

    def apart(self) -> bool:
        """Whether suspects can have a process of their own: a recipe makes the same Workbell there."""
        return self._recipe() is not None and self._settings().url != "memory://"

    # Run

    def shut_down(self, grace: float | None = None) -> bool:
        """Stop the engine that runs here, from any thread, and wait until it has stopped; whether there was one.

        Handlers may take as long as they like; with `grace`, so many seconds. A handler that calls this does not wait:
        the stop waits for it. Neither does the thread of the event loop, which async handlers need.
        """
        within = None if grace is None else seconds("grace", grace)
        engine = self.running
        if engine is None:
            return False
        stopping = threading.Thread(target=engine.stop, args=[within], name="workbell-stop", daemon=True)
        stopping.start()
        engine.loop.call_soon_threadsafe(self._end_serve)
        if threading.current_thread() is not self._thread and current_run.get() is None:
            stopping.join()
        return True

    def stop_soon(self) -> bool:
        """End `serve` as at a first Ctrl-C, from any thread and without waiting for it; whether an engine runs."""
        engine = self.running
        if engine is not None:
            engine.loop.call_soon_threadsafe(self._end_soon)
        return engine is not None

    async def serve(
        self,
        role: Role,
        started: Callable[[Engine, Stop], None] | None = None,
        grace: float | None = None,
        http: socket.socket | None = None,
    ) -> int:
        """Run an engine until it is asked to stop; return how many runs were handed back.

        By SIGTERM or SIGINT, the second of which stops without waiting for handlers. Or, if `started` is given, by
        the function that it is called with: from any thread, and with True if there is no time to lose. With a socket,
        the API is served there meanwhile.
        """
        loop = asyncio.get_running_loop()
        grace = self._settings().grace if grace is None else grace
        stop = asyncio.Event()
        told = False  # to stop within the grace, by a signal or as by one

        def end(at_once: bool) -> None:
            nonlocal told
            if at_once:
                log.warning("stopping at once; what is running is handed back")
            told = True
            engine.limit_stop(0 if at_once else grace)
            stop.set()

        def on_signal() -> None:
            self.interrupted = True
            if not told:
                log.info("stopping: handlers have %g s to end; a second signal stops at once", grace)
            end(told)

        self._end_serve, self._end_soon = stop.set, lambda: end(False)
        # Before the settings of the interpreter, which leave what is loaded out of collections; and it may be refused.
        server = None if http is None else self._listen(http)
        with set_for_work(), _signals(loop, on_signal) if started is None else contextlib.nullcontext():
            engine = self._start(loop, role)
            if server is not None:
                try:
                    await server.start()
                    await self._runtime.hop(server.note)
                except BaseException:
                    await self._stop(engine, grace)
                    raise
            if started is not None:
                started(engine, lambda at_once: loop.call_soon_threadsafe(end, at_once))
            await stop.wait()
            if server is not None:
                await server.stop()
            return await self._stop(engine)

    @contextlib.asynccontextmanager
    async def beside(self, role: Role) -> AsyncIterator[None]:
        """Run an engine inside an asyncio application, for as long as the block lasts."""
        loop, here = asyncio.get_running_loop(), threading.current_thread()
        starting = asyncio.ensure_future(self._runtime.hop(self._start, loop, role, here))
        try:
            await asyncio.shield(starting)
            yield
        finally:
            # Also if the caller was cancelled while it was starting: then it is running all the same.
            await asyncio.shield(self._stop_started(starting))

    async def _stop_started(self, starting: asyncio.Future[Engine]) -> None:
        await asyncio.wait([starting])
        if starting.exception() is None:
            await self._stop(starting.result(), self._settings().grace)

    def _start(
        self,
        loop: asyncio.AbstractEventLoop,
        role: Role,
        thread: threading.Thread | None = None,
    ) -> Engine:
        if self.running is not None:
            raise WorkbellError("This Workbell is running already; make another one, or raise its concurrency.")
        from multiprocessing import current_process  # rarely needed, and not light

        if getattr(current_process(), "_inheriting", False):
            raise WorkbellError(
                "The main program was loaded again by a process that it started, and would run itself there; put what "
                'starts it below if __name__ == "__main__":'
            )
        store, settings = self._runtime.store, self._settings()
        engine = Engine(
            self._runtime,
            FairClaims(store, fresh=min(settings.poll_pace / 2, SURVEY_VALID), poll=settings.poll_pace),
            self._queue,
            settings,
            loop,
            role=role,
            declare_again=self._folder.declare_again,
            isolated=self.isolated,
            apart=self.apart(),
        )
        if not role.schedules and settings.connections is None:
            store.limit_connections(FOR_WORKER)
        store.check()
        store.measure_time()  # for when it was that triggers were declared: others read that
        self._folder.start()
        if role.schedules:  # one process of many is enough
            clear = stored_in_clear(store, self._runtime.registry)
            if clear is not None:
                log.warning("%s", clear)
        if role.works:
            self._runtime.registry.prepare_built_in()
            self._runtime.registry.worker_start.call_once()
        end_log = log_all(self.bus) if role.logs_runs else nothing
        try:
            engine.start()
        except BaseException:
            end_log()
            raise
        self.running, self._end_log = engine, end_log
        self._runtime.hooks.wake = engine.hint
        self._thread = thread or threading.current_thread()
        return engine

    async def _stop(self, engine: Engine, grace: float | None = None) -> int:
        handed_back = await on_own_thread("stop", engine.stop, grace)
        if handed_back:
            log.info("handed back to the queue: %d", handed_back)
        self._runtime.hooks.wake = nothing
        self.running = None
        self._end_log()
        return handed_back


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
