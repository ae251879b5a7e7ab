"""One round of what is due: ended leases, ticks, events, waiting runs. Each duty of an engine until it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from workbell.engine.dispatch import Dispatch
from workbell.engine.duty import Batch
from workbell.engine.match_events import MatchEvents
from workbell.engine.materialise import Materialise
from workbell.engine.recover import Recover
from workbell.model.one_shot import Dispatched
from workbell.model.run import Run
from workbell.runs.runtime import Runtime
from workbell.settings import Settings

BATCH = 500


class DueRound:
    """`announce` gets runs that were queued; `sure` is explained in `Recover`."""

    def __init__(
        self, runtime: Runtime, settings: Settings, announce: Callable[[Iterable[Run]], None], sure: float = 0.0
    ) -> None:
        store, registry = runtime.store, runtime.registry
        self._publisher = runtime.publisher
        self._recover = Recover(store, runtime.booking, announce, settings.sweep_pace, sure=sure)
        self._materialise = Materialise(store, registry, announce, settings.poll_pace, runtime.publisher)
        self._match = MatchEvents(store, registry, runtime.subscriptions, announce, settings.poll_pace)
        self._dispatch = Dispatch(store, announce, settings.poll_pace)

    def take(self, now: datetime, limit: int | None = None) -> Dispatched:
        """Do what is due by now, up to `limit` of each kind. In this order: each may bring work for the next."""
        self._publisher.poll()
        return Dispatched(
            recovered=_repeat(self._recover.take_over, now, limit),
            fired=_repeat(self._materialise.fire_due, now, limit),
            fanned_out=_repeat(self._match.fan_out_waiting, now, limit),
            queued=_repeat(self._dispatch.queue_due, now, limit),
        )


def _repeat(take: Callable[[datetime, int | None], Batch], now: datetime, limit: int | None) -> int:
    done = 0
    while limit is None or done < limit:
        batch = take(now, None if limit is None else min(BATCH, limit - done))
        done += batch.done
        if not batch.more:
            break
    return done
