"""Fan-out of stored events: each makes one run for every trigger and endpoint that it matches.

Any number of schedulers do this at once. The runs of an event are decided here and written in one guarded transaction,
so that a crash at any moment leaves an event either waiting or fanned out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from workbell.engine.duty import Batch, Pacing
from workbell.engine.locked_rows import PassedOver
from workbell.engine.terms import find_terms, this_process
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.fan_out import Destination, delivery_destination, destination_for, fan_out
from workbell.events.subscriptions import Subscriber, Subscriptions
from workbell.handlers.registry import Registry
from workbell.model.endpoint import Endpoint
from workbell.model.event import FannedOut, MatchOutcome
from workbell.model.run import Run
from workbell.model.run_defaults import Maker
from workbell.stores.port import Store

log = logging.getLogger("workbell.events")

BATCH = 500
MOST_RUNS = 2000  # in one transaction, more than one event's: others want to write as well
GAP = 0.02  # seconds from a hint to a read: an event should not wait long, and not every hint is about one


class MatchEvents:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        subscriptions: Subscriptions,
        announce: Callable[[Iterable[Run]], None],
        poll: float,
        maker: Callable[[], Maker] = this_process,
    ) -> None:
        self._store = store
        self._registry = registry
        self._subscriptions = subscriptions
        self._announce = announce
        self._maker = maker
        self._pacing = Pacing(poll, GAP)
        self.waker = self._pacing.waker
        self.hint = self._pacing.hint  # an event may have been emitted
        self._refused: set[str] = set()  # events whose fan-out the store refused; each is logged once as an error
        self._passed: PassedOver[str] = PassedOver(timedelta(seconds=GAP))  # events that another scheduler had locked

    def step(self, now: datetime) -> float:
        """Fan out waiting events; return the seconds until the next read."""
        left = self._pacing.left(now)
        if left is not None:
            return left
        if self.fan_out_waiting(now):
            self._pacing.again()
            return 0
        at, held_until = now + self._pacing.poll, self._passed.until(now)
        at = at if held_until is None else min(at, held_until)
        self._pacing.again(at)
        return (at - now).total_seconds()

    def fan_out_waiting(self, now: datetime, limit: int | None = None) -> Batch:
        """Fan out up to `limit` events; more may follow if we wrote any."""
        limit = limit or BATCH
        passed = set(self._passed.at(now))
        found = self._store.events.waiting(limit + len(passed))
        if len(found) < limit + len(passed):  # these are all: the others were fanned out elsewhere
            self._refused &= {event.id for event in found}
        waiting = [event for event in found if event.id not in passed][:limit]
        if not waiting:
            return Batch(0, False)
        subscriptions = self._subscriptions.current()  # after the events: see there
        destinations: dict[str, Destination] = {}
        maker = self._maker()

        def destination_of(subscriber: Subscriber) -> Destination:
            if subscriber.id not in destinations:
                destinations[subscriber.id] = self._destination_of(subscriber)
            return destinations[subscriber.id]

        taken: set[str] = set()
        for part in _in_parts(
            fan_out(event, subscriptions.match(event), now, destination_of, maker) for event in waiting
        ):
            mine = self._write(part, now)
            taken |= mine
            written = [one for one in part if one.event_id in mine]
            self._warn(written)
            if any(one.runs for one in written):
                self._announce(new.run for one in written for new in one.runs)
        # Another scheduler is writing the rest, and may be stuck; or the store refused it, and would again.
        left = [event.id for event in waiting if event.id not in taken]
        self._passed.add([event_id for event_id in left if event_id not in self._refused], now)
        self._passed.add([event_id for event_id in left if event_id in self._refused], now, longest=True)
        return Batch(len(taken), bool(taken) or len(waiting) == limit)

    def _write(self, part: Sequence[FannedOut], now: datetime) -> set[str]:
        try:
            return self._store.events.fan_out(part, now)
        except StoreUnavailable:
            raise
        except StoreError:
            level = logging.DEBUG if {one.event_id for one in part} <= self._refused else logging.WARNING
            log.log(level, "what follows from %d events was refused; it is written one by one", len(part))
        taken: set[str] = set()
        for one in part:
            try:
                taken |= self._store.events.fan_out([one], now)
            except StoreUnavailable:
                raise
            except StoreError as error:
                if one.event_id not in self._refused:
                    log.error("event %s: what follows from it cannot be written: %s", one.event_id, error)
                self._refused.add(one.event_id)
        return taken

    def _destination_of(self, subscriber: Subscriber) -> Destination:
        if isinstance(subscriber, Endpoint):
            return delivery_destination(subscriber)
        return destination_for(subscriber, find_terms(self._registry, self._store, subscriber.tenant, subscriber.job))

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
