"""`workbell copy --to URL`: copies one store into another and compares the counts. Idempotent."""

from __future__ import annotations

import click

from workbell.cli.output import make_console, make_progress, make_table, print_json
from workbell.cli.project import json_option, missing_file, open_project, opened, store_options, store_url
from workbell.cli.transfer import CopyTally, census, transfer
from workbell.doctor.tables import tables_of
from workbell.errors import StoreError
from workbell.model.run import Status
from workbell.settings import safe_url
from workbell.stores.port import Filter, Store

MOST = 1000


def _explain_from(_ctx: click.Context, _option: click.Parameter, given: str | None) -> None:
    if given is not None:
        raise click.UsageError("There is no --from; --url names the store to copy from.")


@click.command(help="Copy jobs, schedules, events, endpoints, runs and history into another store.")
@store_options
@click.option("--to", "target_url", metavar="URL", required=True, help="The store to copy into.")
@click.option("--from", hidden=True, expose_value=False, callback=_explain_from)
@click.option("--force", is_flag=True, help="Copy even while workers are running.")
@json_option
def copy(url: str | None, target_url: str, force: bool, as_json: bool) -> None:
    project = open_project(url=url)
    source_url = store_url(project)
    absent = missing_file(source_url)
    if absent is not None:
        raise StoreError(f"There is no store to copy from: {absent} does not exist; name it with --url.")
    with opened(source_url) as source, opened(target_url) as target:
        _check(source, target, source_url, target_url, force)
        with make_progress() as progress:
            task = progress.add_task("counting", total=None)
            total = census(source).total()
            progress.update(task, description="copying", total=total)
            tally = transfer(source, target, lambda count: progress.advance(task, count))
    missing = tally.missing()
    if as_json:
        print_json(
            {
                "from": safe_url(source_url),
                "to": safe_url(target_url),
                "complete": not missing,
                **tally.as_dict(),
            }
        )
    else:
        _show(source_url, target_url, tally)
    if missing:
        raise StoreError(f"The copy is not complete ({'; '.join(missing)}); is something deleting there? Repeat it.")


def _check(source: Store, target: Store, source_url: str, target_url: str, force: bool) -> None:
    before = tables_of(source)
    if before is None:
        raise StoreError(f"{safe_url(source_url)} has no tables of Workbell; there is nothing to copy.")
    source.check()
    source.measure_time()
    now = source.clock.now()
    running = [
        run
        for run in source.runs.list(Filter(None, [Status.RUNNING], limit=MOST))
        if run.lease_until is not None and run.lease_until > now
    ]
    if running and not force:
        raise StoreError(
            f"{len(running):,} runs are being worked on (by {running[0].worker}); stop the workers first, "
            "or give --force, which may have these runs worked on twice."
        )
    # Only now is the target touched: a refusal must not leave an empty file behind.
    there = None if missing_file(target_url) else tables_of(target)
    if there is not None and there.store_id == before.store_id:
        raise StoreError(f"{safe_url(source_url)} and {safe_url(target_url)} are one and the same store.")
    target.check()  # makes the tables if there are none


def _show(source_url: str, target_url: str, tally: CopyTally) -> None:
    console = make_console()
    console.print(f"From {safe_url(source_url)}\nto   {safe_url(target_url)}\n", markup=False)
    table = make_table("", "read", "copied", "there already", right=("read", "copied", "there already"))
    for kind in tally.read:
        copied = tally.copied(kind)
        table.add_row(kind, f"{tally.read[kind]:,}", f"{copied:,}", f"{tally.read[kind] - copied:,}")
    console.print(table)
    console.print("\nComplete: everything was counted again in the new store.", style="green")
