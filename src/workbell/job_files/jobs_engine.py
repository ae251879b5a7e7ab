"""The engine of a project's folder: its job files loaded, their schedules and triggers put, reloaded when they change.

`bell.engine` is one: load, reload, list, get_runs, shutdown. `bell.run()` and `workbell dev` call it by themselves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from workbell.client.client import Client
from workbell.errors import JobsError
from workbell.events.declared import DeclaredTriggers, Wanted
from workbell.handlers.app_database import check_database, file_of
from workbell.handlers.event_handler import hear_events
from workbell.handlers.job_function import JobFunction
from workbell.job_files import DEFAULT_RETRY, FileProblem, FileWatch, FolderChange, JobFile, JobFiles, Reloads
from workbell.model.run import Run, Status
from workbell.process.identity import program_name
from workbell.scheduling.schedules import Declaration
from workbell.settings import Settings, find_file

log = logging.getLogger("workbell.jobs")

RUNS = 50


class RegisteredJob(NamedTuple):
    """A job that runs by itself."""

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


class JobsEngine:
    """What a project's folder declares, kept in step with the registry and the store."""

    def __init__(self, client: Client, settings: Settings, shut_down: Callable[[], object]) -> None:
        file = find_file()
        self.folder = Path.cwd() if file is None else file.parent
        self._client = client
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
        self.keeps_schedules = True  # a worker beside a scheduler leaves that to it
        self.tells_problems = True  # one process of many is enough

    @property
    def project(self) -> str:
        return self._settings.project or program_name()

    def start(self) -> None:
        """Before the engine runs: the job files of a project, and the schedules and triggers that its code declares."""
        check_database(self._settings.database, file_of(self._client.store))
        if self._settings.project is not None or self._files is not None:
            self.reload()
        if not self.keeps_schedules:
            return
        names = self.put_code_schedules()
        reason = f"the code of {self.project!r} no longer declares it"
        self._client.schedules.disable_others(names, source=f"code:{self.project}", reason=reason)
        self.put_triggers()

    def load(self) -> FolderChange:
        """Load every job file. If some cannot be, the others are, and then JobsError says what is wrong with each.

        It declares their schedules; ticks make runs while `bell.run()` or `bell.running()` does.
        """
        change = self.reload()
        if self.problems:
            listed = "".join(f"\n  {problem}" for problem in self.problems)
            raise JobsError(f"Of the job files, these cannot be loaded; all others are:{listed}")
        return change

    def reload(self) -> FolderChange:
        """Look at the job files again; a broken one keeps its last good version, and runs that are going go on.

        What is wrong is logged and kept in `problems`, and stops nothing: `bell.run()` and `workbell dev` go on.
        """
        with self._lock:
            if self._files is None:
                settings = self._settings
                self._files = JobFiles(self.folder, settings.jobs, settings.timezone, settings.webhook_allow)
            change = self._files.reload()
            self._take_over(change)
            self.reloads.note(change, self.problems, self.folder)
        for listener in list(self._listeners):
            listener(change)
        return change

    def _take_over(self, change: FolderChange) -> None:
        store, registry = self._client.store, self._client.registry
        taken = set(registry.served) - set(self._loaded)  # also what Workbell itself has
        clashes = [file for file in change.loaded if file.name in taken]
        files = [file for file in change.loaded if file.name not in taken]
        problems = [*change.problems, *(self.clash_of(file) for file in clashes)]
        for problem in problems:
            if problem not in self.problems:
                log.log(logging.ERROR if self.tells_problems else logging.DEBUG, "%s", problem)
        self.problems = problems
        before = self._triggers_of(self._loaded.values())
        gone = set(self._loaded) - {file.name for file in files}
        fresh = [file for file in files if self._loaded.get(file.name) is not file]
        registry.replace([self.job_of(file) for file in fresh], gone)
        self._loaded = {file.name: file for file in files}
        if fresh:
            names = {file.name for file in fresh}
            store.jobs.put(
                [job for job in registry.stored_definitions(store.clock, self._client.tenant) if job.name in names]
            )
        if not self.keeps_schedules:
            return
        self._put_file_schedules(fresh)
        there = {file.name for file in files} | self._broken
        reason = f"its job file is gone from the project {self.project!r}"
        self._client.schedules.disable_others(there, source=f"file:{self.project}", reason=reason)
        unscheduled = {file.name for file in files if file.schedule is None}
        if unscheduled:
            reason = "its job file has a schedule no longer"
            self._client.schedules.disable_others(there - unscheduled, source=f"file:{self.project}", reason=reason)
        self._put_file_triggers(files, before)

    def _put_file_schedules(self, files: Sequence[JobFile]) -> None:
        declarations = [self._declaration(file) for file in files if file.schedule is not None]
        self._client.schedules.put_all(declarations, source=f"file:{self.project}")

    # Triggers

    @property
    def _declared(self) -> DeclaredTriggers:
        if self._triggers is None or self._triggers.store is not self._client.store:  # a test may have given another
            self._triggers = DeclaredTriggers(self._client.store, self._client.tenant, self.project)
        return self._triggers

    @property
    def _broken(self) -> set[str]:
        """The jobs whose files have problems."""
        return {Path(problem.path).stem for problem in self.problems}

    def put_triggers(self, *, again: bool = False) -> None:
        """Put the triggers that code and files declare, and remove what nobody has declared for long."""
        declared = self._declared
        by_code = [(job, pattern) for job in self._client.registry for pattern in job.patterns]
        wanted = [self._wanted(job, pattern, declared.code) for job, pattern in by_code]
        declared.put([*wanted, *self._triggers_of(self._loaded.values())], again=again)
        declared.hold(self._broken)
        declared.retire()

    def _put_file_triggers(self, files: Sequence[JobFile], before: Sequence[Wanted]) -> None:
        """Those of all files; what was declared before and is not any more, or is switched off, goes at once."""
        wanted = self._triggers_of(files)
        off = {(file.name, pattern) for file in files if not file.enabled for pattern in file.on}
        self._declared.put(wanted)
        self._declared.drop((off | {one[:2] for one in before}) - {one[:2] for one in wanted})

    def _triggers_of(self, files: Iterable[JobFile]) -> list[Wanted]:
        found = [(self._client.registry.find(file.name), file) for file in files if file.enabled]
        source = self._declared.files
        return [self._wanted(job, pattern, source) for job, file in found if job is not None for pattern in file.on]

    def _wanted(self, job: JobFunction[Any, Any], pattern: str, source: str) -> Wanted:
        return Wanted(job.name, pattern, source, job.description.partition("\n")[0], job.retry)

    def clash_of(self, file: JobFile) -> FileProblem:
        """What to say of a file whose job's name the code has taken."""
        job = self._client.registry.find(file.name)
        where = "the app" if job is None else job.handler
        return FileProblem(file.path, None, f"the job {file.name!r} is declared by {where} already; rename the file.")

    def job_of(self, file: JobFile) -> JobFunction[Any, Any]:
        """The job that a file makes; it is registered nowhere."""
        job: JobFunction[Any, Any] = JobFunction(
            self._client,
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
            hear_events(job)
        return job

    def _declaration(self, file: JobFile) -> Declaration:
        job = self._client.registry.find(file.name)
        assert job is not None
        settings: dict[str, Any] = {"cron": file.schedule, "payload": file.payload, "enabled": file.enabled}
        settings["description"] = file.description.partition("\n")[0]
        optional = ("timezone", "window", "outside", "overlap", "catch_up", "jitter")
        settings |= {name: getattr(file, name) for name in optional if getattr(file, name) is not None}
        return Declaration(file.name, job, settings)  # type: ignore[arg-type]  # its keys come from a file

    def put_code_schedules(self, since: datetime | None = None) -> Sequence[str]:
        """Put the schedules of `@bell.job(cron=…)`: their names. New ones have ticks from `since` on, else from now."""
        declared = [job for job in self._client.registry if job.ticks is not None]
        declarations = [Declaration(job.name, job, job.ticks) for job in declared if job.ticks is not None]
        self._client.schedules.put_all(declarations, source=f"code:{self.project}", since=since)
        return [job.name for job in declared]

    def declare_again(self) -> None:
        """Now and then while the engine runs: during a deploy an older process may have started after this one, and
        have switched off what it does not know."""
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
        """Be told of every load and reload; call the answer to hear no more."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Look

    def list(self) -> list[RegisteredJob]:
        """The jobs that run by themselves here: from files, and from code."""
        names = [job.name for job in self._client.registry]
        known = self._client.store.schedules.find(self._client.tenant, names)
        found = []
        for job in self._client.registry:
            file, schedule = self._loaded.get(job.name), known.get(job.name)
            text = file.schedule if file is not None else schedule.expression if schedule is not None else None
            patterns = file.on if file is not None else job.patterns
            if text is not None or patterns:
                path = None if file is None else file.path
                next_run_at = None if schedule is None or text is None else schedule.next_run_at
                found.append(RegisteredJob(job.name, text, path, next_run_at, patterns))
        return sorted(found)

    def describe(self, run: Run) -> tuple[str | None, str | None]:
        """The file that a run's job is in, and when it runs by itself; what the job does not have is None."""
        file, job = self._loaded.get(run.job), self._client.registry.find(run.job)
        if file is not None:
            return file.path, file.schedule
        ticks = None if job is None else job.ticks
        return None, None if ticks is None else ticks.get("cron")

    def get_runs(self, name: str) -> Sequence[JobRun]:
        """The last 50 runs of a job that ended, newest first."""
        ended = self._client.runs(job=name, status=[Status.SUCCEEDED, Status.FAILED], limit=RUNS)
        return [_as_job_run(run) for run in ended]

    def close(self) -> None:
        """Stop watching, and let go of the modules of the job files."""
        self.unwatch()
        with self._lock:
            if self._files is not None:
                self._files.close()
                self._files = None

    def shutdown(self) -> None:
        """Stop watching and scheduling; a running handler ends first, within the grace of the settings."""
        self.unwatch()
        self._shut_down()


def _as_job_run(run: Run) -> JobRun:
    status = "completed" if run.status is Status.SUCCEEDED else "failed"
    return JobRun(run.id, run.started_at, run.finished_at, status, run.error, run.attempt)
