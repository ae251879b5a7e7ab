"""`workbell dev`: scheduler and worker in this process, with a line for every run."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import click

from workbell.app import Workbell
from workbell.cli.load_app import load_app
from workbell.cli.output import make_console, span
from workbell.cli.project import Project, open_project, safe_url, url_option
from workbell.cli.run_lines import RunLines
from workbell.errors import SettingsError, UnknownJob
from workbell.model.run import LIVE
from workbell.version import __version__


@click.command(help="Run the app of this folder here: scheduler and worker, with a line for every run.")
@click.option("--app", metavar="MODULE:NAME", help="The Workbell to run; otherwise `app` of workbell.toml.")
@url_option
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="How many handlers may run at once.")
@click.option("--start", metavar="JOB", help="Enqueue this job first, unless a run of it is waiting already.")
def dev(app: str | None, url: str | None, concurrency: int | None, start: str | None) -> None:
    project = open_project(app=app, url=url, concurrency=concurrency)
    bell = _load(project, url)
    console = make_console()
    with bell:
        bell.store.check()
        if start is not None:
            _start(bell, start)
        jobs = ", ".join(job.name for job in bell.registry) or "none: declare one with @bell.job"
        console.print(f"[bold]Workbell {__version__}[/bold]")
        for name, value in (
            ("app", project.settings.app or ""),
            ("store", safe_url(bell.settings.url)),
            ("jobs", jobs),
            ("slots", str(project.settings.concurrency)),
        ):
            console.print(f"  {name:6}", style="dim", end="")
            console.print(value, markup=False)
        console.print("  Ctrl-C stops it.\n", style="dim")
        began = time.monotonic()
        lines = RunLines(console, trace=project.settings.log_level.lower() == "debug")
        unsubscribe = bell.bus.subscribe(lines.hear)
        try:
            bell.run(concurrency=concurrency)
        finally:
            unsubscribe()
            lines.close()
        lasted = span(timedelta(seconds=time.monotonic() - began))
        console.print(f"\nStopped after {lasted}: {lines.summary()}.", markup=False)


def _load(project: Project, url: str | None) -> Workbell:
    if url is not None:
        os.environ["WORKBELL_URL"] = url  # the app makes its Workbell itself, and this is where it looks
    bell = load_app(project.settings.app, project.folder)
    if url is not None and bell.settings.url != url:
        raise SettingsError(
            f"--url: the app itself names its store ({safe_url(bell.settings.url)}); leave the option out, "
            "or write Workbell() without a URL in the app."
        )
    return bell


def _start(bell: Workbell, job: str) -> None:
    if job not in bell.registry:
        known = ", ".join(sorted(known.name for known in bell.registry)) or "none"
        raise UnknownJob(f"--start: the app has no job {job!r}; its jobs are: {known}.")
    if not bell.runs(job=job, status=LIVE, limit=1):
        bell.enqueue(job, key=f"workbell dev --start {job}")
