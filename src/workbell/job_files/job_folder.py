"""The job folder of a project, `bell.engine`: it loads and reloads job files and declares their schedules and triggers.

`bell.run()`, `bell.running()` and `workbell dev` load it by themselves.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from workbell.errors import InvalidOption, JobsError
from workbell.events.declared import DeclaredTriggers, Wanted
from workbell.handlers.app_database import check_database, file_of
from workbell.handlers.event_handler import accept_events
from workbell.handlers.job_function import JobFunction
from workbell.job_files import DEFAULT_RETRY, FileProblem, FileWatch, FolderChange, JobFile, JobFiles, Reloads
from workbell.job_files.settings import OF_TICKS
from workbell.model.job import name as checked_name
from workbell.model.run import Run, Status
from workbell.process.identity import program_name
from workbell.process.verb_threads import on_own_thread
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime
from workbell.scheduling.schedules import Declaration, Schedules
from workbell.settings import Settings
from workbell.stores.port import Filter
from workbell.wire.runs import RunShown

log = logging.getLogger("workbell.jobs")

RUNS = 50
ENDED = (Status.SUCCEEDED, Status.FAILED)


class RegisteredJob(NamedTuple):
    """A job with a schedule or triggers."""

    name: str
    schedule: str | None
    file_path: str | None
    next_run_at: datetime | None = None
    on: tuple[str, ...] = ()  # patterns of the events that start it


class JobRun(NamedTuple):
    """One finished run of a job."""

    run_id: str
    started_at: datetime | None
    ended_at: datetime | None
    status: str
    error: str | None
    attempt: int


class JobFolder:
    """Job files of a project, and the jobs, schedules and triggers that they declare in the registry and the store."""

    def __init__(
        self,
        folder: Path,
        runtime: Runtime,
        schedules: Schedules,
        settings: Settings,
        shut_down: Callable[[float | None], object],
    ) -> None:
        self.folder = folder
        self._runtime = runtime
        self._schedules = schedules
        self._settings = settings
        self._shut_down = shut_down
        self._lock = threading.RLock()
        self._files: JobFiles | None = None
        self._loaded: dict[str, JobFile] = {}
        self._watch: FileWatch | None = None
        self._triggers: DeclaredTriggers | None = None
        self._listeners: list[Callable[[FolderChange], None]] = []
        self.problems: Sequence[FileProblem] = ()
        self.reloads = Reloads()
        self.code_name: str | None = None  # of the code's schedules and triggers; otherwise the project's
        self.declares_schedules = True  # False in a worker beside a scheduler, which does it
        self.logs_problems = True  # False in all worker processes but one

    @property
    def project(self) -> str:
        return self._settings.project or program_name()

    @property
    def _code_source(self) -> str:
        """Owner of the schedules and triggers of the code: a start switches off what that owner no longer declares."""
        return f"code:{self.code_name or self.project}"

    def start(self) -> None:
        """Load the job files, and declare the schedules and triggers of the code, before the engine runs."""
        check_database(self._settings.database, file_of(self._runtime.store))
        if self._settings.project is not None or self._files is not None:
            self.reload()
        if not self.declares_schedules:
            return
        names = self.put_code_schedules()
        reason = f"the code of {(self.code_name or self.project)!r} no longer declares it"
        self._schedules.disable_others(names, source=self._code_source, reason=reason)
        self.put_triggers()

    def load(self) -> FolderChange:
        """Load every job file and declare its schedule. JobsError lists the problems of those that cannot be loaded.

        The others are loaded all the same. Ticks make runs while `bell.run()` or `bell.running()` is active.
        """
        change = self.reload()
        if self.problems:
            listed = "".join(f"\n  {problem}" for problem in self.problems)
            raise JobsError(f"Of the job files, these cannot be loaded; all others are:{listed}")
        return change

    def reload(self) -> FolderChange:
        """Read the job files again. A broken one stays in its last good version; running handlers are not disturbed.

        Problems are logged and listed in `problems`; none is raised.
        """
        with self._lock:
            if self._files is None:
                settings = self._settings
                self._files = JobFiles(self.folder, settings.jobs, settings.timezone, settings.webhook_allow)
            change = self._files.reload()
            self._apply(change)
            self.reloads.note(change, self.problems, self.folder)
        for listener in list(self._listeners):
            listener(change)
        return change

    def _apply(self, change: FolderChange) -> None:
        registry = self._runtime.registry
        taken = set(registry.served) - set(self._loaded)  # by code, or by Workbell itself
        clashes = [self.clash_of(file) for file in change.loaded if file.name in taken]
        unfit = {file.name: problem for file in change.loaded if (problem := self.hook_problem(file)) is not None}
        files = [file for file in change.loaded if file.name not in taken and file.name not in unfit]
        problems = [*change.problems, *clashes, *unfit.values()]
        for problem in problems:
            if problem not in self.problems:
                log.log(logging.ERROR if self.logs_problems else logging.DEBUG, "%s", problem)
        self.problems = problems
        before = self._triggers_of(self._loaded.values())
        gone = set(self._loaded) - {file.name for file in files}
        fresh = [file for file in files if self._loaded.get(file.name) is not file]
        registry.replace([self.job_of(file) for file in fresh], gone)
        self._loaded = {file.name: file for file in files}
        if fresh:
            self._runtime.declare_jobs({file.name for file in fresh})
        if not self.declares_schedules:
            return
        self._put_file_schedules(fresh)
        there = {file.name for file in files} | self._broken
        reason = f"its job file is gone from the project {self.project!r}"
        self._schedules.disable_others(there, source=f"file:{self.project}", reason=reason)
        unscheduled = {file.name for file in files if file.schedule is None}
        if unscheduled:
            reason = "its job file has a schedule no longer"
            self._schedules.disable_others(there - unscheduled, source=f"file:{self.project}", reason=reason)
        self._put_file_triggers(files, before)

    def _put_file_schedules(self, files: Sequence[JobFile]) -> None:
        declarations = [self._declaration(file) for file in files if file.schedule is not None]
        self._schedules.put_all(declarations, source=f"file:{self.project}")

    # Triggers

    @property
    def _declared(self) -> DeclaredTriggers:
        if self._triggers is None or self._triggers.store is not self._runtime.store:  # a test may have given another
            self._triggers = DeclaredTriggers(
                self._runtime.store, self._runtime.tenant, self.project, code=self._code_source
            )
        return self._triggers

    @property
    def _broken(self) -> set[str]:
        """Names of jobs whose files have problems."""
        return {Path(problem.path).stem for problem in self.problems}

    def put_triggers(self, *, again: bool = False) -> None:
        """Store the triggers that code and files declare, and remove those that were not declared for long."""
        declared = self._declared
        by_code = [(job, pattern) for job in self._runtime.registry for pattern in job.patterns]
        wanted = [self._wanted(job, pattern, declared.code) for job, pattern in by_code]
        declared.put([*wanted, *self._triggers_of(self._loaded.values())], again=again)
        declared.hold(self._broken)
        declared.retire()

    def _put_file_triggers(self, files: Sequence[JobFile], before: Sequence[Wanted]) -> None:
        """Store the files' triggers; those that are declared no longer, or disabled, are removed at once."""
        wanted = self._triggers_of(files)
        off = {(file.name, pattern) for file in files if not file.enabled for pattern in file.on}
        self._declared.put(wanted)
        self._declared.drop((off | {one[:2] for one in before}) - {one[:2] for one in wanted})

    def _triggers_of(self, files: Iterable[JobFile]) -> list[Wanted]:
        found = [(self._runtime.registry.find(file.name), file) for file in files if file.enabled]
        source = self._declared.files
        return [self._wanted(job, pattern, source) for job, file in found if job is not None for pattern in file.on]

    def _wanted(self, job: JobFunction[Any, Any], pattern: str, source: str) -> Wanted:
        return Wanted(job.name, pattern, source, job.description.partition("\n")[0], job.retry)

    def clash_of(self, file: JobFile) -> FileProblem:
        """Problem of a file whose job name is declared in code."""
        job = self._runtime.registry.find(file.name)
        owner = "the app" if job is None else job.handler
        return FileProblem(file.path, None, f"the job {file.name!r} is declared by {owner} already; rename the file.")

    def hook_problem(self, file: JobFile) -> FileProblem | None:
        """Problem of a file whose function a hook cannot surround."""
        try:
            self._runtime.registry.check_hooks(file.name, is_async=inspect.iscoroutinefunction(file.function))
        except JobsError as error:
            return FileProblem(file.path, None, str(error))
        return None

    def job_of(self, file: JobFile) -> JobFunction[Any, Any]:
        """The job function of a file, not registered."""
        job: JobFunction[Any, Any] = JobFunction(
            RuntimeServices(self._runtime),
            file.function,
            job=file.name,
            queue=file.queue,
            retry=file.retry or DEFAULT_RETRY,
            timeout=file.timeout,
            limits=file.limits,
            description=file.description,
            handler=f"{file.path}:run",
            isolation=file.isolation,
            alert_url=file.alert_url,
            ping_url=file.ping_url,
            run_settings=file.run_settings,
        )
        if file.on:
            accept_events(job)
        return job

    def _declaration(self, file: JobFile) -> Declaration:
        job = self._runtime.registry.find(file.name)
        assert job is not None
        settings: dict[str, Any] = {"cron": file.schedule, "input": file.input, "enabled": file.enabled}
        settings["description"] = file.description.partition("\n")[0]
        settings |= {name: value for name in OF_TICKS if (value := getattr(file, name)) is not None}
        return Declaration(file.name, job, settings)  # type: ignore[arg-type]  # its keys come from a file

    def put_code_schedules(self, since: datetime | None = None) -> Sequence[str]:
        """Store the schedules of `@bell.job(cron=…)`; return their names. New ones tick from `since` or now on."""
        declared = [job for job in self._runtime.registry if job.ticks is not None]
        declarations = [Declaration(job.name, job, job.ticks) for job in declared if job.ticks is not None]
        self._schedules.put_all(declarations, source=self._code_source, since=since)
        return [job.name for job in declared]

    def declare_again(self) -> None:
        """Repeat the declarations while the engine runs: during a deploy an older process may start after this one and
        disable what it does not know."""
        with self._lock:
            self._put_file_schedules(list(self._loaded.values()))
            self.put_code_schedules()
            self.put_triggers(again=True)

    # Watch

    def watch(self) -> None:
        """Reload whenever a file of the project changes, until `shutdown` or `unwatch`."""
        with self._lock:
            if self._watch is None:
                left_out = [Path(self._settings.storage)]
                self._watch = FileWatch(self.folder, self._settings.jobs, self._changed, leave_out=left_out)
                self._watch.start()

    def _changed(self) -> None:
        try:
            self.reload()
        except Exception:
            log.exception("the job files could not be reloaded; what was loaded goes on")

    def unwatch(self) -> None:
        with self._lock:
            if self._watch is not None:
                self._watch.close()
                self._watch = None

    def on_change(self, listener: Callable[[FolderChange], None]) -> Callable[[], None]:
        """Subscribe a listener to every load and reload; call the result to unsubscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Read

    def list(self) -> list[RegisteredJob]:
        """Jobs with a schedule or triggers, from files and from code."""
        names = [job.name for job in self._runtime.registry]
        known = self._runtime.store.schedules.find(self._runtime.tenant, names)
        found = []
        for job in self._runtime.registry:
            file, schedule = self._loaded.get(job.name), known.get(job.name)
            text = file.schedule if file is not None else schedule.expression if schedule is not None else None
            patterns = file.on if file is not None else job.patterns
            if text is not None or patterns:
                path = None if file is None else file.path
                next_run_at = None if schedule is None or text is None else schedule.next_run_at
                found.append(RegisteredJob(job.name, text, path, next_run_at, patterns))
        return sorted(found)

    def describe(self, run: Run) -> tuple[str | None, str | None]:
        """The file and the schedule of a run's job; None for what it does not have."""
        file, job = self._loaded.get(run.job), self._runtime.registry.find(run.job)
        if file is not None:
            return file.path, file.schedule
        ticks = None if job is None else job.ticks
        return None, None if ticks is None else ticks.get("cron")

    def get_runs(self, name: str) -> Sequence[JobRun]:
        """The last 50 finished runs of a job, newest first."""
        checked_name("job", name, InvalidOption)
        ended = self._runtime.store.runs.list(Filter(self._runtime.tenant, ENDED, job=name, limit=RUNS))
        return [as_job_run(run) for run in ended]

    def close(self) -> None:
        """Stop watching, and remove the modules of the job files."""
        self.unwatch()
        with self._lock:
            if self._files is not None:
                self._files.close()
                self._files = None

    def shutdown(self, grace: float | None = None) -> None:
        """Stop watching, scheduling and working: nothing more begins, and running handlers finish,
        however long they take.

        With `grace`, those that have not finished after so many seconds are canceled, and their runs handed back.
        Returns when all is done; but at once if a handler calls it, or the thread of the engine's event loop: use
        `ashutdown` there.
        """
        self.unwatch()
        self._shut_down(grace)

    async def ashutdown(self, grace: float | None = None) -> None:
        """The same for async code, also on the engine's event loop."""
        await on_own_thread("shutdown", self.shutdown, grace)


def as_job_run(run: Run | RunShown) -> JobRun:
    status = "completed" if run.status is Status.SUCCEEDED else "failed"
    return JobRun(run.id, run.started_at, run.finished_at, status, run.error, run.attempt)
