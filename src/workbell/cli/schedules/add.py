"""`workbell schedules add`: a schedule for a job, with everything that can be said about one."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_here
from workbell.cli.jobs.known import make_known
from workbell.cli.output import print_json
from workbell.cli.project import app_option, json_option, open_project, tenant_option, url_option
from workbell.cli.renamed import Renamed
from workbell.cli.retrying import OF_SCHEDULES, retry_options, take_retry
from workbell.cli.run_options import run_options
from workbell.cli.schedules.look import as_dict, source_in_words
from workbell.cli.values import INSTANT, JSON, SPAN, WINDOW
from workbell.cli.words import here_now, in_words, next_in_words
from workbell.errors import InvalidOption
from workbell.model.retry import Retry, read_retry
from workbell.model.schedule import CatchUp, Outside, Overlap
from workbell.scheduling.declare import ScheduleSettings

RETRY = read_retry({})  # what a schedule's policy leaves out


def words(kind: type[StrEnum]) -> list[str]:
    """As texts: of an enum, click shows the names and not the words."""
    return [word.value for word in kind]


@click.command(help="Add a schedule for a job.")
@click.argument("name")
@click.option("--job", metavar="NAME", required=True, help="What to run.")
@click.option("--cron", metavar="TEXT", help="When: five fields, or six with seconds first.")
@click.option("--every", type=SPAN, metavar="SPAN", help="When: every 90, 5m, 1h30m.")
@click.option("--at", type=INSTANT, metavar="TIME", help="When: once, such as 2026-11-16T09:00:00Z.")
@click.option("--anchor", type=INSTANT, metavar="TIME", help="Where --every is counted from; otherwise from now.")
@click.option("--timezone", metavar="ZONE", help="Such as Europe/Paris; otherwise the setting, else the machine's.")
@click.option(
    "--input",
    "payload",
    cls=Renamed,
    old="--payload",
    type=JSON,
    metavar="JSON",
    help="The arguments of every run, by name.",
)
@click.option("--window", type=WINDOW, metavar="A-B", help="Runs start only in it: 02:00-06:00, also 22:00-04:00.")
@click.option("--outside", type=click.Choice(words(Outside)), help="A tick outside the window. Otherwise: defer.")
@click.option("--overlap", type=click.Choice(words(Overlap)), help="A tick while the last run lives. Otherwise: skip.")
@click.option("--catch-up", type=click.Choice(words(CatchUp)), help="Ticks missed in an outage. Otherwise: latest.")
@click.option("--catch-up-cap", type=click.IntRange(1, 10_000), help="How many runs `all` makes at the most.")
@click.option("--jitter", type=SPAN, metavar="SPAN", help="Spread runs over this long after the tick.")
@retry_options(OF_SCHEDULES)
@run_options
@click.option("--description", metavar="TEXT", help="What it is for.")
@click.option("--created-by", metavar="TEXT", help="Who wanted it.")
@click.option("--alert-url", metavar="URL", help="Notify this URL of runs that failed for good.")
@click.option("--ping-url", metavar="URL", help="Notify this URL whenever a run ends, as healthchecks.io wants it.")
@click.option("--replace", is_flag=True, help="Change it, if there is one of this name.")
@app_option
@url_option
@tenant_option
@json_option
def add(
    name: str,
    job: str,
    replace: bool,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    settings = _settings(given)
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, to_look=False) as here:
        bell = here.bell
        bell.store.check()
        known = bell.store.find_schedules(bell.tenant, [name]).get(name)
        if known is not None and not known.source.startswith("api"):
            raise InvalidOption(
                f"The schedule {name!r} is declared {source_in_words(known)}; change it there, or choose another name."
            )
        if known is not None and not replace:
            raise InvalidOption(f"There is a schedule {name!r} already; --replace changes it.")
        schedule = bell.schedules.put(name, job=job, **settings)
        make_known(bell, job)
        note(bell, "schedules.put", name, detail={"job": job, "when": in_words(schedule)})
    if as_json:
        print_json(as_dict(schedule))
        return
    click.echo(f"{schedule.name}: {schedule.job}, {in_words(schedule)}; next {next_in_words(schedule, here_now())}.")


def _settings(given: dict[str, Any]) -> ScheduleSettings:
    """The options that were given, in the words of `bell.schedules.put`."""
    when = [f"--{word}" for word in ("cron", "every", "at") if given[word] is not None]
    if len(when) != 1:
        raise click.UsageError(
            f"Say when by exactly one of --cron, --every and --at; got {' and '.join(when) or 'none'}."
        )
    if given["anchor"] is not None and given["every"] is None:
        raise click.UsageError("--anchor goes with --every.")
    retry = take_retry(given)
    said = {word: value for word, value in given.items() if value is not None}
    return cast(ScheduleSettings, said | ({"retry": _retry(**retry)} if retry else {}))


def _retry(
    attempts: int = RETRY.attempts, delay: float = RETRY.delay, factor: float = RETRY.factor, cap: float = RETRY.cap
) -> Retry:
    return Retry(attempts=attempts, delay=delay, factor=factor, cap=max(cap, delay), jitter=RETRY.jitter)
