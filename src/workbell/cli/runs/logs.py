"""`workbell runs logs`: what the handler of a run logged."""

from __future__ import annotations

import click

from workbell.cli.bell import opened_client
from workbell.cli.find import find_run
from workbell.cli.output import echo, make_console, print_json, print_json_line
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.runs.follow import all_lines, as_dict, follow, line_text


@click.command(help="Print what a run's handler logged with ctx.logger, of all its attempts.")
@click.argument("run_id", metavar="ID")
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on until the run has ended.")
@client_options
@tenant_option
@json_option
def logs(run_id: str, follows: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        run = find_run(bell, run_id)
        console = make_console()
        found = all_lines(bell, run.id) if not follows else (line for _, new in follow(bell, run.id) for line in new)
        if as_json and not follows:
            print_json([as_dict(line) for line in found])
            return
        none = True
        for line in found:
            none = False
            if as_json:
                print_json_line(as_dict(line))
            else:
                console.print(line_text(line, attempt=run.attempt > 1), soft_wrap=True)
                console.file.flush()
    if none and not as_json:
        echo(f"Run {run.id} of {run.job} has logged nothing; a handler does so with ctx.logger.", err=True)
