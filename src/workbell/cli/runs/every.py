"""Actions on one run by id, or with --all on every run of a filter: options, confirmation and messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from workbell.bulk.bulk_request import meant, read_action
from workbell.cli.acting import note
from workbell.cli.bell import AnyClient, of_tenant
from workbell.cli.find import short
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.runs.filters import filter_from, filter_options
from workbell.model.run_filter import WORDS, FilterOptions


class RunsWanted(NamedTuple):
    """One run, or all of a filter."""

    run_id: str | None
    wanted: FilterOptions
    yes: bool = False
    dry_run: bool = False


def one_or_all(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an ID argument and filter options, one of which is used; it gets a `RunsWanted`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @click.argument("run_id", metavar="[ID]", required=False)
        @click.option("--all", "every", is_flag=True, help=f"{verb} all runs of the filter below.")
        @click.option("--yes", is_flag=True, help="Do not ask.")
        @click.option("--dry-run", is_flag=True, help="Only count them.")
        @filter_options
        @functools.wraps(command)
        def called(run_id: str | None, every: bool, yes: bool, dry_run: bool, **rest: Any) -> None:
            options = {name: rest.pop(name) for name in WORDS}
            wanted = filter_from(options)
            if every == (run_id is not None):
                raise click.UsageError("Give the ID of one run, or --all with a filter; one of the two.")
            if not every and (wanted or yes or dry_run):
                raise click.UsageError("The options of a filter go with --all.")
            command(RunsWanted(run_id, wanted, yes, dry_run), **rest)

        return called

    return decorate


def order(bell: AnyClient, action: str, requested: RunsWanted, as_json: bool) -> None:
    """Say how many there are, ask, and have it done."""
    counted = bell.count_runs(**meant(read_action(action), requested.wanted))
    number = f"{'at least ' if counted.capped else ''}{counted.count:,} run{'' if counted.count == 1 else 's'}"
    told = {"count": counted.count, "capped": counted.capped, "run": None}
    if requested.dry_run:
        if as_json:
            print_json(told)
        else:
            echo(f"{number} {of_tenant(bell)} would be meant; nothing was done.")
        return
    if not counted.count and not counted.capped:
        if as_json:
            print_json(told)
        else:
            left_out = " that was not retried before" if action == "retry" else ""
            echo(f"No run{left_out} matches the filter: there is nothing to {action}.")
        return
    confirm(f"{action.capitalize()} {number} {of_tenant(bell)}?", yes=requested.yes, as_json=as_json)
    run = bell.bulk(action, **requested.wanted)
    note(bell, "bulk.act", run.id, detail={"action": action, **requested.wanted})
    if as_json:
        print_json(told | {"run": run.as_dict()})
    else:
        echo(f"Run {run.id} does it as soon as a worker is free; `workbell runs watch {short(run.id)}`.")
