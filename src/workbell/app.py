"""The composition root: puts a Workbell together from its settings."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbell.client.declaring import Declarations
from workbell.client.declaring_hooks import HookDeclarations
from workbell.client.delegate import delegate
from workbell.client.local import LocalClient
from workbell.engine.one_shot import OneShot
from workbell.errors import MissingPackage, SettingsError
from workbell.handlers.registry import Registry
from workbell.handlers.resources import Resources
from workbell.notices.listeners import LifecycleEvent, listen
from workbell.process.first_use import on_first_use
from workbell.runs.runtime import Runtime, source_of
from workbell.settings import IN_STORE, Settings, find_file, load, warn_of_misspelt
from workbell.stores.opening import open_store

if TYPE_CHECKING:
    import socket

    import msgspec
    from starlette.applications import Starlette

    from workbell.agents.verbs import Agents
    from workbell.engine_host import EngineHost
    from workbell.handlers.job_function import JobFunction
    from workbell.http.policies.access_watch import AuthHook
    from workbell.http.server import Listening
    from workbell.http.service import Service
    from workbell.job_files.job_folder import JobFolder
    from workbell.model.run import Run
    from workbell.queues.guarded import GuardedQueue
    from workbell.stores.port import Store


class Workbell(LocalClient):
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
        file = find_file()
        self._folder = Path.cwd() if file is None else file.parent  # as it is now: the program may go elsewhere
        if settings is None:
            settings = load({"url": url, "tenant": tenant}, file=file)
            warn_of_misspelt()
        elif url is not None:
            raise SettingsError("Workbell: url and settings were given; settings have a URL: Settings(url=…).")
        if settings.secret_key is not None:
            from workbell.trust.sealing import Sealer

            Sealer.from_setting(settings.secret_key)  # a key that is none is refused here, not by the first delivery
        self.settings = settings
        self.recipe: msgspec.Struct | None = None  # of the command line: how another process makes this Workbell again
        opened = store or open_store(settings.url, settings.keep, settings.connections)
        queue = _open_queue(settings.queue_url, opened)
        runtime = Runtime(
            opened,
            Registry(Resources.from_settings(settings)),
            keep=settings.keep,
            tenant=tenant or settings.tenant,
            timezone=settings.timezone,
            event_source=source_of(settings.project) if settings.project else None,
            reschedules=settings.reschedules,
        )
        super().__init__(runtime)
        runtime.registry.make_built_in = self._make_built_in
        runtime.hooks.post, runtime.hooks.describe = runtime.publisher.bus.send, self._describe
        runtime.hooks.announce = None if queue is None else queue.announce_all
        declarations = Declarations(self._services, runtime.registry, lambda: self.schedules)
        self.job, self.on, self.processor = declarations.job, declarations.on, declarations.processor
        hooks = HookDeclarations(runtime.registry)
        self.around_run, self.on_worker_start = hooks.around_run, hooks.on_worker_start
        self._queue = queue
        self._mounted: list[Service] = []  # of the applications that `asgi` made

    # Parts: a program that only enqueues needs none of them.

    @on_first_use
    def agents(self) -> Agents:
        from workbell.agents.verbs import Agents

        return Agents(self.runtime, self.verified, self.settings.lease_span)

    @on_first_use
    def engine(self) -> JobFolder:
        from workbell.job_files.job_folder import JobFolder

        return JobFolder(self._folder, self.runtime, self.schedules, self.settings, self.shut_down)

    @on_first_use
    def host(self) -> EngineHost:
        from workbell.engine_host import EngineHost

        return EngineHost(
            self.runtime,
            lambda: self.settings,
            self._queue,
            self.engine,
            self._listen,
            recipe=lambda: self.recipe,
        )

    @on_first_use
    def one_shot(self) -> OneShot:  # for Workbell's own layers
        return OneShot(
            self.runtime,
            lambda: self.settings,
            self._queue,
            self.engine,
            isolated=lambda: self.host.isolated(),
            apart=lambda: self.host.apart(),
            engine_runs=lambda: "host" in vars(self) and self.host.running is not None,
        )

    def _make_built_in(self) -> list[JobFunction[Any, Any]]:
        from workbell.bulk.job import bulk_job
        from workbell.webhooks.alerts import alert_job
        from workbell.webhooks.delivery import delivery_job

        made = (delivery_job(self.runtime), alert_job(self.runtime), bulk_job(self.runtime))
        return [job for job in made if job is not None]

    def _describe(self, run: Run) -> tuple[str | None, str | None]:
        return self.engine.describe(run)

    # Listen

    def listen(self, pattern: str, listener: Callable[[LifecycleEvent], None]) -> Callable[[], None]:
        """Listen to lifecycle events of this process: `bell.listen("job.failed", alert)`, or `job.*` for all of jobs.

        There are `job.started`, `job.completed`, `job.failed`, `run.canceled`, `run.chain_ended`, `schedule.skipped`
        and `worker.lost`, by the patterns that events have. Call the result to stop. A listener is called on a
        thread of the engine and must be quick; what it raises is logged and never touches the run.
        """
        from workbell.events.lifecycle import QUIET

        return listen(self.runtime.publisher.bus, pattern, listener, self._describe, leave_out=QUIET)

    # Run

    def shut_down(self, grace: float | None = None) -> bool:
        """Stop the engine that runs here, from any thread, and begin nothing more; returns whether there was one.

        Waits until running handlers have ended, however long they take. With `grace`, those that have not ended after
        so many seconds are canceled, and their runs handed back.
        """
        return self.host.shut_down(grace)

    def stop_soon(self) -> bool:
        """Have `run` end as at a first Ctrl-C, from any thread and without waiting for it; whether an engine runs."""
        return self.host.stop_soon()

    def run(self, *, queues: Sequence[str] | None = None, concurrency: int | None = None) -> None:
        """Schedule and work here, until SIGTERM or SIGINT; a second one stops without waiting for handlers."""
        import asyncio

        from workbell.engine.role import Role

        asyncio.run(self.host.serve(Role(queues, concurrency)))

    # One round, without an engine
    dispatch = delegate(OneShot.dispatch, "one_shot")
    adispatch = delegate(OneShot.adispatch, "one_shot")
    consume = delegate(OneShot.consume, "one_shot")
    aconsume = delegate(OneShot.aconsume, "one_shot")

    # Serve

    def _listen(self, http: socket.socket) -> Listening:
        from workbell.http.server import Listening

        return Listening(self._service(listen=http.getsockname()[0]), http)

    def _service(self, *, auth: AuthHook | None = None, listen: str | None = None) -> Service:
        from workbell.http.service import Service

        return Service(
            self, self.settings, self.runtime.publisher.bus, self.engine, self.one_shot, auth=auth, listen=listen
        )

    def asgi(self, *, auth: AuthHook | None = None) -> Starlette:
        """The API and its page as an ASGI application, to be mounted in yours: `app.mount("/jobs", bell.asgi())`.

        `auth` is asked first, with the request: it answers an `Access`, or None to have a token asked for.
        """
        try:
            from workbell.http.app import make_app
        except ImportError as error:
            raise MissingPackage("The HTTP API needs its packages: pip install 'workbell[asgi]'.") from error

        if self.settings.http_auth == "none" and auth is None:
            raise SettingsError(
                "http_auth = 'none' lets everybody in, and an application may be reached from other machines; give "
                "asgi an `auth` hook, or use tokens (http_auth = 'token')."
            )
        service = self._service(auth=auth)
        self._mounted.append(service)
        return make_app(service)

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """Schedule and work for as long as an ASGI application runs: `FastAPI(lifespan=bell.lifespan)`.

        What `asgi` made ends with it, open streams and sockets too.
        """
        async with self.running():
            if self._mounted:
                from workbell.http.dashboard.assets import begin_loading

                begin_loading()
            for service in self._mounted:
                if service.stopping.is_set():  # an application may be started again after its end
                    service.begin_again()
            try:
                yield
            finally:
                for service in self._mounted:
                    await service.close()

    @contextlib.asynccontextmanager
    async def running(
        self, *, queues: Sequence[str] | None = None, concurrency: int | None = None
    ) -> AsyncIterator[Workbell]:
        """Schedule and work inside an asyncio application, for as long as the block lasts."""
        from workbell.engine.role import Role

        async with self.host.beside(Role(queues, concurrency)):
            yield self

    def close(self) -> None:
        """Let go of the store's connections."""
        if "engine" in vars(self):
            self.engine.close()
        super().close()
        if self._queue is not None:
            self._queue.close()
        self.store.close()

    def __enter__(self) -> Workbell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_queue(url: str, store: Store) -> GuardedQueue | None:
    """The queue beside the store; none, if the hints of the store are the queue, as nearly everywhere."""
    if url == IN_STORE:
        return None
    from workbell.queues.opening import open_beside

    return open_beside(url, store)
