"""A function made into a job by `@bell.job`: still callable, and now enqueueable, with checked arguments."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, cast

from workbell.errors import EndpointRefused, InvalidOption, JobsError
from workbell.handlers.alert_urls import checked_url
from workbell.handlers.context import Context, commit_database, detached, end_database
from workbell.handlers.function_names import function_name
from workbell.handlers.signature import Signature
from workbell.model.alert import UNWATCHED, Watched
from workbell.model.clock import time_limit
from workbell.model.job import QUEUE, Job, RunTerms, name
from workbell.model.limit import NO_LIMITS, Limit, Limits, limits_on
from workbell.model.retry import Retry, read_retry
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.run_settings import read_defaults

if TYPE_CHECKING:
    from workbell.handlers.process_isolation import Isolation
    from workbell.handlers.run_hooks import RunHook
    from workbell.handlers.services import JobServices
    from workbell.model.request import EnqueueOptions, Request
    from workbell.model.run import Lane, Run
    from workbell.scheduling.settings import TickSettings

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")


ELSEWHERE = frozenset("delay apply_async defer send send_async schedule s".split())  # for `enqueue`, in other libraries


class JobFunction(Generic[P, R]):
    """A job: `send(…)` calls the function, `send.enqueue(…)` has it run by a worker."""

    def __init__(
        self,
        services: JobServices,
        function: Callable[..., Any],
        *,
        job: str | None = None,
        queue: str = QUEUE,
        retry: Retry | int | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        description: str | None = None,
        handler: str | None = None,
        limits: Limits = NO_LIMITS,
        isolation: Isolation | None = None,
        ticks: TickSettings | None = None,
        alert_url: str | None = None,
        ping_url: str | None = None,
        run_settings: Mapping[str, Any] | None = None,
    ) -> None:
        _check_function(function)
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name("job", function.__name__ if job is None else job)
        self.queue = name(f"job {self.name}: queue", queue)
        self.retry = None if retry is None else self._checked(read_retry, retry)
        self.timeout = None if timeout is None else time_limit(f"job {self.name}: timeout", timeout)
        self.defaults: RunDefaults = self._checked(read_defaults, run_settings) if run_settings else NO_DEFAULTS
        if description is not None and not isinstance(description, str):
            raise InvalidOption(f"job {self.name}: description: expected a text, got {type(description).__name__}.")
        self.description = description or inspect.getdoc(function) or ""
        self.signature = Signature(self.name, function)
        self.is_async = inspect.iscoroutinefunction(function)
        self.handler = handler or function_name(function)
        self.limits = limits
        self.check_limits()
        self.isolation = isolation  # none: it runs among others
        if isolation is not None and handler is None:
            _check_findable(self.name, function)
        self.limits_of: Callable[[Lane], Sequence[Limit]] = self._limits_on
        self.ticks = ticks  # when it runs by itself, if the code says so
        self.processor = False  # whether events may start it
        self.patterns: tuple[str, ...] = ()  # of the events that start it, if the code says so
        self.alert_url = self._checked_url(services, "alert_url", alert_url)
        self.ping_url = self._checked_url(services, "ping_url", ping_url)
        has_urls = alert_url is not None or ping_url is not None
        self.watched = Watched(alert_url is not None, ping_url is not None) if has_urls else UNWATCHED
        self.hooks: Sequence[RunHook] = ()  # around each of its runs; of its registry, once it is there
        self._services = services
        self.declared: JobFunction[Any, Any] = self  # the job of the code; another one, if this is a definition of it

    def named(self, job: str, timeout: float | None) -> JobFunction[Any, Any]:
        """The same code as a job of another name."""
        other = copy.copy(self)
        other.name, other.timeout = job, timeout
        other.signature = copy.copy(self.signature)
        other.signature.job = job
        return other

    def defined_as(self, job: Job) -> JobFunction[Any, Any]:
        """The same code as a definition has it: with its name and its options, and none of this job's."""
        other = self.named(job.name, job.timeout)
        other.queue, other.retry, other.defaults = job.terms.queue, job.retry, job.options
        other.limits = NO_LIMITS if job.limits == NO_LIMITS else job.limits
        other.limits_of = other._limits_on
        other.description = job.description
        other.ticks, other.patterns = None, ()
        other.alert_url, other.ping_url = job.alert_url, job.ping_url
        has_urls = job.alert_url is not None or job.ping_url is not None
        other.watched = Watched(job.alert_url is not None, job.ping_url is not None) if has_urls else UNWATCHED
        return other

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, here and now; if it takes a context, it gets one that belongs to no run."""
        if not self.signature.wants_context or (args and isinstance(args[0], Context)):
            return cast(R, self.function(*args, **kwargs))
        context = detached(self.name, self.queue, self._services)
        call = self._call_async if self.is_async else self._call_plain
        return cast(R, call(context, args, kwargs))

    def _call_plain(self, context: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Direct call: it ends the database use of its context, as a worker does after a call."""
        try:
            value = self.function(context, *args, **kwargs)
            commit_database(context)
            return value
        finally:
            end_database(context)

    async def _call_async(self, context: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            value = await self.function(context, *args, **kwargs)
            commit_database(context)
            return value
        finally:
            end_database(context)

    def _checked_url(self, services: JobServices, word: str, url: object) -> str | None:
        if url is None:
            return None
        try:
            return checked_url(word, url, services.resources.webhook_allow)
        except (EndpointRefused, InvalidOption) as error:
            raise type(error)(f"job {self.name}: {error}") from None

    def _checked(self, check: Callable[[T], V], value: T) -> V:
        """Run a check on an option's value; its error names the job."""
        try:
            return check(value)
        except InvalidOption as error:
            raise InvalidOption(f"job {self.name}: {error}") from None

    def check_limits(self) -> None:
        """Raise if the limits do not fit together, or not to the arguments."""
        if self.limits == NO_LIMITS:
            self.limits = NO_LIMITS  # the one that is compared by identity
            return
        self.limits = self._checked(self.limits.checked, self.signature.arguments)

    def _limits_on(self, lane: Lane) -> Sequence[Limit]:
        return limits_on(self.limits, lane)

    if not TYPE_CHECKING:  # a checker would take any attribute for granted

        def __getattr__(self, word: str) -> Any:
            job = self.__dict__.get("name", "?")
            hint = (
                f"; use {job}.enqueue(…), or {job}.options(delay=60).enqueue(…) for later" if word in ELSEWHERE else ""
            )
            raise AttributeError(f"job {job} has no {word!r}{hint}", name=word, obj=self)

    @property
    def terms(self) -> RunTerms:
        """Defaults of the job for its new runs."""
        return RunTerms(self.queue, self.limits, self.defaults, self.retry)

    @property
    def services(self) -> JobServices:
        """The services of the Workbell that it was declared with."""
        return self._services

    def __repr__(self) -> str:
        return f"<job {self.name} on {self.queue}>"

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request:
        """A request for `bell.enqueue_many`."""
        return self._services.request(self, self.signature.bind(args, kwargs))

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Run:
        """Have the job run by a worker, as soon as one is free."""
        return self._services.write([self._services.request(self, self.signature.bind(args, kwargs))])[0]

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Run:
        """`enqueue` for async code."""
        await self._services.ready()
        return (await self._services.awrite([self.request(*args, **kwargs)]))[0]

    def options(self, **options: Unpack[EnqueueOptions]) -> Enqueuer[P, R]:
        """Say more about the run: `send.options(delay=60, key="x").enqueue(to="a@b.c")`."""
        return Enqueuer(self, self._services, options)


def _check_function(function: Any) -> None:
    """Raise if a job cannot be made of this."""
    if isinstance(function, str):
        raise JobsError(f"job: expected a function, got str; write @bell.job(name={function!r}).")
    if not callable(function) or not hasattr(function, "__qualname__") or inspect.isclass(function):
        kind = "a class" if inspect.isclass(function) else type(function).__name__
        raise JobsError(f"job: expected a function, got {kind}; write @bell.job above a function.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise JobsError(
            f"job {function.__name__}: it has a yield in it and would never be executed; return what it is to leave "
            "behind."
        )


def _check_findable(job: str, function: Callable[..., Any]) -> None:
    """A process of its own has to find the function by its name."""
    if "<" in function.__qualname__:
        raise JobsError(
            f"job {job}: isolate='process' needs a function at the top level of a module, where another process finds "
            f"it by its name; {function.__qualname__} is made inside a function: move it out."
        )


class Enqueuer(Generic[P, R]):
    """A job with options, ready to be enqueued."""

    def __init__(self, job: JobFunction[P, R], services: JobServices, options: EnqueueOptions) -> None:
        self._job = job
        self._services = services
        self._options = options

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request:
        return self._services.request(self._job, self._job.signature.bind(args, kwargs), **self._options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Run:
        return self._services.write([self.request(*args, **kwargs)])[0]

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Run:
        await self._services.ready()
        return (await self._services.awrite([self.request(*args, **kwargs)]))[0]
