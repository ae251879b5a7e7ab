"""Consume: claim runs under a lease, as many as will soon be worked on, and hand them to the slots."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime

from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.hand_back import paused
from workbell.engine.work import Work
from workbell.handlers.registry import Registry
from workbell.model import state
from workbell.model.clock import Clock
from workbell.model.job import EVERYWHERE
from workbell.model.limit import Limit
from workbell.model.run import Lane, Run
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.stores.port import Held, Store

log = logging.getLogger("workbell.engine")

MOST_AHEAD = 1000  # claimed beyond what is executing, at the most
AHEAD_SECONDS = 0.1  # no more than what will be worked off in this time
MOST_UNBOOKED = 4000


class Consume:
    """Fills the worker's hands. `held` is what it holds leases of, by run id."""

    def __init__(
        self,
        store: Store,
        booking: Booking,
        claims: FairClaims,
        registry: Registry,
        clock: Clock,
        claimant: Claimant,
        *,
        concurrency: int,
        poll: float,
        deliver: Callable[[Sequence[Work]], None],
        unbooked: Callable[[], int],
        apart: bool = False,
        drained: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._booking = booking
        self._claims = claims
        self._registry = registry
        self._clock = clock
        self._claimant = claimant
        self._lease = claimant.lease.total_seconds()
        self._concurrency = concurrency
        self._poll = poll
        self._deliver = deliver
        self._unbooked = unbooked
        self._apart = apart  # suspects get a process of their own; else they wait until our hands are empty
        self._drained = drained
        self.held: dict[str, Work] = {}
        self._suspects: deque[Work] = deque()
        self._alone: Work | None = None  # the suspect that is being executed
        self._unsure = False  # the store may say that we hold what we do not
        self._stepping = False
        self._dropped: set[Held] = set()  # what we have begun, and let go of unbooked
        self._rate = 0.0
        self._booked = 0
        self._measured_at = self._booked_at = clock.monotonic()

    def note_booked(self, works: Sequence[Work]) -> None:
        """These are off our hands."""
        for work in works:
            # A run that we lost may have come back to us: then it is the new lease that is held.
            if self.held.get(work.run.id) is work:
                del self.held[work.run.id]
        self._booked += len(works)
        self._booked_at = self._clock.monotonic()

    def note_dropped(self, works: Sequence[Work]) -> None:
        """These are off our hands and were not booked: the store may still have them as ours, and a keeper of leases
        would keep them so."""
        self.note_booked(works)
        self._dropped |= {work.held for work in works}
        self._unsure = True

    def is_quiet(self) -> bool:
        """Whether nothing of ours will begin. Once that is so of a drained worker, it stays so.

        Asked after `drained` says yes: a step that has not seen that is still under way, a later one delivers nothing.
        """
        return not self._stepping and all(work.started_at or work.settled for work in list(self.held.values()))

    @property
    def room(self) -> int:
        """How many hands are free for runs that are not claimed yet."""
        return 0 if self._drained() else max(self._concurrency - len(self.held) + self._unbooked(), 0)

    def step(self, now: datetime) -> float | None:
        self._stepping = True  # before the look whether we are drained
        try:
            return self._step(now)
        finally:
            self._stepping = False

    def _step(self, now: datetime) -> float | None:
        if self._unsure:
            self._release_strays(now)
        if self._drained():
            self._release_suspects(list(self._suspects))
            return None  # woken when it may go on; what else has not begun is held back
        if self._alone is not None and self.held.get(self._alone.run.id) is self._alone:
            return None  # nothing beside it; woken when it is booked
        if self._suspects:
            return self._run_alone()
        unbooked = self._unbooked()
        if unbooked >= MOST_UNBOOKED:
            return None  # woken when some are booked
        ahead = self._ahead()
        in_hand = len(self.held) - unbooked
        want = self._concurrency + ahead - in_hand
        if want <= 0 or (ahead and want < ahead // 2):
            return None  # a worthwhile batch later is better than a trickle now; every booking wakes us
        moment = self._clock.monotonic()  # before the claim: a lease is not longer than that
        try:
            runs = self._claims.claim(self._claimant, want, now, self._slots(in_hand, ahead))
        except Exception:  # whatever it was, the claim may have been written
            self._unsure = True
            raise
        if not runs:
            return self._until_free(now)
        if self._drained():  # meanwhile
            self._unsure = True  # given back as strays, none of which has begun
            return 0
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%d runs claimed, %d wanted", len(runs), want, extra={"worker_id": self._claimant.worker})
        works: list[Work] = []
        for run in runs:
            job = self._registry.find(run.job)
            if job is None:  # its file was removed at this very moment: a stray, and given back as such
                self._unsure = True
                continue
            apart = run.suspect and self._apart
            work = Work(run, job, apart=apart, claimed=moment, valid_until=moment + self._lease)
            before = self.held.get(run.id)
            if before is not None:  # an earlier lease of ours, lost meanwhile
                before.lost = True
            self.held[run.id] = work
            # One in a process of its own can take nobody with it.
            (self._suspects if run.suspect and not work.isolated else works).append(work)
        if works:
            self._deliver(works)
        return 0

    def _ahead(self) -> int:
        """How many runs to hold beyond those executing: what a tenth of a second works off, measured."""
        now = self._clock.monotonic()
        passed = now - self._measured_at
        if passed >= 0.02:
            self._rate = 0.5 * self._rate + 0.5 * self._booked / passed
            self._booked = 0
            self._measured_at = now
        return min(MOST_AHEAD, int(self._rate * AHEAD_SECONDS))

    def _slots(self, in_hand: int, ahead: int) -> int:
        """How many runs of limited jobs may be claimed: those that will begin at once.

        One that waits here takes a place that another worker could use. But while short runs are claimed ahead all the
        time, no slot would ever be found free: then as many as the slots will work off in a moment.
        """
        free = self._concurrency - in_hand
        if self._clock.monotonic() - self._booked_at <= AHEAD_SECONDS:
            free = max(free, min(ahead, self._concurrency))
        return max(free, 0)

    def _until_free(self, now: datetime) -> float:
        """Nothing to claim: until the next poll, or until a rate lets the next run start."""
        free_at = self._claims.free_at
        if free_at is None:
            return self._poll
        return min(self._poll, max((free_at - now).total_seconds(), 0.001))

    def _run_alone(self) -> float | None:
        """A run that took workers down with it before is executed with nothing beside it, and marked so."""
        if len(self.held) > len(self._suspects):
            return None  # wait until our hands are empty of everything else
        work = self._suspects[0]
        if paused(self._store)(work.run.lane):
            self._release_suspects([work])
            return 0
        marked = self._store.runs.mark_alone(work.held)
        if marked and self._drained():  # meanwhile
            return 0  # it is given back
        self._suspects.popleft()
        if not marked:  # its lease is lost
            self.held.pop(work.run.id, None)
            return 0
        self._alone = work
        self._deliver([work])
        return None

    def _release_suspects(self, works: Sequence[Work]) -> None:
        """These have not begun: whoever may begin them takes them."""
        if works:
            now = self._clock.now()
            self._booking.book([(work.run, state.release(work.run, now)) for work in works])
        for work in works:
            self._suspects.remove(work)
            self.held.pop(work.run.id, None)

    def _release_strays(self, now: datetime) -> None:
        """Runs that the store says we hold and we do not: their claim never reached us, or we let go of them."""
        # Before looking: what is dropped from now on is looked for the next time.
        self._unsure, dropped, self._dropped = False, self._dropped, set()
        try:
            strays = [run for run in self._store.runs.held_by(self._claimant.worker) if run.id not in self.held]
            self._booking.book([(run, self._given_up(run, now, Held(run.id, run.token) in dropped)) for run in strays])
        except BaseException:
            self._dropped |= dropped
            self._unsure = True
            raise
        if strays:
            log.info("handed back of what was claimed and is not in our hands: %d", len(strays))

    def take_back(self) -> list[Work]:
        """Suspects that have not begun, when the worker stops."""
        taken = list(self._suspects)
        self._suspects.clear()
        return taken

    def _given_up(self, run: Run, now: datetime, begun: bool) -> Transition:
        if not begun:
            return state.release(run, now)
        keep = state.kept(run, self._booking.keep).other
        return state.lose(run, now, keep=keep, blamed=False, how="could not book what came of it")


def serves(registry: Registry, queues: Sequence[str] | None) -> Callable[[Lane], bool]:
    """Whether this worker takes runs of a lane: it knows the job, and serves the queue. Targets are agents' lanes."""
    return lambda lane: (
        lane.job in registry
        and lane.target is None
        and (queues is None or lane.queue in queues or lane.job in EVERYWHERE)
    )


def limits(registry: Registry) -> Callable[[Lane], Sequence[Limit]]:
    """What the jobs of this worker are limited by."""

    def of(lane: Lane) -> Sequence[Limit]:
        job = registry.find(lane.job)
        return () if job is None else job.limits_of(lane)

    return of
