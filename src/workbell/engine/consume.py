"""Consumer: claims runs under a lease, as many as will soon be executed, and puts them into the slots."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any, Protocol

from workbell.claims.claiming import Claimant, Claims
from workbell.engine.claim_hints import ClaimHints
from workbell.engine.duty import Waker
from workbell.engine.execute import book_safely
from workbell.engine.finish import FEW_UNBOOKED, Finish
from workbell.engine.hand_back import paused
from workbell.engine.held_runs import HeldRuns
from workbell.engine.prefetch import AHEAD_SECONDS, Prefetch
from workbell.engine.work import Work
from workbell.errors import StoreError
from workbell.handlers.definitions import Definitions
from workbell.handlers.job_function import JobFunction
from workbell.handlers.registry import Registry
from workbell.model import state
from workbell.model.job import EVERYWHERE
from workbell.model.limit import Limit
from workbell.model.run import Lane, Run, Status
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.scheduling.rule import judge_start
from workbell.stores.port import Held, Store

log = logging.getLogger("workbell.engine")

QUIET = 0.005  # seconds without a run, after which the next one comes alone
STRAYS = 100  # read and given back in one go: each has its input, of up to 256 KiB
AFTER_GUESS = 0.002  # seconds until the survey that follows a guess: the handlers begin first


class OnClaim(Enum):
    """What is done with runs that a claim has just taken. A stop sets KEEP, then LEAVE before it calls `take_back`."""

    EXECUTE = auto()
    KEEP = auto()  # in no slot: `take_back` has them
    LEAVE = auto()  # given back as strays


class Slots(Protocol):
    """Executors of claimed works."""

    def put(self, works: Sequence[Work]) -> None: ...


class Consume:
    """Fills the slots with runs under leases of ours: claim → held → published as started → executors."""

    def __init__(
        self,
        store: Store,
        booking: Booking,
        claims: Claims,
        registry: Registry,
        claimant: Claimant,
        held: HeldRuns,
        executors: Slots,
        finish: Finish,
        *,
        concurrency: int,
        poll: float,
        apart: bool = False,
        hints: ClaimHints | None = None,
        permits: Waker | None = None,
        take: Callable[[Claimant, Sequence[str], datetime], list[Run]] | None = None,
        definitions: Definitions | None = None,
    ) -> None:
        """`permits` and `take` are given where a queue announces runs: the one wakes the receiver of those, when slots
        are free, the other claims runs that they name."""
        self._store = store
        self._booking = booking
        self._claims = claims
        self._registry = registry
        self._clock = store.clock
        self._claimant = claimant
        self._lease = claimant.lease.total_seconds()
        self._held = held
        self._executors = executors
        self._finish = finish
        self._concurrency = concurrency
        self._poll = poll
        self._hints = hints or ClaimHints()
        self._permits = permits
        self._take = take
        self._backlog = True  # more may be queued than was claimed here
        self._poll_at = 0.0  # monotonic: when the store is read though nothing was announced
        self._definitions = definitions
        self._apart = apart  # suspects get a process of their own; else they wait until all slots are empty
        self._suspects: deque[Work] = deque()
        self._alone: Work | None = None  # the suspect that is being executed
        self._prefetch = Prefetch(concurrency, self._clock.monotonic())
        self.on_claim = OnClaim.EXECUTE

    @property
    def room(self) -> int:
        """How many slots are free for runs that are not claimed or permitted yet."""
        free = self._concurrency - len(self._held) + self._finish.size - self._hints.pending
        return 0 if self._held.drained else max(free, 0)

    def step(self, now: datetime) -> float | None:
        if self.on_claim is not OnClaim.EXECUTE:
            return None
        self._held.claiming = True  # before reading whether we are drained
        try:
            return self._step(now)
        finally:
            self._held.claiming = False

    def _step(self, now: datetime) -> float | None:
        if self._held.unsure:
            self._release_strays(now)
        if self._held.drained:
            self._release_suspects(list(self._suspects))
            self._backlog = True
            return None  # woken when it may go on; what else has not begun is handed back
        if self._alone is not None and self._held.has(self._alone):
            return None  # nothing beside it; woken when it is booked
        if self._suspects:
            return self._run_alone()
        unbooked = len(self._finish.waiting)
        if unbooked >= FEW_UNBOOKED and self._finish.is_full():
            return None  # woken when some are booked
        moment = self._clock.monotonic()
        valid_until = self._clock.boottime() + self._lease  # before the claim: a lease is not longer than that
        idle = not self._held.by_id and moment - self._held.removed_at > AHEAD_SECONDS
        starved = len(self._held.by_id) == unbooked
        refill_at = self._prefetch.plan(self._held.removed + unbooked, moment, idle=idle, starved=starved)
        self._held.refill_at = refill_at  # before counting: an outcome that comes later wakes us
        held = len(self._held.by_id)  # before the outcomes: one that is booked in between is counted as executing
        executing = held - len(self._finish.waiting)
        if executing > refill_at:
            return None
        want = self._concurrency + self._prefetch.ahead - executing
        received = self._hints.take()
        # That a run has ended is no reason to claim, unless there was more than could be taken.
        is_due = received.hinted or received.permits or self._backlog or moment >= self._poll_at
        if not is_due and (self._permits is not None or self._claims.exhausted):
            return self._poll_at - moment
        if received.hinted:  # soon after the end of a run it is, on SQLite, probably our own commit
            lone = not self._held.by_id and moment - self._held.removed_at > QUIET
            self._claims.forget_survey(lone=lone)
        # Runs of limited jobs are claimed only if they begin at once: one that waits here counts against the limit, and
        # another worker could run it. But while short runs are claimed ahead all the time, no slot would ever be free:
        # then as many as the slots will execute in `AHEAD_SECONDS`.
        slots = free = self._concurrency - executing
        if moment - self._held.removed_at <= AHEAD_SECONDS:
            slots = max(slots, min(self._prefetch.ahead, self._concurrency))
        # With more free slots than permits nobody waits because of these runs: no choice must be made.
        named = received.runs if 0 < len(received.permits) < free and not self._backlog else []
        find = self._registry.find
        try:
            if named and self._take is not None and moment < self._poll_at:
                runs = self._take(self._claimant, named, now)
                self._backlog = len(runs) < len(named)  # others have them, or they are for the fair choice
            else:
                runs = self._claims.claim(self._claimant, want, now, max(slots, 0))
                self._backlog = bool(runs) and not self._claims.exhausted
                if self._claims.exhausted:
                    self._poll_at = moment + self._until_free(now, moment)
            # All before the first is held: definitions may have to be read, and what is held must be executed.
            jobs = [find(run.lane.job) or self._registry.find_for(run.lane.tenant, run.lane.job) for run in runs]
        except Exception:  # whatever it was, the claim may have been written
            self._held.unsure = self._backlog = True
            raise
        wait = self._receive(runs, jobs, moment, valid_until, now)
        if self._permits is not None and self._hints.settle():
            self._permits.wake()
        return wait

    def _receive(
        self,
        runs: Sequence[Run],
        jobs: Sequence[JobFunction[Any, Any] | None],
        moment: float,
        valid_until: float,
        now: datetime,
    ) -> float:
        """Put claimed runs into the slots, each with its job; the seconds until the next claim."""
        if not runs:
            if self._backlog:
                return 0
            wait = self._until_free(now, moment)
            self._poll_at = moment + wait
            return wait
        if self._held.drained or self.on_claim is OnClaim.LEAVE:  # meanwhile
            self._held.unsure = True  # given back as strays, none of which has begun
            return 0
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%d runs claimed", len(runs), extra={"worker_id": self._claimant.worker})
        works: list[Work] = []
        for run, job in zip(runs, jobs, strict=True):
            if job is None:  # its file or definition is gone at this very moment: a stray, and given back as such
                self._held.unsure = True
                continue
            apart = run.suspect and self._apart
            work = Work(run, job, apart=apart, claimed=moment, valid_until=valid_until)
            self._held.add(work)
            if run.options_text is not None and (outcome := judge_start(run, now)) is not None:
                book_safely(self._finish.put, work, outcome)  # not told as started: its handler is not called
                continue
            # A crash of an isolated handler does not end the worker.
            waits = (run.suspect and not work.isolated) or self.on_claim is not OnClaim.EXECUTE
            (self._suspects if waits else works).append(work)
        if works:
            self._deliver(works)
        if self._suspects or self._held.unsure:
            return 0
        if self._backlog:
            return AFTER_GUESS if self._claims.guessed else 0
        return max(self._poll_at - moment, 0)

    def _deliver(self, works: Sequence[Work]) -> None:
        runs = [work.run for work in works]
        publisher = self._booking.publisher
        publisher.claimed(runs)  # first: listeners get the start before the end
        self._executors.put(works)
        publisher.started(runs)

    def _until_free(self, now: datetime, moment: float) -> float:
        """Nothing to claim: until the next poll, or until a rate lets the next run start, or definitions are read that
        were read before this claim: a hint about a new one would be lost."""
        wait, free_at = self._poll, self._claims.free_at
        if free_at is not None:
            wait = min(wait, max((free_at - now).total_seconds(), 0.001))
        recheck = None if self._definitions is None else self._definitions.recheck_in(moment)
        return wait if recheck is None else min(wait, recheck)

    def _run_alone(self) -> float | None:
        """A suspect (a run whose worker crashed before) is executed with nothing beside it, and marked so."""
        if len(self._held) > len(self._suspects):
            return None  # wait until all slots are empty
        work = self._suspects[0]
        if paused(self._store)(work.run.lane):
            self._release_suspects([work])
            return 0
        marked = self._store.runs.mark_alone(work.held)
        if marked and (self._held.drained or self.on_claim is not OnClaim.EXECUTE):  # meanwhile
            return 0  # it is given back
        self._suspects.popleft()
        if not marked:  # its lease is lost
            self._held.discard(work)
            return 0
        self._alone = work
        self._deliver([work])
        return None

    def _release_suspects(self, works: Sequence[Work]) -> None:
        """Hand back suspects that have not begun."""
        if works:
            now = self._clock.now()
            self._booking.book([(work.run, state.release(work.run, now)) for work in works])
        for work in works:
            self._suspects.remove(work)
            self._held.discard(work)

    def _release_strays(self, now: datetime) -> None:
        """Strays: runs that are ours in the store only; the answer to their claim was lost, or we dropped them."""
        dropped = self._held.take_dropped()  # before reading
        try:
            # Leases first: what we do hold, with its input, is not read again.
            ours = self._store.runs.leases_of([self._claimant.worker])
            strays = {lease.run_id: lease.token for lease in ours if lease.run_id not in self._held.by_id}
            ids = list(strays)
            for start in range(0, len(ids), STRAYS):
                found = self._store.runs.find(ids[start:][:STRAYS])
                runs = [run for run in found.values() if run.token == strays[run.id]]
                given_up = [(run, Held(run.id, run.token) in dropped) for run in runs if run.status is Status.RUNNING]
                self._booking.book([(run, self._given_up(run, now, begun)) for run, begun in given_up])
        except BaseException:
            self._held.put_dropped(dropped)
            raise
        if strays:
            self._backlog = True
            log.info("handed back of what was claimed and is not held here: %d", len(strays))

    def give_back_strays(self) -> bool:
        """When the worker stops: give back what a claim took whose answer came late, or never.

        Returns False if the store did not answer.
        """
        if self._held.unsure:
            try:
                self._release_strays(self._clock.now())
            except StoreError as error:
                log.warning("what was claimed last could not be handed back: %s", error)
                return False
        return True

    def take_back(self) -> list[Work]:
        """What was claimed and is in no slot, when the worker stops."""
        taken = list(self._suspects)
        self._suspects.clear()
        return taken

    def _given_up(self, run: Run, now: datetime, begun: bool) -> Transition:
        if not begun:
            return state.release(run, now)
        keep = state.retention_of(run, self._booking.keep).other
        return state.lose(run, now, keep=keep, blamed=False, how="could not book what came of it")


def serves(registry: Registry, queues: Sequence[str] | None) -> Callable[[Lane], bool]:
    """Whether this worker takes runs of a lane: it has the job's code, and serves the queue. Targets are agents'."""
    return lambda lane: (
        lane.target is None
        and (queues is None or lane.queue in queues or lane.job in EVERYWHERE)
        and (lane.job in registry or registry.find_for(lane.tenant, lane.job) is not None)
    )


def limits(registry: Registry) -> Callable[[Lane], Sequence[Limit]]:
    """Limits of a lane, by the job that this worker knows."""

    def of(lane: Lane) -> Sequence[Limit]:
        job = registry.find_for(lane.tenant, lane.job)
        return () if job is None else job.limits_of(lane)

    return of
