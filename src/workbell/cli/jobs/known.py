"""Merges what files, code and the store know about jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from workbell.app import Workbell
from workbell.cli.bell import AnyClient, AnyRun, Here
from workbell.cli.header import all_schedules
from workbell.cli.output import echo
from workbell.cli.words import timing_in_words
from workbell.handlers.input_schema import schema_with_template
from workbell.handlers.job_function import JobFunction
from workbell.handlers.signature import Signature
from workbell.job_files import JobFile
from workbell.model.job import CLEAN, Job, unknown_job
from workbell.model.pause import Pause
from workbell.model.schedule import Schedule
from workbell.wire.jobs import JobShown

SHOWN = 10  # names that a message lists


class KnownJob(NamedTuple):
    """A job with its schedules. What a file or the code declares is put into the store when an engine starts."""

    job: Job
    file: JobFile | None
    declared: str | None
    is_here: bool
    schedules: list[Schedule]
    last_run: AnyRun | None
    on: tuple[str, ...] = ()  # patterns of the events that start it, as its file or its code says it
    signature: Signature | None = None  # of a job that is here
    pause: Pause | None = None  # of the job in all queues
    cleans_at: datetime | None = None  # when the system's own job, which has no schedule, is due next

    @property
    def where(self) -> str:
        if self.job.is_definition:
            return code_of(self.job)
        return self.file.path if self.file is not None else self.job.handler

    @property
    def next_run_at(self) -> datetime | None:
        due = (schedule.next_run_at for schedule in self.schedules)
        return min((one for one in (*due, self.cleans_at) if one is not None), default=None)

    def as_dict(self) -> dict[str, Any]:
        """The job as the API shows it, with its schedules and its last run."""
        last, schema = self.last_run, None if self.signature is None else self.signature.schema
        shown = JobShown.of(
            self.job,
            unserved=None,  # nobody asked the workers
            paused=self.pause is not None,
            here=self.is_here,
            file_path=None if self.file is None else self.file.path,
            schedule=self.declared,
            on=self.on,
            input_schema=None if schema is None else schema_with_template(schema, self.job.input),
        )
        return msgspec.structs.asdict(shown) | {
            "priority": self.job.priority,
            "next_run_at": self.next_run_at,
            "last_status": None if last is None else last.status,
            "last_run_id": None if last is None else last.id,
            "schedules": [schedule.as_dict() | {"in_words": timing_in_words(schedule)} for schedule in self.schedules],
        }


def code_of(job: Job) -> str:
    """Which code runs for a definition."""
    return "code in another language" if job.is_elsewhere else f"code of {job.handler}"


def all_jobs(here: Here) -> list[KnownJob]:
    """Every job, by name: of this folder, and those that only the store knows."""
    bell = here.bell
    schedules: dict[str, list[Schedule]] = defaultdict(list)
    for schedule in all_schedules(bell):
        schedules[schedule.job].append(schedule)
    pauses = _pauses(bell)
    return [_known(here, job, schedules[job.name], pauses.get(job.name)) for job in bell.jobs.list()]


def find_job(here: Here, name: str) -> KnownJob:
    bell = here.bell
    found = {job.name: job for job in bell.jobs.list()}
    job = found.get(name)
    if job is None:
        raise unknown_job(name, found)
    schedules = [schedule for schedule in all_schedules(bell) if schedule.job == name]
    return _known(here, job, schedules, _pauses(bell).get(name))


def _pauses(bell: AnyClient) -> dict[str | None, Pause]:
    """The pauses of whole jobs, by name."""
    return {pause.job: pause for pause in bell.pauses() if pause.queue is None}


def list_names(names: Sequence[str]) -> str:
    """The first names, for a message."""
    return f"{', '.join(names[:SHOWN])}{' …' if names[SHOWN:] else ''}"


def _known(here: Here, job: Job, schedules: list[Schedule], pause: Pause | None) -> KnownJob:
    newest: Sequence[AnyRun] = here.bell.runs(job=job.name, limit=1)
    last = newest[0] if newest else None
    file = here.files.get(job.name)
    function = _function(here, job.handler if job.is_definition else job.name)
    patterns = file.on if file is not None else () if function is None or job.is_definition else function.patterns
    signature = None if function is None else function.signature
    declared, is_here = _declared(here, job.name), function is not None
    known = KnownJob(job, file, declared, is_here, schedules, last, patterns, signature, pause)
    if job.name == CLEAN and isinstance(here.bell, Workbell) and job.id:
        since = job.created_at if last is None else last.created_at
        known = known._replace(cleans_at=since + timedelta(seconds=here.bell.settings.clean_every))
    return known


def _declared(here: Here, name: str) -> str | None:
    """When a job runs by itself, as its file or its code says it."""
    file, function = here.files.get(name), _function(here, name)
    if file is not None:
        return file.schedule
    if function is None or function.ticks is None:
        return None
    triggers = {word: function.ticks.get(word) for word in ("cron", "every", "at")}
    return next(
        (str(value) if word == "cron" else f"{word} {value}" for word, value in triggers.items() if value), None
    )


def _function(here: Here, name: str) -> JobFunction[Any, Any] | None:
    """The code of a job, if it is here."""
    return here.bell.registry.find(name) if isinstance(here.bell, Workbell) else None


def make_known(bell: AnyClient, name: str) -> None:
    """Store a job of this folder, so that other processes know what its runs and schedules mean."""
    if isinstance(bell, Workbell):
        bell.runtime.declare_jobs({name})


def mention_problems(here: Here) -> None:
    """Warn on stderr that job files which cannot be loaded are missing in the output."""
    broken = sorted({problem.path for problem in here.problems})
    if broken:
        echo(f"Left out for their problems: {', '.join(broken)}; `workbell check` lists them.", err=True)
