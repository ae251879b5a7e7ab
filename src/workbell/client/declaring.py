"""Decorators that declare jobs: `@bell.job`, `@bell.on` and `@bell.processor`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, overload

from workbell.errors import InvalidOption, JobsError
from workbell.handlers.event_handler import accept_events, add_pattern
from workbell.handlers.job_function import JobFunction
from workbell.handlers.process_isolation import isolation_of
from workbell.model.job import QUEUE
from workbell.model.limit import Limits
from workbell.model.request import EnqueueOptions
from workbell.model.run_settings import SETTINGS, RunSettings
from workbell.model.suggestions import list_options
from workbell.scheduling.settings import NAMES as SCHEDULE_NAMES
from workbell.scheduling.settings import TICK_NAMES, TickSettings

if TYPE_CHECKING:
    from workbell.handlers.context import Context
    from workbell.handlers.registry import Registry
    from workbell.handlers.services import JobServices
    from workbell.model.retry import Retry
    from workbell.scheduling.schedules import Schedules

P = ParamSpec("P")
R = TypeVar("R")


class JobSettings(TickSettings, RunSettings, total=False):
    """Further options of `@bell.job`: those of its schedule, and those of all its runs."""


class HandlerOptions(RunSettings, total=False):
    """Options of a job that events start; the words of `job`."""

    queue: str | None
    retry: Retry | int | Mapping[str, Any] | None
    timeout: float | None
    description: str | None
    concurrency: int | None
    """Most of its runs at once, over all machines."""
    rate: str | None
    """Most starts in a time: `100/m`."""
    isolate: str | None
    memory_limit: int | str | None
    cpu_limit: float | None
    alert_url: str | None
    ping_url: str | None


class Declarations:
    """Makes functions into jobs of a registry: `@bell.job`, `@bell.on` and `@bell.processor`."""

    def __init__(self, services: JobServices, registry: Registry, schedules: Callable[[], Schedules]) -> None:
        self._services = services
        self._registry = registry
        self._schedules = schedules

    @overload
    def job(self, function: Callable[Concatenate[Context, P], R], /) -> JobFunction[P, R]: ...

    @overload
    def job(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...

    @overload
    def job(
        self,
        /,
        *,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | int | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        description: str | None = None,
        concurrency: int | None = None,
        concurrency_key: str | None = None,
        rate: str | None = None,
        rate_key: str | None = None,
        isolate: str | None = None,
        memory_limit: int | str | None = None,
        cpu_limit: float | None = None,
        alert_url: str | None = None,
        ping_url: str | None = None,
        **more: Unpack[JobSettings],
    ) -> JobDecorator: ...

    def job(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | int | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        description: str | None = None,
        concurrency: int | None = None,
        concurrency_key: str | None = None,
        rate: str | None = None,
        rate_key: str | None = None,
        isolate: str | None = None,
        memory_limit: int | str | None = None,
        cpu_limit: float | None = None,
        alert_url: str | None = None,
        ping_url: str | None = None,
        **more: Unpack[JobSettings],
    ) -> Any:
        """Make a function a job: `@bell.job` or `@bell.job(queue="mail", retry=5, timeout=30)`.

        `retry` is a number of attempts, a `Retry`, or a dict in the words of schedules.

        With `cron=`, `every=` or `at=` it also gets a schedule of its own name, whose settings may follow:
        `@bell.job(cron="0 3 * * *", timezone="Europe/Paris", overlap="allow")`.

        `priority`, `tag`, `replace_tag`, `user_id`, `target`, `persistent`, `auto_reschedule`, `remove_delay` and
        `expires` are for all its runs, however they are made, unless a trigger, a schedule or the run says otherwise.

        `concurrency=5` lets no more than five of its runs run at once, over all machines, and `rate="100/m"` no more
        than a hundred start in any minute; with `concurrency_key="customer"` or `rate_key="customer"` that is counted
        for each value of this argument. `isolate="process"` runs it in a process of its own, which is really killed
        when its time is over or its end is asked for, and may be given a `memory_limit="512MB"` and a `cpu_limit` in
        seconds.

        When a run fails for good, `alert_url` is called, with JSON for Slack and Mattermost. At every end of a run
        `ping_url` is called, in the format of healthchecks.io. These URLs are never shown in full.
        """

        def declare(target: Callable[..., Any]) -> JobFunction[Any, Any]:
            of_runs, ticks = _parted(more)
            _check_words(_name_of(target, name), ticks)
            job = self._make(
                target,
                job=name,
                queue=queue,
                retry=retry,
                timeout=timeout,
                description=description,
                limits=Limits(concurrency, concurrency_key, rate, rate_key),
                isolation=(isolate, memory_limit, cpu_limit),
                ticks=cast(TickSettings, ticks) or None,
                run_settings=of_runs,
                alert_url=alert_url,
                ping_url=ping_url,
            )
            self._check_ticks(job)
            self._registry.add(job)
            return job

        return declare if function is None else declare(function)

    def on(
        self, pattern: str, /, *, name: str | None = None, **options: Unpack[HandlerOptions]
    ) -> Callable[[Callable[..., R]], JobFunction[..., R]]:
        """Make a function a job that every matching event starts: `@bell.on("posts.*")`, with options as of `job`.

        In a pattern `*` is one segment, `**` at the end one or more, and `*` alone every event. The function may take
        `event`, `execution` and `ctx`, each or none. Above `@bell.job`, `@bell.processor` or another `@bell.on` it
        adds a pattern to that job: each is a trigger of its own, and an event that matches two starts two runs.
        """
        if callable(pattern):  # `@bell.on` without parentheses
            raise InvalidOption('on: give it a pattern, as in @bell.on("posts.*").')
        settled = _settled(options, name)

        def declare(target: Callable[..., R]) -> JobFunction[..., R]:
            if not isinstance(target, JobFunction):
                return self._declare_handler(target, settled, pattern=pattern)
            if options or name is not None:
                raise JobsError(
                    f"job {target.name}: it is a job already; give its options where it is made one, below "
                    "@bell.on(pattern)."
                )
            accept_events(target)
            add_pattern(target, pattern)
            self._check_ticks(target)  # which bring no event
            return target

        return declare

    def processor(
        self, name: str, /, **options: Unpack[HandlerOptions]
    ) -> Callable[[Callable[..., R]], JobFunction[..., R]]:
        """Make a function a job that triggers can name: `@bell.processor("thumbnails", description="…")`.

        It takes `event` and `execution`, and `ctx` if it likes, and returns a dict, which is stored, or nothing.
        Triggers choose the events that start it: see `bell.triggers`.
        """
        if not isinstance(name, str):
            raise InvalidOption('processor: give it a name, as in @bell.processor("thumbnails").')
        settled = _settled(options, name)
        return lambda target: self._declare_handler(target, settled)

    def _declare_handler(
        self, target: Callable[..., Any], options: dict[str, Any], pattern: str | None = None
    ) -> JobFunction[..., Any]:
        job = self._make(target, **options)
        accept_events(job, dict_only=pattern is None)
        if pattern is not None:
            add_pattern(job, pattern)
        self._registry.add(job)
        return job

    def _check_ticks(self, job: JobFunction[Any, Any]) -> None:
        if job.ticks is None:
            return
        from workbell.scheduling.schedules import Declaration  # most jobs have no schedule

        try:
            self._schedules().check(Declaration(job.name, job, job.ticks))
        except (JobsError, InvalidOption) as error:  # what was written is a job
            raise type(error)(re.sub("^schedule ", "job ", str(error))) from error

    def _make(
        self, target: Callable[..., Any], *, job: str | None, isolation: tuple[Any, Any, Any], **options: Any
    ) -> JobFunction[Any, Any]:
        if isinstance(target, JobFunction):
            raise JobsError(
                f"job {target.name}: it is a job already; of the decorators, only @bell.on may stand above another."
            )
        try:
            apart = isolation_of(*isolation)
        except InvalidOption as error:
            raise InvalidOption(f"job {_name_of(target, job)}: {error}") from None
        return JobFunction(self._services, target, job=job, isolation=apart, **options)


def _settled(options: HandlerOptions, name: str | None) -> dict[str, Any]:
    """The options of a handler as those of its job."""
    words = HandlerOptions.__annotations__
    unknown = sorted(set(options) - set(words))
    if unknown:
        known = [*words, *([] if name is None else ["name"])]
        raise InvalidOption(f"An event's handler: there is no option {unknown[0]!r}; {list_options(unknown[0], known)}")
    own = ("retry", "timeout", "description", "alert_url", "ping_url")
    plain = {word: value for word, value in options.items() if word in own}
    return plain | {
        "job": name,
        "run_settings": _parted(options)[0],
        "queue": options.get("queue") or QUEUE,
        "limits": Limits(options.get("concurrency"), None, options.get("rate")),
        "isolation": (options.get("isolate"), options.get("memory_limit"), options.get("cpu_limit")),
    }


def _parted(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those of all runs and the rest."""
    of_runs = {word: value for word, value in given.items() if word in SETTINGS}
    return of_runs, {word: value for word, value in given.items() if word not in SETTINGS}


WHEN = ("cron", "every", "at")
JOB_WORDS = frozenset(SETTINGS) | frozenset(
    "name queue retry timeout description concurrency concurrency_key rate rate_key isolate memory_limit cpu_limit "
    "alert_url ping_url".split()
)


def _check_words(job: str, ticks: Mapping[str, Any]) -> None:
    """Raise for words that `@bell.job` does not know, and for those about a schedule that it has not."""
    unknown = sorted(set(ticks) - SCHEDULE_NAMES)
    if unknown:
        listed = list_options(unknown[0], JOB_WORDS | TICK_NAMES)
        raise InvalidOption(f"job {job}: there is no option {unknown[0]!r}; {listed}")
    when = [word for word in WHEN if ticks.get(word) is not None]
    if len(when) > 1:
        both = "both" if len(when) == 2 else "all"
        raise JobsError(f"job {job}: {' and '.join(when)} {both} say when it runs; give one of them.")
    if not ticks or when:
        return
    empty = [word for word in WHEN if word in ticks]
    if empty:
        raise InvalidOption(f"job {job}: {empty[0]}=None does not say when it runs; give it a value, or leave it out.")
    word = min(ticks)
    remedy = "give cron=, every= or at=, or leave it out"
    if word in EnqueueOptions.__annotations__:
        remedy += f"; for one run, say {job}.options({word}=…).enqueue(…)"
    raise InvalidOption(f"job {job}: {word} is about the runs of a schedule, and this job has none; {remedy}.")


def _name_of(target: object, name: object) -> str:
    return str(getattr(target, "__name__", target) if name is None else name)


class JobDecorator:
    """Type of the decorator that `@bell.job(…)` with options returns."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...

    def __call__(self, function: Callable[..., Any], /) -> JobFunction[Any, Any]:
        raise NotImplementedError
