"""`workbell start`: this folder's jobs as a service: the API, a scheduler and workers, each in a process of its own."""

from __future__ import annotations

from typing import Any

import click

from workbell.cli.project import app_option
from workbell.cli.service import url_option
from workbell.cli.serving import http_options
from workbell.cli.supervise import supervise, work_options


@click.command(help="Run this folder's jobs as a service: the API, a scheduler and workers, supervised.")
@app_option
@url_option
@click.option("--processes", type=click.IntRange(0, 1000), help="How many worker processes; 0 schedules only.")
@work_options
@http_options
def start(processes: int | None, **options: Any) -> None:
    supervise(workers=processes, server=True, **options)
