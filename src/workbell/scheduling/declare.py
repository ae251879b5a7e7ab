"""Schedule declarations: settings, checked, and the schedule that they make."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from workbell.errors import InvalidOption, JobsError
from workbell.model.clock import aware, seconds, span
from workbell.model.ids import new_id
from workbell.model.job import name as check_name
from workbell.model.json_text import clean_text
from workbell.model.run import Outside
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.run_settings import check_tag, read_settings
from workbell.model.schedule import CatchUp, Overlap, Schedule, ScheduleKind, ScheduleOptions
from workbell.model.suggestions import list_options
from workbell.scheduling.rule import ScheduleRule, read_rule, rule_of
from workbell.scheduling.settings import NAMES, ScheduleSettings, TickSettings
from workbell.timing import Interval, Once

Word = TypeVar("Word", bound=StrEnum)

MOST_CAUGHT_UP = 10_000


def declare(
    name: str,
    job: str,
    given: ScheduleSettings | TickSettings,
    *,
    tenant: str,
    timezone: str,
    input: str | None,
    source: str,
    now: datetime,
    old: Schedule | None = None,
    of_job: RunDefaults = NO_DEFAULTS,
) -> Schedule:
    """The schedule that settings describe; raises for the first one that cannot be used. `old` is what it replaces.

    `of_job` is what the job says about its runs.
    """
    settings = ScheduleSettings(**given)
    what = f"schedule {check_name('schedule', name)}"
    try:
        kind, expression = _timing(settings, now, old)
        options = _options(settings, input)
        check_tag(options, of_job)
        schedule = Schedule(
            id=new_id() if old is None else old.id,
            tenant=tenant,
            name=name,
            job=check_name("job", job),
            kind=kind,
            expression=expression,
            timezone=timezone,
            options=options,
            source=source,
            enabled=_flag(settings),
            created_at=now if old is None else old.created_at,
            updated_at=now,
        )
        _check_reachable(rule_of(schedule), now)
    except (JobsError, InvalidOption) as error:
        raise type(error)(f"{what}: {error}") from error
    return schedule


def check_words(name: str, given: Mapping[str, Any]) -> None:
    """Raise for a word that is no setting of a schedule."""
    unknown = sorted(set(given) - NAMES)
    if unknown:
        raise InvalidOption(
            f"schedule {name}: unknown setting {unknown[0]!r}; {list_options(unknown[0], NAMES, called='settings')}"
        )


def rule_from(settings: ScheduleSettings, timezone: str, now: datetime) -> ScheduleRule:
    """The rule that settings describe, of a schedule that is not made; raises for what cannot be used."""
    kind, expression = _timing(settings, now, None)
    rule = read_rule(kind.value, expression, timezone, _window(settings), _word(settings, "outside", Outside))
    _check_reachable(rule, now)
    return rule


def _check_reachable(rule: ScheduleRule, now: datetime) -> None:
    if rule.timing.next(now) is not None and rule.next_wanted(now) is None:
        raise JobsError("no tick ever falls into its window; widen the window, or let it defer (outside='defer').")


def _timing(settings: ScheduleSettings, now: datetime, old: Schedule | None) -> tuple[ScheduleKind, str]:
    given = [word for word in ("cron", "every", "at") if settings.get(word) is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} {'both' if len(given) == 2 else 'all'} say" if given else "nothing says"
        raise JobsError(f"{said} when; give exactly one of cron=, every= and at= .")
    if "anchor" in settings and given != ["every"]:
        raise JobsError("anchor: only an interval is counted from somewhere; give it with every= .")
    if given == ["cron"]:
        if not isinstance(settings["cron"], str):
            raise JobsError(f"cron: expected a text, got {type(settings['cron']).__name__}.")
        return ScheduleKind.CRON, " ".join(settings["cron"].split())
    if given == ["at"]:
        return ScheduleKind.ONCE, str(Once(aware("at", settings["at"])))
    every = span("every", settings["every"])
    if "anchor" in settings:
        return ScheduleKind.INTERVAL, str(Interval(every, aware("anchor", settings["anchor"])))
    if old is not None and old.kind is ScheduleKind.INTERVAL and _span_of(old) == every:
        return ScheduleKind.INTERVAL, old.expression  # declared again: it goes on where it was
    return ScheduleKind.INTERVAL, str(Interval(every, now.replace(microsecond=0)))


def _span_of(old: Schedule) -> timedelta | None:
    try:
        return Interval.parse(old.expression).every
    except JobsError:  # broken in storage: this declaration mends it
        return None


def _options(settings: ScheduleSettings, input: str | None) -> ScheduleOptions:
    cap = settings.get("catch_up_cap", ScheduleOptions().catch_up_cap)
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= MOST_CAUGHT_UP:
        raise InvalidOption(f"catch_up_cap: {cap!r} is not a whole number from 1 to {MOST_CAUGHT_UP:,}.")
    return ScheduleOptions(
        input=input,
        **read_settings(settings),
        window=_window(settings),
        outside=_word(settings, "outside", Outside),
        overlap=_word(settings, "overlap", Overlap),
        catch_up=_word(settings, "catch_up", CatchUp),
        catch_up_cap=cap,
        jitter=seconds("jitter", settings.get("jitter", 0.0)),
        description=clean_text(str(settings.get("description", "")), 2000),
        created_by=clean_text(str(settings.get("created_by", "")), 200),
        alert_url=settings.get("alert_url"),
        ping_url=settings.get("ping_url"),
    )


def _flag(settings: ScheduleSettings) -> bool:
    enabled = settings.get("enabled", True)
    if not isinstance(enabled, bool):
        raise InvalidOption(f"enabled: {enabled!r} is neither True nor False.")
    return enabled


def _window(settings: ScheduleSettings) -> tuple[str, str] | None:
    window = settings.get("window")
    if window is None:
        return None
    if not isinstance(window, tuple | list) or len(window) != 2 or not all(isinstance(time, str) for time in window):
        raise InvalidOption(f"window: {window!r} is not a pair of times of day such as ('02:00', '06:00').")
    return window[0], window[1]


def _word(settings: ScheduleSettings, setting: str, kind: type[Word]) -> Word:
    value = settings.get(setting)
    if value is None:
        default: Word = getattr(ScheduleOptions(), setting)
        return default
    try:
        return kind(str(value))
    except ValueError:
        raise InvalidOption(f"{setting}: {value!r} is none of {', '.join(kind)}.") from None


def same_definition(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules say the same: then declaring again changes nothing, and the next tick stays."""
    return all(getattr(one, field) == getattr(other, field) for field in DEFINITION)


DEFINITION = "job kind expression timezone options source enabled".split()
