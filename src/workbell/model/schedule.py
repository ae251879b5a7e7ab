"""Schedule: the rule when a job is to run; and tick: one instant at which it was due, with its outcome."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model.alert import URLS, repr_without_urls, shown_url, without_urls
from workbell.model.clock import Instant
from workbell.model.event import Event
from workbell.model.job import TENANT
from workbell.model.json_text import decode
from workbell.model.retry import policy_of
from workbell.model.run import NewRun, Outside, Run
from workbell.model.run_defaults import RunDefaults
from workbell.model.unreadable import UnreadableColumns


class ScheduleKind(StrEnum):
    ONCE = "once"
    INTERVAL = "interval"
    CRON = "cron"


class Overlap(StrEnum):
    """Overlap policy: what a tick does while an earlier run of the same schedule is live."""

    SKIP = "skip"
    QUEUE_ONE = "queue_one"  # one tick waits until the earlier run has ended
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"


class CatchUp(StrEnum):
    """The fate of ticks that were missed because no scheduler ran."""

    LATEST = "latest"  # the newest one makes a run, the others are noted as coalesced into it
    ALL = "all"  # each makes a run, up to a cap, the newest ones first
    NONE = "none"


class TickOutcome(StrEnum):
    FIRED = "fired"
    SKIPPED = "skipped"
    COALESCED = "coalesced"
    DEFERRED = "deferred"


class FireStatus(StrEnum):
    """The scheduler's own last outcome with a schedule; the outcome of the run is separate."""

    FIRED = "fired"
    DEFERRED = "deferred"  # its run is due when the window opens
    SKIPPED = "skipped"
    SCHEDULER_FAILED = "scheduler_failed"


class ScheduleOptions(RunDefaults, frozen=True, omit_defaults=True, gc=False):
    """Settings of a schedule that nothing searches by, with those of its runs; stored together as JSON."""

    input: str | None = None
    window: tuple[str, str] | None = None
    outside: Outside = Outside.DEFER
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_cap: int = 100
    jitter: float = 0.0
    description: str = ""
    created_by: str = ""
    alert_url: str | None = None  # these come before the job's
    ping_url: str | None = None

    def __repr__(self) -> str:
        """Representation without the URLs, which are secret."""
        return repr_without_urls(self)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return without_urls(self)


class Schedule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The rule that makes runs; it is never the run itself, and one job may have many."""

    id: str
    tenant: str = TENANT
    name: str
    job: str
    kind: ScheduleKind
    expression: str
    timezone: str
    options: ScheduleOptions = ScheduleOptions()
    unreadable: UnreadableColumns | None = None
    source: str = ""
    enabled: bool = True
    paused: bool = False
    reason: str | None = None
    version: int = 0
    created_at: datetime
    updated_at: datetime

    # The scheduler's position. Every tick up to `last_scheduled_at` is accounted for; the next check is at `look_at`.
    look_at: datetime | None = None
    next_run_at: datetime | None = None
    last_scheduled_at: datetime | None = None
    held_tick: datetime | None = None  # a tick that waits for the run before it (`queue_one`)
    deferred_until: datetime | None = None  # the window opens then, and `last_run_id` is due
    last_run_at: datetime | None = None
    last_run_id: str | None = None
    last_fire_status: FireStatus | None = None
    last_fire_at: datetime | None = None
    last_error: str | None = None
    run_count: int = 0
    scheduler_failures: int = 0

    # What its runs reported back when they ended.
    last_run_status: str | None = None
    last_run_ended_at: datetime | None = None
    failed_runs: int = 0

    @property
    def active(self) -> bool:
        return self.enabled and not self.paused

    @property
    def broken(self) -> bool:
        """Whether the scheduler failed with it at its last check: it cannot be read, or its run could not be made.

        Put again, it has no error any more; the status stays until the next tick.
        """
        failed = self.last_fire_status is FireStatus.SCHEDULER_FAILED and self.last_error is not None
        return self.active and (failed or self.unreadable is not None)

    @property
    def input(self) -> dict[str, Any]:
        """The arguments of every run it makes."""
        return decode(self.options.input) or {}

    @property
    def failure_count(self) -> int:
        """Runs that failed for good, and ticks at which the scheduler failed to make a run."""
        return self.failed_runs + self.scheduler_failures

    @property
    def last_status(self) -> str | None:
        """The newer of the two statuses, as one word."""
        ended, fired = self.last_run_ended_at, self.last_fire_at
        if ended is not None and (fired is None or ended >= fired):
            return self.last_run_status
        return None if self.last_fire_status is None else self.last_fire_status.value

    def as_dict(self) -> dict[str, Any]:
        """The schedule in the words of the public API, ready for JSON."""
        from workbell.wire.schedules import OPTION_FIELDS, OWN_FIELDS

        own = {name: getattr(self, name) for name in OWN_FIELDS}
        settings = {name: getattr(self.options, name) for name in OPTION_FIELDS}
        policy = None if self.options.retry is None else policy_of(self.options.retry)
        settings["retry_policy"] = None if policy is None else msgspec.structs.asdict(policy)
        return own | settings | {name: shown_url(getattr(self.options, name)) for name in URLS}


class Tick(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row of the fire ledger: an instant of a schedule, or a span of them that shared one fate."""

    schedule: str
    due: Annotated[Instant, Meta(description="The instant; of a span, the first.")]
    outcome: TickOutcome
    created_at: Instant
    until: Annotated[Instant | None, Meta(description="The last instant of a span; null for a single one.")] = None
    count: Annotated[int, Meta(description="How many ticks the row stands for.")] = 1
    run: Annotated[str | None, Meta(description="The run that it made or was merged into.")] = None
    reason: Annotated[str | None, Meta(description="Why it did not simply fire.")] = None


class ScheduleChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One guarded write: if the schedule still has this version, it becomes exactly this, with these ticks and runs.

    All of it happens, or nothing: a scheduler that lost the race has written no tick and made no run.
    """

    schedule: Schedule  # as it is to be; the store counts the version up
    expected: int | None  # the version it was decided on; none: a new one, if its name is free
    defines: bool = False  # also the definition changes, not only where the scheduler stands
    only_idle: bool = False  # and none of its runs may be in the way
    cancel_live: bool = False  # its runs that are in the way are canceled, or asked to end
    ticks: tuple[Tick, ...] = ()
    runs: tuple[NewRun, ...] = ()
    emits: tuple[Event, ...] = ()  # emitted in the same write


class DueSchedule(msgspec.Struct, frozen=True, gc=False):
    """A schedule that the scheduler must check, and the id of a run that is in the way of its ticks, if any."""

    schedule: Schedule
    blocker: str | None


def is_overlap(run: Run) -> bool:
    """Whether a live run is in the way of the next tick of its schedule.

    A follow-up (`auto_reschedule`) that has not started is not: it may wait for a day, and the ticks go on meanwhile.
    The SQL stores have the same as `{overlaps}`.
    """
    return run.rescheduled_from is None or run.attempt > 0
