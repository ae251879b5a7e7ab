"""Builder of a schedule's change while its ticks are decided: rows of the ledger, and new runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from workbell.model.run import NewRun, Run
from workbell.model.schedule import Schedule, Tick, TickOutcome
from workbell.scheduling.rule import ScheduleRule
from workbell.timing import jitter

MakeRun = Callable[[Schedule, datetime, datetime], NewRun]  # of a schedule, due at, made now


class Decision:
    """The parts of a change, gathered tick by tick."""

    def __init__(self, schedule: Schedule, rule: ScheduleRule, now: datetime, make_run: MakeRun) -> None:
        self.schedule = schedule
        self.rule = rule
        self.now = now
        self.make_run = make_run
        self.ticks: list[Tick] = []
        self.runs: list[NewRun] = []
        self.held = schedule.held_tick
        self.deferred_until = schedule.deferred_until
        self.standing = schedule.last_run_id  # the run of a deferred or coalesced tick

    def note(self, due: datetime, outcome: TickOutcome, reason: str | None = None, run: str | None = None) -> None:
        self.span(due, due, 1, outcome, reason, run)

    def span(
        self, first: datetime, last: datetime, count: int, outcome: TickOutcome, reason: str | None, run: str | None
    ) -> None:
        self.ticks.append(
            Tick(
                schedule=self.schedule.id,
                due=first,
                until=None if count == 1 else last,
                count=count,
                outcome=outcome,
                run=run,
                reason=reason,
                created_at=self.now,
            )
        )

    def make(self, tick: datetime, at: datetime) -> Run:
        """A run that is due at a time because of a tick."""
        spread, window = self.schedule.options.jitter, self.rule.window
        due = at + jitter(self.schedule.id, tick, spread) if spread else at
        if window is not None and not window.contains(due):
            due = at  # rather together than too late
        request = self.make_run(self.schedule, due, self.now)
        self.runs.append(request)
        self.standing = request.run.id
        return request.run
