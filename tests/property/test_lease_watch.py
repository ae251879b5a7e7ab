"""The lease watch against a plain story of renewals: clocks of holder and watcher are put at random (P4, P7)."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from workbell.engine.lease_watch import FAR, LeaseWatch
from workbell.engine.renew import pace_of
from workbell.model.clock import ManualClock
from workbell.stores.port import Lease

steps = st.one_of(st.floats(-200, 200), st.sampled_from([3600.0, -3600.0, 28.0, -28.0, 30.0, -30.0]))
lengths = st.sampled_from([1.0, 2.0, 5.0, 30.0, 300.0])


@given(
    lengths,
    st.lists(st.tuples(st.floats(0.01, 0.75), st.booleans(), st.booleans(), steps), min_size=1, max_size=60),
)
def test_what_is_renewed_is_never_taken(lease: float, moves: list[tuple[float, bool, bool, float]]) -> None:
    """Renewed at least every three quarters of a lease, by clocks that are put at any time, by the holder and by us."""
    clock, ahead, watch = ManualClock(), timedelta(0), LeaseWatch(timedelta(seconds=lease), lambda _worker: False)
    held = Lease("run", 1, clock.now() + timedelta(seconds=lease), "elsewhere/1/2/a")
    silent = 0.0
    for part, renewed, ours, step in moves:
        passed = part * lease
        if silent + passed > 0.75 * lease or renewed:
            held = held._replace(until=clock.now() + ahead + timedelta(seconds=lease))
            silent = 0.0
        clock.advance(passed)
        silent += passed
        now, moment = clock.now(), clock.monotonic()
        soon, far = watch.bounds(now)
        found = [held] if held.until <= soon or held.until > far else []
        assert watch.ended(found, now, moment, moment) == []
        if ours:
            clock.put(step)
        else:
            ahead += timedelta(seconds=step)


@given(lengths, st.floats(0.05, 1.0), steps, steps, st.floats(0, 1))
def test_what_is_not_renewed_is_taken(lease: float, sweep: float, at_first: float, later: float, when: float) -> None:
    """In a lease and a sweep if the clocks agree; else when the time is over that a lease may have at the most."""
    for put in (False, True):
        clock, watch = ManualClock(), LeaseWatch(timedelta(seconds=lease), lambda _worker: False)
        ahead = timedelta(seconds=at_first if put else 0)
        held = Lease("run", 1, clock.now() + ahead + timedelta(seconds=lease), "elsewhere/1/2/a")
        most = lease + sweep * lease + 0.01
        if put:
            most = (FAR + 2) * lease + sweep * lease + max(abs(later), 0)
        put_at, taken = when * lease, False
        while clock.monotonic() <= most and not taken:
            now, moment = clock.now(), clock.monotonic()
            soon, far = watch.bounds(now)
            found = [held] if held.until <= soon or held.until > far else []
            taken = bool(watch.ended(found, now, moment, moment))
            next_at = watch.next_at(moment)
            pause = sweep * lease if next_at is None else min(sweep * lease, next_at - moment)
            clock.advance(max(pause, 1e-6))
            if put and put_at is not None and clock.monotonic() >= put_at:
                clock.put(later)
                put_at = float("inf")
        assert taken, f"not within {most:.2f} s"
        if not put:
            assert clock.monotonic() >= lease


def test_what_is_watched_is_less_than_what_is_held() -> None:
    """Where clocks agree, a lease that is renewed at its pace is never worth a look."""
    for seconds in (10.0, 30.0, 300.0):
        lease = timedelta(seconds=seconds)
        clock, watch = ManualClock(), LeaseWatch(lease)
        soon, far = watch.bounds(clock.now())
        assert soon < clock.now() + lease - timedelta(seconds=pace_of(lease)) < far
