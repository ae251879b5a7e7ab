"""Settings of schedules, as words with types. A program that declares jobs loads these, and no maths of time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from workbell.model.run_settings import RunSettings

if TYPE_CHECKING:
    from workbell.model.retry import Retry


class TickSettings(TypedDict, total=False):
    """Settings of a schedule's ticks. One of `cron`, `every` and `at` says when they are."""

    cron: str
    """Five fields, or six with seconds first: `"*/5 9-17 * * MON-FRI"`."""
    every: float | timedelta
    """An interval in seconds, counted from its anchor, so that it does not drift."""
    anchor: datetime
    """Where an interval is counted from; otherwise from when it was first declared."""
    at: datetime
    """Once, at this time."""
    timezone: str
    """Otherwise the setting `timezone`, else the machine's; stored with the schedule."""
    input: dict[str, Any]
    """The arguments of every run."""
    window: tuple[str, str]
    """Times of day between which runs may start: `("02:00", "06:00")`, also across midnight."""
    outside: str
    """A tick, or a start of its run, outside the window: `defer` it to the opening (the default), or `skip` it."""
    overlap: str
    """A tick while an earlier run lives: `skip` (the default), `queue_one`, `allow`, `cancel_previous`."""
    catch_up: str
    """Ticks that no scheduler was there for: `latest` (the default), `all`, `none`."""
    catch_up_cap: int
    """How many runs `all` makes at the most; 100 unless said otherwise."""
    jitter: float | timedelta
    """Runs are spread over this many seconds after the tick; the same tick always gets the same delay."""


class ScheduleSettings(TickSettings, RunSettings, total=False):
    """What can be said about a schedule: its ticks, and how their runs differ from other runs of the job."""

    queue: str
    retry: Retry | int | Mapping[str, Any]
    """A Retry, a number of attempts, or `{"max_retries": 2, "backoff_ms": 1000, "backoff_type": "exponential"}`."""
    timeout: float | timedelta
    description: str
    created_by: str
    enabled: bool
    alert_url: str
    """URL to call when a run of it has failed for good, with JSON for Slack and Mattermost; before the job's."""
    ping_url: str
    """URL to call at every end of a run of it, in the manner of healthchecks.io; before the job's."""


class ScheduleChanges(RunSettings, total=False):
    """What `update` can change, in the words of `put`. None takes a setting back to its default."""

    cron: str | None
    every: float | timedelta | None
    anchor: datetime | None
    at: datetime | None
    timezone: str | None
    input: dict[str, Any] | None
    window: tuple[str, str] | None
    outside: str | None
    overlap: str | None
    catch_up: str | None
    catch_up_cap: int | None
    jitter: float | timedelta | None
    queue: str | None
    retry: Retry | int | Mapping[str, Any] | None
    timeout: float | timedelta | None
    description: str | None
    created_by: str | None
    enabled: bool | None
    alert_url: str | None
    ping_url: str | None


NAMES = frozenset(ScheduleSettings.__annotations__)
TICK_NAMES = frozenset(TickSettings.__annotations__)
