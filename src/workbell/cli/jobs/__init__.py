"""`workbell jobs`: jobs of this folder and its store, and their runs."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

COMMANDS = {
    "list": Lazy(
        "workbell.cli.jobs.list_and_show:list_jobs", "List the jobs: when each runs next, and how it ended last."
    ),
    "show": Lazy("workbell.cli.jobs.list_and_show:show_job", "Show all details of a job."),
    "run": Lazy("workbell.cli.jobs.run:run_job", "Run a job now, as soon as a worker is free."),
    "put": Lazy(
        "workbell.cli.jobs.put_and_update:put", "Make or replace a definition: a job that runs another job's code."
    ),
    "update": Lazy("workbell.cli.jobs.put_and_update:update", "Change what is given; the rest of a definition stays."),
    "enable": Lazy("workbell.cli.jobs.enable_and_remove:enable", "Let a definition take runs again."),
    "disable": Lazy("workbell.cli.jobs.enable_and_remove:disable", "Take no new runs of a definition."),
    "remove": Lazy("workbell.cli.jobs.enable_and_remove:remove", "Remove a definition; its runs stay."),
    "pause": Lazy("workbell.cli.jobs.pause:pause", "Start no more runs of a job until it is resumed."),
    "resume": Lazy("workbell.cli.jobs.pause:resume", "Let the runs of a paused job start again."),
    "runs": Lazy("workbell.cli.jobs.runs:runs_of_job", "List the last runs of a job that ended."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See the jobs, run one now, pause one; make, change and remove jobs that are data.\n\n"
    "A definition is a job made by `put`: a name, an input template and options for the code of another job.",
)
def jobs() -> None: ...
