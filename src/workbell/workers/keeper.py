"""The keeper: renews the leases of living children, whatever they are doing, and gives back what dead ones held.

A handler that holds the interpreter lock stops its own process from renewing anything. The keeper is another process,
which runs no handler. It renews nothing for a child that is stopped: that one may never go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from workbell.engine.renew import RENEWALS_PER_LEASE
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
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.measuring import follow_time
from workbell.stores.opening import open_store
from workbell.stores.port import Held
from workbell.workers.messages import Bury, DeathVerdict, KeepLeases, LeasesKept, Stop, StoreNamed
from workbell.workers.pipe import Pipe
from workbell.workers.reclaim import burial

log = logging.getLogger("workbell.workers")

AGAIN = (0.5, 2.0, 5.0)  # a dead worker's claim may be committed after our read: read again after these seconds
PATIENCE = 2.0  # at the end, for what could not be given back yet


class Keeper:
    def __init__(self, store: StoreNamed, pipe: Pipe) -> None:
        keep = Retention(timedelta(seconds=store.keep_succeeded), timedelta(seconds=store.keep_other))
        self._store = open_store(store.url, keep, connections=1)
        self._queue = open_beside(store.queue_url, self._store)
        self._lease = timedelta(seconds=store.lease)
        self._pace = min(store.lease / 6, BEAT / 2)
        self._pipe = pipe
        self._children: list[LeasesKept] = []
        self._dead: list[tuple[float, int, Bury]] = []  # when to read, how often it was read, which worker
        self._random = Random()
        self._tenant = store.tenant
        alerting = Alerting(lambda: self._store, tenant=store.tenant)
        events = EventPublishing(Subscriptions(lambda: self._store), alerting, tenant=store.tenant)
        bus = Bus()
        bus.subscribe(log_runs, set(Move) - {Move.RELEASE})  # what had not begun is no news of a run
        self._publisher = RunPublisher(lambda: self._store, events, bus)
        self._booking = Booking(lambda: self._store, self._publisher, keep)
        self._seen_at = 0.0
        self._seen: dict[str, tuple[tuple[int, datetime | None], float]] = {}  # leases by run, and since when
        self._failing = False

    def run(self) -> None:
        """Until the supervisor says so, or is gone."""
        self._store.check()
        self._store.measure_time()
        stopping, renew_at = False, 0.0
        while not stopping:
            moment = time.monotonic()
            due = min([renew_at, *(at for at, _, _ in self._dead)])
            if self._pipe.waits(max(due - moment, 0)):
                stopping = self._receive()
                self._try(self._bury_due)
            moment = time.monotonic()
            if moment >= renew_at:
                self._try(self._renew)
                renew_at = moment + self._pace
            self._try(self._bury_due)
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
            case Stop() | None:
                return True
            case _:
                pass
        return False

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
            if self._failing:
                self._failing = False
                log.info("the keeper goes on")
        except StoreUnavailable as error:
            if not self._failing:
                log.warning("the keeper waits: %s", error)
            self._failing = True
            time.sleep(0.1)
        except StoreError:
            log.exception("the keeper could not do its work, and tries again")
            time.sleep(0.5)

    def _renew(self) -> None:
        """Children renew their own leases; here only those are left that they did not get to."""
        running = set(running_of([child.pid for child in self._children]))
        living = [child for child in self._children if child.pid in running]
        leases = self._silent([run for child in living for run in self._store.runs.held_by(child.worker)])
        now = self._store.clock.now()
        if leases:
            self._store.runs.renew(leases, now=now, lease_until=now + self._lease)
        if living and time.monotonic() - self._seen_at >= BEAT:
            self._store.workers.see([child.worker for child in living], now)
            follow_time(self._store)
            self._seen_at = time.monotonic()

    def _silent(self, held: list[Run]) -> list[Held]:
        """Leases that stayed as they are for longer than a child takes to renew them, whatever the clock says."""
        moment, before = time.monotonic(), self._seen
        self._seen = {}
        for run in held:
            lease, since = before.get(run.id, (None, moment))
            as_now = (run.token, run.lease_until)
            self._seen[run.id] = (as_now, since if lease == as_now else moment)
        limit = self._lease.total_seconds() / RENEWALS_PER_LEASE
        return [Held(run_id, lease[0]) for run_id, (lease, since) in self._seen.items() if moment - since >= limit]

    def _bury_due(self) -> None:
        moment = time.monotonic()
        for entry in [entry for entry in self._dead if entry[0] <= moment]:
            _, turn, bury = entry
            self._bury(bury, last=turn >= len(AGAIN))
            self._dead.remove(entry)
            if turn < len(AGAIN):
                self._dead.append((moment + AGAIN[turn], turn + 1, bury))

    def _bury(self, bury: Bury, *, last: bool = False) -> None:
        now = self._store.clock.now()
        self._publisher.poll()
        decided = [(run, self._decide(run, bury, now)) for run in self._store.runs.held_by(bury.worker)]
        # A worker that was asked to stop is not lost.
        written = self._booking.book(decided, lost=bury.verdict is not DeathVerdict.HANDED_BACK)
        self._store.workers.remove([bury.worker])
        if written:
            if self._queue is None or not self._queue.announce_all(change.after(run) for run, change in written):
                self._store.wake()
            count = len(written)
            log.warning("worker %s; given back of what it held: %d", bury.how, count, extra={"worker_id": bury.worker})
        if last and bury.verdict is not DeathVerdict.HANDED_BACK:  # those whose runs it held know already
            self._publisher.missing([bury.worker], now)

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
        """What is left to give back is given back now; what cannot be is left to the leases."""
        while self._pipe.waits() and not self._receive():
            pass
        end = time.monotonic() + PATIENCE
        self._dead = [(0.0, len(AGAIN), bury) for _, _, bury in self._dead]
        while self._dead and time.monotonic() < end:
            self._try(self._bury_due)
