"""Formats schedules, retry policies and times for people."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from workbell.cli.output import one_line, span
from workbell.model.limit import Limits
from workbell.model.retry import Retry
from workbell.model.schedule import Schedule
from workbell.scheduling import words
from workbell.timing.interval import show_span

LATE = timedelta(seconds=2)  # later than a scheduler that is there would be


def timing_in_words(schedule: Schedule) -> str:
    """When a schedule ticks, on one line."""
    return one_line(words.schedule_in_words(schedule), 1000)


class Next(NamedTuple):
    """When a schedule's next run is due, or what it is instead, in a word; why; and the style to show it in."""

    word: str
    why: str = ""
    style: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.why}" if self.why else self.word


def or_unreadable(thing: Any, text: str) -> str:
    """A cell of a list; of a thing that cannot be read as it is stored, the sentence that says so."""
    return text if thing.unreadable is None else f"unreadable: {one_line(str(thing.unreadable))}"


def next_in_words(schedule: Schedule, now: datetime) -> Next:
    if schedule.broken:
        return Next("broken", one_line(schedule.last_error or "no error was recorded"), "bold red")
    if schedule.paused:
        return Next("paused", "", "yellow")
    if not schedule.enabled:
        return Next("off", one_line(schedule.reason or "no reason was noted"), "yellow")
    if schedule.next_run_at is None:
        return Next("over", "", "dim")
    return Next(due_in(schedule.next_run_at, now))


def due_in(due: datetime, now: datetime) -> str:
    if due > now:
        return f"in {span(due - now)}"
    return f"due {span(now - due)} ago" if now - due > LATE else "now"


def ago(then: datetime | None, now: datetime) -> str:
    return "" if then is None else f"{span(now - then)} ago"


def local(moment: datetime | None, now: datetime | None = None) -> str:
    """A time on this machine's clock; the date is left out where it is today's, if `now` is given."""
    if moment is None:
        return "–"
    here = moment.astimezone()
    today = now is not None and here.date() == now.astimezone().date()
    return f"{here:%H:%M:%S}" if today else f"{here:%Y-%m-%d %H:%M:%S}"


def here_now() -> datetime:
    return datetime.now(UTC)


def retry_in_words(retry: Retry) -> str:
    """`3 attempts, 5 s apart`; `4 attempts, waiting 1 s, then 2 times as long each time, at most 60 s`."""
    if retry.attempts == 1:
        return "1 attempt"
    attempts = f"{retry.attempts} attempts"
    if not retry.delay:
        return f"{attempts}, at once"
    if retry.factor == 1:
        return f"{attempts}, {retry.delay:g} s apart"
    return (
        f"{attempts}, waiting {retry.delay:g} s, then {retry.factor:g} times as long each time, at most {retry.cap:g} s"
    )


def settings_in_words(settings: Any, words: Collection[str]) -> list[tuple[str, str]]:
    """Those of these run options that are set, by their names: of a job, a schedule, a trigger or a run."""
    found = {word: value for word in words if (value := getattr(settings, word)) is not None}
    replaces = found.pop("replace_tag", False)
    facts = [(word.replace("_", " "), _setting_in_words(word, value)) for word, value in found.items()]
    if replaces:
        facts.append(("replace tag", "a new run cancels those of its tag that have not started"))
    return facts


def _setting_in_words(word: str, value: Any) -> str:
    match word:
        case "timeout":
            return seconds_in_words(value)
        case "auto_reschedule":
            return f"{seconds_in_words(value)} after a failure"
        case "remove_delay":
            return f"{seconds_in_words(value)} after the end"
        case "expires":
            return f"{seconds_in_words(value)} after it is due"
        case "persistent":
            return "yes" if value else "no"
        case _:
            return one_line(str(value))


def seconds_in_words(value: float) -> str:
    """`90 s`, `1 h 30 min`: exactly so long."""
    return show_span(timedelta(seconds=value)) or "0 s"


def limits_in_words(limits: Limits) -> list[tuple[str, str]]:
    """Limits of a job in words, by their names."""
    facts = []
    if limits.concurrency is not None:
        each = f" for each {limits.concurrency_key}" if limits.concurrency_key else ""
        facts.append(("concurrency", f"{limits.concurrency:,} at once{each}"))
    if limits.rate is not None:
        each = f" for each {limits.rate_key}" if limits.rate_key else ""
        facts.append(("rate", f"{limits.rate}{each}"))
    return facts
