"""`workbell worker`: more worker processes for the store of a `workbell start`, here or on another machine."""

from __future__ import annotations

from typing import Any

import click

from workbell.cli.project import app_option
from workbell.cli.service import url_option
from workbell.cli.supervise import supervise, work_options


@click.command(help="Run worker processes beside a `workbell start`, here or on another machine.")
@app_option
@url_option
@click.option("--processes", type=click.IntRange(1, 1000), help="How many worker processes.")
@work_options
def worker(processes: int | None, **options: Any) -> None:
    supervise(workers=processes, server=False, **options)
