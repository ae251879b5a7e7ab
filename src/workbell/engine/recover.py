"""Recover: runs whose lease ended go back to the queue; waiting runs that expired end as canceled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from workbell.events.telling import Telling
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Keep, Transition
from workbell.stores.port import Store

BATCH = 500


class Recover:
    def __init__(
        self,
        store: Store,
        keep: Keep,
        announce: Callable[[], None],
        sweep: float,
        tell: Callable[[Sequence[tuple[Run, Transition]]], None] = lambda _moved: None,
        telling: Telling | None = None,
    ) -> None:
        self._store = store
        self._keep = keep
        self._announce = announce
        self._tell = tell
        self._sweep = sweep
        self._telling = telling or Telling()

    def step(self, now: datetime) -> float:
        lapsed = self._store.lapsed(now, BATCH)
        decided = self._telling.of_lost([(run, self._decide(run, now)) for run in lapsed], now)
        moved = self._store.apply([transition for _, transition in decided])
        if moved:
            self._announce()
            self._tell([(run, transition) for run, transition in decided if run.id in moved])
        return 0 if len(lapsed) >= BATCH and moved else self._sweep

    def _decide(self, run: Run, now: datetime) -> Transition:
        keep = state.kept(run, self._keep).other
        if run.status is Status.RUNNING:
            return state.lose(run, now, keep=keep)
        return state.cancel(run, now, reason="expired", keep=keep)
