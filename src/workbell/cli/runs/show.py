"""`workbell runs show`: everything about a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from workbell.app import Workbell
from workbell.cli.bell import AnyClient, AnyRun, opened_client
from workbell.cli.find import find_run, short
from workbell.cli.header import all_schedules
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json, print_lines, printable, span
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import local, settings_in_words
from workbell.errors import EventNotFound
from workbell.model.event import Event
from workbell.model.job import TENANT
from workbell.model.rewind import EXECUTED_BEFORE
from workbell.model.run import Attempt, Run, Status
from workbell.runs.lookup import found_runs
from workbell.stores.port import MOST_ATTEMPTS
from workbell.wire.runs import PUBLIC_FIELDS, AttemptShown, FoundRun, RetriedBy, RunShown

if TYPE_CHECKING:
    from rich.text import Text

# Fields of a run that stand above or below the particulars: in the head, the timeline or the last error.
PLACED = frozenset(
    "id job status attempt failures losses scheduled_for started_at finished_at created_at updated_at input result "
    "error reason progress schedule event cancel_requested persistent timeout auto_reschedule remove_delay".split()
)
SETTINGS = ("timeout", "auto_reschedule", "remove_delay")
NAMES = {  # of the other fields, where they say it better than the field's own name
    "user_id": "user",
    "parent": "made by run",
    "rescheduled_from": "follows",
    "expires_at": "expires",
    "remove_at": "kept until",
}


@click.command("show", help="Show all details of a run.")
@click.argument("run_id", metavar="ID")
@client_options
@tenant_option
@json_option
def show_run(run_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        run = find_run(bell, run_id)
        attempts, why = bell.attempts(run.id, after=max(run.attempt - MOST_ATTEMPTS, 0)), bell.why(run.id)
        logged = bell.logs(run.id, limit=1)
        facts = _facts_behind(bell, run, attempts)
    if as_json:
        described = [AttemptShown.of(one, one.worker) for one in attempts]
        behind: dict[str, Any] = {"trigger": facts.trigger, "event_type": facts.event and facts.event.type}
        behind["retried_by"] = None if facts.retry is None else {"id": facts.retry.id, "status": facts.retry.status}
        print_json(run.as_dict() | {"worker": facts.worker, "why": why, "attempts": described} | behind)
        return
    retried = "" if facts.retry is None else f"{facts.retry.id} ({facts.retry.status})"
    more = [("worker", facts.worker or ""), ("schedule", facts.schedule or ""), ("retried by", retried)]
    more += [("event", _event_in_words(run, facts.event)), ("trigger", facts.trigger_name or "")]
    _show(run, attempts, why, more)
    if logged:
        echo(f"\nWhat it logged: workbell runs logs {short(run.id)}")


class _FactsBehind(NamedTuple):
    """Facts around a run: its origin, its worker, and the newest retry of it."""

    worker: str | None
    schedule: str | None
    event: Event | None
    trigger: str | None  # the id of the trigger or the endpoint
    trigger_name: str | None
    retry: RetriedBy | None


def _facts_behind(bell: AnyClient, run: AnyRun, attempts: Sequence[Attempt]) -> _FactsBehind:
    event = match = None
    if run.event is not None:
        with suppress(EventNotFound):
            event = bell.events.get(run.event)
            match = next((one for one in bell.events.matches(event.id) if one.run == run.id), None)
    trigger = None if match is None else match.subscriber
    if isinstance(run, Run):
        trigger = run.options.trigger
    found = found_runs(bell.runtime, [run])[0] if isinstance(bell, Workbell) and isinstance(run, Run) else run
    retry = found.retried_by if isinstance(found, FoundRun) else None
    worker = run.worker if isinstance(run, Run) else _worker(run, attempts)
    name = trigger if match is None else match.name or trigger
    return _FactsBehind(worker, _schedule(bell, run.schedule), event, trigger, name, retry)


def _schedule(bell: AnyClient, schedule_id: str | None) -> str | None:
    """The name of a schedule; its id, once it was removed."""
    if schedule_id is None:
        return None
    if isinstance(bell, Workbell):
        found = bell.store.schedules.get(schedule_id)
    else:
        found = next((one for one in all_schedules(bell) if one.id == schedule_id), None)
    return schedule_id if found is None else found.name


def _worker(run: RunShown, attempts: Sequence[Attempt]) -> str | None:
    """Worker of a run, from its last attempt."""
    is_last = bool(attempts) and attempts[-1].number == run.attempt and run.status not in WAITING
    return attempts[-1].worker if is_last else None


def _event_in_words(run: AnyRun, event: Event | None) -> str:
    return (run.event or "") if event is None else f"{event.type} {event.id}"


def _show(run: AnyRun, attempts: Sequence[Attempt], why: str, behind: Sequence[tuple[str, str]]) -> None:
    from workbell.cli.runs.appearance import progress_text, status_text

    console = make_console()
    facts: list[tuple[str, str | Text]] = [("run", run.id), ("job", run.job), ("status", status_text(run, console))]
    if run.status is not Status.SUCCEEDED or EXECUTED_BEFORE in why:
        facts.append(("why", why))
    if run.unreadable is not None:
        facts.append(("unreadable", run.unreadable))
    facts += [(name, value) for name, value in (*_particulars(run), *behind) if value]
    facts.append(("input", run.input_text or "{}"))
    progress = run.as_dict()["progress"]  # none, where it cannot be read
    if progress is not None:
        facts.append(("progress", progress_text(progress)))
    if run.status is Status.SUCCEEDED:
        facts.append(("result", run.result_text or "none"))
    print_facts(console, facts)
    console.print("\n  Timeline", style="bold")
    print_lines(console, list(_timeline(run, attempts)))
    if run.error and run.status is not Status.SUCCEEDED:
        console.print(f"\n  {_error_heading(run, attempts)}", style="bold")
        for line in printable(run.error).splitlines():
            console.print(f"  {line}", markup=False, soft_wrap=True)


def _error_heading(run: AnyRun, attempts: Sequence[Attempt]) -> str:
    """A run that goes on keeps the error of an earlier attempt."""
    earlier = next((one.number for one in reversed(attempts) if one.error == run.error), None)
    return "Last error" if run.status.final or earlier is None else f"Error of attempt {earlier}"


def _particulars(run: AnyRun) -> Iterator[tuple[str, str]]:
    """Fields that most runs lack: all that the API shows, but for those that have a place of their own."""
    for name in PUBLIC_FIELDS:
        if name not in PLACED:
            yield NAMES.get(name, name.replace("_", " ")), _in_words(name, getattr(run, name), run)
    yield from settings_in_words(run, SETTINGS if run.persistent else (*SETTINGS, "persistent"))


def _in_words(name: str, value: Any, run: AnyRun) -> str:
    if not value or (name == "tenant" and value == TENANT):
        return ""
    if name == "error_type" and run.status in (Status.RUNNING, Status.SUCCEEDED):
        return ""  # of an attempt before
    return local(value) if isinstance(value, datetime) else str(value)


def _timeline(run: AnyRun, attempts: Sequence[Attempt]) -> Iterator[tuple[Text, Text]]:
    from rich.text import Text

    for at, what, style in sorted(_events(run, attempts), key=lambda event: event[0]):
        yield Text(f"  {local(at)}  ", "dim"), Text(what, style)


def _events(run: AnyRun, attempts: Sequence[Attempt]) -> Iterator[tuple[datetime, str, str]]:
    yield run.created_at, "asked for", ""
    if len(attempts) > SHOWN:
        attempts = attempts[-SHOWN:]
        at = attempts[0].started_at or attempts[0].finished_at or run.created_at
        yield at, f"and {attempts[0].number - 1:,} earlier attempts", "dim"
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


WAITING = (Status.SCHEDULED, Status.QUEUED)
SHOWN = 100  # attempts; of more, the newest
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
