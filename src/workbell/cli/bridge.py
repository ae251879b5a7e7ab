"""`workbell bridge`: the Worker between Workbell and a D1 database."""

from __future__ import annotations

from pathlib import Path

import click

from workbell.cli.output import echo, print_json
from workbell.cli.project import json_option


@click.group(help="Write the Worker through which Workbell uses a D1 database of Cloudflare.")
def bridge() -> None: ...


@bridge.command("write", help="Write the bridge into a folder, to be deployed with wrangler.")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def write(folder: Path, as_json: bool) -> None:
    from workbell.stores.d1.bridge_files import CONFIG, write_bridge

    written = write_bridge(folder)
    if as_json:
        print_json({"folder": str(folder), "written": written})
        return
    echo(f"{folder}: wrote {', '.join(written)}.")
    if CONFIG not in written:
        echo(f"{CONFIG} was there and is left as it is.")
    echo(f"{folder / 'README.md'} says how to deploy it.")
