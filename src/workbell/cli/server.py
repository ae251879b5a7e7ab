"""`workbell server`: the API and the scheduler without workers, beside a `workbell worker` on other machines."""

from __future__ import annotations

from typing import Any

import click

from workbell.cli.project import app_option
from workbell.cli.service import url_option
from workbell.cli.serving import http_options
from workbell.cli.supervise import probe_option, supervise, watch_option


@click.command(help="Serve the API and schedule, without workers: beside `workbell worker`, here or elsewhere.")
@app_option
@url_option
@watch_option
@probe_option
@http_options
def server(**options: Any) -> None:
    supervise(workers=0, server=True, **options)
