"""Clock measurement: the store's time, read by engines every few seconds, by other programs when they depend on it.

Without it, such a program would stay on the time of its own start, and miss every step of the clock.
"""

from __future__ import annotations

from workbell.model.clock import SystemClock
from workbell.stores.port import CoreStore

MOST_UNMEASURED = 30.0  # seconds: so long a step of the store's clock may go unseen by engines with a long poll
STRAGGLERS = 30.0  # seconds after a step back in which a write may still carry a time of the clock before


def follow_time(store: CoreStore) -> None:
    """Measure the store's time. If the clock was put back, waits that began before start again.

    Every process does that when it notices, because it may have written times of the old clock until then: a retry in
    a second would come in an hour and a second. And again for a while, for what it had decided on and not yet written.
    """
    store.measure_time()
    clock = store.clock
    if not isinstance(clock, SystemClock) or clock.put_back_at is None:
        return
    put_back_at = clock.put_back_at
    all_done = store.runs.restart_waits(clock.now())
    if all_done and clock.monotonic() - put_back_at > STRAGGLERS and clock.put_back_at == put_back_at:
        clock.put_back_at = None


def has_old_time(store: CoreStore) -> bool:
    """Whether the store's time was not measured for a minute."""
    return isinstance(store.clock, SystemClock) and store.clock.is_old


def measure_old_time(store: CoreStore) -> None:
    """Measure the store's time, if that was long ago."""
    if has_old_time(store):
        follow_time(store)
