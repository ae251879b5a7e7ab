"""Booking: writes what was decided about runs, and publishes it. The only caller of `store.runs.apply`.

All that end, retry, hand back or take over runs decide on transitions and book them here: workers, the recovery of lost
leases, the keeper, agents, verbs that cancel. One way from here: publisher.before (events and alerts that are part of
the write) → apply → publisher.moved (tallies, listeners, waits).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.json_text import clean_text
from workbell.model.run import Run, Status
from workbell.model.state import CANCELED, Move, Retention, Transition, ask_cancel, fail, obey_cancel, retention_of
from workbell.stores.database import LOCK_SECONDS, Locked

if TYPE_CHECKING:
    from workbell.runs.publisher import RunPublisher
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.engine")

LOCKED_SECONDS = 0.5  # for transitions that are written one by one, because locks hold some of them up
LOCKED_PACE = 1.0  # seconds until those that locks have held up are booked again
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
        return self._book(self._obeying(pairs), lost)

    def book_unheld(self, pairs: Sequence[Pair], *, lost: bool = False) -> tuple[list[Pair], list[Pair]]:
        """As `book`, for runs of many callers: those that were written, and those that must be booked again.

        An open transaction of the application holds up only the ends that need what it has locked: a key, or a
        schedule's row. First all are written together; where a lock is in the way, first those that need none, and then
        one by one, each with a short wait.
        """
        pairs = self._obeying(pairs)
        if not any(_may_wait(change) for _, change in pairs):
            return self._book(pairs, lost), []
        if len(pairs) > 1:
            try:
                return self._book(pairs, lost, LOCK_SECONDS), []
            except Locked:
                pass
        written = self._book([pair for pair in pairs if not _may_wait(pair[1])], lost)
        left, held_up = [pair for pair in pairs if _may_wait(pair[1])], []
        end = time.monotonic() + LOCKED_SECONDS
        while left and time.monotonic() < end:
            try:
                written += self._book(left[:1], lost, LOCK_SECONDS)
            except Locked:
                held_up += left[:1]
            except StoreUnavailable:
                if not written and not held_up:
                    raise
                break  # what was written is known; the next try tells the rest
            del left[:1]
        return written, left + held_up

    def _obeying(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        if any(run.cancel_requested for run, _ in pairs):
            return [(run, obey_cancel(run, change, self.keep)) for run, change in pairs]
        return pairs

    def _book(self, pairs: Sequence[Pair], lost: bool, lock: float | None = None) -> list[Pair]:
        if not pairs:
            return []
        written = self._write(self.publisher.before(pairs, lost=lost), lock)
        if len(written) < len(pairs):
            asked = self._asked_meanwhile(pairs, written)
            if asked:
                try:
                    written += self._write(self.publisher.before(asked, lost=lost), lock)
                except StoreUnavailable:
                    self.doubt(written)  # they are booked again with the others, and were written by us
                    raise
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

    def _write(self, pairs: Sequence[Pair], lock: float | None) -> list[Pair]:
        try:
            moved = self._apply([change for _, change in pairs], lock)
        except Locked:
            raise
        except StoreUnavailable:
            self.doubt(pairs)
            raise
        except StoreError:
            if len(pairs) == 1 and pairs[0][0].status is not Status.RUNNING:
                raise
            # One row that the store cannot take must not hold up the others.
            log.exception("%d outcomes were refused; they are written one by one", len(pairs))
            return self._write_each(pairs, lock)
        written = list(pairs) if len(moved) == len(pairs) else [pair for pair in pairs if pair[0].id in moved]
        if self._unsure:
            written += self._written_before([pair for pair in pairs if pair[0].id not in moved])
            self._settle(pairs)
        return written

    def _apply(self, changes: Sequence[Transition], lock: float | None) -> set[str]:
        runs = self._store().runs
        return runs.apply(changes) if lock is None else runs.apply(changes, lock=lock)

    def _write_each(self, pairs: Sequence[Pair], lock: float | None) -> list[Pair]:
        written: list[Pair] = []
        for run, change in pairs:
            try:
                written += self._write_one(run, change, lock)
            except StoreUnavailable:
                self.doubt(written)  # they are booked again with the others, and were written by us
                raise
        return written

    def _write_one(self, run: Run, change: Transition, lock: float | None) -> list[Pair]:
        """Write a transition that was refused in a batch. The outcome of a handler is then written without its
        events, and at last as a failure that says so: a run must never stay under its lease. Any other move is not
        written, and is decided again."""
        answer = self._try(run, change, lock)
        if isinstance(answer, StoreError) and (change.emits or change.then):  # rather unpublished than unbooked
            answer = self._try(run, msgspec.structs.replace(change, emits=(), then=()), lock)
        if isinstance(answer, StoreError) and run.status is Status.RUNNING and change.move in OUTCOMES:
            text = clean_text(f"What came of it could not be stored: {answer}")
            keep, called_at = retention_of(run, self.keep).other, change.called_at
            failed = fail(run, change.updated_at, error=text, reason="result", keep=keep, started_at=called_at)
            answer = self._try(run, self.publisher.before_one(run, failed), lock)
            if isinstance(answer, StoreError):
                answer = self._try(run, failed, lock)
        return [] if isinstance(answer, StoreError) else answer

    def _try(self, run: Run, change: Transition, lock: float | None) -> list[Pair] | StoreError:
        """Write one transition; the answer may be the store's refusal of it."""
        try:
            moved = self._apply([change], lock)
        except Locked:
            raise
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


def _may_wait(change: Transition) -> bool:
    """Whether an open transaction of the application may hold what this writes, beside the run itself."""
    ends_for_others = change.status.final and (change.key is not None or change.schedule is not None)
    return ends_for_others or bool(change.then)


def _write_key(change: Transition) -> tuple[str, int]:
    return change.run_id, change.expected_token
