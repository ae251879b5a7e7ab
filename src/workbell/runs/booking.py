"""Booking: writes what was decided about runs, and publishes it. The only caller of `store.runs.apply`.

All that end, retry, hand back or take over runs decide on transitions and book them here: workers, the recovery of lost
leases, the keeper, agents, verbs that cancel. One way from here: publisher.before (events and alerts that are part of
the write) → apply → publisher.moved (tallies, listeners, waits).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.json_text import clean_text
from workbell.model.run import Run, Status
from workbell.model.state import CANCELED, Move, Retention, Transition, ask_cancel, fail, obey_cancel, retention_of

if TYPE_CHECKING:
    from workbell.runs.publisher import RunPublisher
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.engine")

MOST_UNSURE = 20_000  # more than a worker can hold
OUTCOMES = (Move.SUCCEED, Move.RETRY, Move.FAIL, Move.SNOOZE, Move.CANCEL)  # moves by which a handler's run is booked


class Booking:
    """Writes transitions under their guards, and publishes those that were really written."""

    def __init__(self, store: Callable[[], Store], publisher: RunPublisher, keep: Retention) -> None:
        self._store = store
        self.publisher = publisher
        self.keep = keep
        self._unsure: set[tuple[str, int]] = set()  # runs and tokens whose write may have happened, or not

    def book(self, pairs: Sequence[Pair], *, lost: bool = False) -> list[Pair]:
        """Write transitions of runs; those that were written, as they were.

        A run with a cancel asked for ends, whatever was decided. The others that are missing in the answer had moved
        before, or their lease is lost. `lost`: the runs are taken from lost workers, which is published too.
        """
        if not pairs:
            return []
        if any(run.cancel_requested for run, _ in pairs):
            pairs = [(run, obey_cancel(run, change, self.keep)) for run, change in pairs]
        written = self._write(self.publisher.before(pairs, lost=lost))
        if len(written) < len(pairs):
            asked = self._asked_meanwhile(pairs, written)
            if asked:
                written += self._write(self.publisher.before(asked, lost=lost))
        self.publisher.moved(written, lost=lost)
        return written

    def doubt(self, pairs: Iterable[Pair]) -> None:
        """Another process may have written these transitions, and had no answer: such a write counts as ours."""
        if len(self._unsure) >= MOST_UNSURE:  # left by verbs that were never repeated
            self._unsure = set()
        self._unsure.update([_write_key(change) for _, change in pairs])

    # For what a store ends by itself, see stores/publisher.py

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        return self.publisher.before(pairs)

    def written(self, pairs: Sequence[Pair]) -> None:
        self.publisher.moved(pairs)

    def _asked_meanwhile(self, pairs: Sequence[Pair], written: Sequence[Pair]) -> list[Pair]:
        """Cancels of runs that were refused to go on, because their end was asked for after they had been read."""
        done = {run.id for run, _ in written}
        refused = {run.id: change for run, change in pairs if run.id not in done and not change.status.final}
        if not refused:
            return []
        found = self._store().runs.find(refused)
        return [
            (run, obey_cancel(run, refused[run.id], self.keep))
            for run in found.values()
            if run.cancel_requested and (run.status, run.token) == (Status.RUNNING, refused[run.id].expected_token)
        ]

    def _write(self, pairs: Sequence[Pair]) -> list[Pair]:
        try:
            moved = self._store().runs.apply([change for _, change in pairs])
        except StoreUnavailable:
            self.doubt(pairs)
            raise
        except StoreError:
            if len(pairs) == 1 and pairs[0][0].status is not Status.RUNNING:
                raise
            # One row that the store cannot take must not hold up the others.
            log.exception("%d outcomes were refused; they are written one by one", len(pairs))
            return [pair for one in pairs for pair in self._write_one(*one)]
        written = list(pairs) if len(moved) == len(pairs) else [pair for pair in pairs if pair[0].id in moved]
        if self._unsure:
            written += self._written_before([pair for pair in pairs if pair[0].id not in moved])
            self._settle(pairs)
        return written

    def _write_one(self, run: Run, change: Transition) -> list[Pair]:
        """Write a transition that was refused in a batch. The outcome of a handler is then written without its
        events, and at last as a failure that says so: a run must never stay under its lease. Any other move is not
        written, and is decided again."""
        answer = self._try(run, change)
        if isinstance(answer, StoreError) and (change.emits or change.then):  # rather unpublished than unbooked
            answer = self._try(run, msgspec.structs.replace(change, emits=(), then=()))
        if isinstance(answer, StoreError) and run.status is Status.RUNNING and change.move in OUTCOMES:
            text = clean_text(f"What came of it could not be stored: {answer}")
            keep, called_at = retention_of(run, self.keep).other, change.called_at
            failed = fail(run, change.updated_at, error=text, reason="result", keep=keep, started_at=called_at)
            answer = self._try(run, self.publisher.before_one(run, failed))
            if isinstance(answer, StoreError):
                answer = self._try(run, failed)
        return [] if isinstance(answer, StoreError) else answer

    def _try(self, run: Run, change: Transition) -> list[Pair] | StoreError:
        """Write one transition; the answer may be the store's refusal of it."""
        try:
            moved = self._store().runs.apply([change])
        except StoreUnavailable:
            self.doubt([(run, change)])
            raise
        except StoreError as error:
            log.exception("run %s: the move %s cannot be stored", run.id, change.move)
            return error
        written = [(run, change)] if moved else self._written_before([(run, change)])
        self._settle([(run, change)])
        return written

    def _settle(self, pairs: Iterable[Pair]) -> None:
        """The store has answered: what became of these is known."""
        self._unsure.difference_update([_write_key(change) for _, change in pairs])

    def _written_before(self, pairs: Sequence[Pair]) -> list[Pair]:
        """After a lost connection: those whose earlier write had gone through, known by token and time."""
        doubtful = {run.id: (run, change) for run, change in pairs if _write_key(change) in self._unsure}
        found = self._store().runs.find(doubtful) if doubtful else {}
        written = []
        for run_id, now in found.items():
            run, change = doubtful[run_id]
            if (now.token, now.updated_at) != (change.expected_token, change.updated_at):
                continue
            if now.status is change.status:
                written.append((run, change))
            elif now.status is Status.CANCELED:  # it was refused to go on, and ended by the cancel that was asked for
                written.append((run, obey_cancel(ask_cancel(run, now.reason or CANCELED), change, self.keep)))
        return written


def _write_key(change: Transition) -> tuple[str, int]:
    return change.run_id, change.expected_token
