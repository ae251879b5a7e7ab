"""The keeper: renews the leases of living children, whatever they are doing, and gives back what dead ones held.

A handler that holds the interpreter lock stops its own process from renewing anything. The keeper is another process,
which runs no handler. It renews nothing for a child that is stopped: that one may never go on.

A child that must end while the store is away hands its outcomes over to the keeper, which books them once it is back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random

from workbell.engine.finish import KeptOutcome, log_dropped, waiting_again
from workbell.engine.renew import RENEWALS_PER_LEASE, pace_of
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.alerting import Alerting, stored_job
from workbell.events.publishing import EventPublishing
from workbell.events.subscriptions import Subscriptions
from workbell.model.retry import Retry
from workbell.model.run import Run
from workbell.model.state import Move, Retention, Transition
from workbell.model.worker import BEAT
from workbell.notices.bus import Bus
from workbell.notices.run_log import log_runs
from workbell.process.identity import running_of
from workbell.queues.opening import open_beside
from workbell.runs.booking import LOCKED_PACE, Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.measuring import MOST_UNMEASURED, follow_time
from workbell.stores.opening import open_store
from workbell.stores.port import Held, Lease
from workbell.workers.messages import (
    Bury,
    DeathVerdict,
    KeepLeases,
    LeasesKept,
    OutcomesKept,
    OutcomesSettled,
    Stop,
    StoreNamed,
)
from workbell.workers.pipe import Pipe
from workbell.workers.reclaim import burial

log = logging.getLogger("workbell.workers")

AGAIN = (0.5, 2.0, 5.0)  # a dead worker's claim may be committed after our read: read again after these seconds
PATIENCE = 2.0  # seconds at the end, for what could not be booked or given back yet
BATCH = 500  # outcomes in one write


class Keeper:
    def __init__(self, store: StoreNamed, pipe: Pipe) -> None:
        keep = Retention(timedelta(seconds=store.keep_succeeded), timedelta(seconds=store.keep_other))
        self._store = open_store(store.url, keep, connections=1)
        self._queue = open_beside(store.queue_url, self._store)
        self._lease = timedelta(seconds=store.lease)
        # A lease that its child does not renew is seen at one look and renewed at the next: before half of it is over.
        self._pace = max(min(store.lease / 6, BEAT / 2), min(store.poll, store.lease / 4, BEAT))
        self._measure_pace = max(BEAT, min(store.poll, MOST_UNMEASURED))
        self._measured_at = 0.0
        self._again_after = pace_of(self._lease) / 2  # seconds until another try, after the store did not answer
        self._pipe = pipe
        self._children: list[LeasesKept] = []
        self._dead: list[tuple[float, int, Bury]] = []  # when to read, how often it was read, which worker
        self._kept: dict[Held, KeptOutcome] = {}  # outcomes of children, to be booked
        self._book_at = 0.0  # when to book them: later, if locks hold up those that are left
        self._parcels: dict[str, set[Held]] = {}  # those of a message that are not settled yet
        self._patience = PATIENCE
        self._random = Random()
        self._tenant = store.tenant
        alerting = Alerting(lambda: self._store, tenant=store.tenant)
        events = EventPublishing(Subscriptions(lambda: self._store), alerting, tenant=store.tenant)
        bus = Bus()
        bus.subscribe(log_runs, set(Move) - {Move.RELEASE})  # what had not begun is no news of a run
        self._publisher = RunPublisher(lambda: self._store, events, bus)
        self._booking = Booking(lambda: self._store, self._publisher, keep)
        self._renew_at = self._seen_at = 0.0
        self._seen: dict[str, tuple[tuple[int, datetime | None], float]] = {}  # leases by run, and since when
        self._failing = False

    def run(self) -> None:
        """Until the supervisor says so, or is gone."""
        self._store.check()
        self._store.measure_time()
        stopping, again_at = False, 0.0
        while not stopping:
            due = min([self._renew_at, *(at for at, _, _ in self._dead), *([self._book_at] if self._kept else [])])
            if self._pipe.waits(max(max(due, again_at) - time.monotonic(), 0)):
                stopping = self._receive()
            if time.monotonic() >= again_at:
                again_at = 0.0 if self._step() else time.monotonic() + self._again_after
        self._end()
        if self._queue is not None:
            self._queue.close()
        self._store.close()

    def _receive(self) -> bool:
        match self._pipe.receive():
            case KeepLeases(children):
                self._children = children
            case Bury() as bury:
                self._dead.append((time.monotonic(), 0, bury))
            case OutcomesKept(message_id, worker, outcomes):
                log.info("outcomes of a worker that ends, to be booked: %d", len(outcomes), extra={"worker_id": worker})
                kept = {Held(one.run.id, one.run.token): one for one in outcomes}
                self._kept |= kept
                self._book_at = 0.0
                self._parcels[message_id] = set(kept)
            case Stop(patience=patience):
                self._patience = max(patience, PATIENCE)
                return True
            case None:
                return True
            case _:
                pass
        return False

    def _step(self) -> bool:
        """Do what is due; return whether the store answered. Outcomes first: what has ended is not lost."""
        moment = time.monotonic()
        if self._kept and self._book_at <= moment and not self._try(self._book_kept):
            return False
        if any(at <= moment for at, _, _ in self._dead) and not self._try(self._bury_due):
            return False
        return moment < self._renew_at or self._try(self._renew)

    def _try(self, step: Callable[[], None]) -> bool:
        """Take a step that asks the store; return whether that answered."""
        try:
            step()
            if self._failing:
                self._failing = False
                log.info("the keeper goes on")
            return True
        except StoreUnavailable as error:
            if not self._failing:
                log.warning("the keeper waits: %s", error)
            self._failing = True
            return False
        except StoreError:
            log.exception("the keeper could not do its work, and tries again")
            time.sleep(0.5)
            return True

    def _renew(self) -> None:
        """Children renew their own leases; here only those are left that they did not get to, and those of outcomes
        that are not booked yet."""
        began = time.monotonic()
        running = set(running_of([child.pid for child in self._children]))
        living = [child for child in self._children if child.pid in running]
        leases = self._silent(self._store.runs.leases_of([child.worker for child in living]) if living else [])
        # A lock may hold up the booking of those that are kept for longer than a lease.
        leases = list(dict.fromkeys([*leases, *self._kept]))
        now = self._store.clock.now()
        if leases:
            self._store.runs.renew(leases, now=now, lease_until=now + self._lease)
        if living and time.monotonic() - self._seen_at >= BEAT:
            self._store.workers.see([child.worker for child in living], now)
            self._seen_at = time.monotonic()
            if self._seen_at - self._measured_at >= self._measure_pace:
                follow_time(self._store)
                self._measured_at = self._seen_at
        self._renew_at = began + self._pace

    def _silent(self, leases: Sequence[Lease]) -> list[Held]:
        """Leases that stayed as they are for longer than a child takes to renew them, whatever the clock says."""
        moment, before = time.monotonic(), self._seen
        self._seen = {}
        for run_id, token, until, _ in leases:
            lease, since = before.get(run_id, (None, moment))
            as_now = (token, until)
            self._seen[run_id] = (as_now, since if lease == as_now else moment)
        limit = self._lease.total_seconds() / RENEWALS_PER_LEASE
        return [Held(run_id, lease[0]) for run_id, (lease, since) in self._seen.items() if moment - since >= limit]

    # Outcomes of workers that are gone

    def _book_kept(self) -> None:
        """Book outcomes as the worker would have: each under its own token, with what its handler reported last."""
        if not self._kept:
            return
        self._publisher.poll()
        held_up: set[Held] = set()
        while len(held_up) < len(self._kept):
            batch: dict[str, KeptOutcome] = {}
            for held, kept in self._kept.items():
                if len(batch) < BATCH and held not in held_up:
                    batch.setdefault(held.run_id, kept)  # a second outcome of a run, under another lease, comes later
            held_up.update(self._book(list(batch.values())))
            if held_up:  # burials and renewals must not wait for the locks of the next batch
                break
        for held in held_up:
            self._kept[held] = self._kept.pop(held)  # behind the others
        self._book_at = time.monotonic() + LOCKED_PACE if len(held_up) == len(self._kept) else 0.0

    def _book(self, batch: Sequence[KeptOutcome]) -> list[Held]:
        """Book outcomes; those that locks hold up."""
        self._report(batch)
        pairs = [(kept.run, kept.change) for kept in batch]
        self._booking.doubt(pairs)
        written, left = self._booking.book_unheld(pairs)
        superseded = len(batch) - len(written) - len(left)
        log.info("outcomes of workers that are gone: %d booked, %d superseded", len(written), superseded)
        if written and (self._queue is None or not self._queue.announce_all(waiting_again(written))):
            self._store.wake()
        held_up = [Held(run.id, run.token) for run, _ in left]
        self._settle([held for kept in batch if (held := Held(kept.run.id, kept.run.token)) not in held_up])
        return held_up

    def _report(self, batch: Sequence[KeptOutcome]) -> None:
        """Write what handlers reported last. Rather unreported than unbooked."""
        lines = [(kept.run.token, line) for kept in batch for line in kept.lines]
        try:
            for kept in batch:
                if kept.progress is not None:
                    self._store.runs.set_progress(Held(kept.run.id, kept.run.token), kept.progress)
            if lines:
                self._store.logs.add(lines)
        except StoreUnavailable:
            raise
        except StoreError:
            log.exception("what %d runs reported last could not be written", len(batch))

    def _settle(self, done: Sequence[Held]) -> None:
        for held in done:
            del self._kept[held]
        for left in self._parcels.values():
            left.difference_update(done)
        settled = [message_id for message_id, left in self._parcels.items() if not left]
        for message_id in settled:
            del self._parcels[message_id]
        if settled:
            self._pipe.send(OutcomesSettled(settled))

    # Dead workers

    def _bury_due(self) -> None:
        moment = time.monotonic()
        for entry in [entry for entry in self._dead if entry[0] <= moment]:
            _, turn, bury = entry
            done = self._bury(bury, last=turn >= len(AGAIN))
            self._dead.remove(entry)
            if not done:
                self._dead.append((moment + LOCKED_PACE, turn, bury))
            elif turn < len(AGAIN):
                self._dead.append((moment + AGAIN[turn], turn + 1, bury))

    def _bury(self, bury: Bury, *, last: bool = False) -> bool:
        """Give back what a dead worker held; return whether no lock holds up any of it."""
        now = self._store.clock.now()
        self._publisher.poll()
        held = [run for run in self._store.runs.held_by(bury.worker) if Held(run.id, run.token) not in self._kept]
        decided = [(run, self._decide(run, bury, now)) for run in held]
        # A worker that was asked to stop is not lost.
        written, left = self._booking.book_unheld(decided, lost=bury.verdict is not DeathVerdict.HANDED_BACK)
        self._store.workers.remove([bury.worker])
        if written:
            if self._queue is None or not self._queue.announce_all(change.after(run) for run, change in written):
                self._store.wake()
            count = len(written)
            log.warning("worker %s; given back of what it held: %d", bury.how, count, extra={"worker_id": bury.worker})
        if left:
            return False
        if last and bury.verdict is not DeathVerdict.HANDED_BACK:  # those whose runs it held know already
            self._publisher.missing([bury.worker], now)
        return True

    def _decide(self, run: Run, bury: Bury, now: datetime) -> Transition:
        retry = self._retry_of(run, bury)
        return burial(run, bury, now, keep=self._booking.keep, job_retry=retry, randomness=self._random)

    def _retry_of(self, run: Run, bury: Bury) -> Retry | None:
        """Asked for only where a retry is to be decided upon."""
        if run.id not in bury.timed_out:
            return None
        job = stored_job(self._store, run.tenant, run.job, self._tenant)
        return None if job is None else job.retry

    def _end(self) -> None:
        """Book and give back what is left, while there is time. Other runs are left to their leases, and the log names
        those whose results are dropped."""
        while self._pipe.waits() and not self._receive():
            pass
        end, self._renew_at = time.monotonic() + self._patience, math.inf
        self._dead = [(0.0, len(AGAIN), bury) for _, _, bury in self._dead]
        while (self._kept or self._dead) and time.monotonic() < end:
            pause = self._pause_after(self._step())
            if pause > 0 and self._pipe.waits(pause) and self._is_hurried():
                break
        log_dropped((kept.run, kept.change) for kept in self._kept.values())
        self._settle(list(self._kept))

    def _pause_after(self, answered: bool) -> float:
        """Seconds until the next step at the end: some, if the store is away, or locks hold up all that is left."""
        if not answered:
            return self._again_after
        due = min([*(at for at, _, _ in self._dead), *([self._book_at] if self._kept else [])], default=0.0)
        return due - time.monotonic()

    def _is_hurried(self) -> bool:
        """Whether there is no time left; the supervisor says so."""
        match self._pipe.receive():
            case Stop(at_once):
                return at_once
            case None:  # it is gone, and cannot hurry anybody
                time.sleep(self._again_after)
            case _:
                pass
        return False
