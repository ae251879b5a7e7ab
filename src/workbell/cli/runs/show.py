"""`workbell runs show`: everything about a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbell.cli.bell import opened_store
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json, print_lines, printable, span
from workbell.cli.project import json_option, open_project, store_options, tenant_option
from workbell.cli.runs.find import find_run, run_argument, short
from workbell.cli.words import local
from workbell.client.local import LocalClient
from workbell.model.event import Event
from workbell.model.run import Attempt, Run, Status

if TYPE_CHECKING:
    from rich.text import Text


@click.command("show", help="Show all details of a run.")
@run_argument
@store_options
@tenant_option
@json_option
def show_run(run_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_store(open_project(url=url, tenant=tenant), create=False) as bell:
        run = find_run(bell, run_id)
        attempts, why = bell.attempts(run.id), bell.why(run.id)
        logged = bell.logs(run.id, limit=1)
        event, trigger = _behind(bell, run)
        retry = bell.store.reports.retries([run.id]).get(run.id)
        schedule = None if run.schedule is None else bell.store.schedules.get(run.schedule)
    if as_json:
        described = [msgspec.structs.asdict(one) | {"error_type": one.error_type} for one in attempts]
        behind: dict[str, Any] = {"trigger": run.options.trigger, "event_type": None if event is None else event.type}
        behind["retried_by"] = None if retry is None else retry.as_dict()
        print_json(run.as_dict() | {"worker": run.worker, "why": why, "attempts": described} | behind)
        return
    retried = "" if retry is None else f"{retry.id} ({retry.status})"
    more = [("schedule", (run.schedule or "") if schedule is None else schedule.name)]
    more += [("retried by", retried), ("event", _event_in_words(run, event)), ("trigger", trigger or "")]
    _show(run, attempts, why, more)
    if logged:
        echo(f"\nWhat it logged: workbell runs logs {short(run.id)}")


def _behind(bell: LocalClient, run: Run) -> tuple[Event | None, str | None]:
    """The event that made a run, while it is stored, and the trigger or the endpoint that it matched."""
    if run.event is None:
        return None, None
    known, subscriber = bell.runtime.subscriptions.current(), run.options.trigger or ""
    trigger, endpoint = known.triggers.get(subscriber), known.endpoints.get(subscriber)
    name = trigger.name if trigger is not None else endpoint.shown_url if endpoint is not None else subscriber
    return bell.store.events.find([run.event]).get(run.event), name


def _event_in_words(run: Run, event: Event | None) -> str:
    return (run.event or "") if event is None else f"{event.type} {event.id}"


def _show(run: Run, attempts: Sequence[Attempt], why: str, behind: Sequence[tuple[str, str]]) -> None:
    from workbell.cli.runs.appearance import progress_text, status_text

    console = make_console()
    facts: list[tuple[str, str | Text]] = [("run", run.id), ("job", run.job), ("status", status_text(run, console))]
    if run.status is not Status.SUCCEEDED:
        facts.append(("why", why))
    facts += [(name, value) for name, value in (*_particulars(run), *behind) if value]
    facts.append(("input", run.input_text or "{}"))
    if run.progress is not None:
        facts.append(("progress", progress_text(run.progress)))
    if run.status is Status.SUCCEEDED:
        facts.append(("result", run.result_text or "none"))
    print_facts(console, facts)
    console.print("\n  Timeline", style="bold")
    print_lines(console, list(_timeline(run, attempts)))
    if run.error and run.status is not Status.SUCCEEDED:
        console.print("\n  Last error", style="bold")
        for line in printable(run.error).splitlines():
            console.print(f"  {line}", markup=False, soft_wrap=True)


def _particulars(run: Run) -> Iterator[tuple[str, str]]:
    """Fields that most runs lack."""
    yield "queue", run.queue
    yield "priority", f"{run.priority}" if run.priority else ""
    yield "tenant", "" if run.tenant == "default" else run.tenant
    yield "tag", run.tag or ""
    yield "key", run.key or ""
    yield "user", f"{run.user_id}" if run.user_id else ""
    yield "target", run.target or ""
    yield "made by run", run.parent or ""
    yield "retry of", run.retry_of or ""
    yield "follows", run.rescheduled_from or ""
    yield "expires", local(run.expires_at) if run.expires_at else ""
    yield "worker", run.worker or ""
    yield "error type", (run.error_type or "") if run.status is not Status.SUCCEEDED else ""
    yield "kept until", local(run.remove_at) if run.remove_at else ""


def _timeline(run: Run, attempts: Sequence[Attempt]) -> Iterator[tuple[Text, Text]]:
    from rich.text import Text

    for at, what, style in sorted(_events(run, attempts), key=lambda event: event[0]):
        yield Text(f"  {local(at)}  ", "dim"), Text(what, style)


def _events(run: Run, attempts: Sequence[Attempt]) -> Iterator[tuple[datetime, str, str]]:
    yield run.created_at, "asked for", ""
    first = min((attempt.started_at for attempt in attempts if attempt.started_at is not None), default=None)
    latest = first or run.finished_at
    if run.scheduled_for > run.created_at and (latest is None or run.scheduled_for <= latest):
        yield run.scheduled_for, "due", ""
    for attempt in attempts:
        if attempt.started_at is not None:
            where = f" on {attempt.worker}" if attempt.worker else ""
            yield attempt.started_at, f"attempt {attempt.number} starts{where}", ""
        if attempt.finished_at is not None:
            yield attempt.finished_at, *_end(attempt)
            if attempt.status == "failed" and _has_content(attempt.result):
                yield attempt.finished_at, f"  {one_line(attempt.result_text or '', DETAIL_LIMIT)}", "dim"
    if run.status is Status.SCHEDULED and attempts:
        yield run.scheduled_for, f"attempt {run.attempt + 1} is due", "cyan"
    if run.status is Status.CANCELED and not any(attempt.finished_at == run.finished_at for attempt in attempts):
        yield run.finished_at or run.updated_at, f"canceled: {one_line(run.reason or '')}", "magenta"


DETAIL_LIMIT = 1000  # letters of the result that came with an error
STYLES = {"succeeded": "green", "failed": "red", "lost": "red", "canceled": "magenta"}


def _has_content(described: Any) -> bool:
    """Whether the result that came with an error, such as the answer to a webhook, has a value."""
    return (
        any(value is not None for value in described.values()) if isinstance(described, dict) else described is not None
    )


def _end(attempt: Attempt) -> tuple[str, str]:
    assert attempt.finished_at is not None
    after = "" if attempt.started_at is None else f" after {span(attempt.finished_at - attempt.started_at)}"
    error = f": {one_line(attempt.error)}" if attempt.error and attempt.status != "succeeded" else ""
    return f"attempt {attempt.number} {attempt.status}{after}{error}", STYLES.get(attempt.status, "yellow")
