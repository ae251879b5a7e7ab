"""Match: events that were stored are fanned out: each makes one run for every trigger and endpoint it matches.

Any number of schedulers do this at once. What follows from an event is decided here and written in one guarded
transaction, so that a crash at any moment leaves an event either waiting or done with.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from workbell.engine.look import Look
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.fan_out import delivery_lane, fan_out
from workbell.events.subscriptions import Subscriber, Subscriptions
from workbell.handlers.registry import Registry
from workbell.model.endpoint import Endpoint
from workbell.model.event import FannedOut, MatchOutcome
from workbell.model.job import QUEUE
from workbell.model.limit import NO_LIMITS, Limits, key_of
from workbell.model.run import Lane
from workbell.stores.port import Store

log = logging.getLogger("workbell.events")

BATCH = 500
MOST_RUNS = 2000  # in one transaction, more than one event's: others want to write as well
MOST_PASSED = 4 * BATCH  # events that are passed over in one round, to see what lies beyond
GAP = 0.02  # seconds from a hint to a look: an event should not wait long, and not every hint is about one


class MatchEvents:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        subscriptions: Subscriptions,
        announce: Callable[[], None],
        poll: float,
    ) -> None:
        self._store = store
        self._registry = registry
        self._subscriptions = subscriptions
        self._announce = announce
        self._look = Look(poll, GAP)
        self.hint = self._look.hint  # an event may have been emitted
        self._beaten = False  # at the last look, by another scheduler
        self._refused = False  # at the last look, by the store
        self._told: set[str] = set()  # events that were refused, and of which that was said
        self._passed: set[str] = set()  # events of a full batch that were not to be had: the next look goes beyond

    def step(self, now: datetime) -> float:
        """Fan out what waits; the answer is how long until the next look."""
        left = self._look.left(now)
        if left is not None:
            return left
        if self.fan_out_waiting(now):
            self._look.again()
            return 0
        wait = GAP if self._beaten else self._look.poll.total_seconds()
        self._look.again(now + timedelta(seconds=wait))
        return wait

    def fan_out_waiting(self, now: datetime) -> bool:
        """A batch of what waits; whether any of it was ours to fan out, or more may lie beyond it."""
        found = self._store.waiting_events(BATCH + len(self._passed))
        waiting = [event for event in found if event.id not in self._passed][:BATCH]
        if not waiting:
            self._beaten = self._beaten and bool(self._passed)
            self._passed = set()
            return False
        subscriptions = self._subscriptions.current()  # after the events: see there
        lanes: dict[str, Lane] = {}

        def lane_of(subscriber: Subscriber) -> Lane:
            if subscriber.id not in lanes:
                lanes[subscriber.id] = self._lane_of(subscriber)
            return lanes[subscriber.id]

        taken: set[str] = set()
        self._refused = False
        for part in _in_parts(fan_out(event, subscriptions.match(event), now, lane_of) for event in waiting):
            mine = self._write(part, now)
            taken |= mine
            written = [one for one in part if one.event_id in mine]
            self._warn(written)
            if any(one.runs for one in written):
                self._announce()
        # Another scheduler has them in hand: looking again at once would only cost. It may be stuck with them.
        self._beaten = not taken and not self._refused
        self._pass_over([event.id for event in waiting if event.id not in taken], len(waiting))
        return bool(taken or self._passed)

    def _pass_over(self, left: Sequence[str], looked_at: int) -> None:
        """After a full batch more may lie beyond. Once something of that was ours, we begin at the start again."""
        beyond, ours = bool(self._passed), len(left) < looked_at
        if looked_at < BATCH or len(self._passed) >= MOST_PASSED or (beyond and ours):
            self._passed = set()
        else:
            self._passed |= set(left)

    def _write(self, part: Sequence[FannedOut], now: datetime) -> set[str]:
        try:
            return self._store.fan_out(part, now)
        except StoreUnavailable:
            raise
        except StoreError:
            self._refused = True
            level = logging.DEBUG if {one.event_id for one in part} <= self._told else logging.WARNING
            log.log(level, "what follows from %d events was refused; it is written one by one", len(part))
        taken: set[str] = set()
        for one in part:
            try:
                taken |= self._store.fan_out([one], now)
            except StoreUnavailable:
                raise
            except StoreError as error:
                if one.event_id not in self._told:
                    log.error("event %s: what follows from it cannot be written: %s", one.event_id, error)
                self._told.add(one.event_id)
        return taken

    def _lane_of(self, subscriber: Subscriber) -> Lane:
        if isinstance(subscriber, Endpoint):
            return delivery_lane(subscriber)
        queue, limits = self._known(subscriber.tenant, subscriber.job)
        key = None if limits is NO_LIMITS else key_of(limits, None)
        return Lane(subscriber.tenant, queue, subscriber.job, None, key)

    def _known(self, tenant: str, job: str) -> tuple[str, Limits]:
        known = self._registry.find(job)
        if known is not None:
            return known.queue, known.limits
        stored = self._store.find_job(tenant, job)
        return (QUEUE, NO_LIMITS) if stored is None else (stored.queue, stored.limits)

    def _warn(self, fanned: list[FannedOut]) -> None:
        for one in fanned:
            cut = [match for match in one.matches if match.outcome is MatchOutcome.TOO_DEEP]
            if cut:
                log.warning("event %s: nothing was started for %d triggers: %s", one.event_id, len(cut), cut[0].reason)


def _in_parts(fanned: Iterable[FannedOut]) -> Iterator[list[FannedOut]]:
    """As many events together as make a transaction of a bearable size."""
    part: list[FannedOut] = []
    size = 0
    for one in fanned:
        if part and size + len(one.matches) > MOST_RUNS:
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one.matches)
    if part:
        yield part
