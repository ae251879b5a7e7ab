"""Supervisor options that `workbell start` and `workbell worker` share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from workbell.cli.bell import recipe_of
from workbell.cli.project import open_project, refuse_empty
from workbell.cli.serving import address, listen
from workbell.cli.values import SIZE, SPAN
from workbell.errors import SettingsError
from workbell.model.listen_address import ListenAddress, read_listen_address

log = logging.getLogger("workbell.http")

Command = TypeVar("Command", bound=Callable[..., Any])


def watch_option(command: Command) -> Command:
    return click.option("--watch", is_flag=True, help="Reload job files when they change.")(command)


def probe_option(command: Command) -> Command:
    return click.option(
        "--probe", metavar="HOST:PORT", help="Answer /livez and /readyz here, for Kubernetes; see `workbell probe`."
    )(command)


def work_options(command: Command) -> Command:
    """Options of worker processes: their work, and when one is replaced."""
    options = [
        click.option("--concurrency", type=click.IntRange(1, 10_000), help="How many handlers may run in each worker."),
        click.option("--queues", metavar="A,B", help="Work on these queues only."),
        click.option(
            "--grace", type=SPAN, metavar="SPAN", help="How long handlers have to end when the service stops."
        ),
        click.option("--max-runs", type=click.IntRange(1), help="Replace a worker after this many runs."),
        click.option("--max-memory", type=SIZE, metavar="SIZE", help="Replace a worker above this: 512MB, 2GB."),
        probe_option,
        watch_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def supervise(
    *,
    app: str | None,
    url: str | None,
    workers: int | None,
    server: bool,
    watch: bool,
    concurrency: int | None = None,
    queues: str | None = None,
    grace: timedelta | None = None,
    max_runs: int | None = None,
    max_memory: int | None = None,
    host: str | None = None,
    port: int | None = None,
    http: bool | None = None,
    probe: str | None = None,
) -> None:
    """Run until stopped."""
    seconds = None if grace is None else grace.total_seconds()
    project = open_project(
        app=app,
        url=url,
        workers=workers,
        concurrency=concurrency,
        grace=seconds,
        probe=probe,
        http=http,
        http_host=host,
        http_port=port,
    )
    refuse_empty(project)
    from workbell.process.service_manager import take_service_manager
    from workbell.workers.plan import WorkerPlan
    from workbell.workers.probe_listener import bind_probe
    from workbell.workers.supervisor import Supervisor

    settings = project.settings
    manager = take_service_manager()
    plan = WorkerPlan(
        recipe_of(project, url),
        workers=settings.workers if server else max(settings.workers, 1),  # a setting of 0 is meant for `start`
        grace=settings.grace,
        server=server,
        queues=None if queues is None else _names(queues),
        concurrency=concurrency,
        watch=watch,
        max_runs=max_runs,
        max_memory=max_memory,
        probed=settings.probe is not None or manager.listens,
    )
    door = listen(settings) if server else None
    at = None if door is None else address(settings, door)
    probes = None if settings.probe is None else bind_probe(read_listen_address(settings.probe))
    if probes is not None:
        log.info("probes are answered at %s", ListenAddress(*probes.getsockname()[:2]))
    Supervisor(plan, door, probes, manager, at).run()


def _names(queues: str) -> list[str]:
    names = [name.strip() for name in queues.split(",") if name.strip()]
    if not names:
        raise SettingsError(f"--queues: {queues!r} names no queue; write one or more, such as --queues mail,default.")
    return names
