"""`workbell start`: scheduler and worker as a service, in this process, with plain log lines."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext

import click

from workbell.app import Workbell
from workbell.cli.bell import load_bell
from workbell.cli.dev import is_empty, load_jobs, watching
from workbell.cli.output import span
from workbell.cli.project import app_option, open_project, safe_url, url_option
from workbell.cli.run_lines import LOOKS, what_came
from workbell.errors import SettingsError
from workbell.handlers.job_files import Change
from workbell.model.state import Move
from workbell.notices.bus import Notice

log = logging.getLogger("workbell.start")

LEVELS = {
    Move.START: logging.DEBUG,
    Move.SUCCEED: logging.INFO,
    Move.SNOOZE: logging.INFO,
    Move.RELEASE: logging.INFO,
    Move.CANCEL: logging.INFO,
    Move.RETRY: logging.WARNING,
    Move.LOSE: logging.WARNING,
    Move.FAIL: logging.ERROR,
}


@click.command(help="Run this folder's jobs as a service: scheduler and worker, with plain log lines.")
@app_option
@url_option
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="How many handlers may run at once.")
@click.option("--watch", is_flag=True, help="Take over job files when they change.")
def start(app: str | None, url: str | None, concurrency: int | None, watch: bool) -> None:
    project = open_project(app=app, url=url, concurrency=concurrency)
    if is_empty(project):
        raise SettingsError(
            "There is nothing to run in this folder: no workbell.toml, no jobs/ and no --app; go to a project's "
            "folder, or make one with `workbell init`."
        )
    with load_bell(project, url) as bell:
        load_jobs(bell, project)
        _log_beginning(bell, concurrency or project.settings.concurrency)
        bell.engine.on_change(log_change)
        unsubscribe = bell.bus.subscribe(log_runs)
        try:
            with watching(bell) if watch else nullcontext():
                bell.run(concurrency=concurrency)
        finally:
            unsubscribe()
    log.info("stopped")


def _log_beginning(bell: Workbell, slots: int) -> None:
    scheduled = bell.engine.list()
    log.info(
        "started: store %s, %d jobs, %d of them by schedule, %d files with problems, %d slots",
        safe_url(bell.settings.url),
        len(bell.registry),
        len(scheduled),
        len({problem.path for problem in bell.engine.problems}),
        slots,
    )


def log_runs(notices: Sequence[Notice]) -> None:
    """A line for every run: what came of it, after how long."""
    for move, run in ((notice.move, notice.run) for notice in notices):
        level = LEVELS.get(move)
        if level is None or not log.isEnabledFor(level):
            continue
        took = f" in {span(run.updated_at - run.started_at)}" if run.started_at and move is not Move.START else ""
        came = what_came(move, run)
        facts = {"job": run.job, "run_id": run.id, "attempt": run.attempt}
        log.log(level, "%s%s%s", LOOKS[move].word, took, f": {came}" if came else "", extra=facts)


def log_change(change: Change) -> None:
    """Problems are logged by the engine itself."""
    for what, files in (("loaded", change.added), ("reloaded", change.changed), ("gone", change.removed)):
        for file in files:
            log.info("job file %s: %s", file.path, what)
