"""How many runs a worker claims beyond those that it executes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.bench import Bench
from workbell.engine.prefetch import AHEAD_SECONDS, MOST_AHEAD, TRUSTED, WINDOW, Prefetch


def test_nothing_is_held_ahead_at_first() -> None:
    prefetch = Prefetch(10, 0.0)
    assert prefetch.plan(0, 0.0, idle=True, starved=True) == 9  # one free slot is a reason to claim
    assert prefetch.ahead == 0


def test_a_burst_is_known_by_its_first_runs() -> None:
    """Ten that returned within a millisecond let eighty be claimed, not thousands: the next ones may be slow."""
    prefetch = Prefetch(10, 0.0)
    prefetch.plan(0, 5.0, idle=True, starved=True)
    prefetch.plan(10, 5.001, idle=False, starved=True)
    assert prefetch.ahead == 10 * TRUSTED
    prefetch.plan(90, 5.003, idle=False, starved=True)
    assert prefetch.ahead == 90 * TRUSTED


def test_a_few_quick_runs_beside_slow_ones_say_nothing() -> None:
    """Five runs of another job that return at once, while ten slow ones are executing: nothing more is held ahead."""
    prefetch = Prefetch(10, 0.0)
    prefetch.plan(6, 0.1, idle=False, starved=False)
    before = prefetch.ahead
    prefetch.plan(11, 0.101, idle=False, starved=False)
    assert prefetch.ahead == before == 6


def test_what_was_measured_before_a_pause_is_forgotten() -> None:
    prefetch = Prefetch(10, 0.0)
    prefetch.plan(2000, 0.1, idle=False, starved=False)
    assert prefetch.ahead == MOST_AHEAD
    prefetch.plan(2000, 9.0, idle=True, starved=True)
    assert prefetch.ahead == 0


def test_a_count_that_misses_a_batch_for_a_moment_holds_nothing_back() -> None:
    """Outcomes are counted while others move them from one list to another."""
    prefetch = Prefetch(10, 0.0)
    prefetch.plan(2000, 0.1, idle=False, starved=False)
    assert prefetch.plan(1000, 0.13, idle=False, starved=False) >= 9
    assert prefetch.ahead >= 0


@given(
    slots=st.integers(1, 200),
    steps=st.lists(st.tuples(st.integers(-500, 5000), st.floats(0, 2), st.booleans(), st.booleans()), max_size=30),
)
def test_bounds(slots: int, steps: list[tuple[int, float, bool, bool]]) -> None:
    """Never more than the most, nor more than eight times what returned within one window; and a claim is worth it."""
    prefetch = Prefetch(slots, 0.0)
    returned, moment, fastest, most = 0, 0.0, 0.0, 0
    for count, passed, idle, starved in steps:
        returned, moment = max(returned + count, 0), moment + passed
        most = max(most, returned)
        refill_at = prefetch.plan(returned, moment, idle=idle, starved=starved)
        assert 0 <= prefetch.ahead <= min(MOST_AHEAD, most * max(TRUSTED, AHEAD_SECONDS / WINDOW))
        fastest = slots + prefetch.ahead - refill_at
        assert 1 <= fastest <= max(prefetch.ahead, 1)
        assert refill_at >= slots - 1


def test_an_outcome_wakes_the_claim_before_it_is_booked() -> None:
    """Claims and bookings go on at the same time: else the one would always wait for the other."""
    bench = Bench()

    @bench.bell.job
    def work() -> None: ...

    bench.bell.enqueue_many([("work", {})] * 20)
    held = bench.claim()
    assert len(held) == 10
    assert bench.claim() == []
    bench.claims_waker.woken = False
    bench.finish.put(held[0], bench.call(held[0]))
    assert bench.claims_waker.woken
    assert len(bench.claim()) == 1
