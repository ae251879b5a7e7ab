"""`workbell dev`: scheduler and worker in this process, with a line for every run and every change of the code."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import click
import msgspec

from workbell.app import Workbell
from workbell.boot.recipe import load_jobs
from workbell.cli.app_reload import MARK, AppReload, hold_signals
from workbell.cli.bell import load_bell
from workbell.cli.header import show_header
from workbell.cli.init import make_project, report
from workbell.cli.output import echo, make_console, span
from workbell.cli.project import NOTHING, Project, app_option, is_empty, open_project
from workbell.cli.reload_lines import AlreadyPrinted, ReloadLines
from workbell.cli.run_lines import RunLines
from workbell.cli.service import url_option
from workbell.cli.serving import address, http_options, listen
from workbell.engine.role import Role
from workbell.errors import SettingsError, UnknownJob, WorkbellError
from workbell.model.run import LIVE


@click.command(help="Run this folder's jobs here, with a line for every run; changed code is reloaded.")
@app_option
@url_option
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="How many handlers may run at once.")
@http_options
@click.option("--start", metavar="JOB", help="Enqueue this job first, unless a run of it is waiting already.")
def dev(
    app: str | None,
    url: str | None,
    concurrency: int | None,
    host: str | None,
    port: int | None,
    http: bool | None,
    start: str | None,
) -> None:
    flags = {"app": app, "url": url, "concurrency": concurrency, "http": http, "http_host": host, "http_port": port}
    project = open_project(for_people=True, **flags)
    if is_empty(project):
        offer_init()
        project = open_project(for_people=True, **flags)
    printed = AlreadyPrinted()
    logging.getLogger("workbell.jobs").addFilter(printed)
    first = MARK not in os.environ
    try:
        reload = AppReload(project)
        again = _run(project, url, concurrency, start, reload)
    except KeyboardInterrupt:
        if first:
            raise
        return  # while it was loading again
    finally:
        logging.getLogger("workbell.jobs").removeFilter(printed)
    if again:
        reload.execute()


def _run(project: Project, url: str | None, concurrency: int | None, start: str | None, reload: AppReload) -> bool:
    """Until it is stopped; whether that was for the code of the app to be reloaded."""
    console = make_console()
    lines = RunLines(console, trace=project.settings.log_level.lower() == "debug")
    with closing(lines), _loaded(project, url, lines, reload) as bell:
        # An open page asks often: only what was refused or failed is worth a line between those of runs.
        bell.settings = msgspec.structs.replace(bell.settings, http_log="problems")
        if start is not None and reload.before is None:
            _start(bell, start)
        door = reload.door() or listen(project.settings)
        reload.leave_open(door)
        if reload.before is None:
            show_header(console, bell, project, None if door is None else _door(bell, door))
        began = time.monotonic()
        unsubscribe = bell.host.bus.subscribe(lines.on_notices)
        bell.engine.on_change(ReloadLines(bell, lines).on_change)
        reload.begin(bell, lines)
        bell.engine.on_change(reload.on_change)
        try:
            with watching(bell):
                try:
                    asyncio.run(bell.host.serve(Role(None, concurrency, logs_runs=False), http=door))
                finally:
                    reload.end()
                if reload.wanted and not bell.host.interrupted:
                    hold_signals()
                    return True
        finally:
            unsubscribe()
            lines.close()
        lasted = span(timedelta(seconds=time.monotonic() - began))
        console.print(f"\nStopped after {lasted}: {lines.summary()}.", markup=False)
        return False


def _loaded(project: Project, url: str | None, lines: RunLines, reload: AppReload) -> Workbell:
    """The Workbell with its jobs. After a change that cannot be loaded, the next one is waited for."""
    try:
        bell = load_bell(project, url)
        try:
            load_jobs(bell, str(project.folder))
            bell.registry.worker_start.call_once()
        except BaseException:
            bell.close()
            raise
    except WorkbellError as error:
        if reload.before is None:
            raise
        reload.wait(error, lines)
    return bell


def _door(bell: Workbell, http: socket.socket) -> str:
    """The URL to open in a browser: its token is good for once."""
    from workbell.http.pages.login import login_url

    url = address(bell.settings, http)
    return url if bell.settings.http_auth == "none" else login_url(bell, url)


def offer_init() -> None:
    """Offer to create a project on a terminal; else say how."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError(f"{NOTHING}; `workbell init` makes a project here.")
    if not click.confirm(f"{NOTHING}. Make a project here, with a first job?", default=True):
        raise SettingsError(f"{NOTHING}.")
    report(Path(), make_project(Path()))
    echo()


@contextmanager
def watching(bell: Workbell) -> Iterator[None]:
    bell.engine.watch()
    try:
        yield
    finally:
        bell.engine.unwatch()


def _start(bell: Workbell, job: str) -> None:
    if job not in bell.registry:
        known = ", ".join(sorted(known.name for known in bell.registry)) or "none"
        raise UnknownJob(f"--start: the app has no job {job!r}; its jobs are: {known}.")
    if not bell.runs(job=job, status=LIVE, limit=1):
        bell.enqueue(job, key=f"workbell dev --start {job}")
