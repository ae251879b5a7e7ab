"""Booking: writes what was decided about runs, and tells of it. The only caller of `Store.apply`.

Whoever ends, retries, hands back or takes over runs decides on transitions and hands them in here: workers, the
recovery of lost leases, the keeper, agents, verbs that cancel. From here they go one way: publish (the events and
alerts that belong to a move are part of its write) → apply → tally → notify.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from workbell.errors import StoreError, StoreUnavailable
from workbell.events.telling import Telling
from workbell.model.payload import clean_text
from workbell.model.run import Run, Status
from workbell.model.state import Keep, Transition, fail, kept, obey_cancel
from workbell.stores.port import Pair, Store

log = logging.getLogger("workbell.engine")

Sink = Callable[[Sequence[Pair]], None]


def nobody(_written: Sequence[Pair]) -> None:
    """Nobody in this process hears of it."""


class Booking:
    """Writes transitions under their guards. `tally` and `notify` hear of those that were really written."""

    def __init__(
        self,
        store: Callable[[], Store],
        telling: Telling,
        keep: Keep,
        tally: Sink = nobody,
        notify: Sink = nobody,
    ) -> None:
        self._store = store
        self._telling = telling
        self.keep = keep
        self.tally = tally
        self.notify = notify
        self._unsure = False  # a write failed in a way that leaves open whether it happened

    def book(self, pairs: Sequence[Pair], *, lost: bool = False) -> list[Pair]:
        """Write transitions of runs; those that were written, as they were.

        A run with a cancel asked for ends, whatever was decided. The others that are missing in the answer had moved
        before, or their lease is lost. `lost`: the runs are taken from workers that are gone, which is told as well.
        """
        if not pairs:
            return []
        if any(run.cancel_requested for run, _ in pairs):
            pairs = [(run, obey_cancel(run, change, self.keep)) for run, change in pairs]
        written = self._write(self._publish(pairs, lost))
        if len(written) < len(pairs):
            asked = self._asked_meanwhile(pairs, written)
            if asked:
                written += self._write(self._publish(asked, lost))
        self.written(written)
        return written

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """Transitions with the events and alerts that are to be part of their write."""
        return self._telling.of_all(pairs)

    def written(self, pairs: Sequence[Pair]) -> None:
        """Count and announce what was written. It is written: no error of a listener may undo that."""
        if not pairs:
            return
        try:
            self.tally(pairs)
            self.notify(pairs)
        except Exception:
            log.exception("%d moves of runs were written, and could not be told of", len(pairs))

    def _publish(self, pairs: Sequence[Pair], lost: bool) -> Sequence[Pair]:
        return self._telling.of_lost(pairs, self._store().clock.now()) if lost else self._telling.of_all(pairs)

    def _asked_meanwhile(self, pairs: Sequence[Pair], written: Sequence[Pair]) -> list[Pair]:
        """Cancels of runs that were refused to go on, because their end was asked for after they had been read."""
        done = {run.id for run, _ in written}
        refused = {run.id: change for run, change in pairs if run.id not in done and not change.status.final}
        if not refused:
            return []
        found = self._store().find_runs(refused)
        return [
            (run, obey_cancel(run, refused[run.id], self.keep))
            for run in found.values()
            if run.cancel_requested and (run.status, run.token) == (Status.RUNNING, refused[run.id].expected_token)
        ]

    def _write(self, pairs: Sequence[Pair]) -> list[Pair]:
        try:
            moved = self._apply([change for _, change in pairs])
        except StoreUnavailable:
            raise
        except StoreError:
            if len(pairs) == 1 and pairs[0][0].status is not Status.RUNNING:
                raise
            # One row that the store cannot take must not hold up the others.
            log.exception("%d outcomes were refused; they are written one by one", len(pairs))
            return [pair for one in pairs for pair in self._write_one(*one)]
        if self._unsure and len(moved) < len(pairs):
            moved |= self._written_before([change for _, change in pairs])
        self._unsure = False
        return list(pairs) if len(moved) == len(pairs) else [pair for pair in pairs if pair[0].id in moved]

    def _apply(self, changes: Sequence[Transition]) -> set[str]:
        try:
            return self._store().apply(changes)
        except StoreUnavailable:
            self._unsure = True
            raise

    def _write_one(self, run: Run, change: Transition) -> list[Pair]:
        """What is refused even alone becomes a failure that says so: a run must never stay in our hands."""
        try:
            return [(run, change)] if self._apply([change]) else []
        except StoreUnavailable:
            raise
        except StoreError as error:
            if run.status is not Status.RUNNING:
                return []
            text = clean_text(f"What came of it could not be stored: {error}")
        keep, called_at = kept(run, self.keep).other, change.called_at
        failed = fail(run, change.updated_at, error=text, reason="result", keep=keep, started_at=called_at)
        for instead in (self._telling.of(run, failed), failed):  # rather untold than unbooked
            try:
                return [(run, instead)] if self._apply([instead]) else []
            except StoreUnavailable:
                raise
            except StoreError:
                log.exception("run %s: its failure cannot be stored", run.id)
        log.error("run %s: nothing that came of it can be stored; its lease will run out", run.id)
        return []

    def _written_before(self, changes: Sequence[Transition]) -> set[str]:
        """After a lost connection: those whose earlier write had gone through, told by token and time."""
        found = self._store().find_runs([change.run_id for change in changes])
        return {
            change.run_id
            for change in changes
            if (run := found.get(change.run_id)) is not None
            and (run.status, run.token, run.updated_at) == (change.status, change.expected_token, change.updated_at)
        }
