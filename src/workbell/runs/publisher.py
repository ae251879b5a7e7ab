"""The publisher of moves of runs, and of changes of schedules and workers, to events, alerts, tallies and listeners.

Before a write it adds the events and alerts that belong to a move: they are part of that write. After it, the sinks of
this process receive what was really written: tallies, listeners on the bus, waits. Only the event of a start is stored
afterwards, because a claim is one short statement that all workers wait for: if the process dies, or the store goes
away, between the two, that start is never published.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from workbell.errors import StoreError
from workbell.events.publishing import EventPublishing
from workbell.model.schedule import ScheduleChange, TickOutcome
from workbell.model.state import Move, Transition
from workbell.model.system_events import SCHEDULE_SKIPPED, WORKER_LOST
from workbell.notices.bus import Bus, Notice
from workbell.notices.listeners import about_tick, about_worker, by_worker
from workbell.runs.tallies import Tallies

if TYPE_CHECKING:
    from workbell.model.event import Event
    from workbell.model.run import Run
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.events")

MOST_LOST = 1000


class Sink(Protocol):
    """Receives transitions that were written, with their runs as they were before."""

    def moved(self, pairs: Sequence[Pair], /) -> None: ...


def no_hint() -> None:
    """Nobody in this process fans events out."""


class RunPublisher:
    """`events` adds to writes, `bus` and `sinks` receive what was written, `hint` is called when events were stored."""

    def __init__(
        self,
        store: Callable[[], Store],
        events: EventPublishing | None = None,
        bus: Bus | None = None,
        tallies: Tallies | None = None,
        sinks: Sequence[Sink] = (),
        hint: Callable[[], None] = no_hint,
    ) -> None:
        self._store = store
        self.events = events or EventPublishing()
        self.bus = bus or Bus()
        self.tallies = tallies or Tallies(store)
        self._sinks: Sequence[Sink] = (self.tallies, *sinks)
        self._hint = hint
        self.handed_out: Callable[[Sequence[Run]], None] = lambda _runs: None  # told of what agents got
        self._lost: set[str] = set()  # workers whose loss the listeners here know of, with the runs they held

    def add_sink(self, sink: Sink) -> None:
        self._sinks = (*self._sinks, sink)

    def remove_sink(self, sink: Sink) -> None:
        self._sinks = tuple(one for one in self._sinks if one is not sink)

    def poll(self) -> None:
        """Read which events have subscribers now."""
        self.events.poll()

    # Before a write

    def before(self, pairs: Sequence[Pair], *, lost: bool = False) -> Sequence[Pair]:
        """Transitions with the events and alerts that are to be part of their write."""
        return self.events.of_lost(pairs, self._store().clock.now()) if lost else self.events.of_all(pairs)

    def before_one(self, run: Run, change: Transition) -> Transition:
        return self.events.of(run, change)

    def before_tick(self, change: ScheduleChange) -> ScheduleChange:
        """A change of a schedule with the events of its skipped ticks."""
        return self.events.of_schedule(change)

    # After a write

    def moved(self, pairs: Sequence[Pair], *, lost: bool = False) -> None:
        """Publish transitions that were written. No error of a sink may undo the write, or skip another sink.

        `lost`: the runs were taken from workers that are gone.
        """
        if not pairs:
            return
        for sink in (*self._sinks, self.bus) if self.bus.wanted else self._sinks:
            try:
                sink.moved(pairs)
            except Exception:
                log.exception("%d moves of runs were written, and could not be published", len(pairs))
        if lost:
            self._publish_losses(pairs)
        if self.events.anything and any(change.emits for _, change in pairs):
            self._hint_safely()

    def _publish_losses(self, pairs: Sequence[Pair]) -> None:
        if not self.bus.wants_fact(WORKER_LOST):
            return
        now, held = self._store().clock.now(), by_worker(pairs)
        self.bus.publish_facts([about_worker(worker, runs, now) for (_, worker), runs in held.items()])
        if len(self._lost) > MOST_LOST:  # agents are not among the workers, and would stay for ever
            self._lost.clear()
        self._lost.update(worker for _, worker in held)

    def ticked(self, changes: Sequence[ScheduleChange]) -> None:
        """Publish changes of schedules that were written."""
        if self.bus.wants_fact(SCHEDULE_SKIPPED):
            ticks = [(change.schedule, tick) for change in changes for tick in change.ticks]
            self.bus.publish_facts([about_tick(of, tick) for of, tick in ticks if tick.outcome is TickOutcome.SKIPPED])
        if self.events.anything and any(change.emits for change in changes):
            self._hint_safely()

    def claimed(self, runs: Sequence[Run]) -> None:
        """Publish runs that were claimed and are about to start, to listeners of this process."""
        if Move.START in self.bus.wanted:
            self.bus.publish([Notice(Move.START, run) for run in runs])

    def started(self, runs: Sequence[Run]) -> None:
        """Store the events of runs that were claimed, and are in their slots."""
        if not self.events.anything:
            return
        events = self.events.starts(runs)
        try:
            self._store_events(events)
        except StoreError as error:
            log.warning("the start of %d runs could not be published: %s", len(events), error)

    def missing(self, workers: Sequence[str], now: datetime) -> None:
        """Publish the loss of workers that are gone and hold nothing any more."""
        self._store_events(self.events.missing(workers, now))
        new = [worker for worker in workers if worker not in self._lost]
        self._lost.difference_update(workers)
        if new and self.bus.wants_fact(WORKER_LOST):
            self.bus.publish_facts([about_worker(worker, (), now) for worker in new])

    def _store_events(self, events: Sequence[Event]) -> None:
        if events and any(added.created for added in self._store().events.add(events)):
            self._hint_safely()

    def _hint_safely(self) -> None:
        """Hint that events were stored: they are fanned out now rather than at the next poll."""
        try:
            self._store().wake()
            self._hint()
        except StoreError as error:
            log.debug("no hint could be sent: %s", error)
