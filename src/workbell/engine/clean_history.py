"""Clean: what is kept no longer is removed by the system job `clean-history`, whose runs say how much (B7).

A scheduler does the work itself, so it needs no worker, and no pause of a queue or a job holds it up. The key of a run
names the run before: of any number of schedulers one makes the next, each by its own pace. It is under a lease as any
run, and if its process dies, another scheduler takes it up.
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
from workbell.model.keys import KeyScope, stored_key
from workbell.model.payload import clean_text
from workbell.model.run import Lane, NewRun, Options, Run, Status
from workbell.runs.booking import Booking
from workbell.stores.port import Filter, Held, Pick, Store

log = logging.getLogger("workbell.engine")

BATCH = 1000
PAUSE = 0.05  # seconds between two batches: others want to write as well
SETTLE = 60.0  # seconds from a start to the first look: a process that lives for a moment has better things to do
WORKERS = timedelta(days=1)  # for which a lost worker is still shown
KEPT = 168  # of its own runs: a week of hourly ones
LONGEST = timedelta(days=30)  # that one of them is kept
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
        self._look_at: datetime | None = None
        self._run: Run | None = None  # that is under way here
        self._renewed_at: datetime | None = None
        self._removed: Counter[str] = Counter()

    def step(self, now: datetime) -> float:
        """Begin, or go on with, what is due; the answer is how long until the next step."""
        if self._look_at is None:
            self._look_at = now + min(self._every, timedelta(seconds=SETTLE))
        if self._run is None:
            if self._look_at <= now:
                self._take(now)
            if self._run is None:
                return max((self._look_at - now).total_seconds(), 0.0)
        if not self._renew(self._run, now):
            return 0
        try:
            if remove(self._store, now, self._removed):
                return PAUSE
        except StoreUnavailable:
            raise
        except StoreError as error:
            log.error("history cannot be cleaned: %s", error)
            failed = state.fail(self._run, now, error=clean_text(str(error)), reason="error", keep=self._kept)
            self._end(failed)
            return 0
        result = msgspec.json.encode(dict(self._removed)).decode()
        self._end(state.succeed(self._run, now, result=result, keep=self._kept))
        return 0

    @property
    def _kept(self) -> timedelta:
        """However often it runs, as many of its runs are kept: they must not fill the history that they clean."""
        return min(KEPT * self._every, LONGEST)

    def _take(self, now: datetime) -> None:
        """Make the run if its time has come, and have it, unless another scheduler has."""
        self._look_at = now + min(self._every, timedelta(seconds=SETTLE))
        found = self._newest()
        if found is None or found.status.final:
            if found is not None and now < found.created_at + self._every:
                self._look_at = found.created_at + self._every
                return
            self._store.jobs.put([clean_job(self._lane.tenant, now)])
            self._store.runs.add([self._request(now, found)])
            found = self._newest()
        if found is not None and found.status is Status.QUEUED:
            picks = [Pick(self._lane.id, found.rank, 1)]
            until = now + self._lease
            taken = self._store.runs.claim(picks, 1, worker=self._worker, now=now, lease_until=until)
            self._run, self._removed, self._renewed_at = (taken[0] if taken else None), Counter(), now

    def _newest(self) -> Run | None:
        found = self._store.runs.list(Filter(self._lane.tenant, job=CLEAN, queue=QUEUE, limit=1))
        return found[0] if found else None

    def _request(self, now: datetime, before: Run | None) -> NewRun:
        key = "clean" if before is None else f"clean after {before.id}"
        options = Options(remove_delay=self._kept.total_seconds())
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
        """Keep the lease; without it, whoever has it goes on."""
        if self._renewed_at is None or now - self._renewed_at < self._lease / 3:
            return True
        renewed = self._store.runs.renew([Held(run.id, run.token)], now=now, lease_until=now + self._lease)
        if not renewed:
            self._run = None
            return False
        if renewed[0].cancel_reason is not None:
            self._end(state.cancel(run, now, reason=renewed[0].cancel_reason, keep=self._kept))
            return False
        self._renewed_at = now
        return True

    def hand_back(self, now: datetime) -> None:
        """At a stop: the run that is under way here waits for another scheduler, as if nobody had begun it."""
        if self._run is not None:
            self._booking.book([(self._run, state.release(self._run, now))])
            self._run = None

    def _end(self, change: state.Transition) -> None:
        assert self._run is not None
        self._booking.book([(self._run, change)])
        self._look_at = self._run.created_at + self._every
        self._run = None


def remove(store: Store, now: datetime, removed: Counter[str]) -> bool:
    """Remove a batch of what is over, and note how much of each kind; whether there may be more."""
    if store.prune(now, BATCH, removed) >= BATCH:
        return True
    lost = [worker.id for worker in store.workers.list() if now - worker.seen_at > WORKERS]
    if lost:
        store.workers.remove(lost)
        removed["workers"] += len(lost)
    return False


def clean_job(tenant: str, now: datetime) -> Job:
    """Its definition, for people to see."""
    return Job(
        id=new_id(),
        name=CLEAN,
        handler=f"workbell:{CLEAN}",
        tenant=tenant,
        queue=QUEUE,
        description="Removes runs, events and notifications that are kept no longer.",
        created_at=now,
        updated_at=now,
    )
