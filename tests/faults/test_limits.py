"""Limits under stress: eight claimers at once, each with a store of its own, never exceed what was allowed.

The checker looks at what each of them held and when, and a witness counts in the store all the while. Nothing may
starve either: everything ends.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pytest

from workbell.app import open_store
from workbell.claims.claiming import Claimant, FairClaims
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.limit import NO_LIMITS, Limit, Limits, limits_on
from workbell.model.rate import Rate
from workbell.model.run import Lane, NewRun, Run, Status
from workbell.stores.port import Filter, Store

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
CLAIMERS = 8
SIZE = 20 if SOAK else 1
LEASE = timedelta(seconds=60)
KEYS = "abcde"
JOBS = {
    "pool": Limits(concurrency=3),
    "each": Limits(concurrency=1, concurrency_key="customer"),
    "paced": Limits(rate="8/s"),
    "both": Limits(concurrency=4, rate="3/s", rate_key="customer"),
    "free": NO_LIMITS,
}
COUNTS = {"pool": 60, "each": 50, "paced": 20, "both": 30, "free": 40}


class Hold(NamedTuple):
    """A claimer had a run from one moment to another, both well within its lease."""

    run: Run
    since: float
    until: float


class Stress:
    """What the claimers share."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.holds: list[Hold] = []
        self.left = 0
        self.errors: list[BaseException] = []
        self.changed = threading.Condition()
        self.seen: dict[str, int] = defaultdict(int)  # the most that the witness saw running

    def done(self) -> bool:
        return self.left <= 0 or bool(self.errors)


def scopes(run: Run) -> list[tuple[Limit, str]]:
    return [(limit, f"{limit.job}/{limit.key}") for limit in limits_on(JOBS[run.job], run.lane)]


def fill(store: Store, stress: Stress) -> None:
    now = store.clock.now()
    new = []
    for job, count in COUNTS.items():
        for number in range(count * SIZE):
            key = KEYS[number % len(KEYS)] if JOBS[job].key else None
            lane = Lane("default", f"q{number % 2}", job, None, key)
            new.append(NewRun(Run(new_id(), lane, Status.QUEUED, -(number % 3), now, now, now)))
    stress.random.shuffle(new)
    store.runs.add(new)
    stress.left = len(new)


def work(url: str, name: str, stress: Stress) -> None:
    """Claim, hold for a moment, and end or give back, until everything has ended."""
    dice = random.Random(name)
    store = open_store(url)
    try:
        claims = FairClaims(store, claims_per_survey=dice.choice([1, 5]))
        claimant = Claimant(name, LEASE, lambda _lane: True, lambda lane: limits_on(JOBS[lane.job], lane))
        while not stress.done():
            runs = claims.claim(claimant, dice.randint(1, 6), store.clock.now(), dice.randint(1, 6))
            since = time.monotonic()
            if not runs:
                with stress.changed:
                    stress.changed.wait(0.02)
                continue
            time.sleep(dice.random() * 0.004)  # the handlers' time
            changes = [end(run, store.clock.now(), dice) for run in runs]
            until = time.monotonic()
            moved = store.runs.apply(changes)
            assert len(moved) == len(runs), "a lease was lost"
            with stress.changed:
                stress.holds += [Hold(run, since, until) for run in runs]
                stress.left -= sum(change.status.final for change in changes)
                stress.changed.notify_all()
    except BaseException as error:
        stress.errors.append(error)
        raise
    finally:
        store.close()


def end(run: Run, now: datetime, dice: random.Random) -> state.Transition:
    match dice.randrange(12):
        case 0:
            return state.release(run, now)
        case 1:
            return state.lose(run, now, keep=LEASE, blamed=False)
        case _:
            return state.succeed(run, now, result=None, keep=LEASE)


def watch(url: str, stress: Stress) -> None:
    """Count what is running, in the store itself."""
    store = open_store(url)
    try:
        while not stress.done():
            running: dict[str, int] = defaultdict(int)
            for run in store.runs.list(Filter(None, [Status.RUNNING], limit=1000)):
                for limit, scope in scopes(run):
                    if limit.concurrency is not None:
                        running[scope] += 1
            for scope, count in running.items():
                stress.seen[scope] = max(stress.seen[scope], count)
            time.sleep(0.002)  # about as long as a run is held; without a rest it would only take turns away
    finally:
        store.close()


def overlaps(holds: Sequence[Hold]) -> Iterator[tuple[str, int, int]]:
    """For each limit of concurrency: how many were held at once at the most, and how many may be."""
    marks: dict[str, list[tuple[float, int]]] = defaultdict(list)
    allowed: dict[str, int] = {}
    for hold in holds:
        for limit, scope in scopes(hold.run):
            if limit.concurrency is not None:
                allowed[scope] = limit.concurrency
                marks[scope] += [(hold.since, 1), (hold.until, -1)]
    for scope, listed in marks.items():
        most = now = 0
        for _, step in sorted(listed):
            now += step
            most = max(most, now)
        yield scope, most, allowed[scope]


def crowds(holds: Sequence[Hold]) -> Iterator[tuple[str, int, int]]:
    """For each rate: the most starts in any span of its length, and how many may be."""
    starts: dict[str, list[datetime]] = defaultdict(list)
    rates: dict[str, Rate] = {}
    for hold in holds:
        for limit, scope in scopes(hold.run):
            if limit.rate is not None:
                assert hold.run.started_at is not None
                rates[scope] = limit.rate
                starts[scope].append(hold.run.started_at)
    for scope, times in starts.items():
        times.sort()
        first = most = 0
        for place, at in enumerate(times):
            while at - times[first] >= rates[scope].span:
                first += 1
            most = max(most, place - first + 1)
        yield scope, most, rates[scope].most


@pytest.mark.timeout(0 if SOAK else 120)
def test_limits_are_never_exceeded(sql_store_url: str) -> None:
    """Concurrency by job and by key, rate by job and by key, all at once."""
    stress = Stress(7)
    store = open_store(sql_store_url)
    store.check()
    fill(store, stress)
    threads = [threading.Thread(target=work, args=[sql_store_url, f"w{n}", stress]) for n in range(CLAIMERS)]
    threads.append(threading.Thread(target=watch, args=[sql_store_url, stress]))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stress.errors == []
    held, rates = list(overlaps(stress.holds)), list(crowds(stress.holds))
    assert {scope for scope, _, _ in held} == {"pool/None", "both/None", *(f"each/{key}" for key in KEYS)}
    assert {scope for scope, _, _ in rates} == {"paced/None", *(f"both/{key}" for key in KEYS)}
    for scope, most, allowed in held:
        assert most <= allowed, f"{most} runs of {scope} at once"
        assert stress.seen[scope] <= allowed, f"{stress.seen[scope]} runs of {scope} in the store"
    for scope, most, allowed in rates:
        assert most <= allowed, f"{most} starts of {scope} in its span"
    # Nothing was held back for good, and the limits were used, not only kept.
    assert {run.status for run in store.runs.list(Filter(None, limit=1000))} == {Status.SUCCEEDED}
    assert max(most for scope, most, _ in held if scope == "pool/None") > 1
    assert {scope: most for scope, most, _ in rates}["paced/None"] > 4
    store.close()
