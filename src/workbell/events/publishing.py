"""Stored events of Workbell's own: those that have subscribers, added to what is about to be written.

The others are not stored. `anything` is read once for a batch, so that without subscribers they cost nothing. What is
known of subscribers is as old as the last `poll`, by an engine every poll interval: a new trigger or endpoint gets
events from about then on. A disabled trigger subscribes too: what it missed is on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from workbell.events.lifecycle import (
    event_of_chain,
    event_of_change,
    event_of_loss,
    event_of_start,
    event_of_tick,
    type_of_change,
)
from workbell.model.job import TENANT
from workbell.model.schedule import ScheduleChange, TickOutcome
from workbell.model.system_events import CHAIN_ENDED, JOB_STARTED, SCHEDULE_SKIPPED, SYSTEM_TYPES, WORKER_LOST
from workbell.notices.listeners import Describe, by_worker, nothing_known

if TYPE_CHECKING:
    from workbell.events.alerting import Alerting
    from workbell.events.subscriptions import SubscriberSnapshot, Subscriptions
    from workbell.model.event import Event
    from workbell.model.run import Run
    from workbell.model.state import Transition
    from workbell.stores.publisher import Pair

replace = msgspec.structs.replace


class EventPublishing:
    """Without subscriptions no events are added; without alerting, no alerts.

    Events for tenants other than the program's name neither hosts of workers nor files of jobs.
    """

    def __init__(
        self,
        subscriptions: Subscriptions | None = None,
        alerting: Alerting | None = None,
        describe: Describe = nothing_known,
        tenant: str = TENANT,
    ) -> None:
        self.describe = describe
        self._tenant = tenant  # of the program
        self.anything = False  # whether anybody subscribes to any of them
        self._subscriptions = subscriptions
        self._alerting = alerting
        self._seen: SubscriberSnapshot | None = None
        self._subscribed: frozenset[tuple[str, str]] = frozenset()  # tenants and types

    def poll(self) -> None:
        """Read the current subscribers."""
        if self._subscriptions is None:
            return
        snapshot = self._subscriptions.current()
        if snapshot is not self._seen:
            tenants = {trigger.tenant for trigger in snapshot.triggers.values()}
            tenants |= {endpoint.tenant for endpoint in snapshot.endpoints.values()}
            pairs = [(tenant, kind) for tenant in tenants for kind in SYSTEM_TYPES]
            self._subscribed = frozenset(pair for pair in pairs if snapshot.subscribers_to(*pair, system=True))
            self._seen = snapshot
        self.anything = bool(self._subscribed)

    def of(self, run: Run, change: Transition) -> Transition:
        """A transition with its alerts (to the URLs of its job or schedule), and its events that have subscribers."""
        if self._alerting is not None:
            change = self._alerting.of(run, change)
        if not self.anything:
            return change
        kind = type_of_change(run, change)
        if kind is None:
            return change
        describe = self._describe_for(run.tenant)
        event = event_of_change(run, change, describe) if (run.tenant, kind) in self._subscribed else None
        chain = event_of_chain(run, change, describe) if (run.tenant, CHAIN_ENDED) in self._subscribed else None
        events = tuple(one for one in (event, chain) if one is not None)
        return replace(change, emits=(*change.emits, *events)) if events else change

    def of_all(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """The same for many; where nothing is to be published, they are not checked one by one."""
        if not self.anything and (self._alerting is None or not self._alerting.may_alert(pairs)):
            return pairs
        return [(run, self.of(run, change)) for run, change in pairs]

    def of_lost(self, pairs: Sequence[Pair], now: datetime) -> Sequence[Pair]:
        """The same for runs of lost workers; each that is written also publishes the loss of its worker."""
        published = self.of_all(pairs)
        if not self.anything:
            return published
        losses = {
            (tenant, worker): self._loss(tenant, worker, runs, now)
            for (tenant, worker), runs in by_worker(pairs).items()
            if (tenant, WORKER_LOST) in self._subscribed
        }
        if not losses:
            return published
        return [
            (run, replace(change, emits=(*change.emits, loss)))
            if (loss := losses.get((run.tenant, run.worker or ""))) is not None
            else (run, change)
            for run, change in published
        ]

    def missing(self, workers: Iterable[str], now: datetime) -> list[Event]:
        """Events of workers that are gone and hold nothing any more, for every tenant that subscribes to losses."""
        tenants = [tenant for tenant, kind in self._subscribed if kind == WORKER_LOST]
        return [self._loss(tenant, worker, (), now) for worker in workers for tenant in tenants]

    def starts(self, runs: Iterable[Run]) -> list[Event]:
        """Events of runs that were claimed just now."""
        if not self.anything:
            return []
        wanted = [run for run in runs if (run.tenant, JOB_STARTED) in self._subscribed]
        events = (event_of_start(run, self._describe_for(run.tenant)) for run in wanted)
        return [event for event in events if event is not None]

    def of_schedule(self, change: ScheduleChange) -> ScheduleChange:
        """A change of a schedule with the events of its skipped ticks, if somebody subscribes to them."""
        schedule = change.schedule
        if not self.anything or (schedule.tenant, SCHEDULE_SKIPPED) not in self._subscribed:
            return change
        skipped = [tick for tick in change.ticks if tick.outcome is TickOutcome.SKIPPED]
        return replace(change, emits=tuple(event_of_tick(schedule, tick) for tick in skipped)) if skipped else change

    def _describe_for(self, tenant: str) -> Describe:
        return self.describe if tenant == self._tenant else nothing_known

    def _loss(self, tenant: str, worker: str, runs: Sequence[Run], now: datetime) -> Event:
        return event_of_loss(tenant, worker, runs, now, names_worker=tenant == self._tenant)
