"""Retention: the system job `clean-history` deletes finished runs and other rows that are past their time.

A scheduler does the work itself, so it needs no worker, and no pause of a queue or a job holds it up. The key of a run
names the run before: of any number of schedulers one makes the next, each at its own pace. It has a lease as any run,
and if its process dies, another scheduler takes it over.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime, timedelta

import msgspec

from workbell.errors import StoreError, StoreUnavailable
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.job import CLEAN, Job
from workbell.model.json_text import clean_text
from workbell.model.keys import KeyScope, stored_key
from workbell.model.run import Lane, NewRun, Options, Run, Status
from workbell.runs.booking import Booking
from workbell.stores.port import Filter, Held, LeaseTerms, Pick, Store

log = logging.getLogger("workbell.engine")

BATCH = 1000
PAUSE = 0.05  # seconds between two batches: others want to write as well
FIRST_CHECK = 60.0  # seconds from a start to the first check: a short-lived process does not clean
WORKERS = timedelta(days=1)  # for which a lost worker is still shown
MOST_RUNS = 168  # of its own that stay in the history: a week of hourly ones
LONGEST_RETENTION = timedelta(days=30)  # of one of its own runs
QUEUE = "system"
KEY_FOR = timedelta(hours=1)  # longer than another scheduler may need from reading the run before to making the next


class CleanHistory:
    def __init__(
        self, store: Store, booking: Booking, tenant: str, worker: str, every: float, lease: timedelta
    ) -> None:
        self._store = store
        self._booking = booking
        self._lane = Lane(tenant, QUEUE, CLEAN)
        self._worker = worker
        self._every = timedelta(seconds=every)
        self._lease = lease
        self._next_check_at: datetime | None = None
        self._run: Run | None = None  # in progress here
        self._renewed_at: datetime | None = None
        self._removed: Counter[str] = Counter()

    def step(self, now: datetime) -> float:
        """Start or continue a cleaning that is due; return the seconds until the next step."""
        if self._next_check_at is None:
            self._next_check_at = now + min(self._every, timedelta(seconds=FIRST_CHECK))
        if self._run is None:
            if self._next_check_at <= now:
                self._take(now)
            if self._run is None:
                return max((self._next_check_at - now).total_seconds(), 0.0)
        if not self._renew(self._run, now):
            return 0
        try:
            if remove(self._store, now, self._removed):
                return PAUSE
        except StoreUnavailable:
            raise
        except StoreError as error:
            log.error("history cannot be cleaned: %s", error)
            ended, text = self._store.clock.now(), clean_text(str(error))
            self._end(state.fail(self._run, ended, error=text, reason="error", keep=self._retention))
            return 0
        result = msgspec.json.encode(dict(self._removed)).decode()
        ended = self._store.clock.now()  # of a step that may have taken long
        self._end(state.succeed(self._run, ended, result=result, keep=self._retention))
        return 0

    def once(self, batches: int) -> int:
        """Clean now if it is due, some batches at most; how many rows were removed. For a process that does not last.

        What is left is handed back, and the next call, or a scheduler, goes on with it.
        """
        clock = self._store.clock
        self._next_check_at = clock.now()
        for _ in range(batches):
            self.step(clock.now())
            if self._run is None:
                break
        self.hand_back(clock.now())
        return self._removed.total()

    @property
    def _retention(self) -> timedelta:
        """Retention of its own runs: about `MOST_RUNS`, however often it runs, so that they do not fill the history."""
        return min(MOST_RUNS * self._every, LONGEST_RETENTION)

    def _take(self, now: datetime) -> None:
        """Create the run if it is due, and claim it, unless another scheduler has."""
        self._next_check_at = now + min(self._every, timedelta(seconds=FIRST_CHECK))
        found = self._newest()
        if found is None or found.status.final:
            due = (self._known_since(now) if found is None else found.created_at) + self._every
            if now < due:
                self._next_check_at = due
                return
            self._store.jobs.put([clean_job(self._lane.tenant, now)])
            self._store.runs.add([self._request(now, found)])
            found = self._newest()
        if found is not None and found.status is Status.QUEUED:
            picks = [Pick(self._lane.id, found.rank, 1)]
            until = now + self._lease
            taken = self._store.runs.claim(picks, 1, LeaseTerms.drawn(self._worker, now, until))
            self._run, self._removed, self._renewed_at = (taken[0] if taken else None), Counter(), now

    def _known_since(self, now: datetime) -> datetime:
        """When the first scheduler of this store noted the job. Until it has been there for a while there is nothing
        to remove, and somebody's first runs are their own."""
        known = self._store.jobs.find(self._lane.tenant, CLEAN)
        if known is None:
            self._store.jobs.put([clean_job(self._lane.tenant, now)])
            return now
        return known.created_at

    def _newest(self) -> Run | None:
        found = self._store.runs.list(Filter(self._lane.tenant, job=CLEAN, queue=QUEUE, limit=1))
        return found[0] if found else None

    def _request(self, now: datetime, before: Run | None) -> NewRun:
        key = "clean" if before is None else f"clean after {before.id}"
        options = Options(remove_delay=self._retention.total_seconds())
        run = Run(
            new_id(),
            self._lane,
            Status.QUEUED,
            0,
            now,
            now,
            now,
            options_text=msgspec.json.encode(options).decode(),
            key_text=stored_key(key, KeyScope.JOB, CLEAN),
        )
        return NewRun(run, key_span=KEY_FOR)

    def _renew(self, run: Run, now: datetime) -> bool:
        """Renew the lease; return False if it is lost (another scheduler continues) or the run was canceled."""
        if self._renewed_at is None or now - self._renewed_at < self._lease / 3:
            return True
        renewed = self._store.runs.renew([Held(run.id, run.token)], now=now, lease_until=now + self._lease)
        if not renewed:
            self._run = None
            return False
        if renewed[0].cancel_reason is not None:
            self._end(state.cancel(run, now, reason=renewed[0].cancel_reason, keep=self._retention))
            return False
        self._renewed_at = now
        return True

    def hand_back(self, now: datetime) -> None:
        """Hand the run in progress back at a stop: another scheduler claims it."""
        if self._run is not None:
            self._booking.book([(self._run, state.release(self._run, now))])
            self._run = None

    def _end(self, change: state.Transition) -> None:
        assert self._run is not None
        self._booking.book([(self._run, change)])
        self._next_check_at = self._run.created_at + self._every
        self._run = None


def remove(store: Store, now: datetime, removed: Counter[str]) -> bool:
    """Remove a batch of what is past its retention, and count it by kind; return whether there may be more."""
    if store.prune(now, BATCH, removed) >= BATCH:
        return True
    lost = [worker.id for worker in store.workers.list() if now - worker.seen_at > WORKERS]
    if lost:
        store.workers.remove(lost)
        removed["workers"] += len(lost)
    return False


def clean_job(tenant: str, now: datetime) -> Job:
    """Definition of the job `clean-history`, for lists of jobs."""
    return Job(
        id=new_id(),
        name=CLEAN,
        handler=f"workbell:{CLEAN}",
        tenant=tenant,
        queue=QUEUE,
        description="Removes runs, events and notifications that are past their retention.",
        created_at=now,
        updated_at=now,
    )
