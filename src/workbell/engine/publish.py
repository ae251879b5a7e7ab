"""Tell: what happened goes to the listeners of this process, as notices, and into the store, as events, where it is
heard; and now and then a look at what is heard.

The events about ends, losses and skipped ticks are written by the very moves they are about: see finish, recover and
materialise. Only a start is told afterwards, because a claim is one short statement that all workers wait for: if the
process dies, or the store goes away, between the two, nobody hears of that start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from workbell.engine.pacing import Pacing
from workbell.engine.work import Work
from workbell.errors import StoreError
from workbell.events.publishing import EventPublishing
from workbell.model.schedule import ScheduleChange, TickOutcome
from workbell.model.system_events import SCHEDULE_SKIPPED, WORKER_LOST
from workbell.notices.bus import Bus, Notice
from workbell.notices.listeners import about_tick, about_worker, by_worker
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.events")

MOST_LOST = 1000
GAP = 0.1  # seconds from a hint to a look: hardly one of them is about a trigger or an endpoint


class Publish:
    def __init__(
        self, store: Store, bus: Bus, telling: EventPublishing, emitted: Callable[[], None], poll: float
    ) -> None:
        self._store = store
        self._bus = bus
        self._telling = telling
        self._emitted = emitted  # told that events were stored
        self._look = Pacing(poll, GAP)
        self.hint = self._look.hint  # somebody may have subscribed
        self._lost: set[str] = set()  # workers whose loss the listeners here know of, with the runs they held

    def step(self, now: datetime) -> float:
        """See who subscribes."""
        left = self._look.left(now)
        if left is not None:
            return left
        self._telling.look()
        self._look.again(now + self._look.poll)
        return self._look.poll.total_seconds()

    def started(self, works: Sequence[Work]) -> None:
        """These were claimed, and are in their slots."""
        if not self._telling.anything:
            return
        events = self._telling.starts(work.run for work in works)
        if not events:
            return
        try:
            self._store.events.add(events)
        except StoreError as error:
            log.warning("the start of %d runs could not be told: %s", len(events), error)
        else:
            self._emitted()

    def moved(self, pairs: Sequence[Pair]) -> None:
        """These transitions were written."""
        told = [
            Notice(change.move, change.after(run), change.ended)
            for run, change in pairs
            if self._bus.wants(change.move)
        ]
        if told:
            self._bus.publish(told)
        if self._telling.anything and any(change.emits for _, change in pairs):
            self._emitted()

    def lost(self, pairs: Sequence[Pair]) -> None:
        """These were written about runs whose workers are gone, or that have expired."""
        if self._bus.wants_fact(WORKER_LOST):
            now, held = self._store.clock.now(), by_worker(pairs)
            self._bus.state([about_worker(worker, runs, now) for (_, worker), runs in held.items()])
            if len(self._lost) > MOST_LOST:  # agents are not among the workers, and would stay for ever
                self._lost.clear()
            self._lost.update(worker for _, worker in held)

    def missing(self, workers: Sequence[str]) -> None:
        """These workers are gone, and hold nothing any more."""
        now = self._store.clock.now()
        events = self._telling.missing(workers, now)
        if events and any(added.created for added in self._store.events.add(events)):
            self._emitted()
        new = [worker for worker in workers if worker not in self._lost]
        self._lost.difference_update(workers)
        if new and self._bus.wants_fact(WORKER_LOST):
            self._bus.state([about_worker(worker, (), now) for worker in new])

    def skipped(self, changes: Sequence[ScheduleChange]) -> None:
        """These changes of schedules were written."""
        if self._bus.wants_fact(SCHEDULE_SKIPPED):
            ticks = [(change.schedule, tick) for change in changes for tick in change.ticks]
            self._bus.state([about_tick(of, tick) for of, tick in ticks if tick.outcome is TickOutcome.SKIPPED])
        if self._telling.anything and any(change.emits for change in changes):
            self._emitted()
