"""`workbell import`: takes over the jobs, schedules and runs of another job system. Idempotent."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbell.cli.output import echo, make_console, make_progress, make_table, one_line, print_json
from workbell.cli.project import json_option, missing_file, open_project, opened, tenant_option
from workbell.doctor.tables import tables_of
from workbell.errors import InvalidOption, StoreError
from workbell.model.clock import SystemClock
from workbell.model.job import TENANT, name
from workbell.settings import safe_url
from workbell.stores.kumofire.importing import KINDS, ImportReport, Remark, check_idle, import_tables
from workbell.stores.kumofire.mapping import Into
from workbell.stores.kumofire.sources import open_source
from workbell.stores.kumofire.tables import KumofireTables
from workbell.stores.port import Store

SHOWN = 20  # remarks of each kind


@click.group("import", help="Take over definitions, schedules and runs of another job system.")
def import_store() -> None: ...


@import_store.command("kumofire", help="Import the jobs, schedules and runs of Kumofire Jobs; ids stay.")
@click.option(
    "--from",
    "source",
    metavar="FILE|URL",
    required=True,
    help="Its database: a file of SQLite, the SQL of `wrangler d1 export`, or d1+https://bridge….",
)
@click.option("--to", "target_url", metavar="URL", required=True, help="The store to import into.")
@click.option("--target", metavar="AGENT", help="Aim everything at an agent, or label:NAME, that runs its handlers.")
@tenant_option
@click.option("--dry-run", "dry", is_flag=True, help="Say what would be imported, and write nothing.")
@json_option
def kumofire(source: str, target_url: str, target: str | None, tenant: str | None, dry: bool, as_json: bool) -> None:
    settings = open_project(tenant=tenant, for_people=True).settings
    if target is not None:
        name("target", target, InvalidOption)
    tables_source = open_source(source)
    try:
        tables = KumofireTables(tables_source)
        check_idle(tables, SystemClock().now())  # before the target is touched
        with opened(target_url) as store:
            # A dry run must not make the file, nor tables.
            absent = missing_file(target_url) is not None or (dry and tables_of(store) is None)
            if not (dry and absent):
                store.check()
                store.measure_time()
            into = Into(settings.tenant, store.clock.now(), settings.keep, target)
            report = _import(tables, None if dry and absent else store, into, dry=dry)
    finally:
        tables_source.close()
    if as_json:
        print_json(
            {
                "from": tables_source.name,
                "to": safe_url(target_url),
                "tenant": settings.tenant,
                "dry_run": dry,
                **report.as_dict(),
            }
        )
    else:
        _show(tables_source.name, target_url, settings.tenant, report, dry=dry)
    if report.lost:
        raise StoreError(
            f"The import is not complete: {len(report.lost):,} rows were left out that would have done something "
            f"({one_line(report.lost[0].id)}: {report.lost[0].text}); mend them there, or enqueue them anew."
        )


def _import(tables: KumofireTables, store: Store | None, into: Into, *, dry: bool) -> ImportReport:
    with make_progress() as progress:
        task = progress.add_task("reading" if dry else "importing", total=tables.total())
        return import_tables(tables, store, into, dry=dry, advance=lambda count: progress.advance(task, count))


def _show(source: str, target_url: str, tenant: str, report: ImportReport, *, dry: bool) -> None:
    console = make_console()
    of_tenant = "" if tenant == TENANT else f", tenant {tenant}"
    console.print(f"From {source}\nto   {safe_url(target_url)}{of_tenant}\n", markup=False)
    done = "to import" if dry else "imported"
    columns = ("found", done, "there already", "left out")
    table = make_table("", *columns, right=columns)
    for kind in KINDS:
        counts = (report.found[kind], report.imported[kind], report.there[kind], report.skips(kind))
        table.add_row(kind, *(f"{count:,}" for count in counts))
    console.print(table)
    for title, remarks in (("Left out:", report.skipped), ("To note:", report.notes)):
        _show_remarks(title, remarks)
    if dry:
        console.print("\nNothing was written: this was a dry run.")
    elif not report.lost:
        console.print("\nComplete. Repeating it doubles nothing.", style="green")


def _show_remarks(title: str, remarks: Sequence[Remark]) -> None:
    if not remarks:
        return
    echo(f"\n{title}")
    for kind, row_id, text in remarks[:SHOWN]:
        echo(f"  {kind}: {one_line(row_id)}: {one_line(text)}")
    if len(remarks) > SHOWN:
        echo(f"  … and {len(remarks) - SHOWN:,} more; --json lists all")
