"""`workbell migrate`: updates the schema of the store, or prints its SQL."""

from __future__ import annotations

import click

from workbell.cli.output import echo, print_json
from workbell.cli.project import json_option, open_project, opened, store_options, store_url
from workbell.cli.schema import engine_of
from workbell.doctor.tables import tables_of
from workbell.settings import safe_url
from workbell.stores.migrate import NEWEST, dump


@click.command(help="Bring the tables of the store up to date, or print the SQL that would.")
@store_options
@json_option
@click.option("--dump-sql", is_flag=True, help="Print all the SQL of the schema, and touch nothing.")
@click.option(
    "--engine",
    type=click.Choice(["sqlite", "postgres"]),
    help="Whose SQL to print; otherwise that of the URL.",
)
def migrate(url: str | None, as_json: bool, dump_sql: bool, engine: str | None) -> None:
    if engine is not None and not dump_sql:
        raise click.UsageError("--engine goes with --dump-sql; what is migrated is the store that the URL names.")
    if as_json and dump_sql:
        raise click.UsageError("--dump-sql prints SQL, and --json JSON; give one of them.")
    project = open_project(url=url)
    if dump_sql:
        echo(dump(engine or engine_of(store_url(project))), nl=False)
        return
    chosen = store_url(project)
    with opened(chosen) as store:
        done = store.migrate()
        store.check()  # tables of a newer version are left alone above, and refused here
        tables = tables_of(store)
    version = tables.version if tables is not None else NEWEST
    if as_json:
        print_json({"store": safe_url(chosen), "schema_version": version, "applied": done})
    elif done:
        echo(f"{safe_url(chosen)}: applied {', '.join(done)}; the schema is version {version} now.")
    else:
        echo(f"{safe_url(chosen)}: nothing to do; the schema is version {version}.")
