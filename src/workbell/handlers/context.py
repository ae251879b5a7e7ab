"""Context of a handler, `ctx`: its run, a logger, a database and files, progress, and the verbs for new runs and
events."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from workbell.errors import EventNotFound, InvalidOption, LeaseLost
from workbell.handlers.current_run import on_behalf_of
from workbell.handlers.known_events import known_events
from workbell.handlers.run_logger import RunLogger, SaveLine
from workbell.model.clock import EPOCH
from workbell.model.json_text import clean_text, encode
from workbell.model.request import plain_request
from workbell.model.run import Attempt, Lane, Run, Status
from workbell.stores.port import Held, newest_attempts

if TYPE_CHECKING:
    from workbell.handlers.app_database import DatabaseUse
    from workbell.handlers.files import Storage
    from workbell.handlers.services import JobServices
    from workbell.model.event import Event
    from workbell.model.notification import Notification
    from workbell.model.users import UserId

_first_use = threading.Lock()  # a handler may have threads of its own


class Context:
    """The first parameter of a handler, if it asks for it."""

    __slots__ = ("_event", "_is_canceled", "_logger", "_report", "_save_line", "_services", "_use", "run")

    def __init__(
        self,
        run: Run,
        services: JobServices,
        report: Callable[[Held, str], bool],
        is_canceled: Callable[[], bool],
        save_line: SaveLine | None = None,
    ) -> None:
        self.run = run
        self._services = services
        self._report = report
        self._save_line = save_line  # stores log lines with the run
        self._is_canceled = is_canceled
        self._logger: RunLogger | None = None
        self._use: DatabaseUse | None = None
        self._event: Event | None = None

    @property
    def db(self) -> Any:
        """A DB-API connection to the application's own database (the setting `database`), opened when first asked for.

        It is committed when the handler returns, and rolled back when it raises, is cancelled, runs out of time or has
        lost its lease. What the handler commits itself stays. An async handler uses it on the event loop.
        """
        with _first_use:
            if self._use is None:
                from workbell.handlers.app_database import AppDatabase, DatabaseUse, file_of

                resources = self._services.resources
                self._use = DatabaseUse(AppDatabase(resources.database, file_of(self._services.store)).open)
        return self._use.connection()

    @property
    def storage(self) -> Storage:
        """The tenant's files (in the folder of the setting `storage`): `put`, `get`, `open`, `delete`, `list`."""
        from workbell.handlers.files import Storage

        folder = self._services.resources.storage
        return Storage(folder, tenant=self.run.tenant, clock=self._services.store.clock)

    @property
    def logger(self) -> RunLogger:
        """A logger whose lines carry the run's id, job, queue, attempt and tenant, and the worker.

        From INFO on they are stored with the run: see `bell.logs(run_id)` and `workbell runs logs`.
        """
        if self._logger is None:
            with _first_use:  # there is one for each run, because it numbers the lines
                if self._logger is None:
                    self._logger = RunLogger(self.run, self._save_line, self._services.store.clock.now)
        return self._logger

    @property
    def token(self) -> int:
        """The fencing token of this attempt: a random number, another for each claim. Tokens have no order."""
        return self.run.token

    @property
    def canceled(self) -> bool:
        """Whether the run's end was asked for, its time is over, or its lease is lost: stop as soon as you can."""
        return self._is_canceled()

    @property
    def event(self) -> Event | None:
        """The event that started this run; none if something else did.

        It is read from the store when first asked for. An async function that `@bell.on` or `@bell.processor` made a
        job has it from the beginning.
        """
        if self._event is None and self.run.event is not None:
            self._event = known_events.find(self._services.store, self.run.event)
            if self._event is None:
                raise EventNotFound(
                    f"run {self.run.id}: the event {self.run.event} that started it is gone; events are removed when "
                    "their time is over."
                )
        return self._event

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report how far the work is; raises LeaseLost when another worker has taken the run over.

        Call it as often as you like: it is written a few times a second, and the last one always.
        """
        self._progress(done, total, message)

    def _progress(self, done: float, total: float | None, message: str | None, **position: Any) -> None:
        """Progress, and for Workbell's own jobs the position from which their next attempt goes on."""
        values = {
            "done": _amount("done", done),
            "total": None if total is None else _amount("total", total),
            "message": None if message is None else clean_text(str(message), 1000),
            **position,
        }
        text = encode("progress", values)
        if not self._report(Held(self.run.id, self.run.token), text):
            raise LeaseLost(f"run {self.run.id}: another worker holds it now; stop.")

    def enqueue(self, job: str, input: dict[str, Any] | None = None, **options: Any) -> Run:
        """Enqueue another run for the same tenant."""
        with self._behalf():
            return self._services.write([self._services.request(job, input, **options)])[0]

    def emit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        """Emit an event for the same tenant, as `bell.emit` does; this run is stored with it as its cause."""
        with self._behalf():
            return self._services.emit(type, data, subject=subject, source=source, key=key, connection=connection)

    async def aemit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        """`emit` for async code."""
        with self._behalf():
            return await self._services.aemit(
                type, data, subject=subject, source=source, key=key, connection=connection
            )

    def notify(self, user_id: UserId, data: Any) -> Notification:
        """Notify one person of the same tenant, as `bell.notify` does."""
        return self._services.notify(user_id, data)

    async def anotify(self, user_id: UserId, data: Any) -> Notification:
        """`notify` for async code."""
        return await self._services.anotify(user_id, data)

    def broadcast(self, data: Any) -> Notification:
        """Notify everybody of the same tenant, as `bell.broadcast` does."""
        return self._services.broadcast(data)

    async def abroadcast(self, data: Any) -> Notification:
        """`broadcast` for async code."""
        return await self._services.abroadcast(data)

    def _behalf(self) -> AbstractContextManager[None]:
        """A thread that a handler starts does not know of its run, but has its context: chains of events causing
        events must be counted there as well. A context without a run of a store has nothing to be traced back to."""
        return on_behalf_of(self.run) if self.run.status is Status.RUNNING else nullcontext()


def _amount(name: str, value: Any) -> float:
    if hasattr(value, "__float__") and not isinstance(value, bool):  # also a Decimal, or a number of NumPy
        number: float = value if isinstance(value, int) else float(value)
        if 0 <= number < 2**63:
            return number
    raise InvalidOption(f"progress: {name} must be a number from 0 on, got {value!r}.")


async def fetch_event(context: Context) -> None:
    """Read the run's event on a thread: a read by `ctx.event` would block the event loop."""
    event, services = context.run.event, context._services
    if event is not None:
        context._event = known_events.peek(services.store, event) or await services.hop(
            lambda: known_events.find(services.store, event)
        )


def bring_event(context: Context, event: Event | None) -> None:
    """Set the event of a context whose handler is called directly, as in a test."""
    if context.run.event is None:
        context._event = event


def earlier_attempts(context: Context) -> list[Attempt]:
    """The attempts of the run before this one, up to 1,000."""
    return newest_attempts(context._services.store, context.run)


def uses_database(context: Context) -> bool:
    return context._use is not None


def is_still_held(context: Context, valid_until: float | None) -> bool:
    """Whether the run is ours; the store is asked only if the lease, as we know it, is over by boot time."""
    if valid_until is None or valid_until > context._services.store.clock.boottime():
        return True
    found = context._services.store.runs.find([context.run.id]).get(context.run.id)
    if found is None or found.lease_until == EPOCH:  # by which a sweep marks what it takes over
        return False
    return found.status is Status.RUNNING and found.token == context.run.token


def commit_database(context: Context) -> None:
    """Commit `ctx.db` after the handler has returned. An error of the commit is one of the handler."""
    if context._use is not None:
        context._use.commit()


def end_database(context: Context) -> None:
    """Roll back what `ctx.db` has not committed, after the call."""
    if context._use is not None:
        context._use.roll_back()


def detached(job: str, queue: str, services: JobServices) -> Context:
    """A context for calling a handler directly: its run is in no store, and progress goes nowhere."""
    run = plain_request(Lane(services.tenant, queue, job), None, services.store.clock.now()).run
    return Context(run, services, lambda _held, _text: True, lambda: False)
