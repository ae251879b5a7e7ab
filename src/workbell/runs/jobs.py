"""The verbs about jobs: put, update, get, list, recent, enable, disable, delete. Sync, and async with an `a`.

What is put is a definition, which is data: a name, an input template and options for the code of another job. It is
checked as a whole before anything is written. Jobs that code declares are shown, and changed where they are declared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Unpack

import msgspec

from workbell.errors import (
    EndpointRefused,
    InvalidInput,
    InvalidOption,
    JobExists,
    JobInUse,
    NotFound,
    PreconditionFailed,
    StoreError,
)
from workbell.handlers.alert_urls import sealed_url
from workbell.handlers.job_function import JobFunction
from workbell.model.alert import URLS, shown_url
from workbell.model.clock import EPOCH, time_limit
from workbell.model.ids import new_id
from workbell.model.job import API_SOURCE, BUILT_IN, QUEUE, Job
from workbell.model.job import name as checked_name
from workbell.model.json_text import clean_text, encode
from workbell.model.limit import Limits
from workbell.model.recent_runs import RecentRuns
from workbell.model.retry import Retry, read_retry, with_whole_policy
from workbell.model.run_defaults import NO_DEFAULTS
from workbell.model.run_settings import SETTINGS, RunSettings, check_tag, read_defaults
from workbell.model.suggestions import list_options
from workbell.runs.recent import MEASURED, recent_runs
from workbell.runs.runtime import Runtime, in_thread
from workbell.trust.sealing import Sealer

TRIES = 20
SHOWN = 10  # names that a message lists
PAGE = 1000
MOST_RECENT = 100
MOST_JOBS = 200  # that `recent` shows at once
DESCRIPTION_LIMIT = 2000


class JobOptions(RunSettings, total=False):
    """Options of a definition: the words of `@bell.job`, each for all its runs."""

    description: str
    """What it is for."""
    queue: str | None
    """The queue of its runs."""
    retry: Retry | int | Mapping[str, Any] | None
    """How failed attempts are repeated: a number of attempts, a `Retry`, or a dict in the words of schedules."""
    timeout: float | None
    """Seconds for one attempt."""
    concurrency: int | None
    """Most of its runs at once, over all machines."""
    concurrency_key: str | None
    """The argument by whose value `concurrency` is counted."""
    rate: str | None
    """Most starts in a time: `100/m`."""
    rate_key: str | None
    """The argument by whose value `rate` is counted."""
    alert_url: str | None
    """Called when a run fails for good."""
    ping_url: str | None
    """Called at every end of a run."""


class JobChanges(JobOptions, total=False):
    """What `update` can change, in the words of `put`. None takes a setting back to its default."""

    handler: str | JobFunction[Any, Any]
    """The job whose code runs; this cannot be None."""
    input: dict[str, Any] | None
    """The input template."""
    enabled: bool | None
    """Whether it takes runs; None: as it is."""


OPTIONS = frozenset({*SETTINGS, *JobOptions.__annotations__})
WORDS = frozenset({*OPTIONS, *JobChanges.__annotations__})
OF_ARGUMENTS = frozenset({"handler", "input", "concurrency_key", "rate_key"})  # that name arguments of the handler


class Jobs:
    """The jobs of a tenant: `bell.jobs`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def put(
        self,
        name: str,
        *,
        handler: str | JobFunction[Any, Any],
        input: dict[str, Any] | None = None,
        enabled: bool | None = None,
        expected: int | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Make or replace a definition: `bell.jobs.put("email-eu", handler="email", input={"region": "eu"})`.

        `handler` is the job whose code runs; it may be one that no worker has yet. A job whose code is in another
        language is its own handler: `bell.jobs.put("greet", handler="greet")`. `input` is the template that the
        input of each run is merged onto (RFC 7396). The options are those of `@bell.job`, and nothing is taken over
        from the handler's job. Every setting is replaced: one that you leave out is not set any more, but `enabled`
        stays as it is. `update` changes single settings. Put again with the same settings, nothing changes. With
        `expected`, only if it still has that `version`; 0: if there is none.
        """
        store = self._runtime.store
        checked_name("job", name)
        for _ in range(TRIES):
            old = store.jobs.find(self._runtime.tenant, name)
            self._check_name(name, old)
            if expected is not None and expected != (0 if old is None else old.version):
                raise _changed(name)
            now = store.clock.now()
            new = Job(
                id=new_id() if old is None else old.id,
                name=name,
                tenant=self._runtime.tenant,
                source=API_SOURCE,
                version=1 if old is None else old.version,
                created_at=now if old is None else old.created_at,
                updated_at=now if old is None else old.updated_at,
                **self._checked(name, JobChanges(handler=handler, input=input, enabled=enabled, **options), old, WORDS),
            )
            if new == old:
                return old
            if self._write(msgspec.structs.replace(new, updated_at=now), None if old is None else old.version):
                return self.get(name)
        raise _changed_too_often(name)

    aput = in_thread(put)

    def update(self, name: str, *, expected: int | None = None, **changes: Unpack[JobChanges]) -> Job:
        """Change what is named, and leave the rest: `bell.jobs.update("email-eu", timeout=30, rate=None)`.

        None takes a setting back to its default. A new template, queue or default counts for runs made later; timeout,
        retries and limits also for those that wait. With `expected`, only if it still has that `version`.
        """
        store = self._runtime.store
        for _ in range(TRIES):
            old = self.get(name)
            if not old.is_definition:
                raise InvalidOption(
                    f"job {name}: code declares it, so "
                    + (
                        f"it is paused instead: bell.pause(job={name!r}) or `workbell jobs pause {name}`."
                        if changes.keys() == {"enabled"}
                        else "it is changed there; `put` makes a definition under another name."
                    )
                )
            if expected not in (None, old.version):
                raise _changed(name)
            settings = _settings_of(old) | with_whole_policy(changes, old.retry)
            new = msgspec.structs.replace(old, **self._checked(name, settings, old, changes.keys()))
            if new == old:
                return old
            if self._write(msgspec.structs.replace(new, updated_at=store.clock.now()), old.version):
                return self.get(name)
        raise _changed_too_often(name)

    aupdate = in_thread(update)

    # Read

    def get(self, name: str) -> Job:
        """A job by its name: a definition, or one that code declares."""
        runtime, stored = self._runtime, self._find(name)
        here = (job for job in runtime.registry.declared_jobs(runtime.store.clock, runtime.tenant) if job.name == name)
        declared = next(here, None)
        found = stored if declared is None else _declared_here(declared, stored)
        if found is None:
            known = sorted(self._known())
            there = f"there are {_listed(known)}" if known else "there are none yet"
            raise NotFound(f"There is no job {name!r:.60} of tenant {runtime.tenant}; {there}.")
        return found

    aget = in_thread(get)

    def list(self) -> list[Job]:
        """All jobs, by name: definitions, and those that code declares, here or in another process.

        A job of the code here that no worker has stored yet has no id.
        """
        known = self._known()
        return [known[name] for name in sorted(known)]

    alist = in_thread(list)  # noqa: A003

    def recent(self, job: str | None = None, limit: int = 20) -> Sequence[RecentRuns]:
        """The last finished runs of each job, and how long those of the last 200 took that succeeded or failed.

        Of one job, or of the first 200 by name; `limit` is the number of runs of each, up to 100.
        """
        if not 1 <= limit <= MOST_RECENT:
            raise InvalidOption(f"limit: {limit} is not from 1 to {MOST_RECENT}.")
        runtime = self._runtime
        names = sorted(self._known())[:MOST_JOBS] if job is None else [checked_name("job", job, InvalidOption)]
        found = runtime.store.reports.recent(runtime.tenant, names, MEASURED)
        return [recent_runs(name, found.get(name, []), limit) for name in names]

    arecent = in_thread(recent)

    def _known(self) -> dict[str, Job]:
        runtime = self._runtime
        known = {job.name: job for job in runtime.store.jobs.list(runtime.tenant)}
        for job in runtime.registry.declared_jobs(runtime.store.clock, runtime.tenant):
            known[job.name] = _declared_here(job, known.get(job.name))
        return known

    def _find(self, name: str) -> Job | None:
        checked_name("job", name, NotFound)
        return self._runtime.store.jobs.find(self._runtime.tenant, name)

    # Steer

    def enable(self, name: str, *, expected: int | None = None) -> Job:
        """Let a definition take runs again; those that wait go on."""
        return self.update(name, enabled=True, expected=expected)

    aenable = in_thread(enable)

    def disable(self, name: str, *, expected: int | None = None) -> Job:
        """Take no new runs of a definition: an enqueue is refused, ticks and events are noted as skipped.

        Runs that wait go on waiting, and what is running ends, as with a pause.
        """
        return self.update(name, enabled=False, expected=expected)

    adisable = in_thread(disable)

    def delete(self, name: str, *, expected: int | None = None) -> None:
        """Remove a definition; its runs stay, and those that wait go on waiting until it is put again.

        Refused while a schedule or a trigger names it. Of jobs that code declares, only what the store still has of
        one whose code is gone can be removed. With `expected`, only if it still has that `version`.
        """
        store = self._runtime.store
        for _ in range(TRIES):
            old = self._find(name)
            if old is None:
                old = self.get(name)  # raises, unless it is of the code here
            if expected not in (None, old.version):
                raise _changed(name)
            if not old.is_definition:
                self._check_gone(name)
            if store.definitions.delete(old):
                self._runtime.definitions.forget()
                return
            self._check_unused(name)
        raise _changed_too_often(name)

    adelete = in_thread(delete)

    def _write(self, job: Job, expected: int | None) -> bool:
        runtime = self._runtime
        written = runtime.store.definitions.write(job, expected)
        runtime.definitions.forget()
        if written:  # runs of it may be waiting
            runtime.store.wake()
            runtime.wake()
        return written

    # Check

    def _check_name(self, name: str, old: Job | None) -> None:
        """Raise if the name belongs to code, or to the code of other definitions."""
        if name in BUILT_IN:
            raise JobExists(f"job {name}: Workbell itself has a job of this name; choose another.")
        is_code = name in self._runtime.registry or (old is not None and not old.is_definition)
        if is_code or self._workers_with(name):
            raise JobExists(
                f"job {name}: code declares a job of this name; choose another. If that code is gone for good, delete "
                f"what is left of it first: `workbell jobs remove {name}`."
            )
        stored = self._runtime.store.jobs.list(self._runtime.tenant)
        users = [job.name for job in stored if job.handler == name != job.name]
        if users:
            raise JobInUse(
                f"job {name}: it is the handler of {_listed(users)}, and a handler has code; choose another name."
            )

    def _handler(self, name: str, given: object) -> str:
        handler = given.name if isinstance(given, JobFunction) else given
        checked_name(f"job {name}: handler", handler, InvalidOption)
        assert isinstance(handler, str)
        if handler in BUILT_IN:
            raise InvalidOption(f"job {name}: handler: {handler} is a job of Workbell itself; name one of yours.")
        known = None if handler == name else self._stored(handler)
        if known is not None and known.is_definition:
            remedy = (
                "its code is elsewhere, and takes its own runs alone"
                if known.is_elsewhere
                else (f"name the job that has the code, {known.handler}")
            )
            raise InvalidOption(f"job {name}: handler: {handler} is a definition itself; {remedy}.")
        return handler

    def _stored(self, handler: str) -> Job | None:
        if self._runtime.registry.find(handler) is not None:
            return None
        return self._runtime.store.jobs.find(self._runtime.tenant, handler)

    def _checked(
        self, name: str, settings: Mapping[str, Any], old: Job | None, named: Collection[str]
    ) -> dict[str, Any]:
        """The fields of a definition, each fit to be stored. `named` are the settings that the caller gave.

        The arguments of the handler are asked for where they matter: what it takes may have changed since.
        """
        unknown = sorted(settings.keys() - WORDS)
        if unknown:
            raise InvalidOption(f"job {name}: there is no option {unknown[0]!r}; {list_options(unknown[0], WORDS)}")
        enabled = settings.get("enabled")
        if enabled is not None and not isinstance(enabled, bool):
            raise InvalidOption(f"job {name}: enabled is True or False, not {enabled!r:.40}.")
        code = self._handler(name, settings.get("handler"))
        function = self._runtime.registry.find(code)
        stored = self._stored(code)
        arguments = None if function is None or OF_ARGUMENTS.isdisjoint(named) else function.signature.arguments
        try:
            limits = Limits(*(settings.get(word) for word in Limits._fields)).checked(arguments)
            defaults = read_defaults({word: settings.get(word) for word in SETTINGS})
            check_tag(defaults, NO_DEFAULTS)
            retry = settings.get("retry")
            timeout = settings.get("timeout")
            fields: dict[str, Any] = {
                "retry": None if retry is None else read_retry(retry),
                "timeout": None if timeout is None else time_limit("timeout", timeout),
                **self._urls(settings, old),
            }
        except (InvalidOption, EndpointRefused) as error:
            raise type(error)(f"job {name}: {error}") from None
        return fields | {
            "handler": code,
            "queue": checked_name(f"job {name}: queue", settings.get("queue") or QUEUE, InvalidOption),
            "description": _description(name, settings.get("description") or ""),
            "input_text": _template(name, settings.get("input"), arguments),
            "enabled": (True if old is None else old.enabled) if enabled is None else enabled,
            "processor": bool(function.processor if function is not None else stored is not None and stored.processor),
            "options": msgspec.structs.replace(defaults, priority=defaults.priority or None),  # 0 is not stored
            **limits._asdict(),
        }

    def _urls(self, options: Mapping[str, Any], old: Job | None) -> dict[str, str | None]:
        resources = self._runtime.registry.resources
        sealer = Sealer.from_setting(resources.secret_key)
        return {
            word: sealed_url(
                word, options.get(word), None if old is None else getattr(old, word), resources.webhook_allow, sealer
            )
            for word in URLS
        }

    def _check_gone(self, name: str) -> None:
        """Raise if the code of a job is here, or with a living worker."""
        alive = self._workers_with(name)
        if name in self._runtime.registry or alive:
            where = f"of worker {alive[0]}" if alive else "of this program"
            raise JobExists(f"job {name}: the code {where} declares it; remove it there first.")

    def _workers_with(self, name: str) -> Sequence[str]:
        """Ids of living workers that have the code of a job: they execute the runs of all tenants by it."""
        store = self._runtime.store
        now = store.clock.now()
        return [worker.id for worker in store.workers.list() if worker.is_alive(now) and name in worker.jobs]

    def _check_unused(self, name: str) -> None:
        """Raise if a schedule or a trigger names a job: it would make runs that nobody takes."""
        runtime = self._runtime
        users, after = [], ""
        while page := runtime.store.schedules.list(runtime.tenant, source=None, after=after, limit=PAGE):
            users += [f"schedule {schedule.name}" for schedule in page if schedule.job == name]
            after = page[-1].name
        triggers = runtime.store.subscribers.list_triggers(runtime.tenant)
        users += [f"trigger {trigger.name}" for trigger in triggers if trigger.job == name]
        if users:
            raise JobInUse(f"job {name}: {_listed(users)} would still start it; delete or change that first.")


def _declared_here(job: Job, stored: Job | None) -> Job:
    """A job of the code here, with what the store knows of it; without an id, if that is nothing."""
    if stored is None:
        return msgspec.structs.replace(job, id="", created_at=EPOCH, updated_at=EPOCH)
    return msgspec.structs.replace(job, id=stored.id, created_at=stored.created_at, updated_at=stored.updated_at)


def _settings_of(job: Job) -> dict[str, Any]:
    """The settings of a definition in the words of `put`; its URLs as they are shown, by which they stay."""
    found = {word: getattr(job.options, word) for word in SETTINGS}
    found |= {word: getattr(job, word) for word in WORDS - found.keys()}
    found |= {word: shown_url(found[word]) for word in URLS}
    return found | {"input": None if job.input_text is None else job.input}


def _template(name: str, input: object, arguments: Sequence[str] | None) -> str | None:
    """The input template as JSON. Its fields may be incomplete; their names must be arguments of the handler."""
    if input is None:
        return None
    if not isinstance(input, dict):
        raise InvalidInput(f"job {name}: the input must be a dict of arguments, got {type(input).__name__}.")
    text = encode(f"job {name}: the input", input)
    strange = [] if arguments is None else sorted(set(map(str, input)) - set(arguments))
    if strange:
        known = f"the arguments are {', '.join(arguments)}" if arguments else "it takes none"
        raise InvalidInput(f"job {name}: its handler has no argument {strange[0]!r}; {known}.")
    return text


def _description(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidOption(f"job {name}: the description is a text, not {type(value).__name__}.")
    return clean_text(value, DESCRIPTION_LIMIT)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _changed(name: str) -> PreconditionFailed:
    return PreconditionFailed(f"job {name}: somebody else has changed it meanwhile; read it again.")


def _changed_too_often(name: str) -> StoreError:
    return StoreError(f"job {name}: others changed it again and again meanwhile; try again.")
